"""Notices changed submissions, however an editor saves them.

What the system tells of files is taken as a hint to look again: editors write in place, write
beside and rename, or delete and make anew, in one step or in several.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from watchfiles import watch

from grader.course.model import Course
from grader.course.submission import fingerprint
from grader.jobs.targets import Target

QUIET_MS = 20
"""A save is over when nothing has happened for so long."""
LONGEST_MS = 200
"""What never becomes quiet is looked at all the same."""
LOOK_MS = 1000
"""Where the system tells nothing, as of files on a network, files are looked at so often."""


class Submissions:
    """The submissions of targets, in the state in which they were last looked at."""

    def __init__(self, course: Course, targets: Sequence[Target], *, chain: bool = False) -> None:
        self._course = course
        self._targets = list(targets)
        self._chain = chain
        self._states = [self._state(target) for target in self._targets]

    def changed(self) -> list[Target]:
        """The submissions that have changed since the last call."""
        states = [self._state(target) for target in self._targets]
        pairs = zip(self._targets, self._states, states, strict=True)
        found = [target for target, before, now in pairs if before != now]
        self._states = states
        return found

    def folders(self) -> dict[Path, tuple[int, int]]:
        """The folders to watch that there are, each with what tells it from one made anew."""
        found = {}
        for target in self._targets:
            place = target.submission
            for folder in (place if place.is_dir() else place.parent, target.beside):
                if folder is not None:
                    with contextlib.suppress(OSError):
                        status = folder.stat()
                        found[folder] = (status.st_dev, status.st_ino)
        return found

    @property
    def deep(self) -> bool:
        """Whether what lies in the folders' folders counts."""
        return any(target.submission.is_dir() for target in self._targets)

    def _state(self, target: Target) -> str:
        assignment = self._course.assignments[target.assignment]
        earlier, later = self._course.around(assignment)
        return fingerprint(
            target.submission,
            assignment,
            earlier=earlier,
            later=later,
            chain=self._chain,
            beside=target.beside,
        )


def watch_saves(
    submissions: Submissions, on_save: Callable[[list[Target]], None], stop: threading.Event
) -> None:
    """Call back with each saved submission, until ``stop`` is set."""
    while not stop.is_set():
        for _ in _hints(submissions, stop):
            if changed := submissions.changed():
                on_save(changed)


def _hints(submissions: Submissions, stop: threading.Event) -> Iterator[None]:
    """Moments at which to look, until the folders are others than they were."""
    folders = submissions.folders()
    if not folders:
        stop.wait(LOOK_MS / 1000)
        yield
        return
    try:
        for _ in watch(
            *folders,
            watch_filter=None,
            debounce=LONGEST_MS,
            step=QUIET_MS,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            stop_event=stop,
            recursive=submissions.deep,
            ignore_permission_denied=True,
        ):
            yield
            if submissions.folders() != folders:
                return
    except OSError:
        # A folder went away just now, or there is no more room for watches.
        stop.wait(LOOK_MS / 1000)
        yield
