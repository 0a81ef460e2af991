"""The process that workers are forked from: torch, and nothing of value."""
