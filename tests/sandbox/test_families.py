"""What does an assignment's job in one call is decided for all of the installed torch."""

import importlib
import tomllib
from pathlib import Path

import pytest
import torch

from grader.execution import families
from grader.execution.families import CALLABLES, OPERATORS, Computation

from .walking import built_in, definitions, operators

DECLARED = tomllib.loads(Path(__file__).with_name("not_attention.toml").read_text("utf-8"))
NOT_ATTENTION = {name for entry in DECLARED["declared"] for name in entry["names"]}
CANDIDATES = {
    "operators": lambda: {f"aten:{name}" for name in operators() - set(OPERATORS)},
    "built-in functions": lambda: {f"built in:{name}" for name in built_in() - operators()},
    "definitions": lambda: definitions() - {f"{at.module}:{at.name}" for at in CALLABLES},
}


def version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


UNKNOWN = families.FamilyMember("", Computation(1))


@pytest.mark.parametrize("walk", CANDIDATES.values(), ids=CANDIDATES)
def test_each_of_torch_is_in_a_family_or_declared_not_to_be(walk):
    """A new one has to be put into ``families.py``, or into ``not_attention.toml``."""
    if version(torch.__version__) < version(DECLARED["torch"]):
        pytest.skip("an older torch has names that are gone since")
    assert sorted(walk() - NOT_ATTENTION) == []


@pytest.mark.parametrize(
    "source",
    [
        "def fused_attention(x): pass",
        "class LinearAttention: pass",
        "class Anything:\n    def forward(self, q, k, v): pass",
        "if True:\n    def run(query, key, value, mask=None): pass",
        "def hidden_away(x):\n    return F.scaled_dot_product_attention(x, x, x)",
        "class Anything(nn.MultiheadAttention): pass",
    ],
)
def test_the_walk_finds_a_new_one(tmp_path, monkeypatch, source):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "new.py").write_text(f"import x\n\n{source}\n", "utf-8")
    monkeypatch.setattr(torch, "__file__", str(tmp_path / "torch" / "__init__.py"))
    (found,) = definitions()
    assert found.startswith("torch.new:")
    assert found not in NOT_ATTENTION


def test_the_walk_finds_a_new_operator():
    library = torch.library.Library("grader_walk", "FRAGMENT")
    library.define("plain(Tensor query, Tensor key, Tensor value) -> Tensor")
    library.define("mha_forward(Tensor x) -> Tensor")
    found = {name for name in operators() if name.startswith("grader_walk::")}
    library._destroy()
    assert found == {"grader_walk::plain", "grader_walk::mha_forward"}


def test_nothing_is_decided_twice():
    members = {f"{at.module}:{at.name}" for at in CALLABLES} | {f"aten:{it}" for it in OPERATORS}
    names = [name for entry in DECLARED["declared"] for name in entry["names"]]
    assert len(names) == len(set(names))
    assert members.isdisjoint(names)


ENTRIES = {
    "torch.nn.functional.scaled_dot_product_attention": Computation.ATTENTION,
    "torch.nn.MultiheadAttention": Computation.MULTI_HEAD,
    "torch.nn.functional.multi_head_attention_forward": Computation.MULTI_HEAD,
    "torch.nn.TransformerEncoderLayer": Computation.BLOCK,
    "torch.nn.Transformer": Computation.BLOCK,
}


@pytest.mark.parametrize(("entry", "job"), ENTRIES.items())
def test_an_entry_stands_for_what_does_its_job_or_more(entry, job):
    forbidden = {
        name
        for name in families.names()
        if families.forbidding(
            families.member(name) or families.FamilyMember("", Computation(1)), [entry]
        )
    }
    expected = [families.operator(name) for name in OPERATORS]
    expected += [families.function(place) for place in CALLABLES if "." not in place.name]
    assert {member.name for member in expected if member.job >= job} <= forbidden
    assert not {member.name for member in expected if member.job < job} & forbidden


@pytest.mark.parametrize(
    ("dotted", "known"),
    [
        ("torch.ops.aten._scaled_dot_product_attention_math.default", True),
        ("torch._C._VariableFunctions._scaled_dot_product_attention_math", True),
        ("torch.ops.higher_order.flex_attention", True),
        ("torch.nn.attention.flex_attention.flex_attention", True),
        ("torch.nn.modules.transformer.MultiheadAttention", True),
        ("torch.nn.functional.torch.nn.MultiheadAttention", True),
        ("torch.nn.attention.flex_attention", False),
        ("torch.nn.attention.flex_attention.create_block_mask", False),
        ("torch.nn.attention.sdpa_kernel", False),
        ("torch.fx.Transformer", False),
        ("torch.ops.mine.scaled_dot_product_attention", False),
        ("torch.ops.mine.attention", False),
        ("mine.nn.MultiheadAttention", False),
    ],
)
def test_a_dotted_name_by_whatever_way(dotted, known):
    assert (families.member(dotted) is not None) is known


@pytest.mark.parametrize(
    "place", [place for place in CALLABLES if place.module.startswith("torch.nn.")]
)
def test_members_are_where_they_are_said_to_be(place):
    if version(torch.__version__) < version(DECLARED["torch"]):
        pytest.skip("an older torch has fewer")
    thing = importlib.import_module(place.module)
    for part in place.name.split("."):
        thing = getattr(thing, part)
    assert callable(thing)
