"""Suites in plain pytest: the plugin, seen from outside."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from grader.workers.forked import ForkServer

ASSIGNMENT = """
title = "Doubling"
forbidden = ["torch.add"]

[exports.double]
arguments = ["x"]
returns = ["doubled"]
"""
PUBLIC = """
import torch
from grader.suite import check

@check("values", points=1, title="Ones become twos")
def test_ones(student):
    assert student.double(torch.ones(1)).tolist() == [2.0]
"""
HIDDEN = """
import pytest
import torch
from grader.suite import assert_close, assert_raises, check

@check("shape", points=1, title="The shape stays")
@pytest.mark.parametrize("shape", [(2,), (2, 3), (4,)], ids=str)
def test_shape(student, draw, shape):
    assert student.double(draw.normal(*shape)).shape == shape

@check("values", points=1, title="Everything is doubled")
def test_values(student, reference, draw):
    x = draw.normal(3)
    assert_close(student.double(x), reference.double(x), "result")

@check("errors", points=1, title="None is refused")
def test_errors(student):
    with assert_raises(TypeError, when="nothing is passed"):
        student.double(None)

@check("policy", points=1, title="Without torch.add")
def test_policy(student, forbidden_uses):
    assert not forbidden_uses

def test_no_check():
    assert 1 + 1 == 2

@pytest.mark.parametrize("number", [1, 2])
def test_no_check_with_cases(number, tmp_path):
    assert tmp_path.is_dir()
"""
REFERENCE = "def double(x): return x * 2\n"
RIGHT = "import torch\ndef double(x): return torch.mul(x, 2)\n"

JSON_REPORT = json.loads(
    (Path(__file__).parents[1] / "report/schemas/pytest-json-report.json").read_text("utf-8")
)


@pytest.fixture
def course(pytester):
    pytester.makeini("[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider")
    for path, text in {
        "assignments/course.toml": 'title = "Course"\n',
        "assignments/double/assignment.toml": ASSIGNMENT,
        "assignments/double/double.py": "def double(x):\n    raise NotImplementedError\n",
        "assignments/double/test_public.py": PUBLIC,
        "solutions/double/double.py": REFERENCE,
        "tests/hidden/test_double.py": HIDDEN,
    }.items():
        file = pytester.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return pytester


class Shared(ForkServer):
    """The tests' own fork server, which a run that ends leaves running."""

    def close(self):
        pass


@pytest.fixture
def run(course, fork_server, monkeypatch):
    """Run pytest on the hidden suite, perhaps against a submission; outcomes by test."""
    monkeypatch.setattr(
        ForkServer,
        "launch",
        classmethod(lambda cls, *, staging, isolate: Shared(fork_server._control, staging=staging)),
    )

    def run_pytest(source=None, *arguments, suite="tests/hidden/test_double.py"):
        if source is not None:
            (course.path / "mine.py").write_text(source)
            arguments = ("--submission", "mine.py", *arguments)
        result = course.runpytest_inprocess(suite, "-q", "--json-report", *arguments)
        report = course.path / ".report.json"
        written = json.loads(report.read_text()) if report.exists() else {"tests": []}
        if report.exists():
            jsonschema.validate(written, JSON_REPORT)
        tests = written["tests"]
        report.unlink(missing_ok=True)
        outcomes = {test["nodeid"].partition("::")[2]: test for test in tests}
        return result, outcomes

    return run_pytest


def failed(outcomes):
    return {name for name, test in outcomes.items() if test["outcome"] in ("failed", "error")}


def outcome_of(test):
    return next(entry["outcome"] for entry in test["user_properties"] if "outcome" in entry)


PUBLIC_SUITE = "assignments/double/test_public.py"
HIDDEN_SUITE = "tests/hidden/test_double.py"
CASES = ["(2,)", "(2, 3)", "(4,)"]


class TestWhoIsTheStudent:
    def test_the_reference_without_the_option(self, run):
        result, outcomes = run()
        result.assert_outcomes(passed=9)
        assert "test_shape[(2, 3)]" in outcomes

    def test_the_submission_with_it(self, run):
        result, _ = run(RIGHT)
        result.assert_outcomes(passed=9)

    def test_the_stub_for_a_public_suite(self, run):
        result, outcomes = run(suite=PUBLIC_SUITE)
        result.assert_outcomes(failed=1)
        assert outcome_of(outcomes["test_ones"])["status"] == "not-started"

    def test_the_submission_for_a_public_suite(self, run):
        result, _ = run(RIGHT, suite=PUBLIC_SUITE)
        result.assert_outcomes(passed=1)

    def test_both_suites_in_one_run(self, run):
        result, outcomes = run(RIGHT, "assignments/double/test_public.py")
        result.assert_outcomes(passed=10)
        assert "test_ones" in outcomes


class TestOutcomes:
    def test_of_a_wrong_answer(self, run):
        result, outcomes = run("def double(x): return x + 1")
        assert failed(outcomes) == {"test_values"}
        outcome = outcome_of(outcomes["test_values"])
        assert outcome["status"] == "failed"
        assert outcome["message"] == "The numbers in your result are not the expected ones."
        result.stdout.fnmatch_lines(["*CheckFailure: The numbers in your result*"])

    def test_of_an_error(self, run):
        source = "def double(x):\n    return x.nothing"
        _, outcomes = run(source)
        assert failed(outcomes) == {
            *(f"test_shape[{case}]" for case in CASES),
            "test_values",
            "test_errors",
        }
        outcome = outcome_of(outcomes["test_values"])
        assert (outcome["status"], outcome["location"]) == ("error", None)

        _, outcomes = run(source, HIDDEN_SUITE, suite=PUBLIC_SUITE)
        outcome = outcome_of(outcomes["test_values"])
        assert (outcome["status"], outcome["location"]["line"]) == ("error", 2)

    def test_of_a_process_that_ends(self, run):
        _, outcomes = run("import os\ndef double(x): return x * 2 if x is None else os._exit(4)")
        assert outcome_of(outcomes["test_values"])["status"] == "crashed"
        assert outcome_of(outcomes["test_errors"])["status"] == "passed"

    def test_of_what_is_forbidden(self, run):
        _, outcomes = run("import torch\ndef double(x): return torch.add(x, x)")
        assert failed(outcomes) == {"test_policy"}

    def test_of_a_file_that_cannot_be_imported(self, run):
        _, outcomes = run("def double(x: return x")
        assert len(failed(outcomes)) == 6
        assert outcome_of(outcomes["test_errors"])["unusable"]

    def test_tests_without_a_check_are_left_alone(self, run):
        _, outcomes = run("def double(x: return x")
        assert "user_properties" not in outcomes["test_no_check"]
        assert outcomes["test_no_check_with_cases[1]"]["outcome"] == "passed"

    def test_output_goes_to_the_check_and_not_to_the_terminal(self, run):
        result, outcomes = run("def double(x):\n    print('doubling')\n    return x * 2")
        assert outcome_of(outcomes["test_values"])["output"] == "doubling\n"
        result.stdout.no_fnmatch_line("*doubling*")


SUITES = {
    "one draw for a check and its fixtures": """
@pytest.fixture
def inputs(draw):
    return draw, draw.normal(3)

@check("values", points=1, title="The numbers go on")
def test_values(inputs, draw, student):
    assert inputs[0] is draw and not torch.equal(inputs[1], draw.normal(3))
""",
    "one that a suite puts in the place of ours": """
@pytest.fixture
def draw(draw):
    return [draw]

@check("values", points=1, title="A list of it")
def test_values(draw, student):
    assert isinstance(draw, list) and draw[0].normal(2).shape == (2,)
""",
    "a parameter of the same name": """
@check("values", points=1, title="A number")
@pytest.mark.parametrize("draw", [4])
def test_values(draw, student):
    assert draw == 4
""",
    "the request, and what it is asked for": """
@check("values", points=1, title="Its name")
def test_values(request, student, draw):
    assert request.node.name == "test_values"
    assert request.getfixturevalue("student") is student
    assert request.getfixturevalue("draw") is draw
""",
}


class TestFixtures:
    """A check gets the same ones whether or not its suite has fixtures of its own."""

    def outcomes_of(self, course, run, text):
        (course.path / HIDDEN_SUITE).write_text(
            f"import pytest\nimport torch\nfrom grader.suite import check\n{text}"
        )
        result, outcomes = run(RIGHT)
        return result, {name: outcome_of(test) for name, test in outcomes.items()}

    @pytest.mark.parametrize("suite", SUITES.values(), ids=SUITES)
    def test_the_same(self, course, run, suite):
        result, _ = self.outcomes_of(course, run, suite)
        result.assert_outcomes(passed=1)

    def test_one_that_fails(self, course, run):
        _, outcomes = self.outcomes_of(
            course,
            run,
            """
@pytest.fixture
def doubled(student):
    return student.double(None)

@check("values", points=1, title="Nothing cannot be doubled")
def test_values(doubled):
    pass

@check("shape", points=1, title="And the next check")
def test_shape(student):
    assert student.double(torch.ones(2)).shape == (2,)
""",
        )
        assert outcomes["test_values"]["status"] == "error"
        assert outcomes["test_shape"]["status"] == "passed"


class TestTheSecondTry:
    COUNTS = """
count = 0
def double(x):
    global count
    count += 1
    return x * 2 if {condition} else x
"""

    def test_keeps_what_only_a_used_worker_loses(self, run):
        result, outcomes = run(self.COUNTS.format(condition="count < 2"))
        result.assert_outcomes(passed=9)
        states = {name: outcome_of(outcomes[name])["state_dependent"] for name in ("test_values",)}
        assert states == {"test_values": True}
        assert not outcome_of(outcomes[f"test_shape[{CASES[0]}]"])["state_dependent"]

    def test_does_not_help_what_is_wrong_each_time(self, run):
        _, outcomes = run("def double(x): return x + 0")
        assert failed(outcomes) == {"test_values"}
        assert not outcome_of(outcomes["test_values"])["state_dependent"]


class TestSeeds:
    SOURCE = "def double(x):\n    print(x)\n    return x * 2"

    def drawn(self, run, *arguments):
        _, outcomes = run(self.SOURCE, *arguments)
        return outcome_of(outcomes["test_values"])["output"]

    def test_repeat_the_inputs(self, run):
        first = self.drawn(run, "--grader-seed=7")
        assert first.startswith("tensor(")
        assert self.drawn(run, "--grader-seed=7") == first
        assert self.drawn(run, "--grader-seed=8") != first

    def test_do_not_depend_on_which_checks_are_run(self, run):
        everything = self.drawn(run)
        assert self.drawn(run, "-k", "values") == everything


class TestTheDocument:
    """With --json-report, what `grade run --format pytest-json-report` says is in it too."""

    WRONG = "def double(x): return x + 1"

    def document(self, course, run, source, *suites):
        run(source, "--json-report-file=both.json", *suites[1:], suite=suites[0])
        written = json.loads((course.path / "both.json").read_text())
        jsonschema.validate(written, JSON_REPORT)
        return written

    def test_says_the_same_as_the_format(self, course, run):
        suite = course.path / HIDDEN_SUITE
        suite.write_text(HIDDEN.partition("def test_no_check")[0])  # which `grade` refuses
        pytests = self.document(course, run, self.WRONG, PUBLIC_SUITE, HIDDEN_SUITE)
        arguments = ["run", str(course.path / "mine.py"), "--assignment", "double"]
        arguments += ["--course", str(course.path), "--seed", "0"]
        command = [sys.executable, "-m", "grader.cli", *arguments]
        result = subprocess.run(
            [*command, "--format", "pytest-json-report=-"], capture_output=True, check=True
        )
        ours = json.loads(result.stdout)

        assert pytests["grader"] == ours["grader"]
        assert ours["grader"]["possible"] == 5
        by_check = {test["grader"]["check"]: test["grader"] for test in ours["tests"]}
        assert len(pytests["tests"]) == 7
        for test in pytests["tests"]:
            assert test["grader"] == by_check[test["grader"]["check"]]

    def test_of_some_checks_has_points_for_those(self, course, run):
        written = self.document(course, run, self.WRONG, HIDDEN_SUITE, "-k", "shape")
        assert (written["grader"]["earned"], written["grader"]["possible"]) == (1, 1)

    def test_of_the_reference_has_no_score(self, course, run):
        assert "grader" not in self.document(course, run, None, HIDDEN_SUITE)

    def test_of_a_stub_says_so(self, course, run):
        written = self.document(course, run, None, PUBLIC_SUITE)
        (assignment,) = written["grader"]["assignments"]
        assert (assignment["status"], assignment["earned"]) == ("not-started", 0)


class TestWhatCannotBeGraded:
    @pytest.mark.parametrize(
        ("submission", "words"),
        [("nowhere.py", "no file or folder"), ("empty.py", "the file is empty")],
    )
    @pytest.mark.usefixtures("run")  # for the fork server
    def test_is_said_in_a_sentence(self, course, submission, words):
        (course.path / "empty.py").write_text("")
        result = course.runpytest_inprocess(HIDDEN_SUITE, "--submission", submission)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"*{words}*"])
        result.stdout.no_fnmatch_line("*Traceback*")
        result.stdout.no_fnmatch_line("*INTERNALERROR*")

    def test_a_broken_assignment(self, course):
        (course.path / "assignments/double/assignment.toml").write_text("title = 3\n")
        result = course.runpytest_inprocess(HIDDEN_SUITE)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines(["*assignment.toml, line 1: found 3 for title*"])


def test_what_a_students_error_says_is_harmless_on_a_terminal(run):
    words = "\\x1b[2J\\x9b31m\\u202e\\n::error::forged\\n##[error]forged\\r::x"
    result, _ = run(f"def double(x): raise ValueError('{words}')", "-rf", "-l", "-vv")
    text = result.stdout.str()
    assert "forged" in text
    assert not set(text) & set("\x1b\x9b\u202e\r")
    assert "##[" not in text
    assert not [line for line in text.splitlines() if line.lstrip().startswith("::")]


def test_a_file_of_tests_without_checks_needs_no_course(pytester):
    pytester.makepyfile("def test_one(): assert 1 + 1 == 2\ndef test_two(): assert False")
    pytester.runpytest_inprocess().assert_outcomes(passed=1, failed=1)


def test_the_students_random_numbers_are_not_those_of_the_inputs(run):
    guess = (
        "import torch\n"
        "def double(x):\n"
        "    if x is None: raise TypeError\n"
        "    seeded = torch.Generator().manual_seed(torch.initial_seed())\n"
        "    if torch.equal(torch.randn(x.shape, generator=seeded), x): raise ValueError('known')\n"
        "    return x * 2\n"
    )
    _, outcomes = run(guess)
    assert failed(outcomes) == set()
