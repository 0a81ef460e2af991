"""The process that torch is imported in once, and that has every job graded."""
