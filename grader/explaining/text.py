"""Prints an example step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from grader.course.steps import Example
from grader.explaining import numbers
from grader.explaining.walk import Walk, clearest, differs, walk
from grader.jobs.protocol import Demonstrated, Demonstration
from grader.report import matrix
from grader.report.page import Page

_READ_OFF = {
    "softmax": "Your scores follow from your weights: softmax keeps the differences within a row.",
    "turn": "Your angles follow from your output, whose pairs are their cosines and sines.",
}

_UNSEEN = (
    "Your function does not return its earlier results, so the mistake may have begun earlier: "
    "print your numbers there and compare them with those above."
)


def show_walk(page: Page, walked: Walk, which: str = "") -> None:
    """Print the steps of an example, with the student's numbers from where they differ."""
    example = walked.example
    page.heading(f"{which}{_capital(example.name)}, step by step")
    if walked.broken:
        page.blank()
        page.paragraph(walked.broken, indent=2)
        page.paragraph("This is what a right answer does:", indent=2)
    for name, value in example.inputs.items():
        page.blank()
        page.paragraph(name, indent=2)
        _values(page, value)
    for place, step in enumerate(example.step):
        page.blank()
        here = place == walked.at
        page.line(
            Text(
                f"{place + 1}. {step.name}" + (": here your numbers differ" if here else ""), "bold"
            ),
            indent=2,
        )
        page.paragraph(step.says, indent=5)
        theirs = walked.yours.get(place)
        if theirs is None or numbers.close(theirs, step.value):
            _values(page, step.value)
        else:
            _both(page, theirs, step.value)
        if here:
            page.paragraph(_READ_OFF.get(walked.read_off, ""), indent=5)
            page.paragraph(walked.fact, indent=5, style="bold")
            if walked.unseen:
                page.paragraph(_UNSEEN, indent=5)
            page.paragraph(step.ask, indent=5, label="Ask yourself: ", style="cyan")


def show_demonstration(page: Page, shown: Demonstration) -> None:
    """Print the results of an example that has no steps."""
    page.heading(_capital(shown.title))
    page.paragraph(shown.message, indent=2)
    for name, value in (shown.expected or shown.yours).items():
        page.paragraph(name, indent=2)
        yours = shown.yours.get(name)
        if yours is None or numbers.close(yours, value):
            _values(page, value)
        else:
            _both(page, yours, value)


def show_all(
    page: Page,
    examples: Sequence[Example],
    demonstrated: Demonstrated,
    chosen: int | None = None,
) -> None:
    """Print where a submission goes wrong, or its results where no steps are known.

    ``chosen`` is the place of the example to show; by default it is the most telling one.
    """
    shown = {one.title: one for one in demonstrated.demonstrations}
    if demonstrated.message:
        page.paragraph(demonstrated.message)
        if examples:
            page.blank()
            page.paragraph("This is what a right answer does:")
            page.blank()
            show_walk(page, Walk(example=examples[chosen or 0]))
        return
    walked = [_walked(one, shown.get(one.demonstration)) for one in examples]
    found = clearest(walked)
    if chosen is not None:
        _show_one(page, walked, chosen)
        return
    if found is not None:
        _show_one(page, walked, walked.index(found))
        return
    others = [one for one in shown.values() if _demonstration_differs(one)]
    if not examples:
        page.paragraph("This assignment has no steps for its examples.")
    elif not others:
        page.paragraph(
            "Your numbers are those of the handout's examples, at every step that shows. If a "
            "check fails all the same, it is about something else: `grade run` says what."
        )
    if not examples and not others:
        page.paragraph("On the handout's examples your results are these:")
    for one in others or ([] if examples else shown.values()):
        page.blank()
        show_demonstration(page, one)


def _walked(example: Example, shown: Demonstration | None) -> Walk:
    if shown is None:
        return Walk(example=example)
    if shown.message:
        return Walk(example=example, broken=shown.message)
    return walk(example, shown.yours)


def _show_one(page: Page, walked: Sequence[Walk], place: int) -> None:
    """Print one example, and say on which others the results differ."""
    which = f"Example {place + 1} of {len(walked)}: " if len(walked) > 1 else ""
    one = walked[place]
    show_walk(page, one, which)
    if not differs(one):
        page.blank()
        page.paragraph("Here your numbers are right.")
    others = [
        f"{number + 1} ({other.example.name})"
        for number, other in enumerate(walked)
        if number != place and differs(other) and not (other.broken and other.broken == one.broken)
    ]
    if others:
        page.blank()
        page.paragraph(
            f"Your numbers differ on other examples too: {', '.join(others)}. "
            "`--example` shows one."
        )


def _demonstration_differs(shown: Demonstration) -> bool:
    """Whether anything of theirs is missing, or is not what is expected."""
    if shown.message:
        return True
    return any(
        name not in shown.yours or not numbers.close(shown.yours[name], value)
        for name, value in shown.expected.items()
    )


def _capital(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _values(page: Page, value: Any) -> None:
    for line in matrix.alone(numbers.as_shown(value)[0], page.width - 7):
        page.line(line, indent=7)


def _both(page: Page, yours: Any, expected: Any) -> None:
    mine, right = numbers.as_shown(yours, expected)
    lines = matrix.comparison(mine, right, page.width - 7)
    if not lines:
        page.paragraph(str(yours), indent=7, label="yours     ")
        page.paragraph(str(expected), indent=7, label="expected  ")
    for line in lines:
        page.line(line, indent=7)
