"""Runs tests on every right answer and every fault, in an order that reveals nothing."""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from grader.course.finding import read_code, suffix_of
from grader.course.model import Assignment, CourseError, NotGradable
from grader.course.source import MAX_TEXT_BYTES, SourceFile
from grader.course.tree import read_regular, shown
from grader.diagnosis.catalogue import Catalogue
from grader.jobs.protocol import SandboxMode
from grader.owntests.kinds import kind_of
from grader.owntests.model import Thoroughness, points_for
from grader.owntests.running import Run, Runner
from grader.owntests.verdict import Variant, Verdict
from grader.session.checks.context import refuse_readable
from grader.session.reporting import environment, sandbox_info
from grader.workers.forked import ForkServer

_MODULE = "your_tests"
_SHARE = 5
"""All the runs may take so many times as long as one submission is graded."""


def measure(
    assignment: Assignment,
    tests: Path,
    servers: Sequence[ForkServer],
    *,
    seed: int,
    sandbox: SandboxMode = "auto",
    staging: Path | None = None,
    seconds: float | None = None,
    most_faults: int | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Thoroughness:
    """Run the file ``tests`` on every variant, as many at once as there are ``servers``.

    Tests are laid out below ``staging``. ``seconds`` is what one may take; of more than
    ``most_faults`` so many are drawn at random. Raises NotGradable for a file that cannot be run,
    CourseError for a course without reference or faults.
    """
    started_at, started = datetime.now(UTC), time.monotonic()
    refuse_readable([tests, assignment.reference])
    file = _read(tests, assignment)
    variants = _variants(assignment, most_faults, random.Random(seed))
    limits = assignment.limits
    with tempfile.TemporaryDirectory(prefix="grader-", dir=staging) as name:
        folder = Path(name)
        folder.chmod(0o755)  # a worker may be somebody else
        staged, nowhere = folder / "tests" / f"{_MODULE}.py", folder / "nowhere"
        for path in (staged.parent, nowhere):
            path.mkdir(mode=0o755)
        staged.write_text(file.text, "utf-8")
        staged.chmod(0o444)
        runner = Runner(
            assignment,
            staged,
            nowhere,
            sandbox=sandbox,
            seconds=seconds or limits.check_seconds,
            deadline=started + _SHARE * limits.submission_seconds,
        )
        runs = _Rounds(runner, variants, seed, on_progress).run(servers)
    verdict = Verdict(variants, runs)
    points = assignment.own_tests.points
    return Thoroughness(
        assignment=assignment.id,
        title=assignment.title,
        file=file.name,
        digest=file.digest,
        tests=verdict.tests,
        valid=verdict.valid,
        message=verdict.message,
        rejections=verdict.rejections,
        right_answers=len(verdict.right),
        caught=verdict.caught,
        faults=len(verdict.faults),
        kinds=verdict.kinds,
        details=verdict.details,
        score=None if points is None else points_for(verdict.caught, len(verdict.faults), points),
        sandbox=sandbox_info(sandbox, runner.ready),
        environment=environment(),
        seed=seed,
        started_at=started_at.isoformat(timespec="seconds"),
        duration_s=round(time.monotonic() - started, 2),
    )


def _read(path: Path, assignment: Assignment) -> SourceFile:
    """The file of tests; raises NotGradable."""
    name = shown(path.name)
    if suffix_of(path.name) != ".py":
        raise NotGradable(f"{name!r} is not accepted. Hand in a .py file of tests.")
    data = read_regular(path, limit=MAX_TEXT_BYTES)
    code = read_code(path.name, data, assignment)
    if code.empty:
        raise NotGradable(f"{name!r}: the file is empty. Write your tests in it.")
    return SourceFile.of(code, data, name=name, module=_MODULE)


def _variants(assignment: Assignment, most_faults: int | None, lot: random.Random) -> list[Variant]:
    """Right answers, and faults that tests can see; the reference is the first."""
    catalogue = Catalogue(assignment)
    right = [Variant(name, source) for name, source in catalogue.right_answers.items()]
    faults = []
    for fault in catalogue:
        source = catalogue.build(fault)
        if source is not None and kind_of(fault.fails) is not None:
            faults.append(Variant(fault.slug, source, fault))
    if not faults:
        raise CourseError(f"{assignment.id}: there is no fault that tests could catch")
    if most_faults is not None and len(faults) > most_faults:
        faults = lot.sample(faults, most_faults)
    return [*right, *faults]


class _Rounds:
    """Every variant once, in an order drawn at random.

    Tests can read a clock. Were right answers run first, the time would tell them what to say.
    """

    def __init__(
        self,
        runner: Runner,
        variants: list[Variant],
        seed: int,
        on_progress: Callable[[int, int], None],
    ) -> None:
        lot = random.Random(seed)
        self._runner = runner
        self._variants = variants
        self._seeds = [lot.getrandbits(53) for _ in variants]
        self._order = list(range(len(variants)))
        lot.shuffle(self._order)
        self._on_progress = on_progress
        self._lock = threading.Lock()
        self._runs: dict[int, Run] = {}
        self._rejecting = False
        """A right answer was rejected: how thorough the tests are does not matter any more."""
        self._useless = False
        """On a right answer they did not come to an end, and will not on others."""

    def run(self, servers: Sequence[ForkServer]) -> list[Run | None]:
        """The run of each variant; None for those that were left out."""
        with ThreadPoolExecutor(len(servers)) as pool:
            for future in [pool.submit(self._work, server) for server in servers]:
                future.result()
        return [self._runs.get(number) for number in range(len(self._variants))]

    def _work(self, server: ForkServer) -> None:
        try:
            while (number := self._next()) is not None:
                run = self._run(server, number)
                if run is not None and run.problem and self._variants[number].fault is None:
                    # Of a machine that was busy for a moment the student is not to suffer.
                    run = self._run(server, number)
                if run is not None:
                    with self._lock:
                        self._note(number, run)
        except BaseException:
            self._useless = True  # the others need not go on
            raise

    def _run(self, server: ForkServer, number: int) -> Run | None:
        variant = self._variants[number]
        return self._runner.run(
            server,
            variant.source,
            seed=self._seeds[number],
            until_failure=variant.fault is not None,
        )

    def _next(self) -> int | None:
        with self._lock:
            while self._order and not self._useless and not self._runner.out_of_time:
                number = self._order.pop()
                if self._variants[number].fault is None or not self._rejecting:
                    return number
            return None

    def _note(self, number: int, run: Run) -> None:
        self._runs[number] = run
        if self._variants[number].fault is None:
            self._rejecting = self._rejecting or bool(run.failed)
            self._useless = self._useless or bool(run.problem)
        self._on_progress(len(self._runs), len(self._variants))
