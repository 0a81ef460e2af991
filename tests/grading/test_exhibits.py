"""Which demonstration a failed check shows, and what of one that cannot be run."""

from __future__ import annotations

import pytest

from ..toy import FILES, make_course

PUBLIC = FILES["assignments/scale/test_public.py"]
HIDDEN = FILES["tests/hidden/test_scale.py"]
MORE = """
@demonstration("zero")
def show_zero(student):
    return {"output": student.scale(torch.zeros(1))}

@demonstration("ten", about=("gradient",))
def show_ten(student):
    return {"output": student.scale(torch.full((1,), 10.0))}
"""


@pytest.fixture
def shown(grade, tmp_path):
    """The demonstrations that each hidden check shows of a submission."""

    def run(source: str) -> dict[str, list[str]]:
        title = 'title="Values are right"'
        hidden = HIDDEN.replace(title, f'{title}, shows="zero"')
        course = make_course(
            tmp_path / "course",
            assignments_scale_test_public_py=PUBLIC + MORE,
            tests_hidden_test_scale_py=hidden,
        )
        path = tmp_path / "scale.py"
        path.write_text(source, "utf-8")
        checks = grade(path, course, "scale").checks
        return {check.id: [one.demonstration for one in check.evidence] for check in checks}

    return run


def test_the_one_that_is_named_comes_first(shown):
    found = shown("def scale(x):\n    return x * 2 - 1\n")
    assert found["values"] == ["zero"]
    assert found["gradient"] == ["ten"]


def test_where_it_does_not_differ_another_does(shown):
    found = shown("def scale(x):\n    return x * 2 + 1\n")
    assert found["values"] == ["the example"]
    assert found["gradient"] == ["ten"]


def test_a_demonstration_that_fails_shows_no_traceback(grade, tmp_path):
    public = PUBLIC.replace(
        'return {"output": student.scale(X)}',
        'y = student.scale(X)\n    return {"output": y if len(y) == 2 else {}["nothing"]}',
    )
    course = make_course(tmp_path / "course", assignments_scale_test_public_py=public)
    path = tmp_path / "scale.py"
    path.write_text("def scale(x):\n    return (x * 3 + 1).repeat(2)\n", "utf-8")
    report = grade(path, course, "scale")
    (words,) = {str(one.yours) for check in report.checks for one in check.evidence}
    assert "right form" in words
    for text in ("Traceback", "nothing", str(tmp_path), ".py"):
        assert text not in words
