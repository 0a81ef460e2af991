"""What the checks of one assignment work with: the student, the reference and the seed."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path

from grader.confinement.readable import Readable, code_paths
from grader.course.model import Assignment, CourseError
from grader.course.submission import Submission, read_submission, stage, unpack
from grader.execution import loading
from grader.execution.executor import Executor
from grader.jobs.protocol import SandboxMode
from grader.report.model import Evidence
from grader.session.checks.constants import Constants
from grader.session.checks.draw import Draw
from grader.session.checks.outcomes import Outcome, outcome_of, without_secrets
from grader.session.errors import CheckFailure, GraderFault
from grader.session.student.lifecycle import StudentProcess
from grader.session.student.proxy import Student
from grader.session.student.transport import LocalTransport, Transport, TrustedReference
from grader.wire.budget import HELD_BYTES
from grader.wire.messages import ForbiddenUse
from grader.workers.starting import Workers

LEFT_OVER = HELD_BYTES // 8
"""Bytes that may be left of earlier checks before cycles are looked for."""
SHARE_ON_THE_SIDE = 0.25
"""Of a submission's time, what demonstrations and probes may take besides."""


class CheckContext:
    """One assignment with one student's module on it.

    ``process`` is None where the student is a trusted module in this process.
    """

    def __init__(
        self,
        assignment: Assignment,
        transport: Transport,
        *,
        seed: int,
        process: StudentProcess | None = None,
        submission: Submission | None = None,
    ) -> None:
        self.assignment = assignment
        self.seed = seed
        self.process = process
        self.submission = submission
        self.constants = Constants()
        self.student = Student(transport, assignment.exports)
        self._transport = transport
        self._writes_before = 0

    def begin(self, name: str, *, seed: int | None = None) -> None:
        """Begin the check ``name``, its random numbers drawn from ``seed`` or else the run's."""
        self._writes_before = self._transport.input_writes
        draw = Draw(self.seed if seed is None else seed, name)
        self._transport.begin_check(draw.seed)
        if "_reference_executor" in vars(self):
            self._reference_executor.forget()
        if self._transport.budget.held > LEFT_OVER:
            gc.collect()  # a cycle of the suite's, such as every optimiser makes

    def limited(self) -> contextlib.AbstractContextManager[None]:
        """Where cases run. Raises TooLong for what takes too long, if nothing else sees to that.

        A worker's calls have limits of their own.
        """
        return contextlib.nullcontext()

    def attribute(self, error: BaseException | None) -> BaseException | None:
        """What really ended a check: inputs that the student spoilt are no fault of a reference."""
        if isinstance(error, GraderFault) and self._wrote_inputs:
            return CheckFailure("Your code writes into its inputs, which spoils them for others.")
        return error

    def has_spoilt(self, outcome: Outcome) -> bool:
        """Whether a check has to be run again with its inputs closed, to say what it is to say.

        The next call would have had other inputs, and what is expected is often made from them: so
        that this can fail a check of something else, and also make one easier.
        """
        return self._wrote_inputs and not outcome.inputs_changed

    @cached_property
    def reference(self) -> Student:
        """The reference of the course's private side; raises GraderFault if there is none.

        What it raises is a fault of the grader's.
        """
        return Student(TrustedReference(self._reference_executor), self.assignment.exports)

    @cached_property
    def model_student(self) -> Student:
        """The reference, held to what a student is: what it raises, a demonstration may catch."""
        return Student(LocalTransport(self._reference_executor), self.assignment.exports)

    @cached_property
    def _reference_executor(self) -> Executor:
        path = self.assignment.reference
        if path is None:
            raise GraderFault("this check needs the reference, which this course does not have")
        return _trusted_executor(path, "grader_reference")

    @cached_property
    def forbidden_uses(self) -> list[ForbiddenUse]:
        """Where the submission uses what the assignment forbids."""
        if self.process is not None:
            return self.process.forbidden_uses()
        return []

    @property
    def _wrote_inputs(self) -> bool:
        """Whether the student's code has written into inputs of this check, which were open."""
        writes = self._transport.input_writes - self._writes_before
        return writes > 0 and not self._transport.inputs_closed

    def outcome_of(self, error: BaseException | None) -> Outcome:
        """The outcome of a check that ``error`` ended, fit to be shown to a student."""
        outcome = outcome_of(error, self.submission)
        if self.process is None or self.submission is None or not self.process.sees_hidden:
            return outcome
        return without_secrets(outcome, error, self.process.raised_in_public, self.submission)

    @contextlib.contextmanager
    def inputs_closed(self) -> Iterator[None]:
        """Keep what the student's code writes into its inputs away from the checks."""
        self._transport.inputs_closed = True
        try:
            yield
        finally:
            self._transport.inputs_closed = False

    @property
    def is_stub(self) -> bool:
        """Whether the submission is an untouched stub."""
        return (
            self.process is not None and self.assignment.exports.keys() <= self.process.stubs.keys()
        )

    def can_retry(self, outcome: Outcome) -> bool:
        """Whether a check that ended so might do better in a fresh worker."""
        if self.process is None or not self.process.used or not outcome.may_improve:
            return False
        return not (outcome.is_repeated and self.process.is_stateless)

    def renew(self) -> None:
        """Use a fresh worker from here on, if earlier calls could have changed this one."""
        if self.process is None or not self.process.is_stateless:
            self.discard()

    def begin_hidden(self) -> None:
        """Begin the hidden checks, in a new worker."""
        if self.process is not None:
            self.process.begin_hidden()

    @property
    def sees_hidden(self) -> bool:
        """Whether hidden checks have begun; never where none of a student's is run."""
        return self.process is not None and self.process.sees_hidden

    @contextlib.contextmanager
    def memory_filled(self) -> Iterator[None]:
        """Have memory that the student's code leaves as torch hands it out hold NaN."""
        if self.process is not None:
            self.process.fills_memory = True
        try:
            yield
        finally:
            if self.process is not None:
                self.process.fills_memory = False

    @contextlib.contextmanager
    def on_the_side(self) -> Iterator[None]:
        """A block whose time does not count for the checks; raises OutOfTime if it is too long."""
        if self.process is None:
            yield
        else:
            with self.process.on_the_side(SHARE_ON_THE_SIDE):
                yield

    def discard(self) -> None:
        """Use a fresh worker for the next check."""
        if self.process is not None:
            self.process.discard()

    def take_evidence(self) -> list[Evidence]:
        """The evidence of the current check, which is then forgotten."""
        evidence, self._transport.curves = self._transport.curves, []
        return evidence

    def take_called(self) -> list[str]:
        """The student's exports that were asked for since the last time."""
        called, self.student.called = self.student.called, set()
        return sorted(called)

    def take_output(self) -> tuple[str, bool]:
        """What the student's code printed since the last time, and whether some was dropped."""
        return ("", False) if self.process is None else self.process.take_output()


def reference_context(assignment: Assignment, *, seed: int) -> CheckContext:
    """A context on which the reference is the student."""
    if assignment.reference is None:
        raise GraderFault("without --submission the reference is graded, and there is none")
    executor = _trusted_executor(assignment.reference, "grader_student")
    return CheckContext(assignment, LocalTransport(executor), seed=seed)


def _trusted_executor(path: Path, name: str) -> Executor:
    executor = Executor(own_process=False)
    executor.use(loading.load(str(path), name))
    return executor


def submission_context(
    path: Path,
    assignment: Assignment,
    directory: Path,
    server: Workers,
    *,
    seed: int,
    earlier: Sequence[Assignment] = (),
    later: Sequence[Assignment] = (),
    chain: bool = False,
    sandbox: SandboxMode = "auto",
    packed: bool = False,
    beside: Path | None = None,
) -> CheckContext:
    """A context for a submission, staged in ``directory``, which is made.

    With ``packed``, ``path`` is a file that holds what ``pack`` gave of it.
    Raises NotGradable, and CourseError for a course that workers could read.
    """
    refuse_readable([path, assignment.reference, assignment.hidden_suite])
    if packed:
        submission = unpack(path.read_bytes())
    else:
        submission = read_submission(
            path, assignment, earlier=earlier, later=later, chain=chain, beside=beside
        )
    directory.mkdir(mode=0o755)
    main = stage(submission, directory)
    process = StudentProcess(
        server,
        assignment,
        main,
        definitions_first=submission.main.definitions_first,
        sandbox=sandbox,
    )
    return CheckContext(assignment, process, seed=seed, process=process, submission=submission)


def warm_up() -> None:
    """Find what workers may read, which every job asks for, before the first one does."""
    _readable()


@cache
def _readable() -> Readable:
    return code_paths()


def refuse_readable(private: list[Path | None]) -> None:
    """Raise CourseError if something private lies where workers have to read code."""
    for path in private:
        if path is not None and _readable().covers(path):
            raise CourseError(
                f"{path} lies among the installed code that every submission may read: move it "
                "somewhere else"
            )
