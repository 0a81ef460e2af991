"""``grade doctor``: a worker tries out what this machine enforces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.cli import options
from grader.cli.errors import InfrastructureError

if TYPE_CHECKING:
    from grader.wire.commands import Ready, Tried


@click.command
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@options.isolate
@click.pass_context
def command(ctx: click.Context, as_json: bool, isolate: bool) -> None:
    """Attack the sandbox as a hostile submission would, and list what it does not stop.

    Exits with 0 if every promise holds, and with 1 otherwise.
    """
    from grader.wire.errors import SandboxError
    from grader.workers.doctor import examine

    try:
        ready, tried = examine(isolate=isolate)
    except SandboxError as error:
        raise InfrastructureError(str(error)) from None
    healthy = not ready.missing and all(one.held for one in tried)
    click.echo(_json(healthy, ready, tried) if as_json else _text(healthy, ready, tried))
    if not healthy:
        ctx.exit(1)


def _json(healthy: bool, ready: Ready, tried: list[Tried]) -> str:
    import msgspec

    from grader.worker.attempts import PROBES, promise

    probes = [
        {
            "name": one.name,
            "promise": promise(one.name),
            "held": one.held,
            "seen": one.seen,
            "layers": PROBES[one.name].layers if one.name in PROBES else ["isolation"],
        }
        for one in tried
    ]
    gaps = [
        {"guarantee": gap.guarantee, "why": gap.why, "advice": gap.advice, "promised": gap.promised}
        for gap in ready.gaps
    ]
    found = {"healthy": healthy, "enforced": ready.enforced, "not_enforced": gaps, "probes": probes}
    return msgspec.json.format(msgspec.json.encode(found), indent=2).decode()


def _text(healthy: bool, ready: Ready, tried: list[Tried]) -> str:
    from grader.worker.attempts import promise

    lines = ["What a submission tries:"]
    for one in tried:
        promised = promise(one.name)
        lines.append(f"  ok  {promised}" if one.held else f"  NO  {promised} - {one.seen}")
    lines += ["", "Enforced: " + (", ".join(ready.enforced) or "nothing") + "."]
    if ready.gaps:
        lines += ["", "Not enforced:"]
        lines += [f"  - {gap}. {gap.advice}".rstrip() for gap in ready.gaps]
    verdict = "Every promise holds here." if healthy else "Not every promise holds here."
    return "\n".join([*lines, "", verdict])
