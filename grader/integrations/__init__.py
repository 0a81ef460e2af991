"""What other platforms get: the student repository, and autograders for upload."""
