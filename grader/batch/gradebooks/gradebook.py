"""The form of a platform's table of grades, and how to make one from a roster and scores."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from grader.batch.errors import BatchError
from grader.batch.gradebooks.roster import Row, normal, numbers

Items = Mapping[str, tuple[str, int | None]]
"""What was graded: titles and possible points, by id."""
Headings = Mapping[str, str]
"""What a roster calls its columns, by what they are called in English."""

_NOTHING = re.compile(r"(?!)")


def _no_headings(roster: Sequence[Row], found: Headings) -> Headings:
    return {}


@dataclass(frozen=True, kw_only=True)
class Gradebook:
    """A platform's table. Names of columns are compared without case, and written as found."""

    name: str
    roster: str
    """Where the instructor gets the roster from."""
    identity: tuple[str, ...]
    """Columns that say who somebody is; those that the roster has are written again."""
    needed: tuple[tuple[str, ...], ...]
    """Of these, the ones without which nothing could be imported: one of each."""
    ids: Mapping[str, tuple[str, ...]]
    """Of these, the ones that hold the ids of a platform: of its own, and of others."""
    own_id: re.Pattern[str] = re.compile(r".*")
    """Finds the platform's own id in the first of these cells."""
    logins: tuple[str, ...] = ()
    emails: tuple[str, ...] = ()
    names: tuple[tuple[str, ...], ...]
    """Of these, the ones that make up a name: a full one, or the first name and the last."""
    item: re.Pattern[str] = _NOTHING
    """Matches the column of a graded item that the platform has, with its ``title``, and with its
    ``possible`` points if they stand there."""
    possible: str | None = None
    """The first cell of the row that holds what can be earned, if there is such a row."""
    no_people: re.Pattern[str] = _NOTHING
    """Matches the first cell of rows of the roster that are nobody."""
    by_content: Callable[[Sequence[Row], Headings], Headings] = _no_headings
    """Finds columns by what is in them, where headings are in a language of their own."""
    whole: tuple[str, str] | None = None
    """The columns of points and of their maximum, in a roster that is itself filled in and
    imported, for one item."""

    def headings(self, roster: Sequence[Row]) -> Headings:
        """The columns of ``roster`` that have a known meaning.

        Raises BatchError where one is missing that is needed.
        """
        known = {normal(name): name for name in (*self.identity, *(self.whole or ()))}
        found = {known[normal(name)]: name for name in roster[0] if normal(name) in known}
        found |= self.by_content(roster, found)
        for several in self.needed:
            if not any(name in found for name in several):
                wanted = " or ".join(map(repr, several))
                raise BatchError(
                    f"the roster has no column {wanted}; for {self.name} it is {self.roster}"
                )
        return found

    def columns(self, roster: Sequence[Row]) -> list[str]:
        """The identity columns that ``roster`` has, as it spells them; raises as ``headings``."""
        found = self.headings(roster)
        return [found[name] for name in self.identity if name in found]

    def is_whole(self, roster: Sequence[Row]) -> bool:
        """Whether the roster itself is filled in; it has one column of points, for one item."""
        found = self.headings(roster)
        return self.whole is not None and all(name in found for name in self.whole)

    def other_points(self, roster: Sequence[Row], items: Items) -> list[tuple[str, float, int]]:
        """Columns whose maximum differs on the platform: name, theirs and ours."""
        first = self.columns(roster)[0]
        headings = self.headings(roster)
        said = next(
            (
                row
                for row in roster
                if self.possible and row[first].strip() == self.possible.strip()
            ),
            {},
        )
        whole = self.is_whole(roster)
        found = []
        for id, (title, ours) in items.items():
            name = self._column(roster, id, title)
            match = self.item.fullmatch(name)
            given = said.get(name) or (match.groupdict().get("possible") if match else None)
            if whole and self.whole:
                name, given = headings[self.whole[0]], roster[0][headings[self.whole[1]]]
            theirs = numbers(given or "")
            if ours is not None and theirs and ours not in theirs:
                found.append((name, theirs[0], ours))
        return found

    def people(self, roster: Sequence[Row]) -> list[Row]:
        """The rows of ``roster`` that are students, each once."""
        columns = self.columns(roster)
        telling = [name for name in columns if normal(name) != "section"]
        people: dict[tuple[str, ...], Row] = {}
        for row in roster:
            who = tuple(normal(row[name]) for name in telling)
            if any(who) and not self.no_people.fullmatch(row[columns[0]]):
                people.setdefault(who, row)
        return list(people.values())

    def render(
        self,
        roster: Sequence[Row],
        items: Items,
        scores: Sequence[tuple[Row, Mapping[str, str]]],
    ) -> bytes:
        """The table: a row for each of ``scores``, a column for each of ``items``.

        ``scores`` are people with points by id.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self.is_whole(roster) and self.whole:
            (id,), points_column = items, self.headings(roster)[self.whole[0]]
            writer.writerow(roster[0])
            for row, points in scores:
                filled = {**row, points_column: points[id] or row[points_column]}
                writer.writerow(filled.values())
            return text.getvalue().encode()
        columns = self.columns(roster)
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
            if match and normal(match["title"]) in (normal(title), normal(id)):
                return name
        return title
