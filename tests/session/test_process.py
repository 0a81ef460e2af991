"""The life of a submission's workers: how the file is imported, and what a new worker changes."""

import re

import pytest

from grader.report.model import Status
from grader.session.checks.outcomes import Outcome, outcome_of
from grader.session.errors import OutOfTime, StudentError, SubmissionUnusable
from grader.session.student import lifecycle
from grader.wire.errors import WorkerLost, WorkerTimeout

F = {"f": {}}
FAILED = Outcome(status=Status.FAILED)
RAISED = Outcome(status=Status.ERROR, error="raised/RuntimeError", detail="size mismatch")
ENDED = [Outcome(status=Status.TIMEOUT), Outcome(status=Status.CRASHED)]


def again(context):
    """A fresh worker for ``context``."""
    context.discard()
    context.begin("again")


class TestImport:
    def test_a_file_is_run_as_python_runs_it(self, hand_in):
        student = hand_in("x = []\nx.append(__name__)\ndef f(): return x", **F)
        assert student.f() == ["work"]
        assert hand_in.last.process.notes == []

    @pytest.mark.parametrize(
        ("last_line", "words"),
        [
            ("raise ValueError('dear me')", r"raised ValueError \(dear me\) at line 2 when"),
            (
                "open('/content/drive/data.pt')",
                r"raised FileNotFoundError \(.*\) at line 2",
            ),
            ("import os; os._exit(0)", "ended the process when it was imported"),
            ("exit()", "raised SystemExit"),
            ("while True: pass", "still running 0.5 s after its import began"),
        ],
    )
    def test_definitions_alone_if_the_rest_fails(self, hand_in, last_line, words):
        limits = {"import_seconds": 0.5} if "while" in last_line else {}
        student = hand_in(f"def f(): return 3\n{last_line}", limits=limits, **F)
        assert student.f() == 3
        (note,) = hand_in.last.process.notes
        assert re.search(words, note)
        assert "definitions and simple assignments were graded alone" in note

    def test_a_module_that_is_missing_is_named(self, hand_in):
        student = hand_in("import nowhere as n\ndef f(): return 3\ndef g(): n.plot()", g={}, **F)
        assert student.f() == 3
        (note,) = hand_in.last.process.notes
        assert "No module named 'nowhere'" in note
        assert "only torch, numpy and the standard library" in note
        with pytest.raises(ModuleNotFoundError, match="nowhere") as caught:
            student.g()
        assert caught.value.frame.line == 3

    def test_the_whole_file_if_definitions_are_not_enough(self, hand_in):
        source = "def make():\n    return lambda: 3\nf = make()\n"
        assert hand_in(source, **F).f() == 3

    @pytest.mark.parametrize(
        ("source", "cause"),
        [
            ("def f(:", StudentError),
            ("class A:\n    x = 1 / 0", StudentError),
            ("import os\nclass A:\n    os._exit(3)", WorkerLost),
            ("class A:\n    while True: pass", WorkerTimeout),
        ],
    )
    def test_that_fails_either_way(self, hand_in, source, cause):
        limits = {"import_seconds": 0.5} if "while" in source else {}
        hand_in(source, limits=limits, begin=False, **F)
        for _ in range(2):
            with pytest.raises(SubmissionUnusable) as caught:
                hand_in.last.begin("a check")
            assert isinstance(caught.value.cause, cause)

    def test_helpers_are_found(self, hand_in):
        student = hand_in(
            "from helper import two\ndef f(): return two",
            helpers={"helper.py": "two = 2"},
            **F,
        )
        assert student.f() == 2


class TestLaterWorkers:
    SOURCE = "count = 0\ndef f():\n    global count\n    count += 1\n    return count"

    def test_one_serves_several_checks(self, hand_in):
        student = hand_in(self.SOURCE, **F)
        context = hand_in.last
        assert (student.f(), context.can_retry(FAILED)) == (1, False)
        context.begin("another")
        assert (student.f(), context.can_retry(FAILED)) == (2, True)

    def test_what_keeps_nothing_is_not_tried_again(self, hand_in):
        student = hand_in("def f(): return 1", **F)
        context = hand_in.last
        context.begin("another")
        assert student.f() == 1
        assert not any(map(context.can_retry, [FAILED, RAISED]))

    @pytest.mark.parametrize("huge", ["torch.empty(1 << 50)", "bytearray(1 << 60)"])
    def test_unless_it_ran_out_of_something(self, hand_in, huge):
        student = hand_in(f"import torch\ndef f(): return 1\ndef g(): return {huge}", g={}, **F)
        hand_in.last.begin("another")
        with pytest.raises(StudentError) as raised:
            student.g()
        no_memory = outcome_of(raised.value, None)
        assert all(map(hand_in.last.can_retry, [no_memory, *ENDED]))

    @pytest.mark.parametrize("ending", ["raise SystemExit", "import os; os._exit(0)"])
    def test_what_ends_processes_is(self, hand_in, ending):
        student = hand_in(f"def f(): return 1\ndef g(): {ending}", g={}, **F)
        context = hand_in.last
        context.begin("another")
        with pytest.raises((StudentError, WorkerLost)):
            student.g()
        assert context.can_retry(FAILED)

    def test_and_what_no_worker_is_left_to_look_at(self, hand_in):
        hand_in("def f(): return 1", **F)
        hand_in.last.begin("another")
        hand_in.last.discard()
        assert hand_in.last.can_retry(FAILED)

    def test_what_helpers_keep_is_not_looked_at(self, hand_in):
        hand_in("from helper import f", helpers={"helper.py": "def f(): return 1"}, **F)
        hand_in.last.begin("another")
        assert hand_in.last.can_retry(FAILED)

    def test_a_fresh_one_remembers_nothing(self, hand_in):
        student = hand_in(self.SOURCE, **F)
        assert student.f() == 1
        again(hand_in.last)
        assert (student.f(), hand_in.last.can_retry(FAILED)) == (1, False)

    def test_a_lost_one_is_replaced_at_the_next_check(self, hand_in):
        student = hand_in(self.SOURCE + "\ndef g():\n    import os; os._exit(0)", g={}, **F)
        student.f()
        for _ in range(2):
            with pytest.raises(WorkerLost, match="exit status 0"):
                student.g()
        hand_in.last.begin("another")
        assert student.f() == 1

    def test_slow_files_are_run_once_if_their_definitions_stand_alone(self, hand_in, monkeypatch):
        monkeypatch.setattr(lifecycle, "SLOW_IMPORT_SECONDS", 0)
        student = hand_in("def f(): return 'y' in globals()\ny = f()\n", **F)
        assert student.f() is True
        again(hand_in.last)
        assert student.f() is False

    def test_and_each_time_if_they_do_not(self, hand_in, monkeypatch):
        monkeypatch.setattr(lifecycle, "SLOW_IMPORT_SECONDS", 0)
        student = hand_in("def f(): return y\ny = max(3, 2)\n", **F)
        assert student.f() == 3
        again(hand_in.last)
        assert student.f() == 3


class TestWhatALaterWorkerSays:
    """It could know what an earlier one has seen, so nothing of its import is repeated."""

    @pytest.fixture
    def second_import(self, hand_in, tmp_path):
        def begin_again(source):
            student = hand_in("print('first')\ndef f(): return 1", **F)
            staged = tmp_path / "staged0" / "work.py"
            staged.chmod(0o644)
            staged.write_text(source)
            again(hand_in.last)
            return student

        return begin_again

    @pytest.mark.parametrize(
        "source",
        [
            "raise ValueError('3.14159')",
            "class A:\n    raise ValueError('3.14159')",
            "x = '3.14159' +",
            "def f31415(): return 1",
        ],
    )
    def test_when_it_fails(self, second_import, source):
        with pytest.raises(SubmissionUnusable) as caught:
            second_import(source)
        assert "3141" not in str(caught.value).replace(".", "")

    def test_when_it_prints(self, second_import, hand_in):
        student = second_import("print('3.14159')\ndef f(): return 2")
        assert student.f() == 2
        assert hand_in.last.process.import_output == ("first\n", False)


class TestTime:
    def test_a_check_has_its_limit(self, hand_in):
        student = hand_in("def f():\n    while True: pass", limits={"check_seconds": 0.3}, **F)
        with pytest.raises(WorkerTimeout):
            student.f()

    def test_a_check_that_never_ends_leaves_time_for_the_next(self, hand_in):
        student = hand_in(
            "def f():\n    while True: pass\ndef g(): return 3",
            limits={"check_seconds": 60.0, "submission_seconds": 4.0},
            g={},
            **F,
        )
        with pytest.raises(WorkerTimeout):
            student.f()
        hand_in.last.begin("another")
        assert student.g() == 3

    def test_the_submission_has_its_limit(self, hand_in):
        hand_in("def f(): return 3", limits={"submission_seconds": 1e-9}, begin=False, **F)
        with pytest.raises(OutOfTime):
            hand_in.last.begin("a check")


def test_confinement_is_said_before_student_code_runs(hand_in):
    hand_in("import os\nos._exit(0)", **F)
    assert "no new privileges" in hand_in.last.process.ready.enforced
