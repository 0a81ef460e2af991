"""Whether exports do any work: whether what they give back is computed from what they are given.

What a right answer gives back for two changes of its inputs together is not what it gives for one
and for the other, added up: attention multiplies and normalises. What a constant, a copy, a random
number, a sum or a fixed projection gives is. So the reference is asked at calls that the suite's
probes and demonstrations make anyway, each with its numbers changed in one half, in the other, and
in both; and where it combines its inputs, a submission has to. Where the reference only moves
numbers about, it is enough to depend on them, and to have some of the right ones somewhere; where
all inputs are sizes, to have some of the right ones, and not one number everywhere.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Sequence
from enum import Enum
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import torch

from grader.course.model import Assignment
from grader.diagnosis.probes import PROBE_SEED
from grader.session.checks.context import CheckContext, reference_context
from grader.session.diagnosis.varying import (
    CHANGES,
    EVERY,
    Given,
    Halves,
    Numbers,
    WorkTest,
    are_known,
    holds_right,
    is_similar,
    measure,
    numbers,
    shared,
    varied,
    varies_as_much,
)
from grader.session.errors import (
    GraderFault,
    NothingReturned,
    OutOfTime,
    SubmissionUnusable,
)
from grader.session.student.modules import RemoteModule
from grader.wire.errors import SandboxError, WorkerLost

MOST = 4
"""Calls that an export is asked at; one that shows work is enough."""
LEAST = 1e-3
"""Of what the reference shows at a call, what a submission has to."""

Run: TypeAlias = Callable[[Any], Any]
"""A probe or a demonstration: calls exports of the student that it is given."""


class SampleCall(NamedTuple):
    """The first call that ``run`` makes to ``export``, and what to ask there."""

    name: str
    run: Run
    export: str
    kinds: frozenset[str]
    test: WorkTest = WorkTest.COMBINES
    right: Numbers = []  # noqa: RUF012
    """What the reference gives there."""
    given: Numbers = []  # noqa: RUF012
    copies: bool = False
    """Whether that is nothing but numbers that it is given."""
    size: float = 0.0
    """How much of what is tested there is in that result of the reference which has least of it."""


class Work(Enum):
    """What an export showed at the calls that it was asked at."""

    SOME = "some"
    NONE = "none"
    UNKNOWN = "no call ended well"
    NAN = "nothing but NaN came back"
    NOTHING = "None came back"


class WorkTester:
    """What the reference does with its inputs at the calls that ``runs``, by name, make.

    Those that are ``public`` have inputs that anybody may know.
    """

    def __init__(
        self,
        assignment: Assignment,
        runs: Sequence[tuple[str, Run]],
        public: Collection[str] = (),
    ) -> None:
        self._assignment = assignment
        self._public = public
        self._runs = runs
        self._specimens: dict[str, list[SampleCall]] = {}
        self._unknown: dict[str, list[SampleCall]] = {}

    def idle(self, context: CheckContext, exports: Sequence[str]) -> dict[str, Work]:
        """Those of ``exports`` that do no work in the submission on ``context``, and what they do.

        What gives nothing but NaN has had something to compute, if anything else in the file does.
        """
        shown: dict[str, Work] = {}
        with contextlib.suppress(OutOfTime, SubmissionUnusable, WorkerLost):
            for name in exports:
                shown[name] = self._work(context, name)
        does_any = any(
            shown.get(name, Work.SOME) is Work.SOME and self._combines(name)
            for name in self._assignment.exports
        )
        none = {Work.NONE, Work.NOTHING} | (set() if does_any else {Work.NAN})
        return {name: work for name, work in shown.items() if work in none}

    def specimens(self, export: str) -> list[SampleCall]:
        """The calls to ask ``export`` at: those for the sharpest test that there are any for."""
        if export not in self._specimens:
            self._specimens[export] = self._find(export)
        return self._specimens[export]

    def _combines(self, export: str) -> bool:
        return any(one.test is WorkTest.COMBINES for one in self.specimens(export))

    def _find(self, export: str) -> list[SampleCall]:
        reference = reference_context(self._assignment, seed=PROBE_SEED)
        # Of a probe's sizes the first tells enough.
        runs = {name.partition("/")[0]: (name, run) for name, run in reversed(self._runs)}
        found: list[SampleCall] = []
        for name, run in reversed(runs.values()):
            found += _specimens(reference, name, run, export)
            combining = sum(one.test is WorkTest.COMBINES for one in found)
            if combining == MOST or len(found) - combining == 2 * MOST:
                break
        sharpest = min((one.test for one in found), default=None)
        return [one for one in found if one.test is sharpest][:MOST]

    def _work(self, context: CheckContext, export: str) -> Work:
        specimens = self.specimens(export)
        found = _shown(context, specimens, _answers, _one_by_one)
        if found is Work.UNKNOWN and self._assignment.exports[export].forward is not None:
            # The runs may ask for parameters that are not there, before they call anything.
            found = _shown(context, specimens, self._at_random, self._at_random)
        if found is Work.NONE and self._is_right_somewhere(context, export):
            return Work.SOME
        return found

    def _is_right_somewhere(self, context: CheckContext, export: str) -> bool:
        """Whether right numbers come back for inputs that nobody knows.

        What ignores an option, such as an offset, may be right without it.
        """
        if export not in self._unknown:
            self._unknown[export] = self._find_unknown(export)
        for specimen in self._unknown[export]:
            if holds_right(_plain(context, specimen), specimen.right, specimen.given):
                return True
        return False

    def _find_unknown(self, export: str) -> list[SampleCall]:
        reference = reference_context(self._assignment, seed=PROBE_SEED)
        found: list[SampleCall] = []
        for name, run in self._runs:
            specimen = SampleCall(name, run, export, frozenset())
            if name in self._public or len(found) == MOST:
                continue
            if right := _plain(reference, specimen):
                found.append(specimen._replace(right=right, given=_given(reference, specimen)))
        return found

    def _at_random(self, context: CheckContext, specimen: SampleCall) -> list[Numbers]:
        """What the call gives with every parameter drawn at random, whatever they are called."""
        reference = reference_context(self._assignment, seed=PROBE_SEED)
        made: list[Given] = []
        calls: list[Given] = []

        def ask(_: Callable[..., Any], *arguments: Any, **options: Any) -> None:
            calls.append((arguments, options))
            raise _Answered([])

        _interrupted(reference, specimen, ask, made)
        context.begin(specimen.name, seed=PROBE_SEED)
        module = getattr(context.student, specimen.export)(*made[-1][0], **made[-1][1]).eval()
        generator = torch.Generator().manual_seed(PROBE_SEED)
        with torch.no_grad():
            for parameter in module.parameters():
                parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
            given = [varied(calls[0], specimen.kinds, halves) for halves in EVERY]
            return [list(numbers(module(*args, **options), ())) for args, options in given]


def _plain(context: CheckContext, specimen: SampleCall) -> Numbers:
    """What the call gives as it is made; nothing where it ends in an error."""
    try:
        return _answers(context, specimen)[0]
    except (GraderFault, OutOfTime, SubmissionUnusable, SandboxError):
        raise
    except Exception:
        return []


def _shown(
    context: CheckContext,
    specimens: Sequence[SampleCall],
    ask: Callable[[CheckContext, SampleCall], list[Numbers]],
    ask_again: Callable[[CheckContext, SampleCall], list[Numbers]],
) -> Work:
    """What the answers to ``ask`` show, or else those to ``ask_again``."""
    found = Work.UNKNOWN
    for specimen in specimens:
        try:
            answers = ask(context, specimen)
            if not _is_work(answers, specimen):
                # What a module has kept of one call may stand in the way of the next.
                answers = ask_again(context, specimen)
        except (GraderFault, OutOfTime, SubmissionUnusable, SandboxError):
            raise
        except NothingReturned:
            found = Work.NOTHING if found in (Work.UNKNOWN, Work.NOTHING) else found
            continue
        except Exception:
            continue
        if not answers[0]:  # an object of which nothing is known
            continue
        if _is_work(answers, specimen):
            return Work.SOME
        if are_known(answers):
            found = Work.NONE
        elif found in (Work.UNKNOWN, Work.NOTHING):
            found = Work.NAN
    return found


def _is_work(answers: Sequence[Numbers], specimen: SampleCall) -> bool:
    def shows(asked: Sequence[Numbers], test: WorkTest) -> bool:
        return any(size >= LEAST * specimen.size for size in measure(asked, test))

    echoed = [_is_among(one, specimen.given) for one in answers[0]]
    if all(echoed) and not any(_is_among(one, specimen.given) for one in specimen.right):
        return False
    if shows(answers, specimen.test):
        # Where nothing has to be computed, right numbers are all that there is to look for.
        if specimen.test is WorkTest.VARIES and not varies_as_much(answers[0], specimen.right):
            return False
        return not (specimen.copies or specimen.test is WorkTest.VARIES) or is_similar(
            answers[0], specimen.right
        )
    plain, again, *moved, _ = answers
    # Places may add something of their own to the numbers that stand there.
    return "place" in specimen.kinds and all(
        shows([plain, again, plain, plain, one], WorkTest.DEPENDS) for one in moved
    )


def _is_among(result: torch.Tensor, given: Numbers) -> bool:
    """Whether a result is something that was given, as it is."""
    return any(torch.equal(result, one) for one in given)


def _specimens(reference: CheckContext, name: str, run: Run, export: str) -> list[SampleCall]:
    """What to ask at the call that ``run`` makes, if it makes one and that tells anything."""
    found: list[SampleCall] = []
    for kinds in CHANGES:
        specimen = SampleCall(name, run, export, kinds)
        try:
            answers = _answers(reference, specimen)
        except _NotCalled:
            break
        except Exception:  # not every number can be passed
            continue
        for test in WorkTest:
            sizes = [size for size in measure(answers, test) if 0 < size < math.inf]
            if sizes:
                right, given = answers[0], _given(reference, specimen)
                every = torch.cat([one.flatten() for one in given]) if given else None
                found.append(
                    specimen._replace(
                        test=test,
                        right=right,
                        given=given,
                        copies=every is not None and all(shared(x, every) == 1.0 for x in right),
                        size=min(sizes),
                    )
                )
                break
        if found and found[-1].test is WorkTest.COMBINES:
            break
    return sorted(found, key=lambda one: one.test)[:1]


# -- asking ----------------------------------------------------------------------------------------


class _Answered(BaseException):
    """Ends a run once its call is answered. Not an Exception, which a probe may expect."""

    def __init__(self, answers: list[Numbers]) -> None:
        self.answers = answers


class _NotCalled(Exception):
    """A run does not call the export, or only what raises before that."""


class _Watched:
    """A student whose first call of ``export`` is answered by ``ask``."""

    def __init__(
        self, context: CheckContext, export: str, ask: Callable[..., Any], made: list[Given]
    ) -> None:
        self._context = context
        self._export = export
        self._ask = ask
        self._made = made

    def __getattr__(self, name: str) -> Any:
        thing = getattr(self._context.student, name)
        if name != self._export:
            return thing
        if self._context.assignment.exports[name].forward is None:
            return partial(self._ask, thing)
        return partial(self._construct, thing)

    def _construct(self, thing: Any, *arguments: Any, **options: Any) -> Any:
        self._made.append((arguments, options))
        made = thing(*arguments, **options)
        if isinstance(made, RemoteModule):
            vars(made)["forward"] = partial(self._ask, made.forward)
        return made


def _answers(context: CheckContext, specimen: SampleCall) -> list[Numbers]:
    """What the call gives for EVERY change of its inputs.

    Where two equal calls differ, each is made from the same random numbers.
    """
    answers = _run(context, specimen, EVERY)
    if all(map(torch.equal, answers[0], answers[1])):
        return answers
    return _one_by_one(context, specimen)


def _one_by_one(context: CheckContext, specimen: SampleCall) -> list[Numbers]:
    """What the call gives for EVERY change, each time the first of a run of its own."""
    if specimen.test is WorkTest.VARIES:  # a random result would be the same each time
        return _run(context, specimen, EVERY)
    return [_run(context, specimen, [halves])[0] for halves in EVERY]


def _run(context: CheckContext, specimen: SampleCall, asked: Sequence[Halves]) -> list[Numbers]:
    attributes = context.assignment.exports[specimen.export].options

    def ask(call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        answers = []
        for halves in asked:
            positional, named = varied((arguments, options), specimen.kinds, halves)
            result = call(*positional, **named)
            if result is None:
                raise NothingReturned("None is returned.")
            answers.append(list(numbers(result, attributes)))
        raise _Answered(answers)

    return _interrupted(context, specimen, ask)


def _given(context: CheckContext, specimen: SampleCall) -> Numbers:
    """The tensors that the call is given, without truths, which are all alike."""

    def ask(_: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        given = numbers([*arguments, *options.values()], ())
        raise _Answered([[one for one in given if len(set(one.flatten().tolist())) > 2]])

    return _interrupted(context, specimen, ask)[0]


def _interrupted(
    context: CheckContext,
    specimen: SampleCall,
    ask: Callable[..., None],
    made: list[Given] | None = None,
) -> list[Numbers]:
    """What ``ask`` raises in the place of the call; ``made`` gets what modules are made with."""
    made = [] if made is None else made
    context.begin(specimen.name, seed=PROBE_SEED)
    try:
        with torch.no_grad():
            specimen.run(_Watched(context, specimen.export, ask, made))
    except _Answered as done:
        return done.answers
    finally:
        context.constants.restore()
    raise _NotCalled(specimen.name)
