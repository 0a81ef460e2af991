"""An audit for reading in a terminal."""

from __future__ import annotations

from grader.audit.model import Audit
from grader.report.words import count


def lines(audit: Audit) -> list[str]:
    """A summary line, then everything that falls short."""
    caught = sum(not fault.missed for fault in audit.faults)
    equivalent = sum(bool(mutant.reason) for mutant in audit.survivors)
    summary = [
        f"{audit.assignment}: {count(len(audit.checks), 'check')}, {count(audit.points, 'point')}",
        f"  faults     {caught} of {len(audit.faults)} caught by the families they name",
        f"  pairs      {audit.pairs} of {audit.possible_pairs} tried, "
        f"{len(audit.bad_pairs)} of which fall short",
        f"  accepted   {count(audit.accepted, 'right variant')} under "
        f"{count(audit.seeds, 'seed')}, "
        f"{len({entry.name for entry in audit.lost})} of which lost points",
        f"  stub       {count(audit.stub_earned, 'point')}",
        f"  mutants    {audit.mutants - len(audit.survivors)} of {audit.mutants} caught, "
        f"{equivalent} recorded as equivalent",
        f"  time       {audit.seconds:.1f} s",
    ]
    flaky = [fault for fault in audit.faults if fault.flaky]
    if flaky:
        some = count(len(flaky), "fault")
        summary.append(f"  (checks that catch a fault under some seeds only: {some})")
    if not audit.shortcomings:
        return [*summary, "  nothing falls short"]
    found = ["  falls short:"]
    for texts, advice in audit.shortcomings_by_kind:
        found += [f"  - {text}" for text in texts]
        found.append(f"    What to do: {advice}.")
    return summary + found
