"""Trusted: runs the suites, talks to the student's code, scores."""
