"""torch comes without its compiler, which is there for whoever asks for it."""

import subprocess
import sys

import pytest
import torch

from grader.workers.forked import ForkServer

WARM = "from grader.worker import serving; serving.warm_up()"
COMPILES = """
import torch

@torch.compile(backend="eager")
def double(x):
    return x * 2
"""
OPTIMISES = """
import torch

def step(x):
    weight = torch.nn.Parameter(torch.ones(2))
    optimiser = torch.optim.Adam([weight], lr=0.1)
    (weight * x).sum().backward()
    optimiser.step()
    return weight.detach()
"""


def said_by(program):
    return subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}"], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_what_every_worker_does_first_does_not_import_it():
    assert said_by(f"{WARM}; print('torch._dynamo' in sys.modules)") == "False"


def test_a_torch_that_is_there_already_stays_as_it_is():
    without = "from grader.execution import torch_without_dynamo"
    same = f"kept = torch._disable_dynamo; {without}; import torch._compile"
    assert said_by(f"import torch; {same}; print(kept is torch._compile._disable_dynamo)") == "True"


@pytest.fixture(scope="module")
def new_server():
    """A fork server whose workers are its first."""
    server = ForkServer.launch()
    yield server
    server.close()


def test_a_first_worker_can_compile(start, new_server):
    result = start(COMPILES, on=new_server).call("double", torch.ones(2))
    assert result.tolist() == [2.0, 2.0]


def test_a_first_worker_can_optimise(start, new_server):
    result = start(OPTIMISES, on=new_server).call("step", torch.ones(2))
    torch.testing.assert_close(result, torch.full((2,), 0.9))
