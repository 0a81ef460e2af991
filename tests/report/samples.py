"""Full reports to test with: one of every status, and one of everything a student could type."""

from __future__ import annotations

from typing import Any

import msgspec

from grader.report.model import (
    AssignmentInfo,
    Audience,
    CheckResult,
    CourseReport,
    Diagnosis,
    Environment,
    Evidence,
    FileInfo,
    Location,
    Output,
    Report,
    SandboxInfo,
    Score,
    Status,
    SubmissionInfo,
    Visibility,
)

HOSTILE = (
    "\x1b[2J\x1b[31mred\x1b[0m [red]markup[/red] [link=http://x]y[/link] :smile: "
    "\u202egnp.exe\u2066 nul\0 \ud800lone \x9b31m \r\n::error::forged\n"
    "   ::set-output name=x::y\n\u00a0::warning::z\n"
    "##[error]forged ##vso[task.complete] \u2028::debug::a"
)


def check(id: str, status: Status = Status.PASSED, **changes: Any) -> CheckResult:
    points = changes.pop("points", 2)
    values: dict[str, Any] = {
        "title": f"Title of {id}",
        "family": id,
        "points": points,
        "earned": points if status is Status.PASSED else 0,
        "status": status,
        "visibility": Visibility.HIDDEN,
        "duration_s": 0.01,
    }
    return CheckResult(id=id, **{**values, **changes})


def report(checks: list[CheckResult] | None = None, **changes: Any) -> Report:
    checks = [] if checks is None else checks
    values: dict[str, Any] = {
        "assignment": AssignmentInfo(
            id="attention", title="Scaled dot-product attention", suite_digest="a" * 64
        ),
        "submission": SubmissionInfo(
            id="ada", digest="b" * 64, files=[FileInfo(name="attention.py", digest="c" * 64)]
        ),
        "status": "graded",
        "score": Score(
            earned=sum(item.earned for item in checks),
            possible=sum(item.points for item in checks) or 40,
        ),
        "checks": checks,
        "sandbox": SandboxInfo(level="full", enforced=["network", "files"]),
        "environment": Environment(
            grader="0.1.0", python="3.11.2", torch="2.13.0", platform="Linux-x86_64"
        ),
        "seed": 1234,
        "started_at": "2026-01-02T03:04:05+00:00",
        "duration_s": 1.25,
    }
    return Report(**{**values, **changes})


def full_marks() -> Report:
    return report([check("shape"), check("row-sum"), check("gradient", points=3)])


def softmax_over_queries() -> Report:
    """A diagnosed report: one root cause, what it explains, evidence, an error, partial credit."""
    return report(
        [
            check("shape", visibility=Visibility.PUBLIC),
            check(
                "row-sum",
                Status.FAILED,
                title="Each query shares out exactly 1 among its keys",
                message="The rows of your weights do not sum to 1.",
                hint="Which axis are the keys on?",
                location=Location(
                    file="attention.py", line=12, text="    weights = scores.softmax(dim=-2)"
                ),
                evidence=[
                    Evidence(
                        demonstration="Two keys",
                        name="weights",
                        shows="weights",
                        yours=[[1.0, 0.25], [0.0, 0.75]],
                        expected=[[0.67, 0.33], [0.5, 0.5]],
                    )
                ],
                detail="largest difference 0.33 at [0, 0]",
                output=Output(text="secret of a hidden input\n"),
            ),
            check("values", Status.FAILED, message="Wrong values.", because="row-sum", points=4),
            check("gradient", Status.FAILED, message="Wrong gradients.", because="values"),
            check(
                "bfloat16",
                Status.ERROR,
                message="RuntimeError: expected scalar type Float",
                output=Output(text="public print\n", truncated=True),
                visibility=Visibility.PUBLIC,
                detail="Traceback of a public check",
            ),
            check("float64", Status.ERROR, message="RuntimeError: expected scalar type Float"),
            check("mask", state_dependent=True),
            check("partial", Status.FAILED, message="Half of it is right.", earned=1),
        ],
        audience=Audience.INSTRUCTOR,
        diagnosis=[
            Diagnosis(
                faults=["softmax-over-queries"],
                message="Each column of your weights sums to 1; each row should.",
                hint="A query shares out 1 among the keys.",
                belief="The weights are normalised over the queries.",
                exactness=1.2e-7,
                probes=2,
            )
        ],
        notes=["Two lines that begin with ! were left out."],
        output=Output(text="imported\n"),
        sandbox=SandboxInfo(level="partial", not_enforced=["network", "memory"]),
    )


def every_status() -> Report:
    return report(
        [check(status.value, status, message=f"Message of {status}.") for status in Status]
    )


def not_started() -> Report:
    return report(
        [check("shape", Status.NOT_STARTED), check("row-sum", Status.NOT_STARTED)],
        status="not-started",
    )


def not_gradable() -> Report:
    return report(status="not-gradable", message="Two files could be meant: a.py and b.py.")


def hostile() -> Report:
    """A report in which every string is one that a student should not get away with."""
    data = msgspec.to_builtins(softmax_over_queries())
    kept = {"type", "status", "visibility", "audience", "level", "because", "id"}
    kept |= {"kind", "shows"}

    def spoil(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {name: spoil(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [spoil(item) for item in value]
        return HOSTILE if isinstance(value, str) and key not in kept else value

    spoilt = msgspec.convert(spoil(data), type=Report)
    texts = [Evidence(demonstration=HOSTILE, name=HOSTILE, yours=HOSTILE, expected=[[HOSTILE]])]
    cells = [
        Evidence(
            demonstration=HOSTILE,
            name="weights",
            shows="weights",
            yours=[[HOSTILE, 1.0]],
            expected=[[1, 2]],
        )
    ]
    curves = [
        Evidence(
            demonstration=HOSTILE, name=HOSTILE, yours=[HOSTILE], expected=HOSTILE, kind="curve"
        )
    ]
    return msgspec.structs.replace(
        spoilt,
        checks=[
            *spoilt.checks,
            check("texts", Status.FAILED, evidence=texts, message="a"),
            check("cells", Status.FAILED, evidence=cells, message="b"),
            check("curve", evidence=curves),
            check("skip", Status.SKIPPED, message=HOSTILE),
        ],
    )


def course() -> CourseReport:
    reports = [full_marks(), softmax_over_queries(), not_started(), not_gradable()]
    return CourseReport(
        course="Attention",
        score=Score(
            earned=sum(item.score.earned for item in reports),
            possible=sum(item.score.possible for item in reports),
        ),
        reports=reports,
    )


def everything() -> dict[str, Report | CourseReport]:
    return {
        "full marks": full_marks(),
        "diagnosed": softmax_over_queries(),
        "every status": every_status(),
        "not started": not_started(),
        "not gradable": not_gradable(),
        "hostile": hostile(),
        "course": course(),
    }
