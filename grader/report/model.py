"""The report: the results of one grading as data.

Every export is made from these classes and from nothing else; ``schema.json`` beside this file
describes the JSON they encode to.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

import msgspec

SCHEMA_VERSION: Final = 1


class Status(StrEnum):
    """What became of one check."""

    PASSED = "passed"
    FAILED = "failed"
    """The student's code ran, and what it returned is wrong."""
    ERROR = "error"
    """The student's code raised, or could not be imported."""
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    """The process that ran the student's code died or broke the protocol."""
    NOT_RUN = "not-run"
    NOT_STARTED = "not-started"
    """The stub is untouched: it raised NotImplementedError."""
    SKIPPED = "skipped"


class Visibility(StrEnum):
    PUBLIC = "public"
    HIDDEN = "hidden"


class Audience(StrEnum):
    """Whom a report is for; an instructor's holds more (``Report.for_student`` takes it out)."""

    STUDENT = "student"
    INSTRUCTOR = "instructor"


class Score(msgspec.Struct, frozen=True, kw_only=True):
    earned: int
    possible: int

    @property
    def percent(self) -> float:
        """The share earned, 0 to 100; 0 where nothing could be earned."""
        return 100.0 * self.earned / self.possible if self.possible else 0.0


class AssignmentInfo(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    suite_digest: str
    """SHA-256 of the suites and the assignment file: equal digests, equal checks."""


class FileInfo(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    digest: str


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Who handed something in, according to a platform's export; unknown fields are empty."""

    student: str
    """What a batch calls them, and nobody else of the same class."""
    name: str
    """As the platform writes it; often the student's own choice."""
    platform: str = ""
    """Whose ``id`` and ``login`` it is: ``canvas``, ``moodle``, ``gradescope``, ..."""
    id: str = ""
    login: str = ""
    email: str = ""


class SubmissionInfo(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    digest: str
    files: list[FileInfo] = []
    uses: list[str] = []
    """Ids of the earlier assignments whose files it imports."""
    people: list[Person] = []
    """Whose it is, of a group all members; only in an instructor's report of a batch."""


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the student's own file; ``text`` is that line."""

    file: str
    line: int
    text: str = ""


Shown: TypeAlias = Literal["", "weights", "mask", "moves", "reach"]
"""What a matrix is: attention weights or a mask, of queries by keys; which logits move when a token
is changed; which outputs a gradient leads back from to which inputs. Or else nothing in particular.
"""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The student's result beside the expected one, on the handout's own inputs.

    A curve is of a training on inputs that are not shown; of a hidden check only an instructor's
    report has it.

    ``yours`` and ``expected`` are nested lists of rounded numbers, or text; what is not finite
    becomes text (``nan``, ``inf``, ``-inf``).
    """

    demonstration: str
    """The title of the demonstration the numbers come from."""
    name: str
    """Which result of it: ``weights``, ``output``, ..."""
    yours: Any
    expected: Any
    kind: Literal["numbers", "curve"] = "numbers"
    """Of a curve ``yours`` is one number a step, ``expected`` the level it comes down to, or null.
    """
    shows: Shown = ""
    """How its pictures are labelled; the name is for people."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "yours", _plain(self.yours))
        msgspec.structs.force_setattr(self, "expected", _plain(self.expected))


def _plain(value: Any) -> Any:
    """``value`` as JSON can hold it: no tuples, and NaN and infinity, which it lacks, as words."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


class Output(msgspec.Struct, frozen=True, kw_only=True):
    text: str = ""
    truncated: bool = False


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    title: str
    family: str
    points: int
    earned: int
    status: Status
    visibility: Visibility
    message: str = ""
    """What is wrong, in plain words; never holds anything of a hidden input."""
    hint: str = ""
    location: Location | None = None
    evidence: list[Evidence] = []
    detail: str = ""
    """Numbers and tracebacks; of a hidden check only in an instructor's report."""
    because: str | None = None
    """Id of the check whose failure explains this one."""
    open_imports: list[str] = []
    """Ids of the assignments that lost points themselves, whose files the submission imports."""
    state_dependent: bool = False
    """Passed only in a fresh process: something that ran earlier disturbed it."""
    output: Output = Output()
    """What the student's code printed; of a hidden check only in an instructor's report."""
    duration_s: float = 0.0
    """0 of a hidden check in a student's report: how long to take is the student's code's choice,
    which could tell hidden inputs by it."""

    def for_student(self) -> CheckResult:
        """This result without what would give a hidden check away."""
        if self.visibility is Visibility.PUBLIC:
            return self
        # A curve is what the student's own process said, who may have put hidden inputs into it.
        evidence = [shown for shown in self.evidence if shown.kind != "curve"]
        return msgspec.structs.replace(
            self, detail="", output=Output(), evidence=evidence, duration_s=0.0
        )


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """A misconception that the submission's behaviour matches, with the others of its report.

    ``faults`` are those that cannot be told apart, of which it is one.
    """

    faults: list[str]
    message: str
    hint: str
    belief: str = ""
    exactness: float
    """Largest difference between the submission and the fault over the probes it explains."""
    probes: int
    """On how many probes the submission is wrong as the fault is."""
    complete: bool = True
    """Whether nothing else that is wrong was seen."""
    checks: list[str] = []
    """Ids of the failed checks that it explains, the most typical first: a right answer with it
    alone fails them alike."""


class Lateness(msgspec.Struct, frozen=True, kw_only=True):
    """How late a submission was, and the penalty."""

    due: str
    """ISO 8601, with its offset from UTC; so is ``handed_in``."""
    handed_in: str
    source: str
    """Where that time was found: what the platform says, git, or the file's own date."""
    days: int
    """Days that have begun since it was due."""
    penalty: int
    """Points taken off what was earned."""
    earned: int
    """What counts: the score's points less the penalty, never less than 0."""


class SandboxInfo(msgspec.Struct, frozen=True, kw_only=True):
    level: Literal["full", "partial", "none"]
    enforced: list[str] = []
    not_enforced: list[str] = []


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    grader: str
    python: str
    torch: str
    platform: str


class Report(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="report"):
    """One submission, graded for one assignment."""

    schema_version: Literal[1] = SCHEMA_VERSION
    assignment: AssignmentInfo
    submission: SubmissionInfo
    status: Literal["graded", "not-started", "not-gradable"]
    audience: Audience = Audience.STUDENT
    score: Score
    """The sum of its checks; ``final`` is what counts."""
    lateness: Lateness | None = None
    """None where it was in time, or the course does not say when it is due."""
    message: str = ""
    """What is to be said of the submission as a whole, such as why it could not be graded."""
    notes: list[str] = []
    """What the grader did on its own account: lines left out, definitions graded alone, ..."""
    open_imports: list[str] = []
    """Ids of the assignments that lost points themselves, whose files the submission imports."""
    checks: list[CheckResult] = []
    diagnosis: list[Diagnosis] = []
    output: Output = Output()
    """What the student's code printed while it was imported."""
    sandbox: SandboxInfo
    environment: Environment
    seed: int
    started_at: str
    """ISO 8601, with its offset from UTC."""
    duration_s: float
    """0 in a student's report of hidden checks, as theirs is."""

    @property
    def final(self) -> Score:
        """What counts: the score, less what being late costs."""
        if self.lateness is None:
            return self.score
        return Score(earned=self.lateness.earned, possible=self.score.possible)

    @property
    def unprotected(self) -> list[str]:
        """The guarantees to report as missing; to students only if a promise did not hold."""
        told = self.audience is Audience.INSTRUCTOR or self.sandbox.level != "full"
        return self.sandbox.not_enforced if told else []

    def for_student(self) -> Report:
        """What a student may see: no detail, output or time of hidden checks, nobody's address."""
        hidden = any(check.visibility is Visibility.HIDDEN for check in self.checks)
        return msgspec.structs.replace(
            self,
            audience=Audience.STUDENT,
            submission=msgspec.structs.replace(self.submission, people=[]),
            checks=[check.for_student() for check in self.checks],
            duration_s=0.0 if hidden else round(self.duration_s, 1),
        )


class CourseReport(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="course-report"
):
    """Several assignments of one submitter, graded in one run."""

    schema_version: Literal[1] = SCHEMA_VERSION
    course: str
    score: Score
    reports: list[Report]

    @property
    def final(self) -> Score:
        """What counts: the score, less what being late costs."""
        return total([report.final for report in self.reports])

    def for_student(self) -> CourseReport:
        """What a student may see of every assignment."""
        return msgspec.structs.replace(
            self, reports=[report.for_student() for report in self.reports]
        )


def total(scores: list[Score]) -> Score:
    """The sum of several scores."""
    return Score(
        earned=sum(score.earned for score in scores),
        possible=sum(score.possible for score in scores),
    )


def joined(title: str, reports: list[Report]) -> Report | CourseReport:
    """The only one of ``reports``, or a course's report with this ``title``."""
    if len(reports) == 1:
        return reports[0]
    score = total([report.score for report in reports])
    return CourseReport(course=title, score=score, reports=reports)
