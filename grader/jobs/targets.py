"""What the targets on a command line mean: which files to grade, for which assignments."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from grader.course.loading import course_assignment, find_course, load_course
from grader.course.model import Assignment, Course, CourseError
from grader.course.submission import called_after, holds_answer
from grader.jobs.protocol import Job, Options


class Target(msgspec.Struct, kw_only=True):
    """One submission for one assignment."""

    submission: Path
    assignment: str
    course: Path
    course_title: str
    beside: Path | None = None
    """The folder from which a file may import, if one was named."""

    def job(self, options: Options, *, repeated: bool = False) -> Job:
        """The job of grading it."""
        seed = options.with_one_seed().seed
        assert seed is not None
        return Job(
            submission=os.fsencode(self.submission),
            course=os.fsencode(self.course),
            assignment=self.assignment,
            seed=seed,
            check_seconds=options.check_seconds,
            public_only=options.public_only,
            sandbox=options.sandbox,
            chain=options.chain,
            beside=None if self.beside is None else str(self.beside),
            repeated=repeated,
        )


def resolve_targets(
    words: tuple[str, ...],
    *,
    assignment: str | None = None,
    course: str | None = None,
    chain: bool = False,
    beside: str | None = None,
) -> list[Target]:
    """The submissions that ``words`` name, in their order; every assignment's if there are none.

    A word is an assignment's id, a file, or a folder: a student's, holding one or more of the
    assignments. ``course`` defaults to the one around the current folder, or else around the first
    target. With ``chain`` an id means the folder of all the course's files, so that they can be
    imported; ``beside`` names the folder that files may import from. Raises CourseError, saying
    what is wrong and what to do.
    """
    loaded = load_course(course_root(words, course))
    wanted = None if assignment is None else course_assignment(loaded, assignment)
    if not words:
        every = [wanted] if wanted else list(loaded.assignments.values())
        if not every:
            raise CourseError(f"the course in {loaded.root} has no assignments")
        return [_of_course(loaded, one, chain) for one in every]
    found = [target for word in words for target in _resolve(word, loaded, wanted, chain)]
    return found if beside is None else [_importing(target, Path(beside)) for target in found]


def _importing(target: Target, beside: Path) -> Target:
    if not beside.is_dir():
        raise CourseError(f"--with {beside}: there is no such folder")
    if target.submission.is_dir() or target.submission.suffix.lower() == ".zip":
        raise CourseError(
            f"--with is for a single file: {target.submission.name} may import its own files anyway"
        )
    return msgspec.structs.replace(target, beside=beside.absolute())


def course_root(words: tuple[str, ...], course: str | None) -> Path:
    """The course that ``course`` names, or else the one around here or around the first word."""
    if course is not None:
        return Path(course).absolute()
    starts = [Path.cwd(), *(Path(word).absolute() for word in words if Path(word).exists())]
    problem: CourseError | None = None
    for start in starts:
        try:
            return find_course(start)
        except CourseError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def _resolve(word: str, course: Course, wanted: Assignment | None, chain: bool) -> list[Target]:
    path = Path(word).absolute()
    if word in course.assignments and not path.is_file():
        return [_of_course(course, course.assignments[word], chain)]
    if not path.exists():
        if "/" not in word and "." not in word:
            course_assignment(course, word)  # raises, naming the ids that there are
        raise CourseError(f"{word}: there is no such file or folder")
    if wanted is not None:
        return [_target(course, wanted, path)]
    found = assignments_of(path, course)
    if found and (path.is_dir() or len(found) == 1):
        return [_target(course, one, path) for one in found]
    raise CourseError(
        f"{word}: which assignment is it for? Name it with --assignment "
        f"({', '.join(course.assignments)})"
    )


def assignments_of(path: Path, course: Course) -> list[Assignment]:
    """The assignments that a student's file, folder or zip is for, in the course's order.

    By the names of files and folders, or else by what is defined in them; of a course with one
    assignment it is always that one.
    """
    every = list(course.assignments.values())
    if len(every) == 1:
        return every
    if path.is_dir():
        found = called_after(path, every)
    else:
        found = [one for one in every if _is_named_for(path, one)]
    return found or [one for one in every if holds_answer(path, one)]


def _is_named_for(path: Path, assignment: Assignment) -> bool:
    """Whether a file's name, or its folder's, says which assignment it is for."""
    stem = Path(assignment.file).stem
    name = path.stem
    copies = name.removeprefix(stem)
    is_copy = name.startswith(stem) and not copies.strip(" ()-_0123456789")
    return is_copy or path.parent.name == assignment.id


def _of_course(course: Course, assignment: Assignment, chain: bool) -> Target:
    """The file that lies in the course itself, or with ``chain`` the folder around all of them."""
    stub = assignment.stub
    return _target(course, assignment, assignment.directory.parent if chain else stub)


def _target(course: Course, assignment: Assignment, submission: Path) -> Target:
    return Target(
        submission=submission,
        assignment=assignment.id,
        course=course.root,
        course_title=course.title,
    )
