"""Grades whenever a file is saved."""
