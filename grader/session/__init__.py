"""One grading: runs the suites and makes the report. Trusted; holds no student code."""
