"""Asking which misconception a submission shows: its probes run, the catalogue compared."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import torch

from grader.course.model import Assignment
from grader.diagnosis.catalogue import Catalogue, Fault
from grader.diagnosis.matching import Match, Matcher
from grader.diagnosis.probes import (
    PROBE_SEED,
    Signature,
    describe_error,
    distance,
    mark_random,
    observe,
)
from grader.report.model import Diagnosis
from grader.session.checks.context import CheckContext
from grader.session.checks.draw import ReplayedDraw
from grader.session.checks.sharing import probes
from grader.session.errors import (
    CheckFailure,
    GraderFault,
    MissingExport,
    OutOfTime,
    StudentError,
    SubmissionUnusable,
)
from grader.session.student.direct import DirectStudent
from grader.wire.errors import SandboxError


class Prober:
    """The probes of a suite, each at each of its sizes, numbered."""

    def __init__(self, suite: Any) -> None:
        self._runs: list[tuple[str, Callable[..., Any], dict[str, Any]]] = [
            (f"{name}/{index}", function, sizes)
            for name, function, declared in probes(suite)
            for index, sizes in enumerate(declared)
        ]
        self._draws = [ReplayedDraw(PROBE_SEED, name) for name, _, _ in self._runs]

    def __len__(self) -> int:
        return len(self._runs)

    def runs(self) -> list[tuple[str, Callable[[Any], dict[str, torch.Tensor]]]]:
        """The probes by name, each with the inputs that it always has."""
        return [(name, self._probe(number)) for number, (name, _, _) in enumerate(self._runs)]

    def observe_student(
        self, context: CheckContext, number: int, right: Signature, seed: int = PROBE_SEED
    ) -> Signature:
        """The signature of the submission on one probe, of which ``right`` is a right answer's.

        Raises WorkerLost.
        """
        context.begin(self._runs[number][0], seed=seed)
        return observe(self._probe(number), context.student, _describe, right)

    def mark_random(
        self, context: CheckContext, number: int, seen: Signature, right: Signature
    ) -> Signature:
        """``seen``, with what another random stream changes marked; raises WorkerLost."""
        return mark_random(seen, self.observe_student(context, number, right, PROBE_SEED + 1))

    def observe_module(
        self, student: DirectStudent, number: int, *, stream: int = 0
    ) -> tuple[Signature, bool]:
        """The signature of a trusted module on one probe, and whether it drew random numbers."""
        torch.default_generator.manual_seed(self._draws[number].seed + stream)
        before = torch.default_generator.get_state()
        seen = observe(self._probe(number), student, student.describe)
        return seen, not torch.equal(before, torch.default_generator.get_state())

    def _probe(self, number: int) -> Callable[[Any], dict[str, torch.Tensor]]:
        _, function, sizes = self._runs[number]
        return lambda student: function(student, self._draws[number].rewind(), **sizes)


class FaultModules:
    """An assignment's faults, built and run on the probes of its suite, each once.

    They serve any number of submissions. Raises CourseError for a broken catalogue.
    """

    def __init__(self, suite: Any, assignment: Assignment) -> None:
        self.prober = Prober(suite)
        self.catalogue = Catalogue(assignment)
        self._exports = assignment.exports
        self._students: dict[str, DirectStudent | None] = {}
        self._seen: dict[tuple[str, int], tuple[Signature, bool]] = {}

    def observe(self, source: str, number: int) -> Signature:
        """The signature of the module of ``source`` on the probe ``number``."""
        return self._observe(source, number)[0]

    def may_be_random(self, number: int) -> bool:
        """Whether a right answer draws random numbers on the probe ``number``."""
        return self._observe(self.catalogue.source, number)[1]

    def observe_singles(self, seconds: float = 1.0) -> None:
        """Observe fault by fault, for at most so much processor time.

        Probe by probe, as the search for a misconception starts with all faults on the first ones.
        """
        deadline = time.process_time() + seconds
        sources = [self.catalogue.source, *map(self.catalogue.build, self.catalogue)]
        for number in range(len(self.prober)):
            for source in sources:
                if source is not None and time.process_time() < deadline:
                    self.observe(source, number)

    def _observe(self, source: str, number: int) -> tuple[Signature, bool]:
        key = (source, number)
        if key not in self._seen:
            self._seen[key] = self._run(source, number)
        return self._seen[key]

    def _run(self, source: str, number: int) -> tuple[Signature, bool]:
        student = self._student(source)
        if student is None:
            return Signature(results=None, error="import"), False
        seen, draws = self.prober.observe_module(student, number)
        if draws and source != self.catalogue.source and not self.may_be_random(number):
            again, _ = self.prober.observe_module(student, number, stream=1)
            seen = mark_random(seen, again)
        return seen, draws

    def _student(self, source: str) -> DirectStudent | None:
        if source not in self._students:
            try:
                student = DirectStudent.of_source(source, "grader_fault", self._exports)
            except Exception:
                self._students[source] = None
            else:
                self._students[source] = student
        return self._students[source]


def diagnose(
    context: CheckContext,
    suite: Any,
    *,
    seconds: float = 1.0,
    modules: FaultModules | None = None,
) -> list[tuple[Diagnosis, Fault]]:
    """The misconceptions that the submission on ``context`` shows together: an entry each, or none.

    With each comes the fault of the catalogue that it is. ``modules`` are those of another
    submission to the same suite, so that nothing need be read or observed again.

    Raises WorkerLost, OutOfTime, SubmissionUnusable where the submission cannot be probed, and
    CourseError for a broken catalogue.
    """
    modules = modules or FaultModules(suite, context.assignment)
    return named(observed(context, modules), modules, seconds=seconds)


def observed(context: CheckContext, modules: FaultModules) -> list[Signature]:
    """What the submission on ``context`` does on every probe, if there is anything to compare.

    Raises as :func:`diagnose`.
    """
    prober, catalogue = modules.prober, modules.catalogue
    if not len(prober) or not len(catalogue):
        return []
    right = [modules.observe(catalogue.source, number) for number in range(len(prober))]
    student = [prober.observe_student(context, *one) for one in enumerate(right)]
    for number, seen in enumerate(student):
        if distance(seen, right[number]) is None and not modules.may_be_random(number):
            student[number] = prober.mark_random(context, number, seen, right[number])
    return student


def named(
    student: list[Signature], modules: FaultModules, *, seconds: float = 1.0
) -> list[tuple[Diagnosis, Fault]]:
    """The misconceptions that what was ``observed`` shows, as :func:`diagnose` gives them."""
    if not student:
        return []
    match = Matcher(modules.catalogue, student, modules.observe).match(seconds)
    if match is None:
        return []
    return [(_words(match, alike), alike[0]) for alike in match.faults]


def _describe(error: Exception) -> Signature | None:
    match error:
        case StudentError():
            line = error.frame.text if error.frame else ""
            return describe_error(error.raised.bases, error.raised.message, line)
        case CheckFailure():  # of whichever kind: a fault's module tells only that it was one
            return Signature(results=None, error=CheckFailure.__name__)
        case MissingExport():
            return Signature(results=None, error=MissingExport.__name__)
        case GraderFault() | OutOfTime() | SubmissionUnusable() | SandboxError():
            return None
    # What came back is of no use to the probe.
    return describe_error([base.__name__ for base in type(error).__mro__], str(error), "")


def _words(match: Match, alike: list[Fault]) -> Diagnosis:
    return Diagnosis(
        faults=[fault.slug for fault in alike],
        message=alike[0].message,
        hint=alike[0].hint,
        belief=alike[0].belief,
        exactness=match.exactness,
        probes=match.probes,
        complete=match.complete,
    )
