"""What the tests of several rooms share: one fork server, started once."""

import os
from collections.abc import Iterator

import hypothesis
import pytest
import torch

from grader.sandbox.client import ForkServer

pytest_plugins = ["pytester"]

hypothesis.settings.register_profile("grader", deadline=None, database=None)
hypothesis.settings.load_profile("grader")

# As the grading process has it: with more threads than idle cores they wait for each other.
torch.set_num_threads(1)

SECRET = "canary-1d0f7c52"
"""In the environment of whoever starts the fork server; no worker may find it."""


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADER_SECRET", SECRET)
        server = ForkServer.launch()
    assert "GRADER_SECRET" not in os.environ
    yield server
    server.close()


@pytest.fixture(scope="session")
def secret() -> str:
    return SECRET
