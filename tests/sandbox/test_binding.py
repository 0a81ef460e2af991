"""How a declared call meets the signatures that students write."""

import functools

import pytest

from grader.execution.binding import CannotBind, bind
from grader.wire.messages import CallSignature

DECLARED = CallSignature(arguments=["query", "key", "value"], options=["mask", "dropout"])


def called(function, *arguments, declared=DECLARED, **options):
    """What ``function`` returns when it is called as declared with these."""
    args, kwargs = bind(function, declared, list(arguments), options)
    return function(*args, **kwargs)


def as_declared(query, key, value, mask=None, dropout=0.0):
    return query, key, value, mask, dropout


def other_names(q, k, v, m=None, p=0.0):
    return q, k, v, m, p


def positional_only(query, key, value, mask=None, dropout=0.0, /):
    return query, key, value, mask, dropout


def keyword_only_options(query, key, value, *, mask=None, dropout=0.0):
    return query, key, value, mask, dropout


def keyword_only(*, query, key, value, mask=None, dropout=0.0):
    return query, key, value, mask, dropout


def options_the_other_way_round(query, key, value, dropout=0.0, mask=None):
    return query, key, value, mask, dropout


def arguments_the_other_way_round(key, query, value, mask=None, dropout=0.0):
    return key, query, value, mask, dropout


def an_option_of_its_own_first(query, key, value, scale=1.0, mask=None, dropout=0.0):
    assert scale == 1.0
    return query, key, value, mask, dropout


def everything(*args, **kwargs):
    assert len(args) == 3
    return (*args, kwargs.get("mask"), kwargs.get("dropout", 0.0))


def positions(*args):
    return (*args, *(None, 0.0)[len(args) - 3 :])


def the_rest(query, key, *rest, mask=None, dropout=0.0):
    return (query, key, *rest, mask, dropout)


def one_name_kept(q, k, v, m=None, dropout=0.0):
    return q, k, v, m, dropout


class AMethod:
    def attend(self, query, key, value, mask=None, dropout=0.0):
        return query, key, value, mask, dropout

    __call__ = attend


RIGHT = [
    as_declared,
    other_names,
    positional_only,
    keyword_only_options,
    keyword_only,
    options_the_other_way_round,
    arguments_the_other_way_round,
    an_option_of_its_own_first,
    everything,
    positions,
    the_rest,
    one_name_kept,
    AMethod().attend,
    AMethod(),
    functools.partial(as_declared),
    lambda a, b, c, d=None, e=0.0: (a, b, c, d, e),
]


@pytest.mark.parametrize("function", RIGHT, ids=lambda f: getattr(f, "__name__", str(type(f))))
class TestWhateverItIsCalled:
    def test_arguments_alone(self, function):
        assert called(function, 1, 2, 3) == (1, 2, 3, None, 0.0)

    def test_the_first_option(self, function):
        assert called(function, 1, 2, 3, mask="m") == (1, 2, 3, "m", 0.0)

    def test_both_options(self, function):
        assert called(function, 1, 2, 3, dropout=0.5, mask="m") == (1, 2, 3, "m", 0.5)


@pytest.mark.parametrize(
    "function", [f for f in RIGHT if f is not positions], ids=lambda f: getattr(f, "__name__", "")
)
def test_a_later_option_alone_leaves_the_earlier_at_its_default(function):
    assert called(function, 1, 2, 3, dropout=0.5) == (1, 2, 3, None, 0.5)


def test_defaults_between_are_the_students_own():
    def different_default(q, k, v, m="mine", p=0.0):
        return m, p

    assert called(different_default, 1, 2, 3, dropout=0.5) == ("mine", 0.5)


class TestRefused:
    @pytest.mark.parametrize(
        "function",
        [
            lambda query, key: None,
            lambda query, key, value: None,
            lambda q, k, v: None,
            lambda query, key, value, mask, dropout, more: None,
            lambda: None,
            lambda *, q, k, v, m=None: None,
        ],
    )
    def test_what_cannot_take_the_call(self, function):
        with pytest.raises(CannotBind, match="has to accept"):
            called(function, 1, 2, 3, mask="m")

    def test_an_option_is_never_dropped(self):
        def needs_four(query, key, value, first, *rest):
            return rest

        with pytest.raises(CannotBind):
            called(needs_four, 1, 2, 3, dropout=0.5)
        with pytest.raises(CannotBind):
            called(positions, 1, 2, 3, dropout=0.5)

    def test_both_sides_are_shown(self):
        def attend(q: int, *, k: "int" = 0, scale=1.0):
            return None

        with pytest.raises(CannotBind) as caught:
            called(attend, 1, declared=CallSignature(arguments=["x"], options=["mask"]), mask=1)
        assert "attend(q, *, k, scale)" in str(caught.value)
        assert "(x, mask=...)" in str(caught.value)


class TestUnchanged:
    def test_without_a_declaration(self):
        assert bind(as_declared, None, [1], {"x": 2}) == ([1], {"x": 2})

    def test_where_the_signature_cannot_be_told(self):
        assert bind(iter, DECLARED, [[1]], {}) == ([[1]], {})

    def test_a_class_is_bound_by_its_constructor(self):
        class Layer:
            def __init__(self, width, heads=1):
                self.sizes = width, heads

        declared = CallSignature(arguments=[], options=["embed_dim", "num_heads"])
        made = called(Layer, declared=declared, num_heads=3, embed_dim=12)
        assert made.sizes == (12, 3)
