"""Each grading keeps to a core of its own, as long as there are any, and its worker to the same."""

import os
import subprocess
import sys
import uuid

import pytest

from grader.processes.environment import CLEAN_ENVIRONMENT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is kept to")

ALL = os.sched_getaffinity(0) if sys.platform == "linux" else set()
KEEPS_TO_ONE = """
import os, sys
from grader.processes import cores

cores.NAME = sys.argv[1]
cores.keep_to_one()
print(*sorted(os.sched_getaffinity(0)), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def name():
    """Other gradings than this test's are under way on the machine."""
    return f"attention-grader-test/{uuid.uuid4()}"


@pytest.fixture
def keep(name):
    """Starts a process that keeps to a core; the process, and the cores that it may run on."""
    processes = []

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", KEEPS_TO_ONE, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=CLEAN_ENVIRONMENT,
            text=True,
        )
        processes.append(process)
        return process, {int(core) for core in process.stdout.readline().split()}

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_as_many_as_there_are(keep):
    kept = [keep()[1] for _ in ALL]
    assert all(len(cores) == 1 for cores in kept)
    assert set.union(*kept) == ALL


def test_one_too_many_runs_anywhere(keep):
    for _ in ALL:
        keep()
    assert keep()[1] == ALL


def test_what_a_killed_one_had_is_free_again(keep):
    started = [keep() for _ in ALL]
    process, cores = started[-1]
    process.kill()
    process.wait()
    assert keep()[1] == cores


def test_a_worker_runs_where_who_asks_for_it_may(start):
    core = min(ALL)
    os.sched_setaffinity(0, {core})
    try:
        submission = start("import os\ndef cores(): return sorted(os.sched_getaffinity(0))")
    finally:
        os.sched_setaffinity(0, ALL)
    assert submission.call("cores") == [core]
