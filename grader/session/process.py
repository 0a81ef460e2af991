"""The student's module in a worker: started when needed, started again when lost."""

from __future__ import annotations

import time
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from grader.course.model import Assignment, Limits
from grader.report.model import Evidence
from grader.report.words import nearest
from grader.sandbox.client import Worker
from grader.sandbox.commands import Confinement, Layer
from grader.sandbox.eager import COMPILERS
from grader.sandbox.errors import WorkerLost, WorkerTimeout
from grader.sandbox.messages import (
    Analyse,
    Analysed,
    BeginCheck,
    Examine,
    Examined,
    ForbiddenUse,
    FromWorker,
    Load,
    Loaded,
    Raised,
    Ready,
    Request,
    Unusable,
)
from grader.sandbox.starting import Workers
from grader.session.errors import (
    MissingExport,
    OutOfTime,
    StudentError,
    SubmissionUnusable,
    student_error,
)
from grader.session.protocol import SandboxMode
from grader.session.requiring import refuse

OFF: list[Layer] = ["privileges", "user", "memory", "landlock", "seccomp"]
"""What a sandbox that is switched off leaves out: all but what guards against accidents."""

R = TypeVar("R", bound=FromWorker)
Mode: TypeAlias = Literal["whole", "definitions"]

SLOW_IMPORT_SECONDS = 2.0
"""A file that takes longer to import is imported once; later workers take its definitions."""

MOST_CHANGES, MOST_CHARACTERS = 6, 120
"""Of what a file set for its whole process, and was put back, so many are said."""

_UNCOMPILED = (
    "Your code asks to be compiled (torch.compile, torch.jit); it was graded as it is written, "
    "without being compiled."
)

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
        self.notes: list[str] = []
        self._defined: list[str] = []
        self._kinds: dict[str, str] = {}
        self._elsewhere: dict[str, str] = {}
        self._changed: list[str] = []
        self._uses: list[ForbiddenUse] = []
        self._is_read = not assignment.forbidden
        self._unread: WorkerLost | None = None
        self.missing: list[str] = []
        """Declared exports that the file does not give."""
        self.import_output: tuple[str, bool] = ("", False)

    @property
    def used(self) -> bool:
        """Whether the current worker has served an earlier check."""
        return self._checks_served > 1

    @cached_property
    def keeps_nothing(self) -> bool:
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
        return isinstance(reply, Examined) and reply.keeps_nothing

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
        if self._worker is not None:
            # A round trip of its own would cost as much as many a check's only call.
            self._worker.announce(BeginCheck(seed=seed))
        self._checks_served += 1

    def ask(
        self, request: Request, blob: bytes | bytearray, expected: type[R]
    ) -> tuple[R | Raised | Unusable, bytes | bytearray]:
        if self._worker is None:
            raise WorkerLost("it has ended during this check")
        reply, data = self._worker.request(request, blob, expected, self._check_deadline)
        self._note(reply)
        return reply, data

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
                suggestion = _where_it_is(self._elsewhere[export])
            raise MissingExport(f"Your file does not define {export}.{suggestion}")
        if self._kinds.get(export) == "other":
            raise MissingExport(f"Your {export} is neither a function nor a class.")

    def forbidden_uses(self) -> list[ForbiddenUse]:
        """Uses of what the assignment forbids: the source's, then what is noticed to run.

        The list grows as calls are made. Raises WorkerLost if looking at the source ended a worker.
        """
        if not self._is_read:
            self._read(self._spawn()).discard()
        if self._unread is not None:
            raise self._unread.with_traceback(None)
        return self._uses

    def _read(self, worker: Worker) -> Worker:
        """Look for what is forbidden in the source, while nothing of it has run in ``worker``.

        Returns a worker that is fit to run it: another one, if the source was too much for this.
        """
        self._is_read = True
        folder = self._main.parent
        helpers = sorted(path for path in folder.rglob("*.py") if path != self._main)
        self._start_clock(self._limits.import_seconds)
        try:
            for path in (self._main, *helpers):
                request = Analyse(path=str(path), forbidden=self._assignment.forbidden)
                reply, _ = worker.request(request, b"", Analysed, self._check_deadline)
                for use in reply.uses if isinstance(reply, Analysed) else []:
                    use.file = "" if path == self._main else str(path.relative_to(folder))
                    self._uses.append(use)
        except WorkerLost as lost:
            self._unread = lost
            return self._spawn()
        return worker

    def _note(self, reply: FromWorker) -> None:
        """Keep what a reply says has run. A name is kept once, and only one that was asked for."""
        kept = {use.name for use in self._uses}
        for name in dict.fromkeys(reply.tripped):
            if name in self._assignment.forbidden and name not in kept:
                self._uses.append(ForbiddenUse(name=name))
            # Not which: code that saw hidden inputs could choose one by them.
            if name in COMPILERS and _UNCOMPILED not in self.notes:
                self.notes.append(_UNCOMPILED)

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
            self.notes.append(
                _why_definitions_alone(problems["whole"], self._limits.import_seconds)
            )
        if self._changed:
            self.notes.append(_what_was_undone(self._changed))
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
        self._note(reply)
        if isinstance(reply, Raised):
            raise student_error(reply)
        assert isinstance(reply, Loaded)
        missing = [name for name in exports if name not in reply.exports]
        if self._mode is None:
            self._defined, self._kinds, self.missing = reply.defined[:200], reply.exports, missing
            self._self_contained, self._changed = reply.self_contained, reply.changed
            self._elsewhere = reply.elsewhere
        elif missing != self.missing:
            raise WorkerLost("it did not define the same once more")


def _where_it_is(place: str) -> str:
    kind, _, name = place[:MOST_CHARACTERS].partition(" ")
    found, why = {
        "class": (f"in the class {name}", "; if it takes self, take that away"),
        "function": (f"within the function {name}", ""),
    }.get(kind, ('under `if __name__ == "__main__":`, which is for running the file by itself', ""))
    return f" It is {found}: move it out, to the left margin{why}."


def _what_was_undone(changed: list[str]) -> str:
    words = [said[:MOST_CHARACTERS] for said in changed]
    if len(words) > MOST_CHANGES:
        words[MOST_CHANGES - 1 :] = [f"changes {len(words) - MOST_CHANGES + 1} settings more"]
    listed = " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
    return f"Your file {listed} when it is imported; that was undone for grading."


def _why_definitions_alone(problem: Exception, limit: float) -> str:
    advice = 'put what is not a definition under `if __name__ == "__main__":`.'
    if isinstance(problem, ModuleNotFoundError):
        advice = "only torch, numpy and the standard library are sure to be there."
    if isinstance(problem, WorkerTimeout):
        what = f"Your file was still running {limit:g} s after its import began"
    elif isinstance(problem, StudentError):
        line = f" at line {problem.frame.line}" if problem.frame else ""
        said = f" ({problem.raised.message[:200]})" if problem.raised.message else ""
        what = f"Your file raised {problem.raised.type}{said}{line} when it was imported"
    else:
        what = f"Your file ended the process when it was imported ({problem})"
    return f"{what}, so its imports, definitions and simple assignments were graded alone: {advice}"
