"""``check`` from several threads, tasks and forks, interrupted, and with a process that dies."""

from __future__ import annotations

import asyncio
import importlib.util
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from grader.jobs import warm
from grader.notebook import CheckError, Verdicts, check

from ..toy import make_course

Case: TypeAlias = tuple[Callable[..., Any], int]
"""What is handed to ``check``, and what it is to earn."""

THREADS, CALLS = (16, 400) if os.environ.get("GRADE_SEEDS") else (6, 30)

SOURCES = {
    "right": ("return x * 3 + 1", 6),
    "no gradient": ("return x.detach() * 3 + 1", 4),
    "doubled": ("return x * 2 + 1", 0),
    "raises": ("raise ValueError('of {number}')", 0),
    "ends": ("import os; os._exit(0)", 0),
    "prints": ("print('6 of 6 points ' * 999); return x * 0", 0),
    "returns a report": ("return {{'score': {{'earned': 6, 'possible': 6}}}}", 0),
}


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_course(tmp_path_factory.mktemp("course"))


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[Case]:
    """As many functions as calls, each of a file of its own."""
    folder = tmp_path_factory.mktemp("handed-in")
    found = []
    for number in range(CALLS):
        body, points = list(SOURCES.values())[number % len(SOURCES)]
        file = folder / f"student_{number}.py"
        file.write_text(f"def scale(x):\n    {body.format(number=number)}\n")
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.append((module.scale, points))
    return found


@pytest.fixture(autouse=True, scope="module")
def _ended() -> Iterator[None]:
    yield
    warm.close()


def assert_own(verdicts: Verdicts, case: Case) -> None:
    function, points = case
    assert verdicts.report.score.earned == points
    assert verdicts.report.submission.id == f"{function.__module__}.py"


def test_each_thread_gets_the_answer_to_its_own_call(course: Path, cases: list[Case]) -> None:
    with ThreadPoolExecutor(THREADS) as threads:
        verdicts = threads.map(lambda case: check("scale", case[0], course=course), cases)
    for got, case in zip(verdicts, cases, strict=True):
        assert_own(got, case)


def test_the_process_outlives_the_thread_that_was_the_first_to_call(
    course: Path, cases: list[Case]
) -> None:
    warm.close()
    pids = []
    for case in cases[:2]:
        thread = threading.Thread(target=lambda case=case: check("scale", case[0], course=course))
        thread.start()
        thread.join()
        process = warm._turns._kept._process
        assert process is not None
        pids.append(process._process.pid)
    assert pids[0] == pids[1]
    assert_own(check("scale", cases[0][0], course=course), cases[0])


def test_tasks_that_are_waited_for_together_get_their_own(course: Path, cases: list[Case]) -> None:
    async def everyone() -> list[Verdicts]:
        calls = (asyncio.to_thread(check, "scale", one, course=course) for one, _ in cases[:7])
        return await asyncio.gather(*calls)

    # In a thread of its own, since a browser of other tests may have a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(asyncio.run, everyone()).result()
    for got, case in zip(found, cases, strict=False):
        assert_own(got, case)


def _in_child(course: Path, case: Case, pipe: Any) -> None:
    verdicts = check("scale", case[0], course=course)
    pipe.send((verdicts.report.submission.id, verdicts.report.score.earned))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing is forked here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_fork_has_a_process_of_its_own_and_leaves_the_parents(
    course: Path, cases: list[Case]
) -> None:
    assert_own(check("scale", cases[0][0], course=course), cases[0])
    before = warm._turns._kept._process
    forking = multiprocessing.get_context("fork")
    ours, theirs = forking.Pipe()
    child = forking.Process(target=_in_child, args=(course, cases[3], theirs))
    child.start()
    assert_own(check("scale", cases[1][0], course=course), cases[1])
    assert ours.recv() == (f"{cases[3][0].__module__}.py", cases[3][1])
    child.join()
    assert_own(check("scale", cases[2][0], course=course), cases[2])
    assert warm._turns._kept._process is before


class Interrupted(Exception):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers here")
@pytest.mark.parametrize("seconds", [0.001, 0.02, 0.1])
def test_a_call_that_was_interrupted_leaves_no_answer_to_the_next(
    course: Path, cases: list[Case], seconds: float
) -> None:
    def interrupt(*_: object) -> None:
        raise Interrupted

    def check_for_ever() -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        while True:
            check("scale", cases[0][0], course=course)

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(Interrupted):
            check_for_ever()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    for case in cases[1:4]:
        assert_own(check("scale", case[0], course=course), case)


def test_a_process_that_died_is_said_and_the_next_call_has_another(
    course: Path, cases: list[Case]
) -> None:
    check("scale", cases[0][0], course=course)
    process = warm._turns._kept._process
    assert process is not None
    process.kill()
    with pytest.raises(CheckError, match="ended"):
        check("scale", cases[0][0], course=course)
    assert_own(check("scale", cases[1][0], course=course), cases[1])
