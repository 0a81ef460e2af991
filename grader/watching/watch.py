"""A watch over submissions: what ``grade watch`` does, as an iterator of events."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence

import msgspec

from grader.course.model import Course
from grader.jobs.client import GradingError
from grader.jobs.protocol import Options, Progress
from grader.jobs.targets import Target
from grader.report.changes import could_run
from grader.report.model import Report
from grader.watching.events import Event, Started, Step, Trouble, Verdict
from grader.watching.gradings import Gradings, Word
from grader.watching.saves import Submissions, watch_saves


class _Wanted(msgspec.Struct, kw_only=True):
    target: Target
    since: float
    is_next: bool = False
    saved: bool = False


class Watch:
    """Grades ``targets`` whenever one is saved, from ``start`` on; iterate for what happens.

    The newest save counts: of an older one that is being graded nothing more is told. A target with
    full marks is followed by the next one without. As a context manager it leaves nothing running.
    """

    def __init__(
        self, targets: Sequence[Target], start: Target, course: Course, options: Options
    ) -> None:
        self._targets = list(targets)
        # One seed for all, so that only the code makes a difference.
        self._options = options.with_one_seed()
        self._happened: queue.SimpleQueue[list[Target] | tuple[int, Word]] = queue.SimpleQueue()
        self._gradings = Gradings(
            lambda number, word: self._happened.put((number, word)), isolate=options.isolate
        )
        self._reports: dict[str, Report] = {}
        self._comparable: dict[str, Report] = {}
        self._waiting: list[_Wanted] = [_Wanted(target=start, since=time.monotonic())]
        self._running: tuple[int, _Wanted] | None = None
        self._submissions = Submissions(course, targets, chain=options.chain)
        self._stop = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watch:
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._gradings.close()
        self._watcher.join()

    def __iter__(self) -> Iterator[Event]:
        """What happens, without an end.

        Raises GradingError where nothing could be graded at all.
        """
        while True:
            if self._running is None and self._waiting:
                yield self._begin(self._waiting.pop())
            try:
                happened = self._happened.get(timeout=self._patience())
            except queue.Empty:
                self._abandon()
                continue
            if isinstance(happened, list):
                self._saved(happened)
                continue
            number, word = happened
            if self._running is None or number != self._running[0]:
                continue
            wanted = self._running[1]
            if isinstance(word, Progress):
                if not self._is_old(wanted):
                    yield Step(progress=word)
                continue
            self._running = None
            self._gradings.join()
            if not self._is_old(wanted):
                yield self._told(wanted, word)

    def _begin(self, wanted: _Wanted) -> Started:
        job = wanted.target.job(self._options, repeated=True)
        self._running = (self._gradings.begin(job), wanted)
        return Started(target=wanted.target)

    def _saved(self, targets: list[Target]) -> None:
        """What was saved comes first, in the place of what was asked for earlier."""
        now = time.monotonic()
        self._waiting = [one for one in self._waiting if one.target not in targets]
        self._waiting += [
            _Wanted(target=target, since=now, saved=True) for target in reversed(targets)
        ]

    def _is_old(self, wanted: _Wanted) -> bool:
        return any(one.target == wanted.target for one in self._waiting)

    def _patience(self) -> float | None:
        """How long to wait for word before what is going on is abandoned."""
        if self._running is None or not self._is_old(self._running[1]):
            return None
        patience = self._gradings.patience
        if patience is None:
            return None
        since = max(one.since for one in self._waiting)
        return max(0.0, since + patience - time.monotonic())

    def _abandon(self) -> None:
        self._gradings.close()
        self._running = None

    def _told(self, wanted: _Wanted, word: Report | GradingError) -> Event:
        target = wanted.target
        if isinstance(word, GradingError):
            if not self._reports or word.for_every_job:
                raise word
            return Trouble(target=target, message=str(word))
        seconds = time.monotonic() - wanted.since if wanted.saved else None
        self._reports[target.assignment] = word
        before = self._comparable.get(target.assignment)
        if could_run(word):
            self._comparable[target.assignment] = word
        following = self._following(target) if _is_full(word) else None
        if following is not None and following.assignment not in self._reports:
            self._waiting.insert(0, _Wanted(target=following, since=time.monotonic(), is_next=True))
        return Verdict(
            target=target,
            report=word,
            before=before,
            seconds=seconds,
            following=following,
            is_next=wanted.is_next,
        )

    def _following(self, target: Target) -> Target | None:
        later = self._targets[self._targets.index(target) + 1 :]
        for one in later:
            report = self._reports.get(one.assignment)
            if report is None or not _is_full(report):
                return one
        return None

    def _watch(self) -> None:
        watch_saves(self._submissions, self._happened.put, self._stop)


def _is_full(report: Report) -> bool:
    return report.score.earned == report.score.possible
