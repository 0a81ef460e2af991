"""What a platform's table of grades looks like, and how one is made of a roster and scores."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.batch.errors import BatchError

Row = Mapping[str, str]

_NOTHING = re.compile(r"(?!)")


@dataclass(frozen=True, kw_only=True)
class Gradebook:
    """A platform's table. Names of columns are compared without case, and written as found."""

    name: str
    roster: str
    """Where the instructor gets the roster from."""
    identity: tuple[str, ...]
    """Columns that say who somebody is; those that the roster has are written again."""
    needed: tuple[str, ...]
    """Of these, the ones without which nothing could be imported."""
    identifiers: tuple[str, ...]
    """Of these, the ones that are nobody else's."""
    names: tuple[tuple[str, ...], ...]
    """Of these, the ones that make up a name: a full one, or the first name and the last."""
    item: re.Pattern[str] = _NOTHING
    """Matches the column of a graded item that the platform has, with its ``title``, and with its
    ``possible`` points if they stand there."""
    possible: str | None = None
    """The first cell of the row that holds what can be earned, if there is such a row."""
    no_people: re.Pattern[str] = _NOTHING
    """Matches the first cell of rows of the roster that are nobody."""

    def columns(self, roster: Sequence[Row]) -> list[str]:
        """The identity columns that ``roster`` has, as it spells them.

        Raises BatchError where one is missing that is needed.
        """
        found = {name.casefold(): name for row in roster[:1] for name in row}
        missing = [name for name in self.needed if name.casefold() not in found]
        if missing:
            raise BatchError(
                f"the roster has no column {missing[0]!r}; for {self.name} it is {self.roster}"
            )
        return [found[name.casefold()] for name in self.identity if name.casefold() in found]

    def other_points(
        self, roster: Sequence[Row], items: Mapping[str, tuple[str, int | None]]
    ) -> list[tuple[str, float, int]]:
        """Columns that the platform has with another maximum than ours: name, theirs and ours."""
        first = self.columns(roster)[0]
        said = next(
            (
                row
                for row in roster
                if self.possible and row[first].strip() == self.possible.strip()
            ),
            {},
        )
        found = []
        for id, (title, ours) in items.items():
            name = self._column(roster, id, title)
            match = self.item.fullmatch(name)
            given = said.get(name) or (match.groupdict().get("possible") if match else None)
            theirs = _number(given or "")
            if ours is not None and theirs is not None and theirs != ours:
                found.append((name, theirs, ours))
        return found

    def people(self, roster: Sequence[Row]) -> list[Row]:
        """The rows of ``roster`` that are students."""
        first = self.columns(roster)[0]
        return [row for row in roster if not self.no_people.fullmatch(row[first] or "")]

    def render(
        self,
        roster: Sequence[Row],
        items: Mapping[str, tuple[str, int | None]],
        scores: Sequence[tuple[Row, Mapping[str, str]]],
    ) -> bytes:
        """The table: a row for each of ``scores``, a column for each of ``items``.

        ``items`` are titles and possible points by id, ``scores`` people with points by id.
        """
        columns = self.columns(roster)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*columns, *(self._column(roster, id, items[id][0]) for id in items)])
        if self.possible is not None:
            empty = [""] * (len(columns) - 1)
            writer.writerow([self.possible, *empty, *(most for _, most in items.values())])
        for row, points in scores:
            writer.writerow([*(row[name] for name in columns), *(points[id] for id in items)])
        return text.getvalue().encode()

    def _column(self, roster: Sequence[Row], id: str, title: str) -> str:
        """The column that the platform has for such an item, or else the title."""
        for name in roster[0]:
            match = self.item.fullmatch(name)
            if match and match["title"].casefold() in (title.casefold(), id.casefold()):
                return name
        return title


def _number(text: str) -> float | None:
    """The number at the end of a cell such as ``10.00`` or ``up to 10``, if there is one."""
    found = re.search(r"\d+(?:[.,]\d+)?$", text.strip())
    return float(found[0].replace(",", ".")) if found else None
