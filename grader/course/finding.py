"""Which file of a submission is the one to grade."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import msgspec

from .model import Assignment, NotGradable
from .notebook import read_notebook
from .signatures import is_notebook, is_python, other_than_code
from .source import MAX_TEXT_BYTES, Code, few, read_python
from .tree import MAX_ZIP_BYTES, Tree, shown

MAX_BYTES = {".py": 1024 * 1024, ".ipynb": 20 * 1024 * 1024}
"""By suffix, of one file; a notebook's outputs are large, and are not looked at."""
READ_BYTES = MAX_BYTES | {".zip": MAX_ZIP_BYTES}
"""By suffix, of whatever may hold code."""
MAX_SEARCHED_BYTES = 64 * 1024 * 1024

# "attention (1).py" is a browser's or a system's, "attention-1.py" a course platform's, and
# "attention-Copy1.ipynb" Jupyter's.
_RESUBMITTED = re.compile(r"(.+?)(?:[ _]?\((\d{1,9})\)|-(?:Copy)?(\d{1,9}))?")


_BLOCKS = re.compile(r"^(?=[^\s#)\]}])", re.M)
_DEFINITION = re.compile(r"(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)")


class NoneFound(NotGradable):
    """No file is an answer; ``texts`` is the code that was looked at, by its file's name."""

    def __init__(
        self, message: str, candidates: Iterable[str] = (), texts: dict[str, str] | None = None
    ) -> None:
        super().__init__(message, list(candidates))
        self.texts = texts or {}


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
        note = f"{label} is {kind}, whatever its name says, and was read as such."
        code = msgspec.structs.replace(code, notes=[note, *code.notes])
    return code


def find_main(tree: Tree, assignment: Assignment) -> tuple[str, list[str]]:
    """The name of the file to grade, and notes on why it is that one.

    Raises ``NotGradable``, with the candidates, where the rules do not single out one file, and
    ``NoneFound`` where there is none.
    """
    for place in expected_places(tree, assignment):
        if tree.holds(place):
            aside = [
                name
                for name in tree.files
                if name != place and _unnumbered(name) == _unnumbered(place)
            ]
            return place, [f"Not looked at: {few(_quoted(aside))}."] if aside else []
    candidates = _defining(tree, assignment)
    chosen = _best(candidates, assignment)
    if len(chosen) != 1:
        names = [shown(name) for name in chosen]
        raise NotGradable(
            f"Several files define {_exports(assignment)}: {few(_quoted(names), most=10)}. "
            f"Hand in one of them, named {assignment.file!r}.",
            names,
        )
    notes = [f"Found as {shown(chosen[0])!r}; the name to hand in is {assignment.file!r}."]
    others = [name for name in candidates if name != chosen[0]]
    if older := [name for name in others if _series(name)[0] == _series(chosen[0])[0]]:
        notes.append(f"Not looked at: {few(_quoted(older))}.")
    if rest := [name for name in others if name not in older]:
        notes.append(f"Not graded, though it defines the same: {few(_quoted(rest))}.")
    return chosen[0], notes


def is_named_for(name: str, assignment: Assignment) -> bool:
    """Whether a file has the assignment's name, ignoring case, suffix and a copy's number."""
    return _unnumbered(PurePosixPath(name).name).casefold() == _stem(assignment)


def named_for(names: Iterable[str], assignment: Assignment) -> str | None:
    """Among files with the assignment's name, the one without a number, or the newest."""
    numbers = {name: _series(name)[1] for name in names if is_named_for(name, assignment)}
    return max(numbers, key=lambda name: (not numbers[name], numbers[name]), default=None)


def defines_all(text: str, assignment: Assignment) -> bool:
    """Whether ``text`` seems to define all that ``assignment`` asks for."""
    return _defined(text, assignment) == set(assignment.exports)


def lies_where_expected(name: str, tree: Tree, assignment: Assignment) -> bool:
    """Whether a file is in one of the places where the assignment's file is expected."""
    folder = PurePosixPath(name).parent
    return any(folder == PurePosixPath(place).parent for place in expected_places(tree, assignment))


def refuse_another(
    files: dict[str, str],
    beside: Iterable[str],
    assignment: Assignment,
    others: Sequence[Assignment],
) -> None:
    """Raise ``NotGradable`` if ``files``, texts by name, answer another assignment, and not this.

    What a file defines in unusual ways is at least mentioned in it, or in the texts ``beside``.
    """
    names = _words(assignment.exports)
    if any(names.search(text) for text in (*files.values(), *beside)):
        return
    answers: dict[str, str] = {}
    for name, text in files.items():
        answered = _answered(text, others)
        answered = [one for one in answered if is_named_for(name, one)] or answered
        answers |= {one.id: name for one in answered}
    if len(answers) == 1:
        ((id, name),) = answers.items()
        raise NotGradable(
            f"{shown(name)!r} does not define {_exports(assignment)}: this looks like an answer to "
            f"{id}. Hand in your answer to {assignment.id} as {assignment.file!r}."
        )


def _answered(text: str, assignments: Sequence[Assignment]) -> list[Assignment]:
    """Those of which ``text`` defines everything at its top, and nothing else there uses it.

    What is used may be part of an answer to yet another, in which the student calls it otherwise.
    """
    defined: dict[str, str] = {}
    for block in _BLOCKS.split(text):
        if match := _DEFINITION.match(block):
            defined[match[1]] = defined.get(match[1], "") + block

    def is_used(assignment: Assignment) -> bool:
        names = _words(assignment.exports)
        return any(
            names.search(block) for by, block in defined.items() if by not in assignment.exports
        )

    return [one for one in assignments if one.exports.keys() <= defined.keys() and not is_used(one)]


def _words(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")


def _best(candidates: dict[str, set[str]], assignment: Assignment) -> list[str]:
    """The candidates that nothing speaks against, which should be one.

    The assignment's own name goes before all; then of each series the newest counts, if several are
    left those that are complete, and of these those that mention the assignment.
    """
    stem = _stem(assignment)
    named = [name for name in candidates if PurePosixPath(name).stem.casefold() == stem]
    if len(named) == 1:
        return named
    best = _newest(named or candidates)
    complete = [name for name in best if candidates[name] == set(assignment.exports)]
    best = complete if complete and len(best) > 1 else best
    mentioning = [name for name in best if _mentions(name, stem)]
    return mentioning if len(mentioning) == 1 else best


def _mentions(name: str, stem: str) -> bool:
    words = re.sub("[^a-z0-9]+", "_", PurePosixPath(name).stem.casefold())
    return f"_{stem}_" in f"_{words}_"


def _stem(assignment: Assignment) -> str:
    return PurePosixPath(assignment.file).stem.casefold()


def expected_places(tree: Tree, assignment: Assignment) -> Iterable[str]:
    """Names to look for the assignment's file under in ``tree``, best first."""
    # Zips and exports of repositories wrap everything in a folder of their own, or in several.
    folders = [str(PurePosixPath(name).parent) for name in tree.files]
    shared = PurePosixPath(posixpath.commonpath(folders) if folders else "")
    for base in (*reversed(shared.parents), shared):
        for place in ("", assignment.id, f"assignments/{assignment.id}"):
            yield str(base / place / assignment.file)


def _defining(tree: Tree, assignment: Assignment) -> dict[str, set[str]]:
    """By name, which exports the files of ``tree`` define; those that define none are left out."""
    files = [name for name in tree.files if suffix_of(name) in MAX_BYTES and not is_test(name)]
    found: dict[str, set[str]] = {}
    texts: dict[str, str] = {}
    problems: list[NotGradable] = []
    searched = 0
    for name in files:
        try:
            data = tree.read(name, limit=MAX_BYTES[suffix_of(name)])
            searched += len(data)
            if searched > MAX_SEARCHED_BYTES:
                raise NotGradable(
                    f"{tree.label!r} holds too much to search for your answer. "
                    f"Name your file {assignment.file!r}."
                ) from None
            texts[name] = read_code(name, data, assignment).text
        except NotGradable as problem:
            if searched > MAX_SEARCHED_BYTES:
                raise
            problems.append(problem)
            continue
        if defined := _defined(texts[name], assignment):
            found[name] = defined
    if not found:
        raise _none_found(tree, assignment, files, problems, texts)
    return found


def _defined(text: str, assignment: Assignment) -> set[str]:
    """Which of the assignment's exports ``text`` seems to define."""
    return {match[1] or match[2] for match in _definition(assignment).finditer(text)}


def _definition(assignment: Assignment) -> re.Pattern[str]:
    names = "|".join(map(re.escape, assignment.exports))
    return re.compile(
        rf"^[ \t]*+(?:def|class)[ \t]++({names})\b|^({names})[ \t]*+(?::[^=\n]*+)?=(?!=)", re.M
    )


def _none_found(
    tree: Tree,
    assignment: Assignment,
    files: list[str],
    problems: list[NotGradable],
    texts: dict[str, str],
) -> NoneFound:
    if len(problems) == 1 == len(files):
        return NoneFound(str(problems[0]), problems[0].candidates)
    advice = f"Hand in your answer as {assignment.file!r}."
    if tree.truncated:
        advice += " (There are many files here, and not all of them were looked at.)"
    linked = [name for name in tree.links if PurePosixPath(name).name == assignment.file]
    if linked or (tree.links and not files):
        return NoneFound(
            f"{shown((linked or tree.links)[0])!r} is a symbolic link, and links are not "
            f"followed. {advice}"
        )
    if tree.others and not files:
        return NoneFound(f"{shown(tree.others[0])!r} is not a regular file. {advice}")
    if files:
        shown_files = [shown(name) for name in files]
        return NoneFound(
            f"No file defines {_exports(assignment)}; looked at "
            f"{few(_quoted(shown_files), most=10)}. {advice}",
            shown_files,
            texts,
        )
    if zips := [name for name in tree.files if suffix_of(name) == ".zip"]:
        advice += f" ({shown(zips[0])!r} is not opened: zips in zips are not read.)"
    return NoneFound(f"There is no .py or .ipynb file in {tree.label!r}. {advice}")


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


def _unnumbered(name: str) -> str:
    """The name without a copy's number and a suffix, which are a platform's or a system's."""
    return str(PurePosixPath(_series(name)[0]).with_suffix(""))


def _exports(assignment: Assignment) -> str:
    return " or ".join(assignment.exports)


def _quoted(names: Iterable[str]) -> list[str]:
    return [repr(shown(name)) for name in names]
