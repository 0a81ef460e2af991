"""Checks: how suites declare them, how they are collected and run, what they come to."""
