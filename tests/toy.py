"""A whole course small enough to read: one assignment, ``scale``, whose function triples."""

from __future__ import annotations

from pathlib import Path

FILES = {
    "assignments/course.toml": 'title = "Toys"\norder = ["scale"]\n',
    "assignments/scale/assignment.toml": """
title = "Scale and shift"
[exports.scale]
arguments = ["x"]
returns = ["output"]
""",
    "assignments/scale/scale.py": '''
def scale(x):
    """Three times x, plus one."""
    raise NotImplementedError
''',
    "assignments/scale/test_public.py": """
import torch
from grader.suite import assert_close, check, demonstration

X = torch.tensor([1.0, 2.0])

@check("values", points=1, title="The example is right")
def test_example(student):
    assert_close(student.scale(X), torch.tensor([4.0, 7.0]), "output")

@demonstration("the example")
def show_example(student):
    return {"output": student.scale(X)}
""",
    "solutions/scale/scale.py": """
def scale(x):
    y = x * 3
    return y + 1
""",
    "solutions/scale/accepted/sum.py": "def scale(x):\n    return x + x + x + 1\n",
    "solutions/scale/faults.toml": """
[doubled]
edit = [["x * 3", "x * 2"]]
belief = "Twice is enough."
message = "Your result is doubled where it has to be tripled."
hint = "How often does x count?"
fails = ["values"]

[not-shifted]
edit = [["y + 1", "y"]]
belief = "The shift is optional."
message = "The one is missing."
hint = "What is scale(0)?"
fails = ["values"]

[detached]
edit = [["x * 3", "x.detach() * 3"]]
belief = "Gradients do not matter."
message = "No gradient reaches x."
hint = "What cuts x off?"
fails = ["gradient"]
""",
    "tests/hidden/test_scale.py": """
import torch
from grader.suite import assert_close, assert_same_gradients, check, probe

@check("values", points=3, title="Values are right")
def test_values(student, reference, draw):
    x = draw.normal(5)
    assert_close(student.scale(x), reference.scale(x), "output")

@check("gradient", points=2, title="Gradients are right")
def test_gradient(student, reference, draw):
    assert_same_gradients(
        student.scale, reference.scale, {"x": draw.normal(4)}, draw, which=None
    )

@probe({"n": 3}, {"n": 5})
def probe_values(student, draw, n):
    return {"output": student.scale(draw.normal(n))}

@probe({"n": 3}, {"n": 5})
def probe_gradient(student, draw, n):
    x = draw.normal(n, requires_grad=True)
    output = student.scale(x)
    if not output.requires_grad:
        return {}
    return {"x": torch.autograd.grad(output.sum(), x)[0]}
""",
    "solutions/scale/equivalent.toml": "",
}


def make_course(root: Path, **changed: str) -> Path:
    """Write the course into ``root``; ``changed`` replaces files, ``/`` and ``.`` given as ``_``.

    An empty text leaves a file out.
    """
    for name, text in FILES.items():
        content = changed.get(name.replace("/", "_").replace(".", "_"), text)
        if content:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
    return root
