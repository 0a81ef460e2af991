"""The worker that runs the student's tests with pytest, and reports how each ended."""

from __future__ import annotations

import os
import socket
import traceback
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from grader.owntests import proxy, subject
from grader.owntests.messages import AllEnded, Ended, GoOn, LoadSubject, RunTests, ToWorker
from grader.session.errors import StudentError
from grader.wire import frames
from grader.wire.values import sendable

MAX_TEXT = 2000
_NEEDLESS = (
    "cacheprovider",
    "debugging",
    "doctest",
    "faulthandler",
    "junitxml",
    "legacypath",
    "logging",
    "pastebin",
    "setuponly",
    "setupplan",
    "stepwise",
    "threadexception",
    "tmpdir",
    "unraisableexception",
    "warnings",
)
"""Plugins of pytest's that take time at each start, or write files, which tests cannot here."""
_ARGUMENTS = (
    f"-c{os.devnull}",
    "--import-mode=importlib",
    "--noconftest",
    "--capture=no",
    "--tb=no",
    "-qq",
    *(f"-pno:{plugin}" for plugin in _NEEDLESS),
)
_requests: msgspec.msgpack.Decoder[ToWorker] = msgspec.msgpack.Decoder(ToWorker)


def live(sock: socket.socket) -> None:
    """Do what the first request says: run the student's tests, or serve their subject."""
    try:
        request, _ = frames.receive(sock, _requests)
    except EOFError:
        return
    match request:
        case RunTests():
            run(sock, request)
        case LoadSubject():
            subject.serve(sock, request)


def run(sock: socket.socket, request: RunTests) -> None:
    """Run the tests, and report each test as it ends."""
    torch.default_generator.manual_seed(request.seed)
    proxy.install(request.module, request.exports, sock)
    path = Path(request.path)
    teller = _Teller(sock, path)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    # Without these two it would look into folders above, which are closed.
    folder = [f"--rootdir={path.parent}", f"--confcutdir={path.parent}"]
    code = int(pytest.main([*_ARGUMENTS, *folder, str(path)], plugins=[teller]))
    frames.send(sock, AllEnded(problem=teller.problem or _PROBLEMS.get(code, "")))


_PROBLEMS: dict[int, str] = {
    pytest.ExitCode.NO_TESTS_COLLECTED: "There is no test in it: a test is a function whose name "
    "begins with test_.",
    pytest.ExitCode.INTERRUPTED: "The run was interrupted.",
    pytest.ExitCode.INTERNAL_ERROR: "pytest itself failed.",
    pytest.ExitCode.USAGE_ERROR: "pytest could not run it.",
}


class _Teller:
    """A pytest plugin that tells the trusted side how each test ended."""

    def __init__(self, sock: socket.socket, path: Path) -> None:
        self._sock = sock
        self._path = path
        self.problem = ""
        """Why the tests could not be collected."""
        self._ended = Ended(test="", outcome="passed")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, Any, Any]:
        report: Any = yield
        if report.failed and report.call is not None and report.call.excinfo is not None:
            error = report.call.excinfo.value
            # pytest wraps what an import raised in words that name folders of this machine.
            said, line = self._explain(error.__cause__ or error)
            where = f"line {line}: " if line else ""
            self.problem = self.problem or f"It cannot be imported: {where}{said}"
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[Any]
    ) -> Generator[None, Any, Any]:
        report: Any = yield
        if report.when == "setup":
            self._ended = Ended(test=_sendable(item.name), outcome="passed")
        if report.skipped and self._ended.outcome == "passed":
            self._ended.outcome = "skipped"
        if report.failed and self._ended.outcome != "failed":
            self._ended.outcome = "failed"
            self._ended.message, self._ended.line = (
                self._explain(call.excinfo.value)
                if call.excinfo is not None
                else (_sendable(str(report.longrepr)), 0)
            )
        if report.when == "teardown":
            frames.send(self._sock, self._ended)
            answer, _ = frames.receive(self._sock, _requests)
            assert isinstance(answer, GoOn)
        return report

    def _explain(self, error: BaseException) -> tuple[str, int]:
        """What an error says, and the line of the student's file that led to it.

        It may have been raised in a helper: where the test called that says more.
        """
        passed = traceback.walk_tb(error.__traceback__)
        own = (line for frame, line in passed if frame.f_code.co_filename == str(self._path))
        line = next(own, 0)
        said = str(error)
        if not isinstance(error, AssertionError | StudentError | pytest.fail.Exception):
            said = f"{type(error).__name__}: {said}"
        return _sendable(said), line


def _sendable(text: str) -> str:
    return sendable(text[:MAX_TEXT])
