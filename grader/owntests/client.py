"""Starting the process that runs students' own tests. Never imports torch."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from grader.jobs.protocol import SandboxMode
from grader.owntests.model import Thoroughness
from grader.processes.environment import CLEAN_ENVIRONMENT


class Job(msgspec.Struct, kw_only=True):
    """A file of tests to be measured for one assignment; paths are absolute."""

    course: str
    assignment: str
    tests: str
    seed: int
    sandbox: SandboxMode = "auto"
    isolate: bool = False
    most_faults: int | None = None
    seconds: float | None = None
    """What one test may take; overrides the assignment's limit of a check."""


class Step(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    """So many variants have been run."""

    done: int
    total: int


class Measured(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    result: Thoroughness


class Failed(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    text: str
    wrong_usage: bool = False


Message: TypeAlias = Step | Measured | Failed


class OwnTestsError(Exception):
    """The tests could not be measured; ``wrong_usage`` says whether what was given is to blame."""

    def __init__(self, text: str, *, wrong_usage: bool = False) -> None:
        super().__init__(text)
        self.wrong_usage = wrong_usage


def run(job: Job, on_step: Callable[[Step], None] = lambda _: None) -> Thoroughness:
    """Measure a file of tests in a process of its own; the result is an instructor's.

    Raises OwnTestsError.
    """
    argument = msgspec.json.encode(job).decode()
    command = [sys.executable, "-I", "-X", "utf8", "-m", __package__, argument]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command,
            env=CLEAN_ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd="/",
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                match msgspec.json.decode(line, type=Message):
                    case Step() as step:
                        on_step(step)
                    case Measured(result=result):
                        return result
                    case Failed(text=text, wrong_usage=wrong_usage):
                        raise OwnTestsError(text, wrong_usage=wrong_usage)
        except BaseException:
            process.kill()
            raise
        process.wait()
        errors.seek(0)
        said = errors.read()[-3000:].decode("utf-8", "backslashreplace").strip()
    raise OwnTestsError(f"the process that ran the tests ended before it was done. {said}".strip())
