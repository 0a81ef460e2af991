"""The student's module in a worker: started when needed, started again when lost."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from grader.course.model import Assignment, Limits
from grader.jobs.protocol import SandboxMode
from grader.report.model import Evidence
from grader.report.words import nearest
from grader.session.errors import (
    MissingExport,
    OutOfTime,
    StudentError,
    SubmissionUnusable,
    student_error,
)
from grader.session.student.file_words import (
    unread,
    what_was_undone,
    where_it_is,
    why_definitions_alone,
)
from grader.session.student.noted import Noted
from grader.wire.budget import Budget
from grader.wire.commands import Confinement, FromWorker, Layer, Ready
from grader.wire.errors import WorkerLost
from grader.wire.messages import (
    Analyse,
    Analysed,
    BeginCheck,
    Examine,
    Examined,
    ForbiddenUse,
    Load,
    Loaded,
    Raised,
    Request,
    Stub,
    Unusable,
)
from grader.workers.handle import Worker
from grader.workers.requiring import refuse
from grader.workers.starting import Workers

OFF: list[Layer] = ["privileges", "user", "memory", "landlock", "seccomp"]
"""What a sandbox that is switched off leaves out: all but what guards against accidents."""

R = TypeVar("R", bound=FromWorker)
Mode: TypeAlias = Literal["whole", "definitions"]

SLOW_IMPORT_SECONDS = 2.0
"""A file that takes longer to import is imported once; later workers take its definitions."""

UNIMPORTABLE = ("SyntaxError", "IndentationError", "TabError")
"""Raised of a source that no import can run either, so that nobody needs to search it."""

SHARE_OF_WHAT_IS_LEFT = 0.25
"""No check may take more of the submission's remaining time."""


class StudentProcess:
    """A transport to a worker that has imported the student's file."""

    def __init__(
        self,
        server: Workers,
        assignment: Assignment,
        main: Path,
        *,
        definitions_first: bool = False,
        sandbox: SandboxMode = "auto",
    ) -> None:
        self._server = server
        self._assignment = assignment
        self._limits: Limits = assignment.limits
        self._main = main
        self._worker: Worker | None = None
        self._definitions_first = definitions_first
        self._sandbox = sandbox
        self._mode: Mode | None = None
        self._import_seconds = 0.0
        self._self_contained = False
        self._checks_served = 0
        self._unusable: Exception | None = None
        self._submission_deadline = time.monotonic() + self._limits.submission_seconds
        self._check_deadline = self._submission_deadline
        self.ready: Ready | None = None
        """What the first worker said of its confinement, before any student code ran."""
        self.input_writes = 0
        self.inputs_closed = False
        self.curves: list[Evidence] = []
        self.budget = Budget()
        self._noted = Noted(assignment.forbidden)
        self.raised_in_public = self._noted.raised_in_public
        self.notes = self._noted.notes
        self._defined: list[str] = []
        self._kinds: dict[str, str] = {}
        self._elsewhere: dict[str, str] = {}
        self._changed: list[str] = []
        self._is_read = not assignment.forbidden
        self.fills_memory = False
        """Whether uninitialised memory of torch's is to be told from what was computed."""
        self.stubs: dict[str, Stub] = {}
        """Those that nobody has filled in, by how they end."""
        self.missing: list[str] = []
        """Declared exports that the file does not give."""
        self.import_output: tuple[str, bool] = ("", False)

    @property
    def used(self) -> bool:
        """Whether the current worker has served an earlier check."""
        return self._checks_served > 1

    @cached_property
    def is_stateless(self) -> bool:
        """Whether what the file does in a check cannot depend on earlier ones.

        The worker says so, from the source. What a forged answer could cost is a second try.
        """
        if self._worker is None or len(list(self._main.parent.rglob("*.py"))) > 1:
            return False
        self._start_clock(self._limits.import_seconds)
        try:
            reply, _ = self.ask(Examine(path=str(self._main)), b"", Examined)
        except WorkerLost:
            return False
        return isinstance(reply, Examined) and reply.is_stateless

    def begin_check(self, seed: int) -> None:
        """Make a worker ready for a check and start the check's time.

        Raises SubmissionUnusable if the file cannot be imported, OutOfTime at the end of the
        submission's time.
        """
        if time.monotonic() >= self._submission_deadline:
            raise OutOfTime
        self._ensure()
        # Checks that never end leave some time for those that come after them.
        left = max(0.0, self._submission_deadline - time.monotonic())
        self._start_clock(min(self._limits.check_seconds, left * SHARE_OF_WHAT_IS_LEFT))
        self.curves = []
        self.budget.begin_check()
        if self._worker is not None:
            # A round trip of its own would cost as much as many a check's only call.
            self._worker.announce(BeginCheck(seed=seed, fill=self.fills_memory))
        self._checks_served += 1

    def ask(
        self, request: Request, blob: bytes | bytearray, expected: type[R]
    ) -> tuple[R | Raised | Unusable, bytes | bytearray]:
        if self._worker is None:
            raise WorkerLost("it has ended during this check")
        reply, data = self._worker.request(request, blob, expected, self._check_deadline)
        self._noted.note(reply)
        return reply, data

    @property
    def sees_hidden(self) -> bool:
        """Whether hidden checks have begun, of whose inputs nothing may get out."""
        return self._noted.sees_hidden

    def begin_hidden(self) -> None:
        """Give hidden checks a worker of their own.

        From here on nothing is asked of a worker that a student is shown in numbers or words: a
        worker can leave word of what it has seen to a later one.
        """
        self.discard()
        self._noted.sees_hidden = True

    @contextlib.contextmanager
    def on_the_side(self, share: float) -> Iterator[None]:
        """Time that the submission's checks do not lose, as long as that share of theirs at most.

        Raises OutOfTime after it.
        """
        before, started = self._submission_deadline, time.monotonic()
        allowed = started + share * self._limits.submission_seconds
        self._submission_deadline = min(before, allowed)
        try:
            yield
        finally:
            self._submission_deadline = before + time.monotonic() - started

    def take_output(self) -> tuple[str, bool]:
        """What the student's code printed since the last time, and whether some was dropped."""
        return ("", False) if self._worker is None else self._worker.take_output()

    def discard(self) -> None:
        """End the current worker; the next check gets a fresh one."""
        if self._worker is not None:
            self._worker.discard()
            self._worker = None

    close = discard

    def require(self, export: str) -> None:
        """Raise MissingExport if the file lacks ``export``, or it is nothing to be called."""
        if export in self.missing:
            near = nearest(export, self._defined)
            suggestion = f" It defines {near}: is the name misspelt?" if near else ""
            if export in self._elsewhere:
                suggestion = where_it_is(self._elsewhere[export])
            raise MissingExport(f"Your file does not define {export}.{suggestion}")
        if self._kinds.get(export) == "other":
            raise MissingExport(f"Your {export} is neither a function nor a class.")

    def forbidden_uses(self) -> list[ForbiddenUse]:
        """Uses of what the assignment forbids: the source's, then what is noticed to run.

        The list grows as calls are made. What cannot be searched is among them.
        """
        if not self._is_read:
            self._read(self._spawn()).discard()
        return self._noted.uses

    def _read(self, worker: Worker) -> Worker:
        """Look for what is forbidden in the source, while nothing of it has run in ``worker``.

        Returns a worker that is fit to run it: another one, if the source was too much for this.
        """
        self._is_read = True
        folder = self._main.parent
        helpers = sorted(path for path in folder.rglob("*.py") if path != self._main)
        self._start_clock(self._limits.import_seconds)
        for path in (self._main, *helpers):
            request = Analyse(path=str(path), forbidden=self._assignment.forbidden)
            lost: WorkerLost | None = None
            uses: list[ForbiddenUse] = []
            try:
                reply, _ = worker.request(request, b"", Analysed, self._check_deadline)
                if isinstance(reply, Analysed):
                    uses = reply.uses
                elif not isinstance(reply, Raised) or reply.type not in UNIMPORTABLE:
                    uses = [unread(reply)]
            except WorkerLost as error:
                lost, uses = error, [unread(error)]
            for use in uses:
                use.file = "" if path == self._main else str(path.relative_to(folder))
            self._noted.uses += uses
            if lost is not None:
                return self._spawn()
        return worker

    def _start_clock(self, seconds: float) -> None:
        self._check_deadline = min(time.monotonic() + seconds, self._submission_deadline)

    def _spawn(self) -> Worker:
        confinement = Confinement(
            memory_bytes=self._limits.memory_bytes,
            cpu_seconds=int(self._limits.submission_seconds) + 1,
            without=OFF if self._sandbox == "off" else [],
        )
        asked = time.monotonic()
        worker = self._server.spawn(self._main.parent, confinement)
        worker.keep_output = self._limits.output_bytes
        worker.budget = self.budget
        ready = worker.wait_ready()
        # Where each worker has to import torch, that is not what the submission's time is for.
        self._submission_deadline += time.monotonic() - asked
        if self._sandbox == "require":
            refuse(ready.missing)
        self.ready = self.ready or ready
        return worker

    def _ensure(self) -> None:
        """Have a live worker with the file imported."""
        if self._unusable is not None:
            raise SubmissionUnusable(self._unusable)
        if self._worker is not None and self._worker.alive:
            return
        if self._mode is None:
            self._mode = self._choose_mode()
        elif self._try(self._mode) is not None:
            # Its words are not repeated: they could carry what an earlier worker has seen.
            raise SubmissionUnusable(WorkerLost("it could be imported once, and then no more"))

    def _choose_mode(self) -> Mode:
        """Import the file as it is, or by its definitions alone if that gives more; and keep it."""
        modes: list[Mode] = ["whole", "definitions"]
        if self._definitions_first:
            modes.reverse()
        problems: dict[Mode, Exception] = {}
        missing: dict[Mode, int] = {}
        for mode in modes:
            problem = self._try(mode)
            if problem is None:
                missing[mode] = len(self.missing)
                if not self.missing:
                    break
            else:
                problems[mode] = problem
                if isinstance(problem, StudentError) and problem.raised.kind == "syntax":
                    break
        if not missing:
            self._unusable = problems[modes[0]]
            raise SubmissionUnusable(self._unusable)
        best = min(missing, key=lambda mode: missing[mode])
        if best != mode and self._try(best) is not None:
            raise SubmissionUnusable(WorkerLost("it could be imported once, and then no more"))
        if best == "definitions" and "whole" in problems and not self._definitions_first:
            self.notes.append(why_definitions_alone(problems["whole"], self._limits.import_seconds))
        if self._changed:
            self.notes.append(what_was_undone(self._changed))
        if best == "whole" and self._import_seconds > SLOW_IMPORT_SECONDS:
            return "definitions" if self._definitions_suffice() else best
        return best

    def _definitions_suffice(self) -> bool:
        """Whether later workers may skip what makes the import slow."""
        found = self.missing
        kept, self._worker = self._worker, None
        suffice = self._try("definitions") is None and self.missing == found
        suffice = suffice and self._self_contained
        self.discard()
        self._worker = kept
        self.missing = found
        return suffice

    def _try(self, mode: Mode) -> Exception | None:
        """Import the file in a fresh worker; returns what went wrong."""
        self.discard()
        try:
            self._load(mode)
        except (StudentError, WorkerLost) as problem:
            self.discard()
            return problem
        return None

    def _load(self, mode: Mode) -> None:
        worker = self._spawn()
        if not self._is_read:
            worker = self._read(worker)
        self._worker = worker
        self._checks_served = 0
        exports = list(self._assignment.exports)
        request = Load(
            path=str(self._main),
            module=self._main.stem,
            exports=exports,
            definitions_only=mode == "definitions",
            forbidden=self._assignment.forbidden,
        )
        started = time.monotonic()
        self._start_clock(self._limits.import_seconds)
        try:
            reply, _ = worker.request(request, b"", Loaded, self._check_deadline)
        finally:
            self._import_seconds = time.monotonic() - started
            output = worker.take_output()
            if self._mode is None and (output[0] or not self.import_output[0]):
                self.import_output = output
        self._noted.note_what_ran(reply)
        if isinstance(reply, Raised):
            raise student_error(reply)
        assert isinstance(reply, Loaded)
        missing = [name for name in exports if name not in reply.exports]
        if self._mode is None:
            self._defined, self.missing = reply.defined[:200], missing
            self._kinds = {name: kind for name, kind in reply.exports.items() if name in exports}
            self._self_contained, self._changed = reply.self_contained, reply.changed
            self._elsewhere = reply.elsewhere
            self.stubs = {name: reply.stubs[name] for name in exports if name in reply.stubs}
        elif missing != self.missing:
            raise WorkerLost("it did not define the same once more")
