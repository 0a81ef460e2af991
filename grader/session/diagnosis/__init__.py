"""What lies behind failed checks: a misconception, and what it explains; or no work at all."""
