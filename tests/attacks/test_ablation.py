"""The corpus with layers switched off: an attack that does harm then was stopped by them.

Attacks that would endanger the machine without their layer are not among these; what stops them
is tried, harmlessly, by the probes of ``tests/sandbox/test_layers.py``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from grader.jobs.client import GradingProcess

from ..starting import start_with
from . import arena
from .arena import Arena, attacks

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")

STOPS = {
    ("landlock",): [
        "reads_hidden_suite",
        "imports_hidden_suite",
        "reads_through_links",
        "lists_course",
        "reads_neighbours",
        "reads_proc",
        "writes_report",
        "writes_beside_itself",
        "fills_disk",
    ],
    ("seccomp",): ["forks", "network", "undoes_filters", "leaves_pages", "leaves_signs"],
    ("landlock", "seccomp"): ["executes"],
    ("limits",): ["takes_descriptors"],
}
"""Attacks on ``attention``, by the layers that each keep them off alone."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    made = Arena(tmp_path_factory.mktemp("ablation"))
    yield made
    made.close()


@pytest.fixture(scope="module", params=STOPS, ids="+".join)
def without(request: pytest.FixtureRequest, place: Arena) -> Iterator[GradingProcess]:
    """A grading process whose workers lack these layers."""
    with pytest.MonkeyPatch.context() as patch:
        program = "from grader.session.student import lifecycle\n"
        start_with(program + f"lifecycle.OFF[:] = {list(request.param)}", patch)
        started = place.start()
    with started as process:
        process.stops = STOPS[request.param]
        yield process


def test_what_a_layer_stops_does_harm_without_it(without, place):
    table = attacks()
    harmless = []
    for name in without.stops:
        name = f"attention/{name}.py"
        report = without.grade(place.job(name, table[name], sandbox="off"))
        if not place.harm(report):
            harmless.append(name)
        place.clear()
    assert harmless == []


def test_every_name_is_in_the_corpus():
    names = {f"attention/{name}.py" for stopped in STOPS.values() for name in stopped}
    assert names <= set(arena.files())
