"""GitHub Classroom's clones: ``assignment-username/``, each a repository."""

from __future__ import annotations

import os

from grader.batch.class_folder import ClassFolder, HandIn, Reading

TITLE = "clones of GitHub Classroom (assignment-username/)"
ORDER = 60


def find(class_folder: ClassFolder) -> Reading:
    """A repository each; students are called by their user names."""
    clones = [folder for folder in class_folder.folders if os.path.exists(folder / ".git")]
    prefix = _prefix(class_folder, [folder.name for folder in clones])
    if not prefix:
        return Reading()
    return Reading(
        hand_ins=[
            HandIn(
                student=login,
                id=login,
                login=login,
                assignment=prefix.removesuffix("-"),
                folder=folder,
            )
            for folder in class_folder.folders
            if (login := _login(folder.name, prefix))
        ],
        signs=frozenset(folder for folder in clones if _login(folder.name, prefix)),
    )


def _login(name: str, prefix: str) -> str:
    return name.removeprefix(prefix) if name.startswith(prefix) else ""


def _prefix(class_folder: ClassFolder, names: list[str]) -> str:
    """What comes before the user names, which may have beginnings in common as well.

    Most names have it, so that an odd one does not take it from the others.
    """
    cuts = {name[: at + 1] for name in names for at, letter in enumerate(name) if letter == "-"}
    fitting = {cut: sum(bool(_login(name, cut)) for name in names) for cut in cuts}
    candidates = sorted((cut for cut in cuts if fitting[cut] * 2 > len(names)), key=len)
    # `gh classroom clone student-repos` calls the folder around them so.
    around = class_folder.path.name.removesuffix("-submissions") + "-"
    if around in candidates:
        return around
    ids = {id.replace("_", "-").lower() for id in class_folder.ids}
    for candidate in reversed(candidates):
        if candidate[:-1].replace("_", "-").lower() in ids:
            return candidate
    if len(names) < 2 or not candidates:
        return ""
    return max(candidates, key=lambda cut: (fitting[cut], len(cut)))
