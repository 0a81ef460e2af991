"""Processes that are given a job in JSON, and answer on standard output, in lines of JSON."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

import msgspec

from grader.processes import launching

R = TypeVar("R")


class Step(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    """On the way: what is begun, or how much is done."""

    text: str = ""
    done: int = 0
    total: int = 0


class Result(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    value: msgspec.Raw


class Failed(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    text: str
    wrong_usage: bool = False


Line: TypeAlias = Step | Result | Failed


class ProcessFailed(Exception):
    """A job could not be done; ``wrong_usage`` says whether what was given is to blame."""

    def __init__(self, text: str, *, wrong_usage: bool = False) -> None:
        super().__init__(text)
        self.wrong_usage = wrong_usage


def ask(
    module: str, job: msgspec.Struct, result: type[R], on_step: Callable[[Step], None]
) -> Iterator[R]:
    """The results of a job that a module of the grader's does; raises ProcessFailed."""
    with tempfile.TemporaryFile() as errors:
        process = launching.start(
            module,
            [msgspec.json.encode(job).decode()],
            stdout=subprocess.PIPE,
            stderr=errors,
        )
        assert process.stdout is not None
        try:
            for line in process.stdout:
                match msgspec.json.decode(line, type=Line):
                    case Step() as step:
                        on_step(step)
                    case Result(value=value):
                        yield msgspec.json.decode(value, type=result)
                    case Failed(text=text, wrong_usage=wrong_usage):
                        raise ProcessFailed(text, wrong_usage=wrong_usage)
            if process.wait() != 0:
                said = launching.last_words(errors)
                raise ProcessFailed(
                    f"the process {module} ended before it was done. {said}".strip()
                )
        finally:
            launching.end(process)
            process.stdout.close()


class Answers:
    """How such a process answers. What others print there is no answer any more."""

    def __init__(self) -> None:
        self._lines = os.fdopen(os.dup(1), "wb", buffering=0)
        os.dup2(2, 1)

    def step(self, text: str = "", *, done: int = 0, total: int = 0) -> None:
        """Say what is begun, or how much is done."""
        self._say(Step(text=text, done=done, total=total))

    def result(self, value: object) -> None:
        """Hand over a result."""
        self._say(Result(value=msgspec.Raw(msgspec.json.encode(value))))

    def failed(self, error: Exception, *, wrong_usage: bool = False) -> None:
        """Say why there are no more results."""
        self._say(Failed(text=str(error), wrong_usage=wrong_usage))

    def _say(self, line: Line) -> None:
        self._lines.write(msgspec.json.encode(line) + b"\n")
