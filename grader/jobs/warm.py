"""One grading process for everything that an interpreter grades in its life, from any thread."""

from __future__ import annotations

import atexit
import os
import threading
from concurrent.futures import Future
from queue import SimpleQueue

from grader.course.model import Limits
from grader.jobs.client import GradingError
from grader.jobs.kept import KeptProcess
from grader.jobs.protocol import Job
from grader.report.model import Report


def grade(job: Job, limits: Limits) -> Report:
    """Grade ``job`` in a process that stays for the next one; the first call waits for torch.

    Calls from several threads take turns. ``limits`` are the assignment's; a process that says
    nothing for much longer is given up. The report is an instructor's. Raises GradingError; a
    process that is of no more use then is replaced for the next call.
    """
    return _turns.grade(job, limits.submission_seconds)


@atexit.register
def close() -> None:
    """End the process, if there is one; whoever waits for a report gets a GradingError."""
    global _turns
    ended, _turns = _turns, _Turns()
    ended.end()


def _begin_anew() -> None:
    """Leave the process to the parent, in a fork of this interpreter."""
    global _turns
    parents, _turns = _turns, _Turns()
    parents.let_go()


class _Turns:
    """Has one job after another graded, each for the caller that has brought it.

    One thread alone talks to the process, and answers each caller by a future of the caller's own.
    It starts the process too, which the kernel ends together with the thread that started it: a
    caller's may be over before the next job comes.
    """

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Future[Report], Job, float] | None] = SimpleQueue()
        self._lock = threading.RLock()  # a handler of signals may call while its thread holds it
        self._thread: threading.Thread | None = None
        self._kept = KeptProcess()
        self._current: Future[Report] | None = None
        self._ended = False

    def grade(self, job: Job, submission_seconds: float) -> Report:
        answer: Future[Report] = Future()
        with self._lock:
            if self._ended:
                raise GradingError("this interpreter grades no more")
            self._waiting.put((answer, job, submission_seconds))
            if self._thread is None:
                self._thread = threading.Thread(target=self._serve, name="grading", daemon=True)
                self._thread.start()
        try:
            return answer.result()
        finally:
            if not answer.done():  # the caller was interrupted
                self._give_up(answer)

    def end(self) -> None:
        """Grade nothing more, and wait until nothing is left of the process."""
        with self._lock:
            self._ended = True
            self._current = None
            self._waiting.put(None)
            self._kept.kill()
        if self._thread is not None:
            self._thread.join()

    def let_go(self) -> None:
        """Close what a fork has of it; its thread is not there."""
        self._kept.close()

    def _give_up(self, answer: Future[Report]) -> None:
        """Do not grade a job, or end the process that is at it, which the next one replaces."""
        with self._lock:
            answer.cancel()
            if self._current is answer:
                self._current = None
                self._kept.kill()

    def _serve(self) -> None:
        while (waiting := self._waiting.get()) is not None:
            answer, job, submission_seconds = waiting
            with self._lock:
                if not answer.set_running_or_notify_cancel():
                    continue
                self._current = answer
            try:
                self._start_for(answer)
                report = self._kept.grade(job, submission_seconds=submission_seconds)
            except BaseException as error:
                self._answered()
                answer.set_exception(error)
            else:
                self._answered()
                answer.set_result(report)
        self._kept.close()

    def _start_for(self, answer: Future[Report]) -> None:
        """Have the process, whom a kill reaches from then on; raises GradingError."""
        if not self._ended:
            self._kept.start()
        with self._lock:
            if self._ended or self._current is not answer:
                raise GradingError("nobody waits for the report any more")

    def _answered(self) -> None:
        """The process is at nobody's job any more, and so none is to end it."""
        with self._lock:
            self._current = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)

_turns = _Turns()
