"""What is said of a student's file itself, before and beside what its code does in checks."""

from __future__ import annotations

from grader.session.errors import StudentError
from grader.wire.commands import FromWorker
from grader.wire.errors import WorkerLost, WorkerTimeout
from grader.wire.messages import ForbiddenUse, Raised

MOST_CHANGES, MOST_CHARACTERS = 6, 120
"""Of what a file set for its whole process, and was put back, so many are said."""

UNCOMPILED = (
    "Your code asks to be compiled (torch.compile, torch.jit); it was graded as it is written, "
    "without being compiled."
)


def where_it_is(place: str) -> str:
    """Where in the file an export is defined that is not at its top: see ``loading``."""
    kind, _, name = place[:MOST_CHARACTERS].partition(" ")
    found, why = {
        "class": (f"in the class {name}", "; if it takes self, take that away"),
        "function": (f"within the function {name}", ""),
    }.get(kind, ('under `if __name__ == "__main__":`, which is for running the file by itself', ""))
    return f" It is {found}: move it out, to the left margin{why}."


def what_was_undone(changed: list[str]) -> str:
    """What the file set for its whole process when it was imported."""
    words = [said[:MOST_CHARACTERS] for said in changed]
    if len(words) > MOST_CHANGES:
        words[MOST_CHANGES - 1 :] = [f"changes {len(words) - MOST_CHANGES + 1} settings more"]
    listed = " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
    return f"Your file {listed} when it is imported; that was undone for grading."


def unread(why: FromWorker | WorkerLost) -> ForbiddenUse:
    """A file that could not be searched, and why not in fixed words."""
    if isinstance(why, WorkerTimeout):
        problem = "that did not end in time"
    elif isinstance(why, WorkerLost):
        problem = "that needs more memory than there is"
    elif isinstance(why, Raised) and why.type in ("MemoryError", "RecursionError"):
        problem = "it is nested too deeply"
    else:
        problem = "it is not the text of a program"
    return ForbiddenUse(name="", problem=problem)


def why_definitions_alone(problem: Exception, limit: float) -> str:
    """Why the file was not run as a whole, of which ``problem`` came; ``limit`` is in seconds."""
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
