"""An example step by step, for reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from grader.course.steps import Example
from grader.explaining import numbers
from grader.explaining.walk import Walked, most_telling, walk
from grader.report import matrix
from grader.report.page import Page
from grader.session.protocol import Demonstrated, Demonstration

_UNSEEN = (
    "Your function does not return what it has before this step, so it may have begun earlier: "
    "print your numbers there and compare them with those above."
)


def show_walk(page: Page, walked: Walked) -> None:
    """Print the steps of an example, theirs beside the expected from where they differ."""
    example = walked.example
    page.heading(f"{example.demonstration[:1].upper()}{example.demonstration[1:]}, step by step")
    for name, value in example.inputs.items():
        page.blank()
        page.say(name, indent=2)
        _values(page, value)
    for place, step in enumerate(example.step):
        page.blank()
        here = place == walked.at
        page.line(
            Text(
                f"{place + 1}. {step.name}" + (": here you leave the path" if here else ""), "bold"
            ),
            indent=2,
        )
        page.say(step.says, indent=5)
        theirs = walked.yours.get(place)
        if theirs is None or numbers.close(theirs, step.value):
            _values(page, step.value)
        else:
            _both(page, theirs, step.value)
        if here:
            if walked.read_off:
                page.say(
                    "Yours are read off your weights: softmax keeps the differences within a row.",
                    indent=5,
                )
            page.say(walked.fact, indent=5, style="bold")
            if walked.unseen:
                page.say(_UNSEEN, indent=5)
            page.say(step.ask, indent=5, label="Ask yourself: ", style="cyan")


def show_demonstration(page: Page, shown: Demonstration) -> None:
    """Print what came of an example of which no steps are known."""
    page.heading(f"{shown.title[:1].upper()}{shown.title[1:]}")
    page.say(shown.message, indent=2)
    for name, value in (shown.expected or shown.yours).items():
        page.say(name, indent=2)
        yours = shown.yours.get(name)
        if yours is None or numbers.close(yours, value):
            _values(page, value)
        else:
            _both(page, yours, value)


def show_all(page: Page, examples: Sequence[Example], demonstrated: Demonstrated) -> None:
    """Print where a submission leaves the path, or what there is to say where no path is known."""
    shown = {one.title: one for one in demonstrated.demonstrations}
    broken = demonstrated.message or next((one.message for one in shown.values()), "")
    known = [one for one in examples if one.demonstration in shown]
    if demonstrated.message or (broken and all(one.message for one in shown.values())):
        page.say(broken)
        if known:
            page.blank()
            page.say("This is what a right answer does:")
            page.blank()
            show_walk(page, Walked(example=known[0]))
        return
    ran = [one for one in known if not shown[one.demonstration].message]
    found = most_telling([walk(one, shown[one.demonstration].yours) for one in ran])
    if found is not None:
        show_walk(page, found)
        return
    others = [one for one in shown.values() if differs(one)]
    if not known:
        page.say("The steps of this assignment's examples are not written down here.")
    elif not others:
        page.say(
            "Your numbers are those of the handout's examples, at every step that shows. If a "
            "check fails all the same, it is about something else: `grade run` says what."
        )
    if not known and not others:
        page.say("On the handout's examples your results are these:")
    for one in others or ([] if known else shown.values()):
        page.blank()
        show_demonstration(page, one)


def differs(shown: Demonstration) -> bool:
    """Whether anything of theirs is missing, or is not what is expected."""
    if shown.message:
        return True
    return any(
        name not in shown.yours or not numbers.close(shown.yours[name], value)
        for name, value in shown.expected.items()
    )


def _values(page: Page, value: Any) -> None:
    for line in matrix.alone(numbers.rounded(value), page.width - 7):
        page.line(line, indent=7)


def _both(page: Page, yours: Any, expected: Any) -> None:
    lines = matrix.comparison(numbers.rounded(yours), numbers.rounded(expected), page.width - 7)
    if not lines:
        page.say(str(yours), indent=7, label="yours     ")
        page.say(str(expected), indent=7, label="expected  ")
    for line in lines:
        page.line(line, indent=7)
