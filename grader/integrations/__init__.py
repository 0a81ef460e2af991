"""What other platforms are handed: the student repository, and autograders for upload."""
