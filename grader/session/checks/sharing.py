"""Checks that several suites share: a class, of which each suite has a subclass."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import pytest

from grader.session.checks.declaring import Check, Sizes, check, declared_check, declared_probe


class Difference(NamedTuple):
    """How a suite's version of a shared check differs."""

    changes: Mapping[str, Any]
    cases: tuple[str, Mapping[str, Any]] | None

    def of(self, shared: Callable[..., Any]) -> Callable[..., Any]:
        """A copy of the function ``shared`` that declares its check so."""
        assert isinstance(shared, types.FunctionType)
        copy = types.FunctionType(
            shared.__code__,
            shared.__globals__,
            shared.__name__,
            shared.__defaults__,
            shared.__closure__,
        )
        copy.__dict__ |= shared.__dict__
        copy.__kwdefaults__ = shared.__kwdefaults__
        copy.__qualname__, copy.__doc__ = shared.__qualname__, shared.__doc__
        declared = declared_check(shared)
        assert isinstance(declared, Check)
        check(**(declared._asdict() | dict(self.changes)))(copy)
        if self.cases is None:
            return copy
        names, values = self.cases
        copy.pytestmark = [  # type: ignore[attr-defined]
            mark
            for mark in getattr(shared, "pytestmark", [])
            if mark.name != "parametrize" or mark.args[0] != names
        ]
        marked: Callable[..., Any] = pytest.mark.parametrize(
            names, list(values.values()), ids=list(values)
        )(copy)
        return marked


def own(
    *,
    points: int | None = None,
    title: str | None = None,
    hint: str | None = None,
    shows: str | None = None,
    family: str | None = None,
    cases: tuple[str, Mapping[str, Any]] | None = None,
) -> Difference:
    """Declare how a suite's version of a shared check differs from its ``check``.

    ``cases`` parametrises it: the names of arguments as ``pytest.mark.parametrize`` takes them, and
    the values by the id of the case.
    """
    said = {"points": points, "title": title, "hint": hint, "shows": shows, "family": family}
    return Difference({name: value for name, value in said.items() if value is not None}, cases)


class SharedChecks:
    """A base of classes of checks, which are methods here.

    A suite has a subclass of its own whose name begins with ``Test``. In ``differences`` it says by
    the id of a shared check what is its own, or None for a check that it does without; whatever
    else the checks need to know of the suite are attributes.
    """

    differences: ClassVar[Mapping[str, Difference | None]] = {}

    first: ClassVar[Sequence[str]] = ()
    """Checks of the suite's own that come before the shared ones of their family."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Raises ValueError where ``differences`` name a check that nobody shares."""
        super().__init_subclass__(**options)
        written = vars(cls)
        differences = dict(written.get("differences", {}))
        checks: dict[str, Any] = {}
        for name in _inherited(cls):
            shared, id = getattr(cls, name), name.removeprefix("test_")
            if id not in differences:
                checks[name] = shared
            elif (difference := differences.pop(id)) is None:
                checks[name] = None
            else:
                checks[name] = difference.of(shared)
        if differences:
            id = next(iter(differences))
            raise ValueError(f"{cls.__name__} differs in {id}, which is no check it inherits")
        checks |= {name: thing for name, thing in written.items() if declared_check(thing)}
        # pytest takes them in the order they are set, and what is inherited after all others.
        for name in sorted(checks, key=lambda name: name.removeprefix("test_") not in cls.first):
            if name in written:
                delattr(cls, name)
            setattr(cls, name, checks[name])


def _inherited(suite: type) -> list[str]:
    """The names of the checks that a class has from others, in the order they are written."""
    names = dict.fromkeys(name for one in reversed(suite.__mro__[1:]) for name in vars(one))
    return [name for name in names if declared_check(getattr(suite, name)) is not None]


def probes(suite: types.ModuleType) -> Iterator[tuple[str, Callable[..., Any], Sizes]]:
    """The probes of a suite by name, those of its classes last, each with its sizes."""
    for name, thing in list(vars(suite).items()):
        if sizes := declared_probe(thing):
            yield name, thing, sizes
    for name, thing in list(vars(suite).items()):
        if name.startswith("Test") and isinstance(thing, type) and issubclass(thing, SharedChecks):
            names = dict.fromkeys(name for one in reversed(thing.__mro__) for name in vars(one))
            for name in names:
                if sizes := declared_probe(getattr(thing, name), thing):
                    yield name, getattr(thing(), name), sizes
