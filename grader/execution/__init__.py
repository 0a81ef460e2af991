"""Runs a component: in a worker for the student, in a session for the reference."""

# Before any module here imports torch whole.
from grader.execution import torch_without_dynamo as torch_without_dynamo
