"""The catalogue of an assignment's faults, read from ``faults.toml`` and checked.

A fault is data: edits of the reference, the belief behind it, and what to say to who holds it.
Faults of a part that several references share are written once, in ``solutions/shared/``, and
inherited by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from grader.course.families import FAMILIES
from grader.course.model import Assignment, CourseError
from grader.course.toml_file import TomlFile, nearest

FILE = "faults.toml"


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """One known misconception."""

    slug: str
    edits: tuple[tuple[str, str], ...]
    """Texts of the reference, each of which occurs in it once, and what to put in their place."""
    belief: str
    message: str
    hint: str
    fails: tuple[str, ...]
    """Families that must catch it."""
    cancels: tuple[str, ...] = ()
    """Faults that undo it: together they are no fault, or a smaller one."""
    neutral: bool = False
    """No fault at all: another way to write the reference, which shows in what faults do."""


class _Entry(msgspec.Struct):
    """A fault as it is written; of an inherited one only what differs."""

    edit: list[list[str]] = []
    belief: str = ""
    message: str = ""
    hint: str = ""
    fails: list[str] = []
    cancels: list[str] = []
    applies: bool = True
    neutral: bool = False


class Catalogue:
    """An assignment's reference and the faults that can be made of it.

    Iterates over the faults; ``source`` is the reference's text. Raises CourseError, naming file,
    line and fault, for anything that is not as it should be.
    """

    def __init__(self, assignment: Assignment) -> None:
        if assignment.reference is None:
            raise CourseError(f"{assignment.id}: faults need the reference, which is not here")
        self.source = assignment.reference.read_text("utf-8")
        self._accepted = assignment.reference.parent / "accepted"
        self._spans: dict[str, list[tuple[int, int, str]]] = {}
        path = assignment.reference.parent / FILE
        self._faults = {} if not path.exists() else self._load(path)

    def __iter__(self) -> Iterator[Fault]:
        return (fault for fault in self._faults.values() if not fault.neutral)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def neutral(self) -> list[Fault]:
        """Edits that leave a right answer right, such as another fill for blocked scores."""
        return [fault for fault in self._faults.values() if fault.neutral]

    @property
    def accepted(self) -> dict[str, str]:
        """Right answers written otherwise than the reference: their sources, by file name."""
        return {path.name: path.read_text("utf-8") for path in sorted(self._accepted.glob("*.py"))}

    @property
    def right_answers(self) -> dict[str, str]:
        """Sources of what is right beyond doubt, by name, the reference first."""
        return {"the reference": self.source, **self.accepted}

    def __getitem__(self, slug: str) -> Fault:
        return self._faults[slug]

    def build(self, *faults: Fault) -> str | None:
        """The reference's source with every edit of ``faults``; None if two edits overlap."""
        spans = sorted(span for fault in faults for span in self._spans[fault.slug])
        for (_, end, _), (start, _, _) in pairwise(spans):
            if start < end:
                return None
        source = self.source
        for start, end, new in reversed(spans):
            source = source[:start] + new + source[end:]
        return source

    def pairs(self) -> Iterator[tuple[Fault, Fault]]:
        """Every two faults that can be made together and do not undo each other."""
        faults = list(self)
        for index, first in enumerate(faults):
            for second in faults[index + 1 :]:
                undone = second.slug in first.cancels or first.slug in second.cancels
                if not undone and self.build(first, second) is not None:
                    yield first, second

    def _load(self, path: Path) -> dict[str, Fault]:
        file = TomlFile(path)
        tables = dict(file.data)
        inherits = tables.pop("inherits", [])
        if not isinstance(inherits, list) or not all(isinstance(name, str) for name in inherits):
            raise file.error(["inherits"], "found something else; expected an array of names")
        written: dict[str, tuple[TomlFile, _Entry]] = {}
        for name in inherits:
            shared = TomlFile(path.parent.parent / "shared" / f"{name}.toml")
            for slug, table in shared.data.items():
                written[slug] = (shared, _entry(shared, slug, table))
        for slug, table in tables.items():
            entry = _entry(file, slug, table)
            if slug in written:
                _, base = written[slug]
                changed = {key: getattr(entry, key) for key in table}
                written[slug] = (file, msgspec.structs.replace(base, **changed))
            else:
                written[slug] = (file, entry)
        faults = {}
        for slug, (source, entry) in written.items():
            if entry.applies:
                faults[slug] = self._fault(source, slug, entry)
        for slug, fault in faults.items():
            for other in fault.cancels:
                if other not in written:
                    raise written[slug][0].error(
                        [slug, "cancels"],
                        f"fault {slug}: found {other!r}; expected {nearest(other, written)}",
                    )
        return faults

    def _fault(self, file: TomlFile, slug: str, entry: _Entry) -> Fault:
        for key in ("edit",) if entry.neutral else ("edit", "belief", "message", "hint", "fails"):
            value = getattr(entry, key)
            if not value or (isinstance(value, str) and not value.strip()):
                raise file.error([slug, key], f"fault {slug}: {key} is missing or empty")
        for family in entry.fails:
            if family not in FAMILIES:
                raise file.error(
                    [slug, "fails"],
                    f"fault {slug}: found the family {family!r}; expected "
                    f"{nearest(family, FAMILIES)}",
                )
        self._spans[slug] = [self._span(file, slug, edit) for edit in entry.edit]
        fault = Fault(
            slug=slug,
            edits=tuple((edit[0], edit[1]) for edit in entry.edit),
            belief=entry.belief,
            message=entry.message,
            hint=entry.hint,
            fails=tuple(entry.fails),
            cancels=tuple(entry.cancels),
            neutral=entry.neutral,
        )
        if self.build(fault) is None:
            raise file.error([slug, "edit"], f"fault {slug}: two of its edits overlap")
        return fault

    def _span(self, file: TomlFile, slug: str, edit: list[str]) -> tuple[int, int, str]:
        if len(edit) != 2 or edit[0] == edit[1]:
            raise file.error(
                [slug, "edit"],
                f"fault {slug}: an edit is a pair, a text of the reference and another text",
            )
        old, new = edit
        count = self.source.count(old)
        if count != 1:
            found = "does not occur" if count == 0 else f"occurs {count} times"
            raise file.error(
                [slug, "edit"],
                f"fault {slug}: the text {old!r} {found} in the reference; it has to occur once",
            )
        start = self.source.index(old)
        return start, start + len(old), new


def _entry(file: TomlFile, slug: str, table: Any) -> _Entry:
    if not isinstance(table, dict):
        raise file.error([slug], f"found a value for {slug}; expected the table of a fault")
    known = [field.name for field in msgspec.structs.fields(_Entry)]
    file.table([slug], table, known)
    try:
        return msgspec.convert(table, _Entry)
    except msgspec.ValidationError as error:
        raise file.error([slug], f"fault {slug}: {error}") from None
