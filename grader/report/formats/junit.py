"""JUnit XML: what GitLab, Jenkins and most readers of test results understand."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from grader.report import safe
from grader.report.formats.items import Item, items, reports
from grader.report.formats.registry import AnyReport, Format
from grader.report.model import Report, Score, Status

_TAGS = {
    Status.FAILED: "failure",
    Status.ERROR: "error",
    Status.TIMEOUT: "error",
    Status.CRASHED: "error",
    Status.NOT_RUN: "error",
    Status.NOT_STARTED: "failure",
    Status.SKIPPED: "skipped",
}


def export(report: AnyReport) -> bytes:
    """A suite for each assignment and a case for each check, whose properties are its points."""
    root = Xml.Element("testsuites", name="grade")
    root.extend(_suite(one) for one in reports(report))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, 0)) for suite in root)))
    root.set("time", f"{sum(one.duration_s for one in reports(report)):.3f}")
    Xml.indent(root)
    content: bytes = Xml.tostring(root, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _suite(report: Report) -> Xml.Element:
    cases = items(report)
    tags = [_TAGS.get(item.check.status) for item in cases]
    suite = Xml.Element(
        "testsuite",
        name=safe.escape(report.assignment.id),
        tests=str(len(cases)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped=str(tags.count("skipped")),
        time=f"{report.duration_s:.3f}",
        timestamp=safe.escape(report.started_at),
    )
    _points(suite, report.score, submission=safe.escape(report.submission.id))
    suite.extend(_case(item) for item in cases)
    return suite


def _case(item: Item) -> Xml.Element:
    check = item.check
    case = Xml.Element(
        "testcase",
        classname=safe.escape(f"{item.report.assignment.id}.{check.family}"),
        name=safe.escape(check.title),
        time=f"{check.duration_s:.3f}",
    )
    _points(case, Score(earned=check.earned, possible=check.points))
    tag = _TAGS.get(check.status)
    if tag is not None:
        lines = [safe.guard(safe.escape(line)) for line in item.lines()]
        ended = Xml.SubElement(case, tag, message=lines[0] if lines else "")
        if tag != "skipped":
            ended.set("type", check.status.value)
        ended.text = "\n".join(lines)
    if check.output.text:
        Xml.SubElement(case, "system-out").text = "\n".join(
            map(safe.guard, safe.lines(check.output.text))
        )
    return case


def _points(element: Xml.Element, score: Score, **more: str) -> None:
    values = {"earned": str(score.earned), "possible": str(score.possible), **more}
    properties = Xml.SubElement(element, "properties")
    for name, value in values.items():
        Xml.SubElement(properties, "property", name=name, value=value)


FORMAT = Format(
    name="junit",
    help="JUnit XML, which GitLab, Jenkins and others read.",
    export=export,
    destination="junit.xml",
)
