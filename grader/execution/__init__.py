"""Runs an assignment's code: in a worker the student's, in a session the reference."""

# Before any module here imports torch whole.
from grader.execution import torch_without_dynamo as torch_without_dynamo
