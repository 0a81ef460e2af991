"""What is asked of a grading process, and who asks. Never imports torch."""
