"""The student's module as suites see it, though it lives in a worker."""
