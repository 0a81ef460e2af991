"""One grading: the suites run, the report made. Trusted; the student's code is elsewhere."""
