"""The outcome of one check: from the exception that ended it to words for the student."""

from __future__ import annotations

import builtins
import traceback
from collections.abc import Sequence
from typing import Any

import msgspec

from grader.course.helpers import left_words, unchained_words
from grader.course.submission import Submission
from grader.diagnosis.crashes import explain
from grader.diagnosis.torch_words import is_write_to_leaf, lacks_memory
from grader.report.model import Evidence, Location, Status
from grader.session.errors import (
    CheckFailure,
    GraderFault,
    InputsChanged,
    MissingExport,
    NothingReturned,
    OutOfTime,
    StudentError,
    SubmissionUnusable,
    WrongShape,
)
from grader.wire.errors import (
    OverBudget,
    ProtocolError,
    SandboxError,
    WorkerLost,
    WorkerTimeout,
)
from grader.wire.messages import Raised

MAX_DETAIL = 2000
OUT_OF_MEMORY = (
    "What your code returned takes more memory to look at than the grader has for one submission: "
    "something is far larger than it should be."
)


class Outcome(msgspec.Struct, kw_only=True):
    """How one run of one case of a check ended."""

    status: Status
    message: str = ""
    """Fit for a student's eyes even if the check is hidden."""
    detail: str = ""
    """What only a public check, or an instructor's report, may show."""
    numbers: tuple[float, ...] = ()
    """What the detail tells of, if that has been measured."""
    hint: str = ""
    """A better one than the check's own, if there is one."""
    location: Location | None = None
    signature: str = ""
    """Equal for errors that have one cause: their type and line, and what they mean."""
    error: str = ""
    """The type of the error that the student's code raised, if that is what became of it."""
    lacks_memory: bool = False
    """Whether there may have been too little memory for the student's code."""
    wrote_to_leaf: bool = False
    """Whether torch refused a write into an input whose gradient is asked for."""
    unusable: bool = False
    """What the check needs is not there: the file cannot be imported, or lacks the export."""
    wrong_shape: bool = False
    """What came back has another shape than it should, and so has other numbers too."""
    nothing_returned: bool = False
    """None came back."""
    inputs_changed: bool = False
    """Whether the check is about what is written into inputs, and found some."""
    state_dependent: bool = False
    output: str = ""
    truncated: bool = False
    seconds: float = 0.0
    evidence: list[Evidence] = []
    """What the check itself has to show: the losses of a training."""
    exports: list[str] = []
    """Those of the student's exports that the check asked for."""

    @property
    def passed(self) -> bool:
        return self.status is Status.PASSED

    @property
    def is_wrong(self) -> bool:
        """Whether the student's result was examined and is wrong."""
        return not self.unusable and self.status in (Status.FAILED, Status.ERROR)

    @property
    def may_improve(self) -> bool:
        """Whether a fresh worker could give another outcome."""
        return not self.unusable and self.status not in (
            Status.PASSED,
            Status.NOT_STARTED,
            Status.NOT_RUN,
            Status.SKIPPED,
        )

    @property
    def is_repeated(self) -> bool:
        """Whether code that keeps nothing ends so each time: memory and time may run short once."""
        return self.status is Status.FAILED or (
            self.status is Status.ERROR and not self.lacks_memory
        )


def outcome_of(error: BaseException | None, submission: Submission | None) -> Outcome:
    """Classify what ended a check. Raises GraderFault if the student's code is not to blame."""
    match error:
        case None:
            return Outcome(status=Status.PASSED)
        case SubmissionUnusable():
            outcome = outcome_of(error.cause, submission)
            outcome.unusable = True
            return _import_words(outcome, error.cause, submission)
        case GraderFault() | SandboxError():
            raise error
        case StudentError():
            return _raised(error, submission)
        case MissingExport():
            words = str(error)
            return Outcome(status=Status.ERROR, message=words, signature=words, unusable=True)
        case WorkerTimeout():
            return Outcome(
                status=Status.TIMEOUT,
                message="Your code did not finish in time. Is there a loop that never ends?",
            )
        case OverBudget():
            return Outcome(
                status=Status.FAILED, message=f"Your code returned too much: {error.how}."
            )
        case ProtocolError():
            words = f"Your code disturbed the process that runs it: {error.how}."
            return Outcome(status=Status.CRASHED, message=words, signature=words)
        case WorkerLost():
            words = f"Your code ended its own process: {error.how}."
            return Outcome(status=Status.CRASHED, message=words, signature=words)
        case OutOfTime():
            return Outcome(
                status=Status.NOT_RUN,
                message="Not run: the time for the whole submission was used up.",
            )
        case NothingReturned():
            hint = "Where does your code hand its result back? What is printed is not returned."
            return Outcome(
                status=Status.FAILED, message=error.message, hint=hint, nothing_returned=True
            )
        case CheckFailure():
            return Outcome(
                status=Status.FAILED,
                message=error.message,
                detail=error.detail[:MAX_DETAIL],
                numbers=error.numbers,
                inputs_changed=isinstance(error, InputsChanged),
                wrong_shape=isinstance(error, WrongShape),
            )
        case AssertionError():
            return Outcome(
                status=Status.FAILED,
                message="This property does not hold.",
                detail=str(error)[:MAX_DETAIL],
            )
    if is_out_of_memory(error):
        return Outcome(status=Status.FAILED, message=OUT_OF_MEMORY)
    if type(error).__name__ == "Skipped":
        return Outcome(status=Status.SKIPPED, message=str(error))
    return Outcome(
        status=Status.FAILED,
        message="What your code returned could not be examined: it does not have the right form.",
        detail="".join(traceback.format_exception(error, limit=-3))[-2000:],
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the session itself ran out of memory."""
    return isinstance(error, MemoryError) or (
        type(error) is RuntimeError and "can't allocate memory" in str(error)
    )


def _raised(error: StudentError, submission: Submission | None) -> Outcome:
    raised = error.raised
    location = _locate(error, submission)
    if error.is_stub:
        if submission is not None and location and location.file != submission.main.name:
            words = f"Your {location.file}, which this imports, is an untouched stub."
            return Outcome(status=Status.ERROR, message=words, location=location, signature=words)
        return Outcome(status=Status.NOT_STARTED, message="Not started.", location=location)
    advice = _missing_advice(raised.message, submission)
    if advice and "ModuleNotFoundError" in raised.bases:
        return _errored(error, location, advice)
    if raised.kind == "raised":
        text = location.text if location else ""
        crash = explain([raised.type, *raised.bases], raised.message, text)
        if crash is not None:
            return _errored(error, location, crash.words, hint=crash.hint, meaning=crash.words)
    return _errored(error, location)


def _errored(
    error: StudentError,
    location: Location | None,
    more: str = "",
    *,
    hint: str = "",
    meaning: str = "",
) -> Outcome:
    raised = error.raised
    types = [raised.type, *raised.bases]
    return Outcome(
        status=Status.ERROR,
        message=f"{_what_and_where(error, location)} {more}".rstrip(),
        hint=hint,
        detail=raised.message,
        location=location,
        signature=f"{raised.kind}/{raised.type}/{location.line if location else 0}/{meaning}",
        error=f"{raised.kind}/{raised.type}",
        lacks_memory=lacks_memory(types, raised.message),
        wrote_to_leaf=is_write_to_leaf(types, raised.message),
    )


def _what_and_where(error: StudentError, location: Location | None) -> str:
    where = f" at line {location.line}" if location else ""
    return {
        "syntax": f"Python cannot read your file: there is a syntax error{where}.",
        "signature": "Your code cannot be called the way the assignment declares.",
        "weights": "The declared parameters could not be set in your module.",
    }.get(error.raised.kind, f"Your code raised {type_in_words(error)}{where}.")


_WITHOUT_PLACE = ("signature", "weights")
"""Kinds of errors whose words do not name a line."""

UNTOLD = (
    "Your code raised an error on an input that is not shown. Make one of this kind and try it "
    "yourself."
)


def without_secrets(
    outcome: Outcome, error: BaseException | None, met: Sequence[Raised], submission: Submission
) -> Outcome:
    """What a student may be told of an ``outcome`` on hidden inputs, which ``error`` ended.

    Which error, at which line, meaning what: the code chooses that, and could tell an input by it.
    So it is told as far as it is among those ``met`` on inputs that anybody may see.
    """
    if outcome.unusable or not isinstance(error, StudentError):
        return outcome
    known = [_raised(StudentError(one), submission) for one in met]
    if any(_shown(one) == _shown(outcome) for one in known):
        return outcome
    if outcome.status is Status.NOT_STARTED:
        return msgspec.structs.replace(outcome, location=None)
    if error.raised.kind in _WITHOUT_PLACE:
        return _errored(error, None)
    alike = any((one.error, one.location) == (outcome.error, outcome.location) for one in known)
    if alike and outcome.error:
        return _errored(error, outcome.location)
    return msgspec.structs.replace(
        outcome, message=UNTOLD, hint="", location=None, signature="", detail=str(error)
    )


def _shown(outcome: Outcome) -> tuple[object, ...]:
    return outcome.status, outcome.message, outcome.hint, outcome.location


def type_in_words(error: StudentError) -> str:
    """The error's type; a name that a student made up is not repeated, as it could carry data."""
    name = error.raised.type
    if isinstance(getattr(builtins, name, None), type):
        return name
    base = next(iter(error.raised.bases), "Exception")
    if base != "Exception" and isinstance(getattr(builtins, base, None), type):
        return f"an exception of its own (a {base})"
    return "an exception of its own"


def _locate(error: StudentError, submission: Submission | None) -> Location | None:
    """The line that raised, its text taken from our copy of the file and not from the worker."""
    frame = error.frame
    if frame is None:
        return None
    if submission is None:
        return Location(file=frame.file, line=frame.line, text=frame.text)
    sources = {submission.main.module: submission.main}
    sources |= {helper.module.rpartition(".")[2]: helper for helper in submission.helpers}
    source = sources.get(frame.file.removesuffix(".py"))
    if source is None:
        return None
    lines = source.text.split("\n")
    if not 0 < frame.line <= len(lines):
        return None
    text = lines[frame.line - 1].strip()
    if source.origins is not None:
        origin = source.origins[frame.line - 1] if frame.line <= len(source.origins) else ""
        text = f"{text}  ({origin})" if origin else text
    return Location(file=source.name, line=frame.line, text=text[:200])


def _missing_advice(message: str, submission: Submission | None) -> str:
    """What to say where a module is missing that was there and not taken; else nothing."""
    if submission is None:
        return ""
    for modules, words in ((submission.unchained, unchained_words), (submission.left, left_words)):
        for module in modules:
            if f"'{module}'" in message:
                return words(module)
    return ""


def _import_words(outcome: Outcome, cause: Exception, submission: Submission | None) -> Outcome:
    """Say that it happened at import, where no hidden input is near: the message can be shown."""
    if isinstance(cause, WorkerTimeout):
        outcome.message = "Your file was still running when the time for importing it was over."
    elif isinstance(cause, WorkerLost):
        outcome.message = f"Importing your file ended the process: {cause.how}."
    elif isinstance(cause, StudentError):
        raised = cause.raised
        if raised.kind != "syntax":
            outcome.message = f"Importing your file raised {raised.type}."
        if outcome.location is not None and raised.kind != "syntax":
            outcome.message = (
                f"Importing your file raised {raised.type} at line {outcome.location.line}."
            )
        if raised.message:
            outcome.message += f" {raised.message}"
        if "ModuleNotFoundError" in raised.bases:
            advice = _missing_advice(raised.message, submission)
            advice = advice or "Only torch, numpy and the standard library are sure to be there."
            outcome.message += f". {advice}"
    outcome.detail = ""
    outcome.signature = "import"
    return outcome


def as_property(outcome: Outcome) -> dict[str, Any]:
    """An outcome as the plain data that travels in a pytest report."""
    return msgspec.to_builtins(outcome)  # type: ignore[no-any-return]
