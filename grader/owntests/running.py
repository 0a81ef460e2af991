"""One run: the student's tests in one confined worker, their subject in another."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from grader.course.model import Assignment
from grader.jobs.protocol import SandboxMode
from grader.owntests.messages import (
    AllEnded,
    Answer,
    Answered,
    Ask,
    Asked,
    Ended,
    FromTests,
    GoOn,
    LoadSubject,
    Reply,
    RunTests,
    ToTrusted,
)
from grader.owntests.subject import raised
from grader.session.student.lifecycle import OFF
from grader.wire.commands import Confinement, Ready
from grader.wire.errors import WorkerLost, WorkerTimeout
from grader.wire.messages import Raised
from grader.workers.forked import ForkServer
from grader.workers.handle import Worker
from grader.workers.requiring import refuse

MOST_TESTS = 1000
MAX_NAME, MAX_MESSAGE = 200, 1000
SHARE_OF_A_CALL = 0.5
"""Of the time that is left: the tests have to notice that the subject hangs, and say so."""

replies: msgspec.msgpack.Decoder[ToTrusted] = msgspec.msgpack.Decoder(ToTrusted)


class Run(msgspec.Struct):
    """How the tests ended on one variant, as far as they were run."""

    ended: list[Ended]
    problem: str
    """Why the run did not come to an end; empty if it did."""

    @property
    def failed(self) -> list[Ended]:
        return [test for test in self.ended if test.outcome == "failed"]


class Runner:
    """Runs staged tests on variants of one assignment, each time in two fresh workers."""

    def __init__(
        self,
        assignment: Assignment,
        tests: Path,
        nowhere: Path,
        *,
        sandbox: SandboxMode,
        seconds: float,
        deadline: float,
    ) -> None:
        """One test may take ``seconds``, all runs until ``deadline``; ``nowhere`` is empty."""
        self._assignment = assignment
        self._tests = tests
        self._nowhere = nowhere
        self._sandbox = sandbox
        self._seconds = seconds
        self._deadline = deadline
        self._module = assignment.file.removesuffix(".py")
        self.ready: Ready | None = None
        """What the first worker said of its confinement."""

    @property
    def out_of_time(self) -> bool:
        return time.monotonic() >= self._deadline

    def run(self, server: ForkServer, source: str, *, seed: int, until_failure: bool) -> Run | None:
        """Run the tests on the variant ``source``; they cannot tell what it is for.

        With ``until_failure`` their worker is ended by the first test that fails. None if the time
        for all runs was up before this one had come to its end.
        """
        run = Run(ended=[], problem="")
        subject = self._spawn(server, self._nowhere)
        subject.announce(
            LoadSubject(source=source, module=self._module, exports=list(self._assignment.exports))
        )
        tests = self._spawn(server, self._tests.parent)
        try:
            for worker in (subject, tests):
                ready = worker.wait_ready()
                if self._sandbox == "require":
                    refuse(ready.missing)
                self.ready = self.ready or ready
            self._relay(tests, subject, run, seed, until_failure)
        except WorkerTimeout:
            if self.out_of_time:
                return None
            run.problem = f"{_next_after(run)} did not end in time."
        except WorkerLost as lost:
            run.problem = f"{_next_after(run)} ended the process that ran it: {lost.how}."
        finally:
            tests.discard()
            subject.discard()
        return run

    def _relay(
        self,
        tests: Worker,
        subject: Worker,
        run: Run,
        seed: int,
        until_failure: bool,
    ) -> None:
        # Until the first test has ended, the file is imported too.
        deadline = self._in(self._assignment.limits.import_seconds + self._seconds)
        request: msgspec.Struct = RunTests(
            path=str(self._tests),
            module=self._module,
            exports=self._assignment.exports,
            seed=seed,
        )
        data: bytes | bytearray = b""
        while True:
            said, blob = tests.request(request, data, FromTests, deadline)
            match said:
                case Asked():
                    request, data = _ask(subject, said, blob, deadline)
                case Ended():
                    run.ended.append(_cut(said))
                    if said.outcome == "failed" and until_failure:
                        return
                    if len(run.ended) > MOST_TESTS:
                        run.problem = f"There are more than {MOST_TESTS} tests."
                        return
                    request, data = GoOn(), b""
                    deadline = self._in(self._seconds)
                case AllEnded():
                    run.problem = said.problem[:MAX_MESSAGE]
                    return
                case _:
                    run.problem = "The tests forged messages of the test runner."
                    return

    def _in(self, seconds: float) -> float:
        return min(time.monotonic() + seconds, self._deadline)

    def _spawn(self, server: ForkServer, folder: Path) -> Worker:
        limits = self._assignment.limits
        confinement = Confinement(
            memory_bytes=limits.memory_bytes,
            cpu_seconds=int(limits.submission_seconds) + 1,
            without=OFF if self._sandbox == "off" else [],
        )
        worker = server.spawn(folder, confinement)
        worker.keep_output = 0
        return worker


def _ask(
    subject: Worker, asked: Asked, blob: bytearray, deadline: float
) -> tuple[Answered, bytes | bytearray]:
    """The subject's answer to one question, without anything of its source."""
    now = time.monotonic()
    ask = Ask(question=asked.question, random=asked.random)
    patience = now + SHARE_OF_A_CALL * max(0.0, deadline - now)
    reply: Reply
    data: bytes | bytearray = b""
    random = asked.random
    try:
        answer, data = subject.request(ask, blob, Answer, patience)
    except WorkerTimeout:
        reply = raised("TimeoutError", "the module did not answer in time")
    except WorkerLost as lost:
        reply = raised("RuntimeError", f"the module's process ended: {lost.how}")
    else:
        if isinstance(answer, Answer):
            reply, random = answer.reply, answer.random
        else:
            reply = answer
    if isinstance(reply, Raised):
        # Where it was raised is a line of the source.
        reply = msgspec.structs.replace(reply, frame=None)
    return Answered(reply=reply, random=random), data


def _next_after(run: Run) -> str:
    """Words for the test that was running when the last word came."""
    return f"The test after {run.ended[-1].test}" if run.ended else "The file or its first test"


def _cut(ended: Ended) -> Ended:
    return msgspec.structs.replace(
        ended, test=ended.test[:MAX_NAME], message=ended.message[:MAX_MESSAGE]
    )
