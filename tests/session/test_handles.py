"""Objects of the student's that stay where they are, such as caches."""

import pytest
import torch

from grader.session.errors import StudentError

CACHES = """
import dataclasses
from typing import NamedTuple

import torch
from torch import nn


class Pair(NamedTuple):
    key: torch.Tensor
    value: torch.Tensor

    @property
    def length(self):
        return self.key.shape[-2]


@dataclasses.dataclass
class Cache:
    key: torch.Tensor
    mask: torch.Tensor | None = None
    note: str = "new"

    @property
    def length(self):
        return self.key.shape[-2]

    @property
    def broken(self):
        raise ValueError("no such thing")

    def grow(self, more):
        return Cache(torch.cat([self.key, more], -2), self.mask, "grown")


class Layer(nn.Module):
    def forward(self, x, cache=None):
        grown = Cache(x) if cache is None else cache.grow(x)
        return grown.key.sum(-1), grown


def make_pair(x):
    return Pair(x, x * 2)


def use(cache):
    return type(cache).__name__, cache.key.sum()


def same(first, second):
    return first is second


def counter():
    count = 0
    def step(by=1):
        nonlocal count
        count += by
        return count
    return step
"""
EXPORTS = {
    "Cache": {"arguments": ["key"], "options": ["mask"]},
    "Layer": {"forward": {"arguments": ["x"], "options": ["cache"]}},
    "make_pair": {"arguments": ["x"]},
    "use": {"arguments": ["cache"]},
    "same": {"arguments": ["first", "second"]},
    "counter": {},
}


@pytest.fixture
def student(hand_in):
    return hand_in(CACHES, **EXPORTS)


class TestNamedTuples:
    def test_can_be_taken_apart_and_passed_back(self, student):
        x = torch.arange(6.0).reshape(3, 2)
        pair = student.make_pair(x)
        key, value = pair
        assert torch.equal(key, x)
        assert torch.equal(value, x * 2)
        assert torch.equal(pair[1], value)
        assert len(pair) == 2
        assert student.use(pair) == ("Pair", x.sum())

    def test_have_attributes(self, student):
        pair = student.make_pair(torch.ones(3, 2))
        assert pair.length == 3
        assert torch.equal(pair.value, torch.full((3, 2), 2.0))

    def test_items_carry_gradients(self, student):
        x = torch.ones(3, 2, requires_grad=True)
        student.make_pair(x)[1].sum().backward()
        assert x.grad.tolist() == [[2, 2]] * 3


class TestObjects:
    def test_constructed_here(self, student):
        mask = torch.tensor([True, False])
        cache = student.Cache(torch.ones(2, 3), mask=mask)
        assert cache.length == 2
        assert torch.equal(cache.mask, mask)
        assert cache.note == "new"
        assert student.use(cache) == ("Cache", 6)

    def test_are_no_sequences(self, student):
        cache = student.Cache(torch.ones(2, 3))
        for action in (iter, len, lambda c: c[0]):
            with pytest.raises(TypeError):
                action(cache)

    def test_attributes_that_are_not_there(self, student):
        cache = student.Cache(torch.ones(2, 3))
        assert not hasattr(cache, "lenght")
        assert getattr(cache, "lenght", 7) == 7
        with pytest.raises(StudentError, match="lenght"):
            cache.lenght

    def test_attributes_that_raise(self, student):
        cache = student.Cache(torch.ones(2, 3))
        with pytest.raises(ValueError, match="no such thing") as caught:
            cache.broken
        assert caught.value.frame.file == "work.py"

    def test_in_and_out_of_a_module(self, student):
        layer = student.Layer()
        x = torch.randn(5, 2)
        whole, _ = layer(x)
        first, cache = layer(x[:2])
        assert torch.equal(first, whole[:2])
        assert cache.length == 2
        second, grown = layer(x[2:], cache=cache)
        assert torch.allclose(second, whole)
        assert (cache.length, grown.length, grown.note) == (2, 5, "grown")

    def test_one_object_is_one(self, student):
        cache, other = student.Cache(torch.ones(1, 1)), student.Cache(torch.ones(1, 1))
        assert student.same(cache, cache) is True
        assert student.same(cache, other) is False
        assert student.same([cache], [cache]) is False

    def test_methods_can_be_called(self, student):
        cache = student.Cache(torch.ones(2, 3))
        assert cache.grow(torch.ones(4, 3)).length == 6

    def test_functions_keep_their_state(self, student):
        step = student.counter()
        assert [step(), step(), step(by=5)] == [1, 2, 7]

    def test_are_forgotten_with_their_check(self, student, hand_in):
        cache = student.Cache(torch.ones(2, 3))
        hand_in.last.begin("the next check")
        with pytest.raises(StudentError):
            cache.length
        assert student.Cache(torch.ones(2, 3)).length == 2
