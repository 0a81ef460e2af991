"""How a suite declares its checks and its demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from grader.course.families import depth
from grader.report.model import Shown

F = TypeVar("F", bound=Callable[..., Any])
_CHECK = "__grader_check__"
_DEMONSTRATION = "__grader_demonstration__"
_PROBE = "__grader_probe__"
_BY_NAME: dict[str, Shown] = {"weights": "weights", "mask": "mask", "moves": "moves"}


class Check(NamedTuple):
    """One graded property, as its suite declares it."""

    family: str
    title: str
    points: int
    hint: str
    shows: str | None


class Demonstration(NamedTuple):
    """An example of a public suite, as it is declared."""

    title: str
    about: frozenset[str]
    """Families of checks whose failures it shows better than other examples do."""
    shows: Shown
    """What all of its results are; empty where each result's name says that."""

    def kind_of(self, result: str) -> Shown:
        """What one of its results is."""
        return self.shows or _BY_NAME.get(result, "")


def check(
    family: str, *, points: int, title: str, hint: str = "", shows: str | None = None
) -> Callable[[F], F]:
    """Declare a pytest function to be a check.

    ``title`` is the property in plain words, ``hint`` a question or a place to look; students see
    both, whether or not they may see the check. ``shows`` names the demonstration of the public
    suite whose numbers illustrate a failure; where they do not differ on it, or none is named, it
    is the first on which they do, of those about the family before all others. A parametrised check
    earns its points when every case passes. Raises ValueError for an unknown family.
    """
    depth(family)
    if points < 0 or not title.strip():
        raise ValueError("a check needs a title, and points of 0 or more")

    def mark(function: F) -> F:
        setattr(function, _CHECK, Check(family, title, points, hint, shows))
        return function

    return mark


def demonstration(title: str, *, about: Sequence[str] = (), shows: Shown = "") -> Callable[[F], F]:
    """Declare a function of a public suite to be a demonstration.

    It takes a student and returns tensors by name, computed from inputs that anybody may see. Where
    a hidden check fails, the student is shown what their code gives here beside what is expected.
    ``about`` are families of checks whose failures it shows better than other demonstrations:
    ``("mask",)`` for one that passes a mask. Raises ValueError for an unknown family.

    A result named ``weights``, ``mask`` or ``moves`` is drawn as one; ``shows`` says it of all
    results, whatever their names.
    """
    for family in about:
        depth(family)

    def mark(function: F) -> F:
        setattr(function, _DEMONSTRATION, Demonstration(title, frozenset(about), shows))
        return function

    return mark


Sizes: TypeAlias = Sequence[dict[str, Any]]


def probe(*sizes: dict[str, Any] | Callable[[Any], Sizes]) -> Callable[[F], F]:
    """Declare a function of a hidden suite to be a probe, by which misconceptions are told apart.

    It takes a student, a ``Draw`` and one of ``sizes`` as keyword arguments, and returns tensors by
    name: whatever shows how the student's code behaves. It is run for every one of ``sizes``, of
    which there have to be two at least, so that no coincidence of shapes can decide. A method of
    shared checks may have a function instead that finds the sizes in the suite's class.
    """
    if len(sizes) == 1 and callable(sizes[0]):
        declared: tuple[dict[str, Any], ...] | Callable[[Any], Sizes] = sizes[0]
    else:
        declared = _enough([one for one in sizes if not callable(one)])

    def mark(function: F) -> F:
        setattr(function, _PROBE, declared)
        return function

    return mark


def declared_probe(function: Any, suite: type | None = None) -> Sizes:
    """The sizes that ``probe`` declared of a function, of that class; none if it is no probe."""
    declared = getattr(function, _PROBE, ())
    if isinstance(declared, tuple):
        return declared
    return _enough(declared(suite)) if suite is not None and callable(declared) else ()


def _enough(sizes: Sizes) -> tuple[dict[str, Any], ...]:
    if len(sizes) < 2:
        raise ValueError("a probe needs two different sizes at least")
    return tuple(sizes)


def declared_check(function: Any) -> Check | None:
    """What ``check`` declared of a function, if it did."""
    declared = getattr(function, _CHECK, None)
    return declared if isinstance(declared, Check) else None


def claim_id(function: Callable[..., Any], declared: Check, taken: dict[str, Check]) -> str:
    """The id of the check that ``function`` declares, entered among those of its assignment.

    Raises ValueError where another check has it: public and hidden ones share their ids.
    """
    name = function.__name__.removeprefix("test_")
    if taken.setdefault(name, declared) is not declared:
        raise ValueError(
            f"two checks have the id {name}: {taken[name].title!r} and {declared.title!r}; "
            "give one of their functions another name"
        )
    return name


def declared_demonstration(function: Any) -> Demonstration | None:
    """What ``demonstration`` declared of a function, if it did."""
    declared = getattr(function, _DEMONSTRATION, None)
    return declared if isinstance(declared, Demonstration) else None
