"""What crosses between the trusted side and the two confined workers of one run.

One worker runs the student's tests. The other holds their subject, one variant of the assignment's
code: a right answer or a fault. The two are not connected: a question of the tests goes to the
trusted side, which asks the subject.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from grader.course.model import Export
from grader.wire.commands import Done, FromWorker, Ready
from grader.wire.messages import (
    Attribute,
    Backward,
    Call,
    Convert,
    Gradients,
    Inspect,
    Inspected,
    LoadWeights,
    Raised,
    Read,
    Returned,
    Unusable,
)


class _Message(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag=True, tag_field="is"):
    pass


Question: TypeAlias = Call | Backward | Attribute | Inspect | Read | LoadWeights | Convert
"""What tests may ask of the subject."""
Reply: TypeAlias = Returned | Gradients | Inspected | Raised | Unusable


# Trusted side to the worker of the tests, and back.


class RunTests(_Message):
    """Run a file of tests, for which a module of this name has these exports."""

    path: str
    module: str
    exports: dict[str, Export]
    seed: int


class Answered(_Message):
    reply: Reply
    random: bytes


class GoOn(_Message):
    """What was said is noted."""


class FromTests(FromWorker, kw_only=True):
    """A message of the worker that runs the tests, which the tests can forge."""


class Asked(FromTests):
    """A question to the subject, and the state of the random numbers that it goes on from."""

    question: Question
    random: bytes


class Ended(FromTests):
    """One test has ended; ``line`` is the line of the test that it reached."""

    test: str
    outcome: Literal["passed", "failed", "skipped"]
    message: str = ""
    line: int = 0


class AllEnded(FromTests):
    """Nothing more will be run; ``problem`` says why, where not all was."""

    problem: str = ""


# Trusted side to the worker of the subject, and back.


class LoadSubject(_Message):
    """Become this subject. The source comes in the message, so that there is no file to be read."""

    source: str
    module: str
    exports: list[str]


class Ask(_Message):
    question: Question
    random: bytes


class Answer(FromWorker):
    reply: Reply
    random: bytes


ToWorker: TypeAlias = RunTests | Answered | GoOn | LoadSubject | Ask
ToTrusted: TypeAlias = Ready | Asked | Ended | AllEnded | Answer | Done | Raised | Unusable
