"""Pins the versions that the grader runs with here, for installing a release.

A release then grades as the instructor's machine does, and the same tomorrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT = "attention-grader"


def pins() -> bytes:
    """A file of constraints for pip: everything that the grader needs, and what that needs.

    A build of its own, such as torch for one kind of GPU, is not asked for: the machine that
    installs it may have another.
    """
    found: dict[str, str] = {}
    waiting = [PROJECT]
    while waiting:
        for name in _needs(waiting.pop()):
            if name not in found:
                found[name] = Version(metadata.version(name)).public
                waiting.append(name)
    return "".join(f"{name}=={version}\n" for name, version in sorted(found.items())).encode()


def _needs(name: str) -> Iterator[str]:
    """What a distribution needs on this machine, without its extras."""
    for line in metadata.requires(name) or ():
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            yield canonicalize_name(requirement.name)
