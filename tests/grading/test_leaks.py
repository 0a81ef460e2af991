"""Nothing of a hidden suite, its inputs or the reference is in what a student gets to read.

Each submission here does its best to smuggle the inputs of hidden checks out. It prints what it
has seen, which only an instructor's report keeps: those are the numbers to look for.
"""

from __future__ import annotations

import re

import msgspec
import pytest

from grader.report.files import encode
from grader.report.model import Status, Visibility
from grader.session.checks.outcomes import UNTOLD
from grader.session.student.noted import MOST_ERRORS

from .conftest import ROOT, SEED, SUBMISSIONS, copy_course, job

BASE = """
import torch

SEEN = []
PUBLIC = []

def digits(query):
    return "".join(str(abs(int(x * 1e9)) % 10**9).zfill(9) for x in query.flatten()[:2].tolist())

def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ value, weights

def scaled_dot_product_attention(query, key, value, mask=None):
    if not query.is_meta and query.dim() and query.shape[-1] != 2:
        SEEN.append(digits(query))
        print("seen", SEEN[-1])
    seen = SEEN[-1] if SEEN else "0" * 18
    hidden = query.is_meta or query.shape[-1] != 2
    {body}
"""

WAYS = {
    "a message": "raise ValueError(seen)",
    "a message of its own error": "raise type('Mine', (ValueError,), {})(seen)",
    "the name of an error": "raise type('E' + seen, (Exception,), {})",
    "the name of an error's base": "raise type('E', (type('B' + seen, (ValueError,), {}),), {})",
    "a note": "error = ValueError(); error.add_note(seen); raise error",
    "a chain of errors": "raise ValueError from RuntimeError(seen)",
    "a syntax error": "raise SyntaxError(seen, ('attention.py', 3, 1, seen))",
    "an import error": "raise ModuleNotFoundError(seen, name=seen)",
    "a stub's words": "exec(f'raise NotImplementedError({seen!r})')",
    "a line that is made up": "exec(compile(f'raise ValueError  # {seen}', __file__, 'exec'))",
    "the name of a type": "return type('T' + seen, (), {})()",
    "the name of a tensor's type": "return torch.ones(1).as_subclass("
    "type('T' + seen, (torch.Tensor,), {})), 3",
    "numbers": "return torch.full_like(query, float(seen)), torch.full_like(query, float(seen))",
    "a shape": "return torch.zeros(int(seen[:6])), torch.zeros(int(seen[6:12]))",
    "a shape that is too large": "return torch.zeros(1).expand(int(seen)), 3",
    "a number of items": "return [query] * int(seen[:4])",
    "text": "return seen, seen",
    "keys": "return {seen: query, 'weights': query}",
    "a file name": "exec(compile('raise ValueError', seen + '.py', 'exec'))",
    "standard error": "import sys; print(seen, file=sys.stderr); return attend(query, key, value)"[
        :-1
    ]
    + ")",
    "an exit status": "import os; os._exit(int(seen[:4]) % 256)",
    "later examples": "return attend(query, key, value, mask) if hidden else "
    "(torch.full((1, 2), float(seen)), torch.full((1, 2), float(seen)))",
    "later errors": "if not hidden: raise ValueError(seen)\n"
    "    return tuple(2 * x for x in attend(query, key, value, mask))",
    "later output": "print(SEEN); return tuple(2 * x for x in attend(query, key, value, mask))",
}

FORGED = BASE.format(
    body="""
    import msgspec, os, socket, struct
    sock = socket.socket(fileno=os.dup(3))
    def forge(**message):
        body = msgspec.msgpack.encode(message)
        sock.sendall(struct.pack("<II", len(body), 0) + body)
        os._exit(0)
    {forgery}
"""
)
FORGERIES = {
    "an unusable result": "forge(**{'is': 'Unusable', 'problem': seen})",
    "the base of an error": "forge(**{'is': 'Raised', 'kind': 'raised', 'type': 'E', "
    "'bases': [seen], 'message': seen, 'frame': None})",
    "the kind of an error": "forge(**{'is': 'Raised', 'kind': seen, 'type': 'E', 'bases': [], "
    "'message': seen, 'frame': {'file': seen, 'line': 1, 'text': seen}})",
    "a handle": "forge(**{'is': 'Returned', 'value': {'is': 'Handle', 'id': 1, 'type': seen, "
    "'items': None}, 'call': 1})",
    "a module": "forge(**{'is': 'Returned', 'value': {'is': 'Handle', 'id': 1, 'type': seen, "
    "'items': None}, 'call': 1, 'module': {'parameters': [{'name': seen, 'tensor': 0}], "
    "'buffers': [], 'submodules': [seen]}})",
    "another message": "forge(**{'is': seen})",
}


SUITE = """
import torch
from grader.suite import (
    assert_close, assert_dtype, assert_finite, assert_raises, assert_rows_sum_to_one,
    assert_same_gradients, assert_shape, check,
)

def inputs(draw, dtype=torch.float32):
    shapes = (4, 3), (5, 3), (5, 6)
    return [draw.normal(*shape, dtype=dtype) for shape in shapes]

@check("shape", points=1, title="Shapes")
def test_shapes(student, draw):
    output, weights = student.scaled_dot_product_attention(*inputs(draw))
    assert_shape(output, {"T": 4, "Dv": 6}, "output")
    assert_shape(weights, {"T": 4, "S": 5}, "weights")

@check("row-sum", points=1, title="Rows", shows="three queries and four keys")
def test_rows(student, draw):
    assert_rows_sum_to_one(student.scaled_dot_product_attention(*inputs(draw))[1])

@check("values", points=1, title="Values")
def test_values(student, reference, draw):
    given = inputs(draw)
    mine, theirs = (s.scaled_dot_product_attention(*given) for s in (student, reference))
    assert_finite(mine[0], "output")
    assert_close(mine[1], theirs[1], "weights")
    assert_close(mine[0], theirs[0], "output")

@check("gradient", points=1, title="Gradients")
def test_gradients(student, reference, draw):
    named = dict(zip(("query", "key", "value"), inputs(draw), strict=True))
    calls = (s.scaled_dot_product_attention for s in (student, reference))
    assert_same_gradients(*calls, named, draw)

@check("dtype", points=1, title="Dtypes")
def test_dtype(student, draw):
    output, _ = student.scaled_dot_product_attention(*inputs(draw, torch.float64))
    assert_dtype(output, torch.float64, "output")

@check("errors", points=1, title="Errors")
def test_errors(student, draw):
    with assert_raises(TypeError, when="no query may see anything"):
        student.scaled_dot_product_attention(*inputs(draw), mask=torch.zeros(4, 5))

@check("batch", points=1, title="A plain assertion")
def test_plain(student, draw):
    output, _ = student.scaled_dot_product_attention(*inputs(draw))
    assert output.sum() == 3, output
"""
"""A short hidden suite that has every kind of assertion."""


def everything_seen(report) -> set[str]:
    """The digits of hidden inputs, from the output that an instructor's report keeps."""
    hidden = [c.output.text for c in report.checks if c.visibility is Visibility.HIDDEN]
    return {
        number[start : start + 9]
        for text in hidden
        for number in re.findall(r"seen (\d{18})", text)
        for start in (0, 9)
    }


def assert_nothing_leaks(report) -> None:
    secrets = {digits for digits in everything_seen(report) if len(set(digits)) > 3}
    assert len(secrets) > 4
    student = encode(report.for_student()).decode()
    # The first six digits are enough to know a number, and never there by chance.
    leaked = {digits for digits in secrets if digits[:6] in student.replace(".", "")}
    assert leaked == set()


@pytest.fixture(scope="module")
def smuggled(grade, tmp_path_factory):
    """The instructor's report for each way, all begun at once."""
    folder = tmp_path_factory.mktemp("smugglers")
    course = copy_course(folder / "course")
    (course / "tests" / "hidden" / "test_attention.py").write_text(SUITE)
    begun = {}
    for number, (way, source) in enumerate(
        [
            *((way, BASE.replace("{body}", body)) for way, body in WAYS.items()),
            *((way, FORGED.replace("{forgery}", body)) for way, body in FORGERIES.items()),
        ]
    ):
        path = folder / str(number) / "attention.py"
        path.parent.mkdir()
        path.write_text(source)
        begun[way] = grade.submit(job(path, course))
    return lambda way: begun[way].result()


@pytest.mark.parametrize("body", ["raise ValueError(seen)", WAYS["numbers"]])
def test_inputs_of_the_real_suite_do_not_get_out(grade, hand_in, body):
    report = grade(hand_in(BASE.replace("{body}", body)), ROOT)
    assert_nothing_leaks(report)


@pytest.mark.parametrize("way", [*WAYS, *FORGERIES])
def test_inputs_do_not_get_out_by(smuggled, way):
    report = smuggled(way)
    assert any(check.status is not Status.PASSED for check in report.checks)
    assert_nothing_leaks(report)


def test_the_search_finds_what_does_get_out(smuggled):
    """An instructor's report holds the numbers, or the search above proves nothing."""
    report = smuggled("a message")
    whole = encode(report).decode()
    assert all(secret in whole for secret in everything_seen(report))


@pytest.mark.parametrize("audience", ["student", "instructor"])
def test_the_suite_and_the_reference_do_not_get_out(grade, audience):
    report = grade(SUBMISSIONS / "wrong" / "no_scale.py", ROOT, seed=SEED)
    text = encode(report.for_student() if audience == "student" else report).decode()
    for path in ("tests/hidden/test_attention.py", "solutions/attention/attention.py"):
        lines = {line.strip() for line in (ROOT / path).read_text().splitlines()}
        code = {line for line in lines if re.search(r"[=(]", line) and len(line) > 30}
        code = {line for line in code if not re.match(r"(title|hint)=|\\W|\"|'", line)}
        assert code
        assert {line for line in code if line in text} == set()
    assert str(ROOT) not in text
    assert "solutions" not in text


CHOICES = {
    "a line": "exec(compile(chr(10) * int(seen[:5]) + 'raise ValueError', __file__, 'exec'))",
    "a line of a stub": "exec(compile(chr(10) * (int(seen[0]) + 2) + 'raise NotImplementedError',"
    " __file__, 'exec'))",
    "a type of error": "raise (KeyError, OSError, MemoryError, EOFError)[int(seen[0]) % 4]",
    "a meaning": "raise (NameError if seen[0] == '1' else KeyError)('x is not defined')",
    "a syntax error's line": "raise SyntaxError('', (__file__, int(seen[:2]), 1, ''))",
    "an exit status": "import os; os._exit(int(seen[:2]))",
    "a number of values": "return [query] * int(seen[:2])",
    "a place": "out = query.new_zeros(4, 6); out[int(seen[0]) % 4, 0] = 1; return out, attend("
    "query, key, value)[1]",
    "a time": "import time; time.sleep(int(seen[0]) / 20); return value, value",
    "a dtype": "dtype = (torch.int8, torch.int16, torch.int32, torch.int64)[int(seen[0]) % 4]\n"
    "    return tuple(x.to(dtype) for x in attend(query, key, value))",
    "an error on later examples": "if hidden: return value, value\n"
    "    raise (KeyError, OSError)[int(seen[0]) % 2](seen)",
}
"""What code can choose, at a hidden check, of a few kinds that are all real."""


@pytest.mark.parametrize("way", CHOICES)
def test_nothing_is_told_by_the_choice_of(grade, tmp_path, leaky_course, way):
    """Two answers that would say other digits on hidden inputs, and nowhere else, look the same."""
    begun = []
    for digits in ("183756201938475612", "629384756102938475"):
        path = tmp_path / digits / "attention.py"
        path.parent.mkdir()
        said = BASE.replace("def digits(query):", f"def digits(query):\n    return '{digits}'\n")
        path.write_text(
            said.replace(
                "{body}",
                f"if not hidden and not SEEN: return attend(query, "
                f"key, value, mask)\n    {CHOICES[way]}",
            ),
            "utf-8",
        )
        begun.append(grade.submit(job(path, leaky_course)))
    one, other = (begun_.result() for begun_ in begun)
    assert one.score.earned < one.score.possible
    assert any("629384756" in check.output.text for check in other.checks)
    assert seen_by_students(one) == seen_by_students(other)


def seen_by_students(report) -> dict[str, object]:
    told = msgspec.to_builtins(report.for_student())
    assert told["checks"]
    for varies in ("submission", "started_at"):
        del told[varies]
    for check in told["checks"]:
        if check["visibility"] == "public":
            del check["duration_s"]
    return told


@pytest.fixture(scope="module")
def leaky_course(tmp_path_factory):
    course = copy_course(tmp_path_factory.mktemp("leaky") / "course")
    (course / "tests" / "hidden" / "test_attention.py").write_text(SUITE)
    return course


MET = """
import torch

def scaled_dot_product_attention(query, key, value, mask=None):
    if {when}:
        return query, key
    raise KeyError("the words of it")
"""


def test_an_error_that_public_inputs_meet_is_told_whole(grade, hand_in, leaky_course):
    report = grade(hand_in(MET.format(when="False")), leaky_course)
    raised = [check for check in report.for_student().checks if check.status == "error"]
    assert any(check.visibility == "hidden" for check in raised)
    for check in raised:
        assert "KeyError at line 7" in check.message
        assert "the words of it" in f"{check.message} {check.detail}"
        assert check.location.line == 7


def test_an_error_that_only_hidden_inputs_meet_is_told_to_instructors(grade, hand_in, leaky_course):
    report = grade(hand_in(MET.format(when="query.shape[-1] == 2")), leaky_course)
    raised = [check for check in report.checks if check.status == "error"]
    assert raised
    assert all("line 7 of attention.py: 'the words of it'" in check.detail for check in raised)
    student = report.for_student()
    assert {check.message for check in student.checks if check.status == "error"} == {UNTOLD}
    assert "line 7" not in encode(student).decode()


def test_errors_to_choose_from_are_few(grade, hand_in, leaky_course):
    """Public calls could raise at ever other lines, for hidden ones to choose from."""
    source = """
import torch

import time

def scaled_dot_product_attention(query, key, value, mask=None):
    line = time.monotonic_ns() // 1000 % 60
    exec(compile(chr(10) * line + "raise ValueError", __file__, "exec"))




























































"""
    public = "".join(
        f"""
@check("values", points=1, title="The {number}th")
def test_number_{number}(student):
    student.scaled_dot_product_attention(QUERY, KEYS, VALUES)
"""
        for number in range(30)
    )
    suite = leaky_course / "assignments" / "attention" / "test_public.py"
    before = suite.read_text("utf-8")
    suite.write_text(before + public, "utf-8")
    try:
        report = grade(hand_in(source), leaky_course)
    finally:
        suite.write_text(before, "utf-8")
    student = report.for_student().checks
    lines = {check.location.line for check in student if check.location}
    assert len(lines) > MOST_ERRORS
    hidden = {c.location.line for c in student if c.location and c.visibility == "hidden"}
    assert len(hidden) <= MOST_ERRORS


def test_what_is_shown_comes_first_and_from_a_worker_of_its_own(grade, hand_in, leaky_course):
    source = """
import os, time, torch

def scaled_dot_product_attention(query, key, value, mask=None):
    print("worker", os.getpid(), time.monotonic())
    said = torch.tensor([[os.getpid(), time.monotonic()]], dtype=torch.float64)
    return said, said
"""
    report = grade(hand_in(source), leaky_course)
    served = [
        tuple(map(float, line.split()[1:]))
        for check in report.checks
        if check.visibility == "hidden"
        for line in check.output.text.splitlines()
    ]
    shown = [
        one.yours[0]
        for check in report.checks
        for one in check.evidence
        if one.name in ("output", "weights")
    ]
    assert served
    assert shown
    pids, times = zip(*served, strict=True)
    for [pid, at] in shown:
        assert pid not in pids
        assert at < min(times)
