"""Turns outcomes into the checks of a report: points, words, causes.

The list of expected checks decides: a check that did not report is ``not-run`` and earns nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from grader.course.families import depth
from grader.report.model import CheckResult, Diagnosis, Evidence, Output, Status, Visibility
from grader.report.words import listed
from grader.session.checks.declaring import Check
from grader.session.checks.evidence import Exhibit
from grader.session.checks.outcomes import Outcome
from grader.session.diagnosis.working import Work

MAX_OUTPUT = 64 * 1024
"""Characters kept of what all cases of a check print."""


FOR_NOTHING = {
    Work.NONE: "Passes only because nothing is computed from the inputs.",
    Work.NAN: "Passes only because it does not look at the numbers, which are all NaN.",
    Work.NOTHING: "Passes without any result: None is returned.",
}
"""What to say of a check that passes without any work."""


class Expected(msgspec.Struct, kw_only=True):
    """A check that was collected: its id, its declaration and its cases' pytest ids."""

    id: str
    check: Check
    visibility: Visibility
    cases: list[str]


def score(
    expected: list[Expected],
    outcomes: dict[str, Outcome],
    exhibits: Sequence[Exhibit],
    diagnoses: Sequence[Diagnosis] = (),
    idle: Mapping[str, Work] = {},
) -> list[CheckResult]:
    """One result for each check, from the simplest family to the deepest.

    ``exhibits`` illustrate failures. Of what one of ``diagnoses`` explains its first check
    stands for all. What passes without any work of the exports that are ``idle`` earns nothing.
    """
    found = {entry.id: worst(entry, outcomes) for entry in by_depth(expected)}
    roots = _take_passes(found, idle)
    roots |= {id: one.checks[0] for one in diagnoses for id in one.checks}
    shown = _public_details(expected, outcomes)
    results: list[CheckResult] = []
    causes: dict[str, str] = {}
    for entry in by_depth(expected):
        outcome = found[entry.id]
        pictures: list[Evidence] = []
        if outcome.is_wrong:
            pictures = _choose(entry.check, exhibits)
        cause = roots.get(entry.id)
        if cause is None and not outcome.passed and (key := _cause(outcome)):
            cause = causes.setdefault(key, entry.id)
        because = cause if cause != entry.id else None
        results.append(_result(entry, outcome, shown, pictures, because))
    return results


def idle_words(idle: Mapping[str, Work]) -> str:
    """The first message of a report about exports that do no work."""
    told = {
        Work.NOTHING: "None is returned by {}: hand the result back with return; what is printed "
        "is not returned.",
        Work.NAN: "Nothing but NaN (not a number) or memory that was never written to comes back "
        "from {}, whatever goes in. What passes like that earns no points.",
        Work.NONE: "Nothing is computed from the inputs by {}: what comes back is constant, "
        "random, or no more than inputs copied, moved about or added up, with weights that do "
        "not depend on them. What passes like that earns no points.",
    }
    names = {work: [name for name in idle if idle[name] is work] for work in told}
    return " ".join(told[work].format(listed(names[work])) for work in told if names[work])


def _take_passes(found: dict[str, Outcome], idle: Mapping[str, Work]) -> dict[str, str]:
    """Let nothing in ``found`` pass that only ``idle`` exports are to thank for.

    Returns, for all that then fails of these exports, the check that stands for all: one that says
    what is returned instead of a result, or else the first that this takes the pass from. A check
    that asks for no export is about every one.
    """
    every = {name for outcome in found.values() for name in outcome.exports}

    def is_idle(outcome: Outcome) -> bool:
        return any(name in idle for name in outcome.exports) or (
            not outcome.exports and bool(idle) and all(name in idle for name in every)
        )

    about = [id for id, outcome in found.items() if is_idle(outcome)]
    wrong = [id for id in about if found[id].is_wrong]
    taken = [id for id in about if found[id].passed]
    for id in taken:
        found[id] = msgspec.structs.replace(
            found[id],
            status=Status.FAILED,
            message=FOR_NOTHING[_work_of(idle, found[id].exports)],
            hint="Follow one input through your code: what does your result make of it?",
        )
    silent = [id for id in wrong if found[id].nothing_returned]
    first = next(iter(silent or taken), None)
    return {} if first is None else dict.fromkeys([*wrong, *taken], first)


def _work_of(idle: Mapping[str, Work], exports: Sequence[str]) -> Work:
    return next((idle[name] for name in exports if name in idle), next(iter(idle.values())))


def by_depth(expected: Sequence[Expected]) -> list[Expected]:
    """Checks from the simplest family to the deepest."""
    return sorted(expected, key=lambda entry: depth(entry.check.family))


def _cause(outcome: Outcome) -> str:
    """What failures with one cause have in common; nothing where no cause is known."""
    if outcome.signature:
        return f"error {outcome.signature}"
    return "shape" if outcome.wrong_shape else ""


def worst(entry: Expected, outcomes: Mapping[str, Outcome]) -> Outcome:
    """The outcome of a check with several cases: that of the first case that did not pass."""
    not_run = Outcome(status=Status.NOT_RUN, message="This check did not run.")
    found = [outcomes.get(case, not_run) for case in entry.cases]
    chosen = next((outcome for outcome in found if not outcome.passed), found[0])
    printed = "".join(outcome.output for outcome in found)
    return msgspec.structs.replace(
        chosen,
        seconds=sum(outcome.seconds for outcome in found),
        output=printed[:MAX_OUTPUT],
        truncated=len(printed) > MAX_OUTPUT or any(outcome.truncated for outcome in found),
        evidence=[shown for outcome in found for shown in outcome.evidence],
        exports=sorted({name for outcome in found for name in outcome.exports}),
        state_dependent=any(outcome.state_dependent for outcome in found),
    )


def _result(
    entry: Expected,
    outcome: Outcome,
    shown: dict[str, str],
    evidence: list[Evidence],
    because: str | None,
) -> CheckResult:
    message = outcome.message
    if entry.visibility is Visibility.HIDDEN and outcome.signature in shown:
        # The same error came with inputs that anybody may see, so its words are no secret.
        message = f"{message} {shown[outcome.signature]}".rstrip()
    return CheckResult(
        id=entry.id,
        title=entry.check.title,
        family=entry.check.family,
        points=entry.check.points,
        earned=entry.check.points if outcome.passed else 0,
        status=outcome.status,
        visibility=entry.visibility,
        message=message,
        hint="" if outcome.passed or outcome.unusable else outcome.hint or entry.check.hint,
        location=outcome.location,
        evidence=[*outcome.evidence, *evidence],
        detail=outcome.detail,
        because=because,
        state_dependent=outcome.state_dependent,
        output=Output(text=outcome.output, truncated=outcome.truncated),
        duration_s=round(outcome.seconds, 6),
    )


def _public_details(expected: list[Expected], outcomes: dict[str, Outcome]) -> dict[str, str]:
    """Messages of errors that public checks met, by the errors' signatures."""
    shown: dict[str, str] = {}
    for entry in expected:
        for case in entry.cases if entry.visibility is Visibility.PUBLIC else []:
            outcome = outcomes.get(case)
            if outcome is not None and outcome.status is Status.ERROR and outcome.signature:
                shown.setdefault(outcome.signature, outcome.detail)
    return shown


def _choose(check: Check, exhibits: Sequence[Exhibit]) -> list[Evidence]:
    """The differences of the first demonstration that shows any.

    First comes the one that the check names, then those about its family, then all others.
    """
    named = [one for one in exhibits if one.demonstration.title == check.shows]
    about = [one for one in exhibits if check.family in one.demonstration.about]
    return next((one.evidence for one in [*named, *about, *exhibits] if one.evidence), [])
