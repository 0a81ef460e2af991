"""What to watch."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader.course.loading import load_course
from grader.course.model import Course, CourseError
from grader.jobs.targets import Target, resolve_targets


def watched(
    word: str | None,
    *,
    assignment: str | None = None,
    course: str | None = None,
    chain: bool = False,
    beside: str | None = None,
) -> tuple[Course, list[Target], Target]:
    """The course, all that is watched, in the course's order, and where to start.

    ``word`` and the options are a target's and mean what they mean to ``resolve_targets``. What
    lies in the course, or in a student's folder, is watched with all other assignments' files
    there, those that do not exist yet included; a file is watched alone.

    Raises CourseError, saying what is wrong and what to do.
    """
    words = () if word is None else (word,)
    start = resolve_targets(
        words, assignment=assignment, course=course, chain=chain, beside=beside
    )[0]
    loaded = load_course(start.course)
    own = resolve_targets((), course=str(start.course), chain=chain)
    if start in own:
        return loaded, own, start
    if assignment is None and word is not None and Path(word).is_dir():
        every = [msgspec.structs.replace(start, assignment=id) for id in loaded.assignments]
        return loaded, every, start
    if not start.submission.exists():
        raise CourseError(f"{word}: there is no such file or folder")
    return loaded, [start], start
