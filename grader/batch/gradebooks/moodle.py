"""Moodle: the import of grades, where one says which column names the student, and the upload of an
assignment's grading worksheet.

Headings are in the language of whoever exports a table. What stands in a column and where it stands
are not, so columns without English headings are found by that.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from grader.batch.gradebooks.gradebook import Gradebook, Headings
from grader.batch.gradebooks.roster import Row, numbers

_PARTICIPANT = re.compile(r"(\D*[^\W\d]\D*)(\d+)")
_EMAIL = re.compile(r"[^\s@]+@[^\s@]+")
_WORDS = re.compile(r"[^\d@]+")
_NUMBER = re.compile(r"[\d.,]+")
_NAMES = (("Full name",), ("First name", "Last name"), ("First name", "Surname"))


def _by_content(roster: Sequence[Row], found: Headings) -> Headings:
    """The columns of addresses, names and numbers, and those of a worksheet, by what is in them."""
    new = _worksheet(roster) if "Identifier" not in found else {}
    taken = {*found.values(), *new.values()}
    rest = [name for name in roster[0] if name not in taken]
    if "Email address" not in found:
        address = next((name for name in rest if _all(roster, name, _EMAIL)), None)
        if address is None:
            return new
        new["Email address"] = address
        rest = rest[: rest.index(address)]
    if not any(name in found for several in _NAMES for name in several):
        names = list(itertools.takewhile(lambda name: _all(roster, name, _WORDS), rest))
        if names and (len(names) == 1 or "Identifier" in {*found, *new}):
            new["Full name"] = names[0]
        elif names:
            new["First name"], new["Last name"] = names[:2]
    if "Email address" in new and "ID number" not in found:
        others = (name for name in rest if name not in new.values())
        if numbered := next((name for name in others if _tells(roster, name)), None):
            new["ID number"] = numbered
    return new


def _worksheet(roster: Sequence[Row]) -> dict[str, str]:
    """The columns of a grading worksheet, which begins with "Participant 123" in some language.

    Its points stand before their maximum, which is the same number in every row.
    """
    heads = list(roster[0])
    people = [_PARTICIPANT.fullmatch(row[heads[0]].strip()) for row in roster]
    if len({match[1] if match else "" for match in people}) > 1 or not people[0]:
        return {}
    most = [
        at
        for at, name in enumerate(heads)
        if len({row[name].strip() for row in roster}) == 1
        and _NUMBER.fullmatch(roster[0][name].strip())
        and any(numbers(roster[0][name]))
    ]
    if not most or most[-1] < 2:
        return {}
    return {
        "Identifier": heads[0],
        "Grade": heads[most[-1] - 1],
        "Maximum Grade": heads[most[-1]],
    }


def _all(roster: Sequence[Row], name: str, pattern: re.Pattern[str]) -> bool:
    """Whether every cell of a column that is not empty is like that, and one is."""
    cells = [row[name].strip() for row in roster if row[name].strip()]
    return bool(cells) and all(map(pattern.fullmatch, cells))


def _tells(roster: Sequence[Row], name: str) -> bool:
    """Whether a column may hold people's numbers: each with a digit, and nobody else's."""
    cells = [row[name].strip() for row in roster if row[name].strip()]
    return len(set(cells)) == len(cells) > 0 and all(re.search(r"\d", cell) for cell in cells)


MOODLE = Gradebook(
    name="moodle",
    roster=(
        "the CSV of the participants, of the grades' export, or the grading worksheet of the "
        "assignment, with e-mail addresses. In another language their columns are found by what is "
        "in them; where that fails, set your language to English and export it again"
    ),
    identity=(
        "Identifier",
        "First name",
        "Last name",
        "Surname",
        "Full name",
        "ID number",
        "Username",
        "Email address",
    ),
    needed=(("Email address", "Identifier"),),
    ids={"moodle": ("Identifier",), "gradescope": ("ID number",)},
    own_id=re.compile(r"\d+$"),
    logins=("Username",),
    emails=("Email address",),
    names=_NAMES,
    # "Assignment: Homework 1 (Real)" is how the export of the grades calls an item.
    item=re.compile(r"(?:[^:]+: ?)?(?P<title>.+?)(?: \([^()]+\))?"),
    by_content=_by_content,
    whole=("Grade", "Maximum Grade"),
)
