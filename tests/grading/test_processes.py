"""The processes of a grading: who outlives whom, and what the next job sees of the last."""

from __future__ import annotations

import os
import select
import signal
import sys
import tempfile
from pathlib import Path

import pytest
import torch  # noqa: F401  (pytester forgets what is imported within it; torch cannot be twice)

from grader.jobs.client import GradingError, GradingProcess
from grader.report.model import Status, Visibility
from grader.workers.forked import ForkServer

from .conftest import ROOT, SUBMISSIONS, job

STUB = ROOT / "assignments" / "attention" / "attention.py"
RIGHT = SUBMISSIONS / "messy" / "bom.py"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


def descendants(pid: int) -> list[int]:
    """Every process below ``pid``, nearest first."""
    found, parents = [], {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    waiting = [pid]
    while waiting:
        parent = waiting.pop(0)
        children = [child for child, its_parent in parents.items() if its_parent == parent]
        found += children
        waiting += children
    return found


def ends(pidfd: int, seconds: float = 60) -> bool:
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


class TestKilled:
    def test_with_the_grading_process_everything_ends(self, tmp_path, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        staged: list[Path] = []
        process = GradingProcess()
        below: list[int] = []

        def kill(_):
            if not below:
                pids = descendants(process._process.pid)
                below.extend(os.pidfd_open(pid) for pid in pids)
                os.kill(process._process.pid, signal.SIGKILL)
                staged.extend(tmp_path.rglob("*.py"))

        with process, pytest.raises(GradingError, match="the grading process ended"):
            process.grade(job(RIGHT, ROOT), kill)
        assert len(below) >= 3  # the fork server, the session, a worker
        assert all(ends(pidfd) for pidfd in below)
        for pidfd in below:
            os.close(pidfd)
        assert staged
        assert list(tmp_path.iterdir()) == []

    def test_with_a_session_only_its_job_is_lost(self):
        with GradingProcess() as process:
            workers: list[int] = []

            def kill(_):
                if not workers:
                    server, session, *rest = descendants(process._process.pid)
                    workers.extend(os.pidfd_open(pid) for pid in rest)
                    os.kill(max(server, session), signal.SIGKILL)

            with pytest.raises(GradingError, match="ended before it was done"):
                process.grade(job(RIGHT, ROOT), kill)
            assert workers
            assert all(ends(pidfd) for pidfd in workers)
            for pidfd in workers:
                os.close(pidfd)
            events = []
            report = process.grade(job(RIGHT, ROOT), events.append)
        assert report.score.earned == report.score.possible
        done = [event.done for event in events]
        assert done == sorted(set(done))
        assert done[-1] == events[0].total
        assert {event.status for event in events} == {Status.PASSED}


class TestKept:
    def test_by_a_warm_process_are_a_fork_server_and_a_template(self):
        with GradingProcess() as process:
            for _ in range(3):
                process.grade(job(RIGHT, ROOT))
            # A worker that is on its way out may take a moment.
            below = {pid: os.pidfd_open(pid) for pid in descendants(process._process.pid)}
            lasting = {pid for pid, pidfd in below.items() if not ends(pidfd, seconds=1)}
            for pidfd in below.values():
                os.close(pidfd)
        assert len(lasting) == 2


class TestJobs:
    def test_one_leaves_nothing_for_the_next(self, grade, hand_in):
        spoils = hand_in(
            "import torch\ntorch.set_default_dtype(torch.float64)\n"
            "torch.softmax = torch.Tensor.softmax = None\n"
            "def scaled_dot_product_attention(q, k, v, mask=None): pass\n"
        )
        first = grade(RIGHT, ROOT)
        for _ in range(2):
            grade(spoils, ROOT, public_only=True)
            again = grade(RIGHT, ROOT)
            assert again.score == first.score
            assert [check.status for check in again.checks] == [c.status for c in first.checks]

    @pytest.mark.parametrize(
        ("assignment", "words"), [("atention", "attention"), ("nothing_like_it", "attention")]
    )
    def test_an_assignment_that_is_not_there(self, grade, course, assignment, words):
        with pytest.raises(GradingError, match=words) as caught:
            grade(RIGHT, course, assignment)
        assert caught.value.wrong_course

    def test_a_submission_that_is_not_there(self, grade, course, tmp_path):
        report = grade(tmp_path / "nowhere.py", course)
        assert (report.status, report.score.earned) == ("not-gradable", 0)
        assert "no file or folder 'nowhere.py'" in report.message
        assert {check.status for check in report.checks} == {Status.NOT_RUN}


class Shared(ForkServer):
    """The tests' own fork server, which a run that ends leaves running."""

    def close(self):
        pass


@pytest.mark.parametrize(
    "name",
    [
        "messy/other_names.py",
        "wrong/scale_by_width.py",
        "wrong/mask_must_be_bool.py",
        "seeds/lab.py",
    ],
)
def test_plain_pytest_gives_the_same_verdicts(pytester, grade, fork_server, monkeypatch, name):
    monkeypatch.setattr(
        ForkServer,
        "launch",
        classmethod(lambda cls, *, staging, isolate: Shared(fork_server._control, staging=staging)),
    )
    run = pytester.inline_run(
        ROOT / "tests" / "hidden" / "test_attention.py",
        f"--submission={SUBMISSIONS / name}",
        "--grader-seed=11",
        "--import-mode=importlib",
        "-pno:cacheprovider",
        f"--rootdir={ROOT}",
        f"-c{os.devnull}",
    )
    failed = {
        report.location[2].partition("[")[0].removeprefix("test_")
        for report in run.getreports("pytest_runtest_logreport")
        if report.failed
    }
    report = grade(SUBMISSIONS / name, ROOT, seed=11)
    hidden = [check for check in report.checks if check.visibility is Visibility.HIDDEN]
    assert failed == {check.id for check in hidden if check.status != Status.PASSED}
