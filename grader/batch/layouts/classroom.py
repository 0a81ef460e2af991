"""GitHub Classroom's clones: ``assignment-username/``, each a repository."""

from __future__ import annotations

import itertools

from grader.batch.place import HandIn, Place

TITLE = "clones of GitHub Classroom (assignment-username/)"
ORDER = 60


def find(place: Place) -> list[HandIn]:
    """A repository each; students are called by their user names."""
    clones = [folder for folder in place.folders if (folder / ".git").exists()]
    if not clones or len(clones) * 2 < len(place.folders):
        return []
    prefix = _prefix(place, [folder.name for folder in clones])
    if not prefix:
        return []
    return [
        HandIn(
            student=folder.name.removeprefix(prefix),
            id=folder.name.removeprefix(prefix),
            login=folder.name.removeprefix(prefix),
            assignment=prefix.removesuffix("-"),
            folder=folder,
        )
        for folder in place.folders
        if folder.name.startswith(prefix) and folder.name != prefix
    ]


def _prefix(place: Place, names: list[str]) -> str:
    """What comes before the user names, which may have beginnings in common as well."""
    first, last = min(names), max(names)
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    shared = "".join(letter for letter, _ in pairs)
    shared = shared[: shared.rfind("-") + 1]
    candidates = [shared[: at + 1] for at, letter in enumerate(shared) if letter == "-"]
    # `gh classroom clone student-repos` calls the folder around them so.
    around = place.path.name.removesuffix("-submissions") + "-"
    if around in candidates:
        return around
    ids = {id.replace("_", "-") for id in place.ids}
    for candidate in reversed(candidates):
        if candidate[:-1].replace("_", "-").lower() in ids:
            return candidate
    return shared if len(names) > 1 else ""
