"""What is graded: courses, assignments, submissions and their staging."""
