"""``grade doctor``: what is tried, what is said, and the exit code."""

from __future__ import annotations

import json
import sys

import pytest

from grader.cli.main import run
from grader.wire.errors import SandboxError
from grader.worker.attempts import PROBES
from grader.workers import doctor

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers are Linux's")


@pytest.fixture
def cli(fork_server, monkeypatch, capfd):
    """Runs ``grade doctor`` with the tests' own fork server; ``without`` leaves layers out."""
    examine = doctor.examine

    def run_command(*arguments: str, without: tuple[str, ...] = ()) -> tuple[int, str, str]:
        monkeypatch.setattr(doctor, "examine", lambda **_: examine(fork_server, without=without))
        code = run(["doctor", *arguments])
        return code, *capfd.readouterr()

    return run_command


def test_all_is_well(cli):
    code, out, err = cli()
    assert (code, err) == (0, "")
    assert out.count("  ok  ") == len(PROBES)
    assert "  NO  " not in out
    assert "Every promise holds here." in out


def test_a_layer_that_is_off_is_seen_and_said(cli):
    code, out, _ = cli(without=("landlock",))
    assert code == 1
    assert "  NO  No file outside can be read" in out
    assert "  ok  No process can be started" in out
    assert "files closed by Landlock (switched off)" in out
    assert "Not every promise holds here." in out


def test_as_json(cli):
    code, out, _ = cli("--json", without=("seccomp",))
    found = json.loads(out)
    assert (code, found["healthy"]) == (1, False)
    tried = {probe["name"]: probe["held"] for probe in found["probes"]}
    assert set(tried) == set(PROBES)
    assert (tried["fork"], tried["read-file"]) == (False, True)
    assert [gap["guarantee"] for gap in found["not_enforced"] if gap["promised"]] == [
        "system calls filtered by seccomp"
    ]


def test_a_sandbox_that_cannot_be_tried_is_no_finding(monkeypatch, capfd):
    def fail(**_: object) -> None:
        raise SandboxError("the fork server has ended")

    monkeypatch.setattr(doctor, "examine", fail)
    assert run(["doctor"]) == 3
    assert "the fork server has ended" in capfd.readouterr().err
