"""Bubblewrap around the fork server: what it hides, and that without it nothing else would."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.cli.main import run
from grader.processes.staging import Staging
from grader.wire.commands import Confinement
from grader.wire.errors import SandboxMissing
from grader.wire.messages import Call, Load, Loaded, Plain, Returned
from grader.worker.attempts import ISOLATED, PROBES
from grader.workers import bubblewrap
from grader.workers.doctor import examine
from grader.workers.forked import ForkServer
from grader.workers.handle import Worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is Linux's")

LOOKS = """
import os

def sees(path):
    try:
        return os.stat(path).st_size
    except OSError as error:
        return type(error).__name__

def links_to(path):
    try:
        return os.readlink(path)
    except OSError as error:
        return type(error).__name__

def process_group(pid):
    try:
        return os.getpgid(pid)
    except OSError as error:
        return type(error).__name__

def number(_):
    return os.getpid()
"""
SECONDS = 60.0


@pytest.fixture(scope="module")
def works() -> bubblewrap.Isolation:
    """What bubblewrap gives here."""
    try:
        return bubblewrap.find()
    except SandboxMissing as missing:
        pytest.skip(f"{missing} (Debian and Ubuntu: apt-get install bubblewrap)")


@pytest.fixture(scope="module")
def isolated(works: bubblewrap.Isolation) -> Iterator[ForkServer]:
    staging = Staging()
    server = ForkServer.launch(staging=staging.path, isolate=True)
    yield server
    server.close()
    staging.close()


class Looker:
    """A submission that looks around."""

    def __init__(self, server: ForkServer, folder: Path) -> None:
        path = folder / "looks.py"
        path.write_text(LOOKS, "utf-8")
        self._worker: Worker = server.spawn(
            folder, Confinement(memory_bytes=1 << 30, cpu_seconds=100)
        )
        self.ready = self._worker.wait_ready()
        request = Load(path=str(path), module="looks", exports=[])
        assert isinstance(self._ask(request, Loaded), Loaded)

    def ask(self, name: str, argument: object) -> object:
        reply = self._ask(Call(name=name, arguments=[Plain(value=argument)]), Returned)
        assert isinstance(reply, Returned), reply
        return reply.value.value

    def _ask(self, request, expected):
        return self._worker.request(request, b"", expected, time.monotonic() + SECONDS)[0]

    def close(self) -> None:
        self._worker.kill()


@pytest.fixture(params=["with", "without"])
def looker(request, fork_server, tmp_path) -> Iterator[tuple[bool, Looker]]:
    """One in bubblewrap, or one outside; and which it is."""
    inside = request.param == "with"
    server = request.getfixturevalue("isolated") if inside else fork_server
    folder = tmp_path
    if inside:
        folder = server.staging / "submission"
        folder.mkdir(exist_ok=True)
    made = Looker(server, folder)
    yield inside, made
    made.close()


def test_a_file_outside_does_not_even_show(looker, tmp_path):
    inside, it = looker
    secret = tmp_path / "hidden.py"
    secret.write_text("hidden")
    (tmp_path / "link").symlink_to(secret)
    assert it.ask("sees", str(secret)) == ("FileNotFoundError" if inside else 6)
    seen = it.ask("links_to", str(tmp_path / "link"))
    assert seen == ("FileNotFoundError" if inside else str(secret))
    assert it.ask("sees", __file__) == (
        "FileNotFoundError" if inside else os.stat(__file__).st_size
    )


def test_a_process_outside_does_not_show(looker, works):
    inside, it = looker
    if bubblewrap.PROCESSES not in works.holds:
        pytest.skip("this machine refuses a namespace of processes")
    if inside and it.ask("number", None) > os.getpid() // 2:
        pytest.skip("numbers are used twice in so small a container")
    assert it.ask("sees", f"/proc/{os.getpid()}") == ("FileNotFoundError" if inside else 0)


def test_it_is_said(looker):
    inside, it = looker
    assert (bubblewrap.FILES in it.ready.enforced) == inside
    assert any(gap.guarantee == bubblewrap.FILES for gap in it.ready.gaps) != inside
    assert not any(gap.guarantee == bubblewrap.FILES for gap in it.ready.missing)


def test_every_promise_is_kept_inside(isolated):
    ready, tried = examine(isolated)
    assert ready.missing == []
    assert {one.name for one in tried} == set(PROBES) | set(ISOLATED)
    assert [one for one in tried if not one.held] == []


def test_the_probe_sees_when_there_is_none(fork_server, monkeypatch):
    # A fork server that claims to be isolated, and is not.
    staging = Staging()
    monkeypatch.setattr(
        "grader.workers.forked.find",
        lambda _: bubblewrap.Isolation(prefix=[], holds=[bubblewrap.FILES]),
    )
    server = ForkServer.launch(staging=staging.path, isolate=True)
    _, tried = examine(server)
    server.close()
    staging.close()
    assert [one.name for one in tried if not one.held] == ["existence"]


class TestWhereItIsMissing:
    @pytest.fixture
    def broken(self, tmp_path, monkeypatch) -> Path:
        """A bubblewrap that is there, and refuses as one in a container does."""
        program = tmp_path / "bin" / "bwrap"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\necho 'bwrap: No permissions to create' >&2\nexit 1\n")
        program.chmod(0o755)
        monkeypatch.setattr(bubblewrap, "SEARCH", str(program.parent))
        return program

    def test_its_presence_proves_nothing(self, broken):
        with pytest.raises(SandboxMissing, match="No permissions to create"):
            bubblewrap.find()

    def test_without_it_the_package_is_named(self, broken, capfd):
        broken.unlink()
        assert run(["doctor", "--isolate"]) == 3
        assert "Install the package bubblewrap" in capfd.readouterr().err
