"""A fork server of its own for students' tests."""
