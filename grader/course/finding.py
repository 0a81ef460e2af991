"""Which file of a submission is the one to grade."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import PurePosixPath

import msgspec

from .model import Assignment, NotGradable
from .notebook import read_notebook
from .signatures import is_notebook, is_python, other_than_code
from .source import MAX_TEXT_BYTES, Code, few, read_python
from .tree import Tree, shown

MAX_BYTES = {".py": 1024 * 1024, ".ipynb": 20 * 1024 * 1024}
"""By suffix, of one file; a notebook's outputs are large, and are not looked at."""
MAX_SEARCHED_BYTES = 64 * 1024 * 1024

# "attention (1).py" is a browser's or a system's, "attention-1.py" a course platform's.
_RESUBMITTED = re.compile(r"(.+?)(?:[ _]?\((\d{1,9})\)|-(\d{1,9}))?")


def suffix_of(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def defines_any(text: str, assignment: Assignment) -> bool:
    """Whether ``text`` seems to define something that ``assignment`` asks for."""
    return _definition(assignment).search(text) is not None


def is_test(name: str) -> bool:
    """Whether pytest or Python itself would load the file; students hand in ours with theirs."""
    path = PurePosixPath(name)
    return path.name.startswith("test_") or path.stem in (
        "conftest",
        "sitecustomize",
        "usercustomize",
    )


def read_code(name: str, data: bytes, assignment: Assignment) -> Code:
    """The code of a file of this name; raises ``NotGradable``, also where there is none.

    A notebook that is called ``.py``, and Python that is called ``.ipynb``, are read as what they
    are, with a note.
    """
    label = repr(shown(name))
    if other := other_than_code(data):
        raise NotGradable(
            f"{label} is {other}, whatever its name says. Hand in your code, in a .py or .ipynb "
            "file."
        )
    named_notebook = suffix_of(name) == ".ipynb"
    notebook = named_notebook
    if named_notebook and not data.lstrip().startswith(b"{"):
        notebook = not is_python(data)
    elif not named_notebook:
        notebook = is_notebook(data)
    try:
        if notebook:
            code = read_notebook(data, file=assignment.file) if data.strip() else Code(text="")
        else:
            code = read_python(data)
    except NotGradable as error:
        raise NotGradable(f"{label}: {error}") from None
    if len(code.text.encode()) > MAX_TEXT_BYTES:
        raise NotGradable(
            f"{label} holds more than {MAX_TEXT_BYTES >> 20} MiB of code. "
            "Leave out what is not part of your answer."
        )
    if notebook is not named_notebook:
        kind = "a notebook" if notebook else "Python, and no notebook"
        note = f"{label} is {kind}, whatever its name says, and was read as that."
        code = msgspec.structs.replace(code, notes=[note, *code.notes])
    return code


def find_main(tree: Tree, assignment: Assignment) -> tuple[str, list[str]]:
    """The name of the file to grade, and notes on why it is that one.

    Raises ``NotGradable``, with the candidates, where the rules do not single out one file.
    """
    for place in _expected_places(tree, assignment):
        if tree.holds(place):
            aside = [
                name
                for name in tree.files
                if name != place and _series(name)[0] == _series(place)[0]
            ]
            return place, [f"Not looked at: {few(_quoted(aside))}."] if aside else []
    candidates = _defining(tree, assignment)
    newest = _newest(candidates)
    complete = [name for name in newest if candidates[name] == set(assignment.exports)]
    chosen = newest if len(newest) == 1 else complete
    if len(chosen) == 1:
        note = f"Found as {shown(chosen[0])!r}; the name to hand in is {assignment.file!r}."
        older = [name for name in candidates if _series(name)[0] == _series(chosen[0])[0]]
        older.remove(chosen[0])
        return chosen[0], [note, *([f"Not looked at: {few(_quoted(older))}."] if older else [])]
    names = [shown(name) for name in chosen or newest]
    raise NotGradable(
        f"Several files define {_exports(assignment)}: {few(_quoted(names), most=10)}. "
        f"Hand in one of them, named {assignment.file!r}.",
        names,
    )


def _expected_places(tree: Tree, assignment: Assignment) -> Iterable[str]:
    # Zips and exports of repositories wrap everything in a folder of their own, or in several.
    folders = [str(PurePosixPath(name).parent) for name in tree.files]
    shared = PurePosixPath(posixpath.commonpath(folders) if folders else "")
    for base in (*reversed(shared.parents), shared):
        for place in ("", assignment.id, f"assignments/{assignment.id}"):
            yield str(base / place / assignment.file)


def _defining(tree: Tree, assignment: Assignment) -> dict[str, set[str]]:
    """By name, which exports the files of ``tree`` define; those that define none are left out."""
    definition = _definition(assignment)
    files = [name for name in tree.files if suffix_of(name) in MAX_BYTES and not is_test(name)]
    found: dict[str, set[str]] = {}
    problems: list[NotGradable] = []
    searched = 0
    for name in files:
        try:
            data = tree.read(name, limit=MAX_BYTES[suffix_of(name)])
            searched += len(data)
            if searched > MAX_SEARCHED_BYTES:
                raise NotGradable(
                    f"There is too much in {tree.label!r} to search it for your answer. "
                    f"Name your file {assignment.file!r}."
                ) from None
            text = read_code(name, data, assignment).text
        except NotGradable as problem:
            if searched > MAX_SEARCHED_BYTES:
                raise
            problems.append(problem)
            continue
        defined = {match[1] or match[2] for match in definition.finditer(text)}
        if defined:
            found[name] = defined
    if not found:
        raise _none_found(tree, assignment, files, problems)
    return found


def _definition(assignment: Assignment) -> re.Pattern[str]:
    names = "|".join(map(re.escape, assignment.exports))
    return re.compile(
        rf"^[ \t]*+(?:def|class)[ \t]++({names})\b|^({names})[ \t]*+(?::[^=\n]*+)?=(?!=)", re.M
    )


def _none_found(
    tree: Tree, assignment: Assignment, files: list[str], problems: list[NotGradable]
) -> NotGradable:
    if len(problems) == 1 == len(files):
        return problems[0]
    advice = f"Hand in your answer as {assignment.file!r}."
    if tree.truncated:
        advice += " (There are many files here, and not all of them were looked at.)"
    linked = [name for name in tree.links if PurePosixPath(name).name == assignment.file]
    if linked or (tree.links and not files):
        return NotGradable(
            f"{shown((linked or tree.links)[0])!r} is a symbolic link, and links are not "
            f"followed. {advice}"
        )
    if tree.others and not files:
        return NotGradable(f"{shown(tree.others[0])!r} is not a regular file. {advice}")
    if files:
        shown_files = [shown(name) for name in files]
        return NotGradable(
            f"No file defines {_exports(assignment)}; looked at "
            f"{few(_quoted(shown_files), most=10)}. {advice}",
            shown_files,
        )
    if zips := [name for name in tree.files if suffix_of(name) == ".zip"]:
        advice += f" ({shown(zips[0])!r} is not opened: a zip may be all there is, and hold none.)"
    return NotGradable(f"There is no .py or .ipynb file in {tree.label!r}. {advice}")


def _newest(names: Iterable[str]) -> list[str]:
    """The last of each series of files that differ only in a platform's number."""
    newest: dict[str, tuple[int, str]] = {}
    for name in names:
        series, number = _series(name)
        newest[series] = max((number, name), newest.get(series, (number, name)))
    return sorted(name for _, name in newest.values())


def _series(name: str) -> tuple[str, int]:
    path = PurePosixPath(name)
    match = _RESUBMITTED.fullmatch(path.stem)
    if match is None:
        return name, 0
    return str(path.with_name(match[1] + path.suffix)), int(match[2] or match[3] or 0)


def _exports(assignment: Assignment) -> str:
    return " or ".join(assignment.exports)


def _quoted(names: Iterable[str]) -> list[str]:
    return [repr(shown(name)) for name in names]
