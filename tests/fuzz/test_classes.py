"""Whatever is handed in beside them, honest students are graded on what is theirs."""

from __future__ import annotations

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.batch.plan import Plan, Task, make_plan
from grader.course.loading import load_course
from grader.course.model import Course, Late
from grader.course.submission import NotGradable, fingerprint, read_submission

from ..batch.conftest import _warm, batch, course  # noqa: F401
from . import classes, mutating

LATE = Late(due={"scale": datetime(2030, 1, 1, tzinfo=UTC)}, penalty_percent=10, timezone="UTC")


@pytest.fixture(scope="module")
def loaded(course) -> Course:  # noqa: F811
    return load_course(course)


def make(random: Random, layout: str, zipped: bool) -> list[classes.Student]:
    names = random.sample(classes.HONEST, random.randrange(2, 5))
    students = [classes.honest(random, at, name) for at, name in enumerate(names)]
    for at in range(random.randrange(1, 4)):
        student = classes.hostile(random, at, zipped=zipped)
        students.insert(random.randrange(len(students) + 1), student)
    return students


def text_of(task: Task, course: Course) -> str:  # noqa: F811
    if task.refused:
        return ""
    assignment = course.assignments[task.assignment]
    fingerprint(task.submission, assignment)
    try:
        return read_submission(task.submission, assignment).main.text
    except NotGradable:
        return ""


def check(plan: Plan, students: list[classes.Student], layout: str, course: Course) -> None:  # noqa: F811
    said = [plan.layouts, plan.left_out, plan.collisions, plan.unassigned]
    tasks = [(task.students, task.notes, task.refused, task.bug) for task in plan.tasks]
    msgspec.json.encode([said, tasks])
    assert not [task.bug for task in plan.tasks if task.bug]
    graded = [(task, text_of(task, course)) for task in plan.tasks]
    for at, student in enumerate(students):
        if student.honest:
            theirs = [task for task, text in graded if text == student.honest]
            assert [task.students for task in theirs] == [[classes.label(layout, at, student)]]


def at(folder: Path, name: bytes) -> bytes:
    return os.path.join(os.fsencode(folder), name)


def account(plan: Plan, paths: classes.Paths, path: Path, students: list[classes.Student]) -> None:
    """Everybody who handed something in is somewhere."""
    named = [name for task in plan.tasks for name in task.students]
    named += [one.student for one in plan.unassigned]
    there = [name for name, entry in paths if path.is_file() or os.path.lexists(at(path, name))]
    for student in students:
        if not student.honest and any(classes.is_of(student, name) for name in there):
            mark = student.called[:2].decode()
            assert any(mark in name for name in [*named, *plan.left_out]), mark


@given(
    layout=st.sampled_from(sorted(classes.LAYOUTS)),
    zipped=st.booleans(),
    named=st.booleans(),
    late=st.booleans(),
    seed=st.integers(0, 2**64 - 1),
)
@mutating.fuzzed(300)
def test_honest_students_are_planned_with_their_own(loaded, layout, zipped, named, late, seed):
    random = Random(seed)
    students = make(random, layout, zipped)
    course = msgspec.structs.replace(loaded, late=LATE) if late else loaded  # noqa: F811
    root = Path(tempfile.mkdtemp())
    try:
        paths = classes.LAYOUTS[layout](students)
        path = classes.write(root, paths, zipped=zipped)
        (root / "scratch").mkdir()
        plan = make_plan([path], course, root / "scratch", assignment="scale" if named else None)
        check(plan, students, layout, course)
        account(plan, paths, path, students)
    finally:
        classes.remove(root)


@pytest.mark.parametrize("number", range(max(1, min(mutating.N // 500, 20))))
def test_honest_students_are_graded_on_their_own(batch, tmp_path, number):  # noqa: F811
    random = Random(mutating.N * 1000 + number)
    layout = sorted(classes.LAYOUTS)[(number + 3) % len(classes.LAYOUTS)]
    zipped = number % 2 == 0
    students = [one for _ in range(2) for one in make(random, layout, zipped) if not one.honest]
    students = make(random, layout, zipped) + students
    path = classes.write(tmp_path, classes.LAYOUTS[layout](students), zipped=zipped)
    done = batch(path, "--assignment", "scale", "--jobs", 1)
    assert done.exit_code == 0, done.output
    scores = {row["student"]: row["scale"] for row in batch.grades}
    for place, one in enumerate(students):
        if one.honest:
            assert scores[classes.label(layout, place, one)] == str(one.points)
    assert not batch.summary["grading_failed"]
