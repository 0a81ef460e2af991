"""How a check can end other than well, as the suites and the plugin see it."""

from __future__ import annotations

import builtins
from functools import cache

import msgspec

from grader.wire.budget import MAX_MESSAGE_TEXT
from grader.wire.messages import Frame, Raised

_MAX_NAME, _MAX_BASES = 200, 32


class Measured(str):
    """A detail with the numbers that it tells of, by which two failures are compared."""

    numbers: tuple[float, ...] = ()


def measured(words: str, *numbers: float) -> Measured:
    """``words`` formatted with ``numbers``, which stay known as such: for a failure's detail.

    Rounding may change them without making another failure of it.
    """
    detail = Measured(words.format(*numbers))
    detail.numbers = numbers
    return detail


class CheckFailure(AssertionError):
    """What the student's code returned is wrong.

    ``message`` is shown to the student even for hidden checks: it must be made of fixed words and
    of nothing that the student's code could have filled in. ``detail`` may hold numbers, best given
    by ``measured``; it is shown for public checks, and to instructors.
    """

    def __init__(self, message: str, detail: str = "") -> None:
        super().__init__(message if not detail else f"{message}\n{detail}")
        self.message = message
        self.detail = detail
        self.numbers = detail.numbers if isinstance(detail, Measured) else ()


class InputsChanged(CheckFailure):
    """A check of just that found the student's code to have written into its inputs."""


class WrongShape(CheckFailure):
    """What the student's code returned has another shape than it should."""


class NothingReturned(CheckFailure):
    """The student's code returned None."""


class TooLong(BaseException):
    """A case took longer than trusted source may take.

    Not an Exception, so that no code under test catches it by accident.
    """


class StudentError(Exception):
    """The student's code raised; also an instance of the built-in type that it raised."""

    def __init__(self, raised: Raised) -> None:
        self.raised = raised
        self.args = (str(self),)

    @property
    def frame(self) -> Frame | None:
        """The line of the student's file that raised."""
        return self.raised.frame

    @property
    def is_stub(self) -> bool:
        """Whether an untouched stub raised it, as opposed to torch, for an operation it lacks."""
        frame = self.raised.frame
        return (
            self.raised.type == "NotImplementedError"
            and frame is not None
            and frame.text.startswith("raise NotImplementedError")
        )

    def __str__(self) -> str:
        where = f" at line {self.frame.line} of {self.frame.file}" if self.frame else ""
        return f"{self.raised.type}{where}: {self.raised.message}"


class MissingExport(Exception):
    """The student's file does not define what the assignment asks for; the text says so."""


class GraderFault(Exception):
    """The suite or the reference is broken; never the student's fault."""


class SuiteFault(GraderFault):
    """The suite cannot be run at all, whoever's submission it is."""


class UndeclaredExport(SuiteFault, AttributeError):
    """A suite asks for an export that ``assignment.toml`` does not declare."""


class SubmissionUnusable(Exception):
    """The submission could not be imported, so that no check can run."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class OutOfTime(Exception):
    """The submission's own time is used up."""


def student_error(raised: Raised) -> StudentError:
    """The error to raise for what the student's code raised.

    Its words are cut again on this side: a report of longer ones could not be sent.
    """
    frame = raised.frame
    raised = msgspec.structs.replace(
        raised,
        type=raised.type[:_MAX_NAME],
        bases=[name[:_MAX_NAME] for name in raised.bases[:_MAX_BASES]],
        message=raised.message[:MAX_MESSAGE_TEXT],
        frame=frame and Frame(file=frame.file[:_MAX_NAME], line=frame.line, text=frame.text[:200]),
    )
    for name in raised.bases:
        error_class = _error_class(name) if hasattr(builtins, name) else None
        if error_class is not None:
            return error_class(raised)
    return StudentError(raised)


@cache
def _error_class(name: str) -> type[StudentError] | None:
    builtin = getattr(builtins, name)
    if not (isinstance(builtin, type) and issubclass(builtin, Exception)):
        return None
    try:
        made = type(f"Student{name}", (StudentError, builtin), {})
        made(Raised(kind="raised", type=name, bases=[name], message="", frame=None))
    except TypeError:
        return None
    return made
