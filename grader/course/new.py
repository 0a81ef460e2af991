"""A new assignment: its three folders, filled with an example for an author to change."""

from __future__ import annotations

import contextlib
import os
import sys
from importlib import resources
from pathlib import Path

from .loading import (
    ASSIGNMENT_FILE,
    ASSIGNMENTS,
    COURSE_FILE,
    HIDDEN,
    PUBLIC_SUITE,
    SOLUTIONS,
    is_id,
    is_name,
)
from .model import CourseError

SHARED = "shared"
"""In ``solutions/``, the folder of the catalogues that several assignments inherit."""

_IMPORTED_BY_SUITES = {"grader", "numpy", "pytest", "torch"}


def make_assignment(course: Path, id: str) -> dict[str, Path]:
    """Make the assignment ``id`` in the course's folder, which becomes a course if it is none.

    Returns what was made, by what it is, in an author's reading order. Nothing that exists is
    written over. Raises ``CourseError`` for an id that cannot be one, where a place is taken, and
    where a file cannot be written; then nothing is left behind.
    """
    course = Path(os.path.abspath(course))
    if course.name == ASSIGNMENTS and (course / COURSE_FILE).is_file():
        course = course.parent
    name = _module_name(id)
    public, private = course / ASSIGNMENTS / id, course / SOLUTIONS / id
    hidden = course / HIDDEN / f"test_{id}.py"
    for place in (public, private, hidden):
        _refuse_taken(place)
    paths = {
        "handout": public / "README.md",
        "assignment": public / ASSIGNMENT_FILE,
        "stub": public / f"{name}.py",
        "public": public / PUBLIC_SUITE,
        "reference": private / f"{name}.py",
        "faults": private / "faults.toml",
        "accepted": private / "accepted" / "loop.py",
        "equivalent": private / "equivalent.toml",
        "suite": hidden,
    }
    title = id.replace("_", " ").replace("-", " ").capitalize()
    words = {"ASSIGNMENT_ID": id, "ASSIGNMENT_NAME": name, "ASSIGNMENT_TITLE": title}
    texts = {paths[what]: _filled(text, words) for what, text in _templates().items()}
    described = course / ASSIGNMENTS / COURSE_FILE
    if not described.exists():
        texts = {described: f'title = "A course"\norder = ["{id}"]\n'} | texts
    _write(texts)
    return paths


def _module_name(id: str) -> str:
    """The name of the file to hand in, without its suffix, and of the function in it."""
    name = id.replace("-", "_")
    if not (is_id(id) and is_name(name)):
        raise CourseError(
            f"found {id!r} as the id of a new assignment; expected letters, digits, _ and -, "
            "of which the first is a letter, such as sliding_window"
        )
    if name == SHARED or name in _IMPORTED_BY_SUITES or name in sys.stdlib_module_names:
        taken = f"solutions/{SHARED} is" if name == SHARED else f"a file {name}.py would hide"
        what = "the folder of shared faults" if name == SHARED else "the module of that name"
        raise CourseError(
            f"{id!r} cannot be the id of an assignment: {taken} {what}; choose another"
        )
    return name


def _refuse_taken(place: Path) -> None:
    """Raise CourseError where something is there, also under a name that differs in case alone."""
    try:
        entries = os.listdir(place.parent)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise CourseError(f"{place.parent}: cannot be read ({error.strerror})") from None
    for entry in entries:
        if entry.casefold() == place.name.casefold():
            raise CourseError(
                f"{place.parent / entry} already exists, so nothing was written; choose another "
                "id, or move it away"
            )


def _templates() -> dict[str, str]:
    """The text of each file, by what it is."""
    folder = resources.files("grader.course") / "template"
    return {
        file.name.rpartition(".")[0]: file.read_text("utf-8")
        for file in folder.iterdir()
        if not file.name.startswith((".", "_"))
    }


def _filled(text: str, words: dict[str, str]) -> str:
    for word, meaning in words.items():
        text = text.replace(word, meaning)
    return text


def _write(texts: dict[Path, str]) -> None:
    """Write new files; if one cannot be, take away what was made before it."""
    with contextlib.ExitStack() as undo:
        try:
            for path, text in texts.items():
                for folder in reversed(path.parents):
                    if not folder.exists():
                        folder.mkdir()
                        undo.callback(folder.rmdir)
                with path.open("x", encoding="utf-8", newline="\n") as stream:
                    undo.callback(path.unlink)
                    stream.write(text)
        except OSError as error:
            raise CourseError(
                f"{error.filename or path}: cannot be created ({error.strerror}); "
                "nothing was written"
            ) from None
        undo.pop_all()
