"""What explains failed checks: a misconception, or code that computes nothing."""
