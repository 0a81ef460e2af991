"""Folders for staged files: which are taken away when their process was killed, and which never."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from grader.processes.staging import LOCK, PREFIX, Staging

HOLD = """
import sys, time
sys.path.insert(0, {root!r})
from grader.processes.staging import Staging
staging = Staging()
(staging.path / "staged").mkdir()
(staging.path / "staged" / "answer.py").write_text("x = 1")
print(staging.path, flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch) -> Path:
    """A temporary folder that nobody else uses meanwhile."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def other(temporary, pytestconfig):
    """A process that has a staging folder of its own, and that folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(root=str(pytestconfig.rootpath))],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_is_there_and_open_to_workers_until_it_is_closed(temporary):
    staging = Staging()
    assert staging.path.parent == temporary
    assert staging.path.stat().st_mode & 0o777 == 0o755
    (staging.path / "staged").mkdir()
    staging.close()
    assert list(temporary.iterdir()) == []


def test_what_is_in_use_stays(other):
    _, folder = other
    Staging().close()
    assert (folder / "staged" / "answer.py").exists()


def test_what_a_killed_process_left_goes(other):
    process, folder = other
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert folder.exists()
    Staging().close()
    assert not folder.exists()


@pytest.mark.parametrize("kind", ["no lock", "a link as lock", "a link", "a file", "another name"])
def test_what_is_not_ours_stays(temporary, tmp_path, kind):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / LOCK).touch()
    place = temporary / f"{PREFIX}notes"
    match kind:
        case "no lock":
            place.mkdir()
        case "a link as lock":
            place.mkdir()
            (place / LOCK).symlink_to(kept / LOCK)
        case "a link":
            place.symlink_to(kept)
        case "a file":
            place.touch()
        case _:
            place = temporary / "notes"
            place.mkdir()
            (place / LOCK).touch()
    Staging().close()
    assert os.path.lexists(place)
    assert (kept / LOCK).exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs two users")
def test_what_is_somebody_elses_stays(temporary):
    place = temporary / f"{PREFIX}theirs"
    place.mkdir()
    (place / LOCK).touch()
    os.chown(place, 65_534, 65_534)
    Staging().close()
    assert place.exists()
