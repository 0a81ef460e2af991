"""What a person reads: the essential lines, and that hostile text stays text."""

from __future__ import annotations

import io
import re
import unicodedata

import msgspec
import pytest
from rich.console import Console

from grader.cli.output import pictures_wanted
from grader.report.model import CourseReport, Evidence, Location, Report, SandboxInfo, Status
from grader.report.text import render

from . import samples


def plain(report: Report | CourseReport, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    render(report, console)
    return console.file.getvalue()


def coloured(report: Report | CourseReport) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    console = Console(file=stream, width=80, force_terminal=True, color_system="truecolor")
    render(report, console)
    stream.flush()
    return stream.buffer.getvalue().decode()


def in_order(text: str, *parts: str) -> bool:
    places = [text.find(part) for part in parts]
    return -1 not in places and places == sorted(places)


def test_title_and_score_come_first():
    assert plain(samples.full_marks()).startswith("Scaled dot-product attention: 7 of 7 points\n")


def test_passed_checks_are_one_line_each_with_the_state_as_a_word():
    assert re.search(r"^  ok +Title of gradient +3/3$", plain(samples.full_marks()), re.M)


@pytest.mark.parametrize("status", [Status.PASSED, Status.FAILED])
def test_a_curve_is_one_line(status):
    curve = Evidence(
        demonstration="training",
        name="loss",
        yours=[1.234, 0.9, 0.711],
        expected=0.693,
        kind="curve",
    )
    endless = msgspec.structs.replace(curve, yours=[1.0, float("nan")], expected=None)
    text = plain(samples.report([samples.check("training", status, evidence=[curve, endless])]))
    lines = [line.strip() for line in text.splitlines()]
    assert "loss 1.23 → 0.71, floor 0.69" in lines
    assert "loss 1.00 → nan" in lines


def test_everything_of_a_diagnosed_report_in_its_order():
    assert in_order(
        plain(samples.softmax_over_queries()),
        "attention: 5 of 18 points",
        "Submission: ada",
        "Note: Two lines",
        "Most likely misconception",
        "Each column of your weights",
        "belief behind it: The weights are",
        "Hint: A query shares",
        "softmax-over-queries",
        "to within 1.2e-07 on 2 inputs",
        "FAILED  Each query shares out exactly 1 among its keys  0/2",
        "The rows of your weights do not sum to 1.",
        "attention.py:12: weights = scores.softmax(dim=-2)",
        'handout\'s example "Two keys", weights',
        "1.000  0.250    0.670  0.330",
        "0.000  0.750    0.500  0.500",
        "| largest difference 0.33",
        "| secret of a hidden input",
        "Also explained by this:",
        "FAILED  Title of values    0/4",
        "FAILED  Title of gradient  0/2",
        "ERROR  Title of bfloat16",
        "ERROR  Title of float64",
        "FAILED  Title of partial  1/2",
        "Checks: 2 of 8 passed",
        "Title of mask (only in a fresh process)",
        "| imported",
        "Not enforced here: network, memory",
        "Seed 1234",
        "torch 2.13.0",
    )


def test_one_message_of_several_checks_is_said_once():
    text = plain(samples.softmax_over_queries())
    assert text.count("expected scalar type Float") == 1
    assert "Wrong values." not in text


def test_a_student_is_not_shown_the_instructors_part():
    text = plain(samples.softmax_over_queries().for_student())
    assert "secret" not in text
    assert "softmax-over-queries" not in text
    assert "public print" in text


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.PASSED])
def test_every_status_has_its_word_and_message(status):
    text = plain(samples.every_status())
    assert f"Message of {status}." in text
    assert re.search(rf"^  {status.replace('-', ' ')} +Title of {status} +0/2$", text, re.M | re.I)


@pytest.mark.parametrize("status", [s for s in Status if s not in (Status.PASSED, Status.SKIPPED)])
def test_a_failure_without_a_message_is_still_explained(status):
    lines = plain(samples.report([samples.check("a", status)])).splitlines()
    row = next(i for i, line in enumerate(lines) if "Title of a" in line)
    assert lines[row + 1].strip().endswith(".")


def test_not_started_is_one_line():
    assert plain(samples.not_started()) == (
        "Scaled dot-product attention: not started, 0 of 4 points\n"
    )


def test_not_gradable_says_why():
    assert in_order(plain(samples.not_gradable()), "could not be graded", "a.py and b.py")


def test_a_complete_sandbox_is_not_mentioned():
    assert "enforced" not in plain(samples.full_marks())


def test_a_course_is_a_table_then_what_needs_attention():
    text = plain(samples.course())
    assert in_order(
        text,
        "Attention: 12 of 69 points",
        "ok  ",
        "6 FAILED  ",
        "not started  ",
        "not gradable  ",
        "Most likely misconception",
        "Two files could be meant",
    )
    assert text.count("Title of shape") == 1, "complete and untouched assignments are one line"


class TestOrder:
    CRASH = "Your code ended its own process."

    def diagnosed(self, explained: int, crashed: int) -> Report:
        """A misconception that costs ``explained`` points beside a crash that costs ``crashed``."""
        data = samples.softmax_over_queries()
        return samples.report(
            [
                samples.check("believed", Status.FAILED, points=explained, hint="A wrong turn."),
                samples.check("crash", Status.CRASHED, points=crashed, message=self.CRASH),
                samples.check("small", Status.FAILED, points=1, message="A small thing."),
                samples.check("late", Status.NOT_RUN, points=50, message="No time was left."),
            ],
            diagnosis=[msgspec.structs.replace(data.diagnosis[0], checks=["believed"])],
        )

    def test_what_costs_most_comes_before_a_misconception_that_costs_less(self):
        text = plain(self.diagnosed(explained=2, crashed=30))
        assert in_order(text, self.CRASH, "Most likely misconception", "Title of believed")
        assert in_order(text, "Title of believed", "A small thing.", "No time was left.")

    def test_a_misconception_that_costs_most_comes_first(self):
        text = plain(self.diagnosed(explained=30, crashed=2))
        assert in_order(text, "Most likely misconception", "Title of believed", self.CRASH)

    def test_a_misconceptions_check_adds_no_hint_of_its_own(self):
        text = plain(self.diagnosed(explained=30, crashed=2))
        assert "A wrong turn." not in text
        assert text.count("Hint: ") == 1

    def test_errors_at_one_line_are_one_cause_with_one_hint(self):
        line = Location(file="gqa.py", line=7, text="scores = scores.masked_fill(mask, 0)")
        checks = [
            samples.check("a", Status.ERROR, message="Sizes.", hint="About a?", location=line),
            samples.check("b", Status.ERROR, message="Axes.", hint="About b?", location=line),
            samples.check("c", Status.ERROR, message="Axes.", hint="About b?", location=line),
        ]
        text = plain(samples.report(checks))
        assert text.count("gqa.py:7") == 1
        assert in_order(text, "Axes.", "Sizes.", "Hint: About b?")
        assert "About a?" not in text

    def test_what_is_to_be_mended_comes_before_what_passed(self):
        passed = [samples.check(f"fine {number}") for number in range(20)]
        text = plain(samples.report([*passed, samples.check("wrong", Status.FAILED)]))
        assert in_order(text, "Title of wrong", "Checks: 20 of 21 passed")
        assert "Title of fine" not in text, "a long list of what passed is one line"
        assert plain(samples.report(passed)).count("Title of fine") == 20


class TestCauses:
    def test_a_circle_of_causes_loses_no_check(self):
        checks = [
            samples.check("a", Status.FAILED, because="b", message="Message of a."),
            samples.check("b", Status.FAILED, because="a", message="Message of b."),
            samples.check("c", Status.FAILED, because="b", message="Message of c."),
            samples.check("d", Status.FAILED, because="d", message="Message of d."),
        ]
        text = plain(samples.report(checks))
        for name in "abcd":
            assert text.count(f"Title of {name}") == 1
            assert f"Message of {name}." in text

    @pytest.mark.parametrize("because", ["passed", "no such check"])
    def test_a_cause_that_did_not_fail_is_none(self, because):
        checks = [
            samples.check("passed"),
            samples.check("a", Status.FAILED, because=because, message="My own message."),
        ]
        assert "My own message." in plain(samples.report(checks))


def shows_of(name: str) -> str:
    """What a suite says of a result called so."""
    return "weights" if name.startswith("weights") else ""


class TestEvidence:
    def show(self, yours, expected, name="output", width=80):
        evidence = Evidence(
            demonstration="Demo", name=name, yours=yours, expected=expected, shows=shows_of(name)
        )
        check = samples.check("a", Status.FAILED, message="m", evidence=[evidence])
        return plain(samples.report([check]), width)

    def test_a_vector_is_a_row_each(self):
        text = self.show([1.0, -2.5], [1.0, 10.0])
        assert re.search(r"^ +yours      1\.000  -2\.500$", text, re.M)
        assert re.search(r"^ +expected   1\.000  10\.000$", text, re.M)

    def test_a_number(self):
        assert re.search(r"yours +0\.500\n +expected +2\n", self.show(0.5, 2))

    def test_differences_below_three_decimals_can_be_seen(self):
        assert in_order(self.show([0.3333], [0.33333]), "0.333300", "0.333330")

    def test_tiny_and_huge_numbers(self):
        assert in_order(self.show([1e-9, 0.0], [1e30, 0.0]), "1.00e-09", "1.00e+30")

    def test_numbers_that_json_lacks(self):
        assert in_order(self.show([float("nan")], [float("-inf")]), "nan", "-inf")

    def test_shapes_that_differ_are_named(self):
        assert "Yours has shape (1, 2), expected is (2, 1)." in self.show([[1, 2]], [[1], [2]])

    def test_the_first_matrix_that_differs_is_shown(self):
        yours = [[[1.0, 2.0]], [[3.0, 4.0]], [[5.0, 6.0]]]
        expected = [[[1.0, 2.0]], [[3.0, 9.0]], [[5.0, 8.0]]]
        text = self.show(yours, expected)
        assert in_order(text, "At [1] of shape (3, 1, 2):", "4.000", "9.000")
        assert "1.000" not in text
        assert "8.000" not in text

    def test_text_and_ragged_lists(self):
        assert in_order(self.show("None", [[1], [2, 3]]), "yours", "None", "[[1], [2, 3]]")
        assert in_order(self.show([], {"a": 1}), "yours", "[]", '{"a": 1}')

    @pytest.mark.parametrize("columns", [3, 5, 40])
    @pytest.mark.parametrize("rows", [1, 2, 40])
    @pytest.mark.parametrize("width", [40, 80, 200])
    def test_any_matrix_fits(self, rows, columns, width):
        matrix = [[-12.5] * columns] * rows
        text = self.show(matrix, matrix, width=width)
        assert max(map(len, text.splitlines())) < width
        complete = text.count("-12.500") == 2 * rows * columns
        assert complete != ("..." in text)

    def test_booleans(self):
        assert in_order(self.show([True], [False]), "true", "false")


class TestHeatmap:
    def weights(self, yours, expected, name="weights"):
        evidence = Evidence(
            demonstration="Demo", name=name, yours=yours, expected=expected, shows=shows_of(name)
        )
        check = samples.check("a", Status.FAILED, message="m", evidence=[evidence])
        return samples.report([check])

    def test_weights_are_shaded_on_a_terminal(self):
        text = re.sub(r"\x1b\[[\d;]*m", "", coloured(self.weights([[1.0, 0.0]], [[0.5, 0.25]])))
        assert re.search(r"^ +\|██  \| +\|▒▒░░\|$", text, re.M)

    @pytest.mark.parametrize(
        "report",
        [
            pytest.param(([[2.0, 0.0]], [[0.5, 0.5]]), id="above 1"),
            pytest.param(([[float("nan"), 0.0]], [[0.5, 0.5]]), id="nan"),
            pytest.param(([[None, True]], [[0.5, 0.5]]), id="no number"),
            pytest.param(([0.5, 0.5], [0.5, 0.5]), id="vector"),
            pytest.param(([[0.5] * 50], [[0.5] * 50]), id="too wide"),
            pytest.param(([[1.0]], [[0.5]], "output"), id="not weights"),
        ],
    )
    def test_nothing_else_is(self, report):
        assert not set("░▒▓█") & set(coloured(self.weights(*report)))

    def test_no_picture_in_a_pipe(self):
        assert plain(self.weights([[1.0]], [[0.5]])).isascii()

    def test_without_colour_the_shades_stay(self, monkeypatch):
        monkeypatch.setenv("NO_COLOR", "1")
        assert "|██|     |▒▒|" in coloured(self.weights([[1.0]], [[0.5]]))

    def test_of_several_matrices_the_first_that_differs(self):
        same, mine, other = [[1.0, 0.0]], [[0.0, 1.0]], [[0.5, 0.5]]
        text = re.sub(r"\x1b\[[\d;]*m", "", coloured(self.weights([same, mine], [same, other])))
        assert re.search(r"^ +\|  ██\| +\|▒▒▒▒\|$", text, re.M)


class TestHostileText:
    """A student's strings, in every place where one can be."""

    @pytest.fixture(params=[60, 80, 83, 100])
    def lines(self, request):
        return plain(samples.hostile(), request.param).split("\n")

    def test_nothing_invisible_is_printed(self, lines):
        categories = {unicodedata.category(c) for c in "".join(lines)}
        assert not categories & {"Cc", "Cf", "Cs", "Zl", "Zp"}

    def test_no_line_is_a_command_of_a_ci_system(self, lines):
        assert [line for line in lines if line.strip().startswith("::")] == []
        assert [line for line in lines if re.search(r"##\w*\[", line)] == []

    def test_everything_can_still_be_read(self, lines):
        text = " ".join(line.strip() for line in lines)
        for part in (
            "\\x1b[31mred",
            "[red]markup[/red]",
            "\\u202egnp",
            "\\ud800",
            "\\x00",
            ":smile:",
        ):
            assert part in text

    def test_colour_comes_only_from_the_grader(self):
        escapes = set(re.findall(r"\x1b[^m]*m?", coloured(samples.hostile())))
        assert escapes
        assert all(re.fullmatch(r"\x1b\[[\d;]+m", escape) for escape in escapes)
        assert "\x1b[2J" not in escapes

    @pytest.mark.parametrize("length", range(60, 82))
    def test_wrapping_makes_no_command(self, length):
        message = "x" * length + " ::error::forged " + "y" * length + "::error::forged"
        checks = [samples.check("a", Status.FAILED, message=message, detail=message)]
        for line in plain(samples.report(checks, message=message)).split("\n"):
            assert not line.strip().startswith("::")

    def test_code_is_shown_as_it_is_written(self):
        location = Location(file="a.py", line=3, text="\tx = y[::2, ::-1]  # é ü 注意")
        check = samples.check("a", Status.FAILED, message="m", location=location)
        assert "a.py:3: x = y[::2, ::-1]  # é ü 注意\n" in plain(samples.report([check]))

    def test_a_message_cannot_pass_for_the_title(self):
        forged = "x\nScaled dot-product attention: 40 of 40 points"
        checks = [samples.check("a", Status.FAILED, title=forged, message=forged, hint=forged)]
        report = samples.report(checks, message=forged, notes=[forged])
        text = plain(msgspec.structs.replace(report, output=samples.Output(text=forged)))
        starts = [line for line in text.splitlines() if line.startswith("Scaled dot")]
        assert starts == ["Scaled dot-product attention: 0 of 2 points"]


@pytest.mark.parametrize("name", samples.everything())
@pytest.mark.parametrize("width", [50, 80, 120])
def test_no_line_is_wider_than_the_console(name, width):
    text = plain(samples.everything()[name], width)
    assert max(map(len, text.splitlines())) <= width


def test_words_that_are_too_long_are_broken():
    check = samples.check("a" * 300, Status.FAILED, message="b" * 300)
    text = plain(samples.report([check]))
    assert max(map(len, text.splitlines())) <= 80
    assert text.count("b") >= 300


def test_no_trailing_spaces():
    for report in samples.everything().values():
        assert [line for line in plain(report).split("\n") if line != line.rstrip()] == []


def test_a_flood_of_output_is_cut_and_said_so():
    output = samples.Output(text="line\n" * 5000)
    check = samples.check("a", Status.FAILED, message="m", output=output)
    text = plain(samples.report([check]))
    assert "more lines" in text
    assert text.count("| line") < 100


def test_no_sandbox_at_all():
    sandbox = SandboxInfo(level="none", not_enforced=["files", "network"])
    assert "Not enforced here: files, network" in plain(samples.report(sandbox=sandbox))


def drawn(*, encoding: str = "utf-8", colour: bool = False, pictures: bool | None = True) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(
        file=stream,
        width=80,
        force_terminal=colour,
        color_system="truecolor" if colour else None,
        _environ={},
    )
    render(samples.softmax_over_queries(), console, pictures=pictures)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


class TestPictures:
    """Weights as shades, beside the numbers and never in their place."""

    @pytest.mark.parametrize(("encoding", "full"), [("utf-8", "█"), ("latin-1", "#")])
    def test_of_what_the_encoding_has(self, encoding, full):
        text = drawn(encoding=encoding)
        rows = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
        assert rows
        assert any(full in row or "." in row or "░" in row for row in rows)
        assert all(len(line) <= 80 for line in text.splitlines())
        without = drawn(encoding=encoding, pictures=False)
        assert set(without.splitlines()) <= set(text.splitlines())

    def test_are_for_terminals_unless_asked_for(self):
        assert "shades" not in drawn(pictures=None)
        assert "shades" in drawn(pictures=None, colour=True)
        assert "shades" not in drawn(pictures=False, colour=True)

    @pytest.mark.parametrize(
        ("variables", "wanted"),
        [
            ({}, None),
            ({"CI": "true"}, True),
            ({"CI": "true", "GRADE_PICTURES": "0"}, False),
            ({"GRADE_PICTURES": "1"}, True),
        ],
    )
    def test_what_the_environment_says(self, monkeypatch, variables, wanted):
        for name in ("CI", "GRADE_PICTURES"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        assert pictures_wanted() is wanted
