"""Every promise of the confinement, tried with its layers on, with one of them alone, and without.

An attempt that is refused proves nothing unless it succeeds where nothing refuses it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from grader.confinement.confine import FILES, LAYERS, PROCESSES, TRUNCATION, USER, WRITING
from grader.processes.environment import CLEAN_ENVIRONMENT
from grader.wire.commands import Layer, Ready, Tried
from grader.wire.errors import SandboxMissing
from grader.worker.attempts import PROBES
from grader.workers.doctor import examine
from grader.workers.forked import ForkServer
from grader.workers.requiring import require

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these layers are Linux's")

NOBODY = 65_534
CAP_SYS_RESOURCE = 24
GUARDED = [name for name, probe in PROBES.items() if probe.layers]
SUFFICES = [(name, layer) for name in GUARDED for layer in PROBES[name].layers]

Examine = Callable[..., tuple[Ready, dict[str, Tried]]]


def launch(program: str = "", **options: object) -> ForkServer:
    """A fork server that runs ``program`` first, as another user if ``options`` say so."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    run = f"import sys\n{program}\nfrom grader.forkserver import serving\nserving.main()"
    with theirs:
        number = theirs.fileno()
        process = subprocess.Popen(
            [sys.executable, "-I", "-X", "utf8", "-c", run, str(number)],
            env=CLEAN_ENVIRONMENT,
            pass_fds=[number],
            stdin=subprocess.DEVNULL,
            cwd="/",
            **options,
        )
    return ForkServer(ours, process)


def remember(server: ForkServer) -> Examine:
    """Examines with each set of layers once."""
    known: dict[frozenset[Layer], tuple[Ready, dict[str, Tried]]] = {}

    def examine_once(*, without: tuple[Layer, ...] = ()) -> tuple[Ready, dict[str, Tried]]:
        layers = frozenset(without)
        if layers not in known:
            ready, tried = examine(server, without=sorted(layers))
            known[layers] = ready, {one.name: one for one in tried}
        return known[layers]

    return examine_once


@pytest.fixture(scope="module", params=["this user", "an ordinary user"])
def user(request: pytest.FixtureRequest) -> str:
    if request.param == "an ordinary user":
        if os.geteuid() != 0:
            pytest.skip("this is one already")
        if not _runs_for_others():
            pytest.skip("an ordinary user cannot run this interpreter")
    return request.param


@pytest.fixture(scope="module")
def examined(user: str, fork_server: ForkServer) -> Iterator[Examine]:
    if user == "this user":
        yield remember(fork_server)
        return
    server = launch(user=NOBODY, group=NOBODY, extra_groups=[])
    yield remember(server)
    server.close()


@pytest.fixture(scope="module")
def is_root(user: str) -> bool:
    return user == "this user" and os.geteuid() == 0


class TestPromises:
    @pytest.mark.parametrize("name", PROBES)
    def test_is_kept(self, examined, name):
        _, tried = examined()
        assert tried[name].held, tried[name].seen

    @pytest.mark.parametrize("name", GUARDED)
    def test_is_broken_without_its_layers(self, examined, is_root, name):
        if PROBES[name].only_root and not is_root:
            pytest.skip("an ordinary user is refused anyway")
        if name == "raise-limits" and not _has_capability(CAP_SYS_RESOURCE):
            pytest.skip("root lacks the power here")
        if name == "io-uring" and _sysctl("kernel/io_uring_disabled", "0") != "0":
            pytest.skip("there is none here")
        if name == "namespace" and not is_root and _sysctl("user/max_user_namespaces", "1") == "0":
            pytest.skip("there are none here")
        _, tried = examined(without=(*PROBES[name].layers, "user"))
        assert not tried[name].held, tried[name].seen

    @pytest.mark.parametrize(("name", "layer"), SUFFICES)
    def test_is_kept_by_one_layer_alone(self, examined, name, layer):
        # An unprivileged process may use Landlock only once it can gain no privileges.
        kept = {layer} | ({"privileges"} if layer == "landlock" else set())
        _, tried = examined(without=tuple(set(LAYERS) - kept))
        assert tried[name].held, tried[name].seen

    def test_what_is_off_is_said(self, examined):
        for layer in LAYERS:
            ready, _ = examined(without=(layer,))
            off = [gap for gap in ready.gaps if gap.why == "switched off"]
            assert len(off) == 1 or layer == "user"
            assert all(gap.guarantee not in ready.enforced for gap in off)

    def test_all_that_is_promised_is_enforced(self, examined):
        ready, _ = examined()
        assert ready.missing == []


class TestTheUser:
    """Where root runs the grader; ``trace`` and others need no powers but root's."""

    @pytest.fixture(autouse=True)
    def _only_for_root(self, is_root):
        if not is_root:
            pytest.skip("root alone can become somebody else")

    def test_says_who_workers_are(self, examined):
        ready, _ = examined()
        unprivileged = USER in ready.enforced
        assert unprivileged != any(gap.guarantee == USER for gap in ready.gaps)
        assert unprivileged or "root's powers given up" in ready.enforced
        # Reports go to students, whom the paths of this machine do not concern.
        assert not any("/" in str(gap) for gap in ready.gaps)

    @pytest.mark.parametrize("name", ["raise-limits", "trace", "memory-of-parent"])
    def test_without_roots_powers_an_attempt_fails(self, examined, name):
        _, tried = examined(without=tuple(set(LAYERS) - {"user", "limits"}))
        assert tried[name].held, tried[name].seen
        if name == "raise-limits" and not _has_capability(CAP_SYS_RESOURCE):
            pytest.skip("root lacks the power here")
        _, tried = examined(without=tuple(set(LAYERS) - {"limits"}))
        assert not tried[name].held, tried[name].seen

    @pytest.mark.parametrize("name", ["signal", "limit-parent", "renice-parent"])
    def test_an_unprivileged_user_reaches_nobody_else(self, examined, name):
        ready, tried = examined(without=tuple(set(LAYERS) - {"user"}))
        if USER not in ready.enforced:
            pytest.skip("this interpreter is root's alone")
        assert tried[name].held, tried[name].seen


@pytest.fixture(scope="module")
def with_abi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., object]]:
    """Examines as on a kernel whose Landlock has a given ABI."""
    place = tmp_path_factory.mktemp("kernel") / "abi"
    server = launch(
        "from grader.confinement import landlock\n"
        f"landlock.abi = lambda: int(open({str(place)!r}).read())"
    )

    def examine_with(abi: int, *, without: tuple[Layer, ...] = ()) -> object:
        place.write_text(str(abi))
        # Another user could not read what plays the kernel here.
        return remember(server)(without=(*without, "user"))

    yield examine_with
    server.close()


class TestWhatIsMissing:
    """Kernels and machines that have less, played by a fork server that finds less."""

    @pytest.mark.parametrize("abi", [1, 2])
    def test_an_old_landlock_is_helped_by_seccomp(self, with_abi, abi):
        ready, tried = with_abi(abi)
        assert ready.missing == []
        assert {FILES, WRITING} <= set(ready.enforced)
        assert [name for name, one in tried.items() if not one.held] == []

    def test_an_old_landlock_alone_lets_files_be_emptied(self, with_abi):
        ready, tried = with_abi(2, without=("seccomp",))
        assert TRUNCATION in [gap.guarantee for gap in ready.missing]
        assert not tried["truncate-file"].held
        assert tried["read-file"].held

    @pytest.mark.parametrize("abi", [3, 4, 5, 6])
    def test_every_landlock_from_3_on_will_do(self, with_abi, abi):
        ready, tried = with_abi(abi)
        assert ready.missing == []
        assert ("TCP closed by Landlock" in ready.enforced) == (abi >= 4)
        assert ("signals to other processes closed by Landlock" in ready.enforced) == (abi >= 6)
        assert [name for name, one in tried.items() if not one.held] == []

    def test_without_landlock_nothing_is_written_all_the_same(self, with_abi):
        ready, tried = with_abi(0)
        assert [gap.guarantee for gap in ready.missing] == [FILES]
        assert "Linux 6.2" in ready.missing[0].advice
        lost = {name for name, one in tried.items() if not one.held}
        assert {"read-file", "list-folder"} <= lost
        assert lost <= {"read-file", "list-folder", "memory-file-of-parent"}

    def test_without_libseccomp(self):
        server = launch("sys.modules['pyseccomp'] = None")
        ready, tried = remember(server)()
        server.close()
        (gap,) = ready.missing
        assert "pyseccomp is not installed" in str(gap)
        assert "libseccomp2" in gap.advice
        by_limit = os.geteuid() != 0 or USER in ready.enforced
        assert (PROCESSES in ready.enforced) == tried["fork"].held == by_limit
        assert tried["read-file"].held


def test_what_is_required_is_tried_and_not_only_claimed():
    server = launch(
        "from grader.confinement import seccomp\n"
        "seccomp.Filter.load = lambda self, *, read_only: None"
    )
    ready, _ = remember(server)()
    assert ready.missing == []
    with pytest.raises(SandboxMissing, match="No process can be started: it succeeded"):
        require(server)
    server.close()


def _sysctl(name: str, default: str) -> str:
    try:
        with open(f"/proc/sys/{name}") as file:
            return file.read().strip()
    except OSError:
        return default


def _has_capability(number: int) -> bool:
    with open("/proc/self/status") as lines:
        held = next(line.split()[1] for line in lines if line.startswith("CapEff:"))
    return bool(int(held, 16) >> number & 1)


def _runs_for_others() -> bool:
    command = [sys.executable, "-I", "-c", "import grader.worker"]
    options = {"group": NOBODY, "extra_groups": [], "env": CLEAN_ENVIRONMENT, "cwd": "/"}
    try:
        done = subprocess.run(command, user=NOBODY, stderr=subprocess.DEVNULL, **options)
    except PermissionError:
        return False
    return done.returncode == 0
