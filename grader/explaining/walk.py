"""Compares a submission's results with the steps of an example.

What happens inside of a student's function cannot be seen. It is read off what comes out, as far as
that is sure: the scores from the weights, since softmax leaves their differences, and a step that
did not happen from numbers that are those of the step before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from grader.course.steps import Example, Step
from grader.explaining import numbers
from grader.explaining.numbers import Numbers


class Walk(msgspec.Struct, kw_only=True):
    """One example, and where the submission's numbers first differ."""

    example: Example
    broken: str = ""
    """Why there are no results at all."""
    at: int | None = None
    """The number of the step, from 0; None where all that is returned is right."""
    yours: dict[int, Any] = {}
    """By the number of a step, from ``at`` on: nested numbers, or words."""
    fact: str = ""
    """How theirs lie to the right ones, where that is sure."""
    read_off: str = ""
    """By what the numbers at ``at`` are read off a later result, where they are."""
    unseen: bool = False
    """Whether steps before ``at`` may be where it began: nothing shows them."""


def walk(example: Example, results: Mapping[str, Any]) -> Walk:
    """Compare ``results`` of the example's demonstration, by name, with its steps."""
    steps = example.step
    yours = {place: results[name] for place, name in example.results.items() if name in results}
    wrong = [
        place for place, value in yours.items() if not numbers.close(value, steps[place].value)
    ]
    if not wrong:
        return Walk(example=example)
    slipped = _slipped(example, results, yours)
    if slipped is not None:
        return slipped
    later = {place: value for place, value in yours.items() if place >= wrong[0]}
    return _leave(example, wrong[0], later)


def differs(walked: Walk) -> bool:
    """Whether the submission's results on the example are not the right ones."""
    return bool(walked.broken) or walked.at is not None


def clearest(walked: Sequence[Walk]) -> Walk | None:
    """The first example with a certain reason, or else the first that differs."""
    left = [one for one in walked if differs(one)]
    return next((one for one in left if one.fact or one.broken), left[0] if left else None)


def _slipped(example: Example, results: Mapping[str, Any], yours: Mapping[int, Any]) -> Walk | None:
    """The known way in which a step went wrong, if the results are those that come of it."""
    right = {example.results[place]: example.step[place].value for place in yours}
    for place, step in enumerate(example.step):
        for slip in step.slip:
            wanted = right | slip.results
            if all(numbers.close(results.get(name), value) for name, value in wanted.items()):
                shown = {number: value for number, value in yours.items() if number >= place}
                if slip.value is not None:
                    shown[place] = slip.value
                return Walk(example=example, at=place, yours=shown, fact=slip.says)
    return None


def _leave(example: Example, number: int, yours: dict[int, Any]) -> Walk:
    """The step ``number`` is the first that is returned and is wrong."""
    steps, result = example.step, yours[number]
    step = steps[number]
    if isinstance(result, str):
        return Walk(example=example, at=number, yours=yours, fact="There is nothing to compare.")
    mine, wanted = numbers.shape(result), numbers.shape(step.value)
    if mine != wanted:
        fact = f"Yours has shape {list(mine)}, and {list(wanted)} is expected."
        fact = f"{fact} {_likeness(example, number, result)}".strip()
        return Walk(example=example, at=number, yours=yours, fact=fact)
    if step.through == "softmax" and number:
        behind = numbers.scores_behind(result, steps[number - 1].value)
        if behind is not None:
            return _before_softmax(example, number - 1, behind, yours)
    if step.through == "turn" and number:
        angles = numbers.angles_behind(result, steps[number - 1].value)
        if angles is not None:
            shown = {number - 1: angles, **yours}
            fact = _likeness(example, number - 1, angles)
            return Walk(example=example, at=number - 1, yours=shown, fact=fact, read_off="turn")
    before = [place for place in range(number) if steps[place].result]
    unseen = number > (before[-1] + 1 if before else 0)
    fact = _likeness(example, number, result)
    if not fact and step.through == "softmax":
        fact = _of_sums(result)
    return Walk(example=example, at=number, yours=yours, fact=fact, unseen=unseen and not fact)


def _before_softmax(example: Example, last: int, behind: Numbers, yours: dict[int, Any]) -> Walk:
    """``behind`` is what reached softmax, where the step ``last`` is what should have."""
    steps = example.step

    def left(at: int, fact: str, shown: Numbers = behind) -> Walk:
        return Walk(
            example=example, at=at, yours={at: shown, **yours}, fact=fact, read_off="softmax"
        )

    for place in reversed(range(last)):
        if numbers.same_differences(behind, steps[place].value) is not None:
            skipped = _named(steps, place + 1, last)
            fact = f"These are the numbers of step {place + 1}: {skipped} changed nothing."
            return left(place + 1, fact, steps[place].value)
    weights = steps[last + 1]
    if numbers.same_differences(behind, weights.value) is not None:
        fact = f"What reached softmax are the weights of step {last + 2}: softmax was taken twice."
        return left(last + 1, fact, yours[last + 1])
    by = numbers.factor(behind, steps[last].value, shifted=True)
    if by is not None:
        at = _scaling(steps, last)
        fact = f"Yours are the right ones times {by:.3f}."
        return left(at, fact, numbers.scaled_by(steps[at].value, by))
    counts = numbers.blocked_wrongly(behind, steps[last].value)
    if counts is not None:
        at = _blocking(steps, last)
        if at > last:
            fact = f"{counts[1]} of your weights are 0, and none should be."
            return left(at, fact, yours[at])
        return left(at, _of_blocking(*counts, len(_flat(behind))))
    walked = left(last, "")
    walked.unseen = last > 0
    return walked


def _likeness(example: Example, number: int, result: Numbers) -> str:
    """What else of the example ``result`` is, or how it comes from what it should be."""
    step = example.step[number]
    for place, other in enumerate(example.step):
        if place != number and numbers.close(result, other.value):
            return f"These are the numbers of step {place + 1}, {other.name}."
    for name, value in example.inputs.items():
        if numbers.close(result, value):
            return f"This is the {name} as it came in."
    turned = numbers.transposed(result)
    if turned is not None and numbers.close(turned, step.value):
        return "Rows and columns are swapped."
    alike = numbers.shape(result) == numbers.shape(step.value)
    if alike and numbers.binary(result) and numbers.binary(step.value):
        pairs = list(zip(_flat(result), _flat(step.value), strict=True))
        return _of_blocking(pairs.count((1, 0)), pairs.count((0, 1)), len(pairs), ("1", "0"))
    by = numbers.factor(result, step.value)
    return "" if by is None else f"Yours are the right ones times {by:.3f}."


def _of_sums(weights: Numbers) -> str:
    """What normalised weights that do not sum to 1 along each row are."""
    if numbers.all_ones(numbers.sums(weights)):
        return ""
    if len(numbers.shape(weights)) == 2 and numbers.all_ones(numbers.sums(weights, across=True)):
        return "Each column of yours sums to 1, and each row should."
    found = ", ".join(f"{value:.3f}" for value in numbers.sums(weights)[:4])
    return f"The rows of yours sum to {found}; each should sum to 1."


def _scaling(steps: Sequence[Step], last: int) -> int:
    """The step up to ``last`` that multiplies what came before it; or else ``last``."""
    for place in range(1, last + 1):
        if numbers.factor(steps[place].value, steps[place - 1].value) is not None:
            return place
    return last


def _blocking(steps: Sequence[Step], last: int) -> int:
    """The first step up to ``last`` that blocks anything; or else the one after it."""
    for place in range(last + 1):
        if min(_flat(steps[place].value)) <= numbers.BLOCKED:
            return place
    return last + 1


def _named(steps: Sequence[Step], first: int, last: int) -> str:
    names = [f"step {place + 1} ({steps[place].name})" for place in range(first, last + 1)]
    real = [
        name
        for name, place in zip(names, range(first, last + 1), strict=True)
        if not numbers.close(steps[place].value, steps[place - 1].value)
    ]
    return " and ".join(real)


def _of_blocking(
    opened: int, closed: int, places: int, words: tuple[str, str] = ("seen", "blocked")
) -> str:
    """What ``opened`` and ``closed`` of so many places are, and what they should be."""
    on, off = words
    if opened and opened + closed == places:
        return (
            f"Just what should be {off} is {on}, and everything else is {off}: the other way round."
        )
    parts = []
    if opened:
        parts.append(f"{_places(opened)} {on} and should be {off}")
    if closed:
        parts.append(f"{_places(closed)} {off} and should be {on}")
    return f"{', and '.join(parts)}."


def _places(count: int) -> str:
    return "1 place is" if count == 1 else f"{count} places are"


def _flat(value: Numbers) -> list[float]:
    return [number for row in numbers.rows(value) for number in row]
