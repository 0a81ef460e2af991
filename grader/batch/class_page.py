"""A batch as web pages: one for the class, and one for each report."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

from grader.batch.anonymous import anonymous
from grader.batch.bugs import reported
from grader.batch.plan import file_name
from grader.batch.reading import Entry, Graded, read_graded
from grader.batch.statistics import Concern, beliefs, check_statistics, concerns
from grader.report.files import write_atomically
from grader.report.html.bars import histogram
from grader.report.html.pages import render
from grader.report.html.report_page import page
from grader.report.words import has_score

CLASS_PAGE = "class.html"
PAGES = "pages"
ANONYMOUS = "anonymous"


def write_pages(folder: Path, *, without_names: bool = False) -> tuple[Path, Graded]:
    """Write the pages of the batch in ``folder`` into it, and say where the class's page is.

    ``without_names`` makes them a folder of their own, ``anonymous``, that can be handed on.

    Raises:
        BatchError: there is no batch in ``folder``.
        OSError: the system refused to write.
    """
    read = read_graded(folder)
    graded, root = (anonymous(read), folder / ANONYMOUS) if without_names else (read, folder)
    root.mkdir(exist_ok=True)
    written = set()
    for entry in graded.entries:
        place = root / _page_of(entry)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            content = page(entry.report, name=entry.student, back=f"../../{CLASS_PAGE}")
        except Exception as error:
            why = "its page cannot be made" if without_names else reported(error)
            graded.unreadable.append(f"{entry.student} ({entry.assignment}): {why}")
            continue
        write_atomically(place, content)
        written.add(place)
    # A page of somebody who is no longer among them would still be found, and be out of date.
    for left in set((root / PAGES).glob("*/*.html")) - written:
        left.unlink()
    write_atomically(root / CLASS_PAGE, _class_page(graded, without_names))
    return root / CLASS_PAGE, read


def refresh_pages(folder: Path) -> list[Path]:
    """Rewrite the pages that an earlier run left in ``folder``.

    Returns where they are; nothing where nobody has asked for pages. Raises as ``write_pages``.
    """
    kinds = ((folder, False), (folder / ANONYMOUS, True))
    return [
        write_pages(folder, without_names=without_names)[0]
        for root, without_names in kinds
        if (root / CLASS_PAGE).is_file()
    ]


def _page_of(entry: Entry) -> str:
    return f"{PAGES}/{entry.assignment}/{file_name(entry.student)}.html"


def link(entry: Entry) -> str:
    """The link from the class's page to an entry's page."""
    return quote(_page_of(entry))


def _class_page(graded: Graded, without_names: bool) -> bytes:
    by_student: dict[str, dict[str, Entry]] = {name: {} for name in graded.students}
    by_assignment: dict[str, list[Entry]] = defaultdict(list)
    for entry in graded.entries:
        by_student[entry.student][entry.assignment] = entry
        by_assignment[entry.assignment].append(entry)
    order = [one.id for one in graded.summary.assignments if one.id in by_assignment]
    order += [id for id in by_assignment if id not in order]
    return render(
        "class.html",
        script="class.js",
        title=graded.summary.course,
        summary=graded.summary,
        without_names=without_names,
        people=[(name, entries, _total(entries.values())) for name, entries in by_student.items()],
        assignments=[_assignment(by_assignment[id]) for id in order],
        beliefs=beliefs(graded.entries),
        handed_in={id: len(entries) for id, entries in by_assignment.items()},
        concerns=_concerns(graded),
        unreadable=graded.unreadable,
        link=link,
    )


def _total(entries: Iterable[Entry]) -> int | None:
    """The points of one student; None where nothing has a score."""
    earned = [entry.report.final.earned for entry in entries if has_score(entry.report)]
    return sum(earned) if earned else None


def _assignment(entries: list[Entry]) -> dict[str, Any]:
    reports = [entry.report for entry in entries]
    scores = [report.final for report in reports if has_score(report)]
    percents = [score.percent for score in scores]
    title = reports[0].assignment.title
    return {
        "id": entries[0].assignment,
        "title": title,
        "handed_in": len(entries),
        "full": sum(score.earned == score.possible > 0 for score in scores),
        "median": median(percents) if percents else None,
        "picture": histogram(
            [percent / 100 for percent in percents],
            says=f"{title}: how many students earned which share of the points",
        ),
        "checks": check_statistics(reports),
    }


def _concerns(graded: Graded) -> list[Concern]:
    summary = graded.summary
    without_report = [
        Concern(student=one.student, assignment=one.assignment, kind=kind, why=one.message)
        for kind, several in (
            ("grading failed", summary.grading_failed),
            ("not recognised", summary.unassigned),
            ("report lost", summary.lost),
        )
        for one in several
    ]
    left_out = [
        Concern(kind="left out", assignment="", why=f"It belongs to no known student: {name}")
        for name in summary.left_out
    ]
    return [*without_report, *left_out, *concerns(graded.entries)]
