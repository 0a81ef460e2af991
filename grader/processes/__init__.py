"""How processes of the grader's own are started, and where they work."""
