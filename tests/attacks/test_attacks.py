"""Every attack, graded by the real processes: no point, no secret, no harm, no survivor, no loss.

What each tries is said in its file; what becomes of it, in ``expected.toml``.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator

import jsonschema
import msgspec
import pytest

from grader.jobs.client import GradingProcess
from grader.report.files import encode
from grader.report.model import Report, Visibility
from grader.report.schema import schema_text
from grader.wire.errors import SandboxError
from grader.workers.doctor import examine

from . import arena
from .arena import Arena, Attack, attacks, files, lasting, printed, processes_below

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")

ATTACKS = attacks()
SECONDS_TO_END = 20.0


@pytest.fixture(scope="module")
def missing() -> str:
    """Why nothing can be required of this machine, if so."""
    try:
        ready, _ = examine()
    except SandboxError as error:
        return str(error)
    return ", ".join(str(gap) for gap in ready.missing)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    arena.adopt_orphans()
    made = Arena(tmp_path_factory.mktemp("attacks"))
    yield made
    made.close()


class Ring:
    """Grades attacks one after another in one process, and looks around after each."""

    def __init__(self, place: Arena) -> None:
        self.place = place
        self._process: GradingProcess | None = None
        self._before: set[int] = set()
        self._grading = 0

    def grade(self, name: str, attack: Attack | None, **options: object) -> Report:
        """The instructor's report; raises GradingError if it is lost."""
        if self._process is None:
            self._before = processes_below(os.getpid())
            self._process = self.place.start()
            (self._grading,) = processes_below(os.getpid(), levels=1) - self._before
        job = self.place.job(name, attack, **options) if attack else self.place.honest_job()
        try:
            return self._process.grade(job)
        except BaseException:
            self.close()
            raise

    def survivors(self) -> set[int]:
        """Processes that a submission left: none, once those of its own grading have ended."""
        deadline = time.monotonic() + SECONDS_TO_END
        while left := processes_below(os.getpid()) - self._before - lasting(self._grading):
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        return left

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None


@pytest.fixture(scope="module")
def ring(place: Arena, missing: str) -> Iterator[Ring]:
    if missing:
        pytest.skip(f"this machine lacks: {missing}")
    made = Ring(place)
    yield made
    made.close()


@pytest.fixture(scope="module")
def schema() -> jsonschema.protocols.Validator:
    return jsonschema.Draft202012Validator(json.loads(schema_text()))


@pytest.fixture(autouse=True)
def _clean(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "place" in request.fixturenames:
        request.getfixturevalue("place").clear()


def test_the_table_names_every_attack():
    assert sorted(ATTACKS) == files()
    assert len(ATTACKS) >= 60


def test_every_attack_says_what_it_tries():
    for name in ATTACKS:
        assert (arena.HERE / name).read_text("utf-8").startswith('"""'), name


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_gains_nothing(ring, schema, name):
    attack = ATTACKS[name]
    report = ring.grade(name, attack, sandbox="require")
    student = report.for_student()

    least, most = _bounds(attack.earned)
    assert least <= report.score.earned <= most
    assert {str(check.status) for check in report.checks} <= set(attack.statuses)
    words = [report.message, *report.notes, *(check.message for check in report.checks)]
    assert any(re.search(attack.says, text) for text in words)
    assert re.search(attack.prints, printed(report))

    _assert_complete(report)
    for audience in (report, student):
        schema.validate(json.loads(encode(audience)))
    assert ring.place.harm(report) == []
    assert ring.survivors() == set()
    if attack.smuggles:
        _assert_hidden(report, encode(_timeless(student)).decode())
    assert report.sandbox.level == "full"


def test_the_next_one_is_graded_as_if_nothing_had_happened(ring):
    report = ring.grade("", None)
    assert report.score.earned == report.score.possible > 0
    assert ring.place.harm() == []


def _bounds(earned: int | list[int]) -> tuple[int, int]:
    return (earned, earned) if isinstance(earned, int) else (earned[0], earned[1])


def _assert_complete(report: Report) -> None:
    """Nothing is lost: every check is there, and the points are theirs."""
    assert report.status == "graded"
    assert report.checks
    assert report.score.earned == sum(check.earned for check in report.checks)
    assert report.score.possible == sum(check.points for check in report.checks)
    assert all(check.earned in (0, check.points) for check in report.checks)
    assert all((check.earned > 0) == (check.status == "passed") for check in report.checks)


def _timeless(report: Report) -> Report:
    """It without what the clock says, whose digits may be any."""
    checks = [msgspec.structs.replace(check, duration_s=0.0) for check in report.checks]
    return msgspec.structs.replace(report, checks=checks, duration_s=0.0, started_at="")


def _assert_hidden(report: Report, student: str) -> None:
    """Of the digits that hidden checks saw, none is in what the student reads."""
    hidden = [check for check in report.checks if check.visibility is Visibility.HIDDEN]
    text = "\n".join(check.output.text for check in hidden)
    seen = {
        number[start : start + 9]
        for number in re.findall(r"seen (\d{18})", text)
        for start in (0, 9)
    }
    secrets = {digits for digits in seen if len(set(digits)) > 3}
    assert len(secrets) > 4
    # Six digits are enough to know a number, and never there by chance.
    assert {digits for digits in secrets if digits[:6] in student.replace(".", "")} == set()
