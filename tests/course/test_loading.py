"""Courses: found, loaded, and refused with the line that is wrong."""

import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.course.loading import course_assignment, find_course, load_course, suite_digest
from grader.course.model import Assignment, CourseError, Limits, Signature


@pytest.fixture
def toml(course_folder: Path) -> Path:
    return course_folder / "assignments" / "attention" / "assignment.toml"


@pytest.fixture
def course_toml(course_folder: Path) -> Path:
    return course_folder / "assignments" / "course.toml"


@pytest.mark.parametrize("start", ["", "assignments", "assignments/masks/masks.py", "no/such"])
def test_a_course_is_found_from_anywhere_inside(course_folder: Path, start: str) -> None:
    assert find_course(course_folder / start) == course_folder


def test_no_course_tells_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(CourseError, match=r"assignments/course\.toml.*--course"):
        find_course(tmp_path)


@pytest.mark.parametrize("inside", ["", "assignments"])
def test_a_course_is_loaded_from_its_folder_or_assignments(
    course_folder: Path, inside: str
) -> None:
    course = load_course(course_folder / inside)
    assert course.root == course_folder
    assert course.title == "Attention, by hand"
    assert list(course.assignments) == ["attention", "masks"]


def test_a_relative_root(course_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(course_folder / "assignments")
    assert load_course(Path()).root == course_folder


def test_an_assignment_is_what_its_file_says(course_folder: Path, attention: Assignment) -> None:
    folder = course_folder / "assignments" / "attention"
    export = attention.exports["attend"]
    assert attention.file == "attention.py"
    assert (export.arguments, export.options) == (["query", "key", "value"], ["mask"])
    assert export.returns == ["output", "weights"]
    assert export.forward is None
    assert attention.forbidden == ["torch.nn.functional.scaled_dot_product_attention"]
    assert attention.limits == Limits()
    assert attention.stub == folder / "attention.py"
    assert attention.public_suite == folder / "test_public.py"
    assert attention.hidden_suite is None
    assert attention.reference is None


def test_the_private_side(course_folder: Path) -> None:
    hidden = course_folder / "tests" / "hidden" / "test_attention.py"
    reference = course_folder / "solutions" / "attention" / "attention.py"
    for path in (hidden, reference):
        path.parent.mkdir(parents=True)
        path.write_text("")
    assignment = load_course(course_folder).assignments["attention"]
    assert (assignment.hidden_suite, assignment.reference) == (hidden, reference)


def test_a_module_has_a_constructor_parameters_and_forward(course_folder: Path, toml: Path) -> None:
    toml.write_text(
        """
        title = "MHA"
        file = "multi_head.py"
        [exports.MHA]
        options = ["embed_dim"]
        parameters = ["W_q", "W_o"]
        [exports.MHA.forward]
        arguments = ["query"]
        """
    )
    assignment = load_course(course_folder).assignments["attention"]
    assert assignment.file == "multi_head.py"
    assert assignment.exports["MHA"].parameters == ["W_q", "W_o"]
    assert assignment.exports["MHA"].forward == Signature(arguments=["query"])


def test_order_comes_first_and_the_rest_by_name(course_folder: Path, course_toml: Path) -> None:
    other = course_folder / "assignments" / "gqa"
    other.mkdir()
    (other / "assignment.toml").write_text('title = "GQA"\n[exports.GQA]\n')
    (course_folder / "assignments" / "pictures").mkdir()
    course_toml.write_text('title = "T"\norder = ["masks"]\n')
    assert list(load_course(course_folder).assignments) == ["masks", "attention", "gqa"]


def test_limits_are_overridden_key_by_key(
    course_folder: Path, toml: Path, course_toml: Path
) -> None:
    course_toml.write_text('title = "T"\n[limits]\ncheck_seconds = 5\nimport_seconds = 2.5\n')
    with toml.open("a") as stream:
        stream.write("[limits]\ncheck_seconds = 20\n")
    course = load_course(course_folder)
    assert course.assignments["attention"].limits == Limits(check_seconds=20, import_seconds=2.5)
    assert course.assignments["masks"].limits == Limits(check_seconds=5, import_seconds=2.5)


EXPORT = "[exports.attend]\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('title = "A"\nfile = \n', 2, "not TOML"),
        ('title = "A"\nforbidden = ["x"', 2, "not TOML"),
        (EXPORT, 1, "title is missing; expected a string"),
        ('title = ""\n' + EXPORT, 1, "expected some text"),
        ('# first\n\ntitle = 3\nfile = "a.py"\n' + EXPORT, 3, "found 3 for title; expected a str"),
        ('title = "A"\n\ntitel = "B"\n' + EXPORT, 3, "unknown key 'titel'; expected title"),
        ('title = "A"\n', 1, "exports is missing; expected a table"),
        ('title = "A"\n[exports]\n', 2, "exports is empty"),
        ('title = "A"\nexports = 3\n', 2, "found 3 for exports; expected a table"),
        ('title = "A"\n[exports]\nattend = 3\n', 3, "found 3 for attend; expected a table of arg"),
        ('title = "A"\n\n[exports.attend-to]\n', 3, "'attend-to' as an export; expected a name"),
        ('title = "A"\n\n[exports.class]\n', 3, "'class' as an export"),
        ('title = "A"\n' + EXPORT + 'argument = ["q"]\n', 3, "'argument'; expected arguments"),
        ('title = "A"\n' + EXPORT + "options = [\n 1,\n]\n", 3, "an array of strings"),
        ('title = "A"\n' + EXPORT + 'options = ["a b"]\n', 3, "'a b' in options; expected names"),
        ('title = "A"\n' + EXPORT + 'arguments=["a"]\noptions = ["a"]\n', 4, "'a' twice"),
        ('title = "A"\n' + EXPORT + 'returns = [""]\n', 3, "found '' in returns"),
        ('title = "A"\n[exports.a.forward]\nretruns = []\n', 3, "expected returns (known"),
        ('title = "A"\n[exports.a]\nforward = "x"\n', 3, "found 'x' for forward; expected a table"),
        ('title = "A"\nfile = "../a.py"\n' + EXPORT, 2, "'../a.py' as the file to hand in"),
        ('title = "A"\nfile = "a.txt"\n' + EXPORT, 2, "'a.txt' as the file to hand in"),
        ('title = "A"\nfile = ".py"\n' + EXPORT, 2, "'.py' as the file to hand in"),
        ('title = "A"\nfile = "a b.py"\n' + EXPORT, 2, "a plain name that Python can import"),
        ('title = "A"\nforbidden = ["torch..x"]\n' + EXPORT, 2, "'torch..x'; expected dotted"),
        ('title = "A"\n[limits]\ncheck_second = 1\n' + EXPORT, 3, "expected check_seconds"),
        ('title = "A"\n[limits]\ncheck_seconds = "1"\n' + EXPORT, 3, "expected a number"),
        ('title = "A"\n[limits]\ncheck_seconds = true\n' + EXPORT, 3, "expected a number"),
        ('title = "A"\n[limits]\n\ncheck_seconds = 0\n' + EXPORT, 4, "a positive number"),
        ('title = "A"\n[limits]\ncheck_seconds = inf\n' + EXPORT, 3, "a positive number"),
        ('title = "A"\n[limits]\ncheck_seconds = nan\n' + EXPORT, 3, "a positive number"),
        ('title = "A"\n[limits]\nmemory_bytes = 1.5\n' + EXPORT, 3, "a whole number"),
        ('title = "A"\nlimits.check_seconds = -1\n' + EXPORT, 2, "found -1 for check_seconds"),
        ('title = "A"\nlimits = {check_seconds = -1}\n' + EXPORT, 2, "found -1"),
        ('title = """\n[limits]\n"""\n[limits]\nmemory_bytes = -1\n' + EXPORT, 5, "found -1"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    course_folder: Path, toml: Path, text: str, line: int, words: str
) -> None:
    toml.write_text(text)
    with pytest.raises(CourseError) as caught:
        load_course(course_folder)
    assert f"{toml}, line {line}: " in str(caught.value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "title is missing"),
        ('title = "T"\norder = ["masks", "attentoin"]\n', 2, "no assignments/attentoin/"),
        ('title = "T"\norder = ["masks", "attentoin"]\n', 2, "expected attention (known: "),
        ('title = "T"\norder = ["masks", "masks"]\n', 2, "'masks' twice"),
        ('title = "T"\nordr = []\n', 2, "expected order"),
        ('title = "T"\n[limits]\nseconds = 1\n', 3, "unknown key 'seconds'"),
    ],
)
def test_a_wrong_course_file(
    course_folder: Path, course_toml: Path, text: str, line: int, words: str
) -> None:
    course_toml.write_text(text)
    with pytest.raises(CourseError) as caught:
        load_course(course_folder)
    assert f"{course_toml}, line {line}: " in str(caught.value)
    assert words in str(caught.value)


def test_a_file_that_is_not_utf8(course_folder: Path, toml: Path) -> None:
    toml.write_bytes(b'title = "A"\nfile = "\xe9.py"\n')
    with pytest.raises(CourseError, match=r"line 2: found the byte 0xe9.*UTF-8"):
        load_course(course_folder)


def test_a_file_with_a_byte_order_mark_and_crlf(course_folder: Path, toml: Path) -> None:
    toml.write_bytes(b"\xef\xbb\xbf" + toml.read_bytes().replace(b"\n", b"\r\n"))
    load_course(course_folder)


def test_files_that_cannot_be_read(course_folder: Path, toml: Path) -> None:
    toml.unlink()
    toml.mkdir()
    with pytest.raises(CourseError, match=r"assignment\.toml: found a folder"):
        load_course(course_folder)
    with pytest.raises(CourseError, match=r"course\.toml: cannot be read"):
        load_course(course_folder / "no" / "such")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_does_not_block(course_folder: Path, toml: Path) -> None:
    toml.unlink()
    os.mkfifo(toml)
    with pytest.raises(CourseError, match="device"):
        load_course(course_folder)


def test_a_course_without_assignments(tmp_path: Path) -> None:
    (tmp_path / "assignments").mkdir()
    (tmp_path / "assignments" / "course.toml").write_text('title = "T"\n')
    with pytest.raises(CourseError, match="holds no assignment"):
        load_course(tmp_path)


def test_an_id_that_is_no_name(course_folder: Path) -> None:
    (course_folder / "assignments" / "attention").rename(course_folder / "assignments" / "a b")
    with pytest.raises(CourseError, match="'a b' as an assignment's id"):
        load_course(course_folder)


def test_looking_an_assignment_up(course_folder: Path) -> None:
    course = load_course(course_folder)
    assert course_assignment(course, "masks") is course.assignments["masks"]
    with pytest.raises(CourseError, match=r"'atention'; expected attention \(known: attention, m"):
        course_assignment(course, "atention")
    with pytest.raises(CourseError, match="expected one of attention, masks"):
        course_assignment(course, "zzz")


def test_the_suite_digest_changes_with_what_decides_a_score(
    course_folder: Path, attention: Assignment, toml: Path
) -> None:
    digests = [suite_digest(attention)]
    assert digests == [suite_digest(load_course(course_folder).assignments["attention"])]
    hidden = course_folder / "tests" / "hidden" / "test_attention.py"
    reference = course_folder / "solutions" / "attention" / "attention.py"
    for path in (hidden, reference):
        path.parent.mkdir(parents=True)
    for path in (attention.public_suite, hidden, reference, toml):
        with path.open("a") as stream:
            stream.write("# more\n")
        digests.append(suite_digest(load_course(course_folder).assignments["attention"]))
    assert len(set(digests)) == len(digests) == 5
    assert all(len(digest) == 64 for digest in digests)


@settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.binary()
    | st.lists(
        st.sampled_from(
            [
                *('title = "A"', "title = 1", "[limits]", "[exports]", "[exports.a]", "[exports."),
                *("check_seconds = 1", "[[exports.a]]", "a.forward.options = []", "forward = {}"),
                *("exports = []", 'file = "a.py"', "order = ['masks']", "limits.x.y = 2", '"""'),
                *("memory_bytes = 1" + 400 * "0", "a = " + 2000 * "[", '"\\u0000" = 1', "[", "]"),
            ]
        )
    ).map(lambda lines: "\n".join(lines).encode())
)
def test_any_file_loads_or_is_refused(
    course_folder: Path, toml: Path, course_toml: Path, data: bytes
) -> None:
    good = course_toml.read_bytes()
    for path in (toml, course_toml):
        path.write_bytes(data)
        with contextlib.suppress(CourseError):
            load_course(course_folder)
        course_toml.write_bytes(good)
