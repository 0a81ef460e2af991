"""No points for no work: whatever ignores its inputs, in every assignment, and nothing else."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import pytest

from grader.report.model import Status
from grader.report.text import plain
from grader.session.checks.evidence import demonstrations
from grader.session.checks.scoring import FOR_NOTHING
from grader.session.checks.source import SourceContext
from grader.session.diagnosis.diagnosing import Prober
from grader.session.diagnosis.working import Work, WorkTester

from ..suites import ASSIGNMENTS, ROOT, suites_of
from .lazy import FILLS, idle_source

THOROUGH = bool(os.environ.get("GRADE_SEEDS"))
"""Whether everything that does no work is graded by the real processes, and not some of it."""
CORPUS = ROOT / "tests" / "submissions"
MOST = 0.05

MOVES_NUMBERS = {"first input", "last input", "permuted", "a trace of the others"}
MOVES_NUMBERS |= {"a trace of the answer"}
"""What splitting and merging heads is about: to put numbers elsewhere is an attempt at it."""
GRADED = [
    (name, fill)
    for number, name in enumerate(ASSIGNMENTS)
    for place, fill in enumerate(FILLS)
    if (THOROUGH or (place - 5 * number) % len(FILLS) == 0)
    and not (name == "heads" and fill in MOVES_NUMBERS)
]
ECHOES = {
    "dropout/seeds/class_as_listed.py",
    "dropout/seeds/class_returns_value.py",
    "positional_encoding/wrong/learned.py",
    "rope/wrong/identity.py",
}
"""What people have handed in that gives back an input, or random numbers."""


@cache
def workings_of(name: str) -> WorkTester:
    suites = suites_of(name)
    shown = [(one.title, run) for one, run in demonstrations(suites.public).items()]
    return WorkTester(ASSIGNMENTS[name], [*Prober(suites.hidden).runs(), *shown], dict(shown))


def idle(name: str, source: str) -> dict[str, Work]:
    context = SourceContext(ASSIGNMENTS[name], source, seed=3)
    return workings_of(name).idle(context, list(ASSIGNMENTS[name].exports))


def right_and_wrong(name: str) -> list[Path]:
    """Right answers, and one in five of the wrong ones, or all."""
    reference = ASSIGNMENTS[name].reference
    assert reference is not None
    wrong = sorted(path for kind in ("wrong", "seeds") for path in (CORPUS / name / kind).glob("*"))
    told = [path for path in wrong if path.relative_to(CORPUS).as_posix() in ECHOES]
    some = wrong if THOROUGH else wrong[::5]
    return [reference, *sorted(reference.parent.glob("accepted/*.py")), *some, *told]


@pytest.mark.parametrize(("name", "fill"), GRADED)
def test_no_work_earns_no_points(grade, tmp_path, name, fill):
    file = tmp_path / ASSIGNMENTS[name].file
    file.write_text(idle_source(ASSIGNMENTS[name], fill), "utf-8")
    report = grade(file, ROOT, name)
    assert report.score.earned <= MOST * report.score.possible
    assert re.search("Nothing is computed from the inputs|Nothing but NaN", report.message)
    assert report.message in " ".join(plain(report).split())
    taken = [check for check in report.checks if check.message in FOR_NOTHING.values()]
    assert len({check.because for check in taken} - {None}) <= 1
    assert all(check.status is Status.FAILED and check.earned == 0 for check in taken)


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_every_way_to_do_nothing_is_seen(name):
    """All but those that are tried by what they earn: truths, which have too few values to tell."""
    truths = name == "masks"
    fills = [fill for fill in FILLS if not (name == "heads" and fill in MOVES_NUMBERS)]
    plainly = [fill for fill in fills if not truths or "zeros" in fill or fill == "ones"]
    computing = {
        export
        for export in ASSIGNMENTS[name].exports
        if not (export[0].isupper() and ASSIGNMENTS[name].exports[export].forward is None)
    }
    for fill in plainly:
        found = idle(name, idle_source(ASSIGNMENTS[name], fill))
        if fill == "wrong shape":  # of which a model of models fails to make anything
            assert found
        else:
            assert (fill, set(found)) == (fill, computing)


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_wrong_answers_are_work(name):
    for path in right_and_wrong(name):
        source = path.read_text("utf-8")
        label = path.relative_to(ROOT).as_posix().removeprefix("tests/submissions/")
        assert bool(idle(name, source)) == (label in ECHOES), label


PARTLY = """
import torch

def causal_mask(query_length, key_length=None, query_offset=0):
    width = query_length if key_length is None else key_length
    return torch.ones(query_length, width, dtype=torch.bool).tril(query_offset)

def padding_mask(lengths, max_length):
    return torch.ones(len(lengths), max_length, dtype=torch.bool)

def combine_masks(*masks):
    return masks[0]
"""


def test_each_export_is_judged_by_itself(grade, hand_in):
    report = grade(hand_in(PARTLY, "masks.py"), ROOT, "masks")
    by_id = {check.id: check for check in report.checks}
    assert "by padding_mask and combine_masks:" in report.message
    assert by_id["offset"].status is by_id["causal_shape"].status is Status.PASSED
    assert by_id["padding_shape"].message == FOR_NOTHING[Work.NONE]
    assert by_id["padding_shape"].earned == 0


def test_a_right_answer_is_not_asked(grade, hand_in):
    source = Path(ASSIGNMENTS["attention"].reference).read_text("utf-8")
    report = grade(hand_in(source), ROOT)
    assert (report.score.earned, report.message) == (report.score.possible, "")


PRINTS = """
import math
import torch

def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        if not bool((mask != 0).any(-1).all()):
            raise ValueError("a query is left without a key")
        scores = scores.masked_fill(mask == 0, -math.inf)
    print(scores.softmax(-1) @ value)
"""


def test_what_is_printed_is_not_returned(grade, hand_in):
    report = grade(hand_in(PRINTS), ROOT)
    assert (report.status, report.score.earned, report.diagnosis) == ("graded", 0, [])
    assert report.message.startswith("None is returned by scaled_dot_product_attention:")
    roots = {check.because for check in report.checks if check.status is Status.FAILED} - {None}
    (root,) = roots
    said = next(check for check in report.checks if check.id == root)
    assert "yours returned None" in said.message
