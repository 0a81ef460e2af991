"""Starting the process that audits. Never imports torch."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec

from grader.audit.model import Audit


class Step(msgspec.Struct, tag=True, tag_field="is"):
    text: str


class Audited(msgspec.Struct, tag=True, tag_field="is"):
    audit: Audit


class Failed(msgspec.Struct, tag=True, tag_field="is"):
    text: str


Event: TypeAlias = Step | Audited | Failed


class AuditError(Exception):
    """An audit could not be made; the text says what to mend."""


def run(
    course: Path,
    assignments: list[str],
    *,
    seeds: int,
    most_pairs: int | None = None,
    on_step: Callable[[str], None],
) -> Iterator[Audit]:
    """Audit assignments one after another in a process of their own; raises AuditError."""
    limits = [str(seeds), "all" if most_pairs is None else str(most_pairs)]
    command = [sys.executable, "-I", "-X", "utf8", "-m", __package__, str(course), *limits]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, *assignments], stdout=subprocess.PIPE, env=environment, cwd="/"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            match msgspec.json.decode(line, type=Event):
                case Step(text):
                    on_step(text)
                case Audited(audit):
                    yield audit
                case Failed(text):
                    raise AuditError(text)
    if process.returncode != 0:
        raise AuditError("the process of the audit ended before it was done")
