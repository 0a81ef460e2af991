"""Measures students' own tests of an assignment: how many faults they catch."""
