"""Submissions: what one student handed in for one assignment, read and staged.

What was handed in is hostile. It is never run or parsed here, no link of it is followed, and all of
it is bounded.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from .finding import (
    MAX_BYTES,
    NoneFound,
    defines_all,
    defines_any,
    expected_places,
    find_main,
    is_named_for,
    lies_where_expected,
    named_for,
    read_code,
    refuse_another,
    suffix_of,
)
from .helpers import find_helpers
from .model import Assignment, NotGradable
from .source import SourceFile
from .tree import (
    MAX_ZIP_BYTES,
    Archive,
    Folder,
    ImportableFolder,
    SingleFile,
    Tree,
    read_regular,
    shown,
)

__all__ = [
    "NotGradable",
    "SourceFile",
    "Submission",
    "called_after",
    "fingerprint",
    "holds_answer",
    "pack",
    "pack_refusal",
    "read_submission",
    "stage",
    "unpack",
]


MAX_ZIPS = 5
"""Of a folder, which are opened to look for an answer."""


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """What one student handed in for one assignment."""

    id: str
    """The name of the file or folder that was handed in."""
    main: SourceFile
    helpers: list[SourceFile] = []
    """The student's other modules, which the main file may import."""
    uses: list[str] = []
    """Ids of the earlier assignments whose files are among the helpers."""
    unchained: list[str] = []
    """Modules that are imported, and are earlier assignments, which are graded by themselves."""
    left: list[str] = []
    """Modules that are imported, and lie beside the file, which is graded alone."""
    notes: list[str] = []
    """What was done on the grader's own account, each a sentence."""
    digest: str
    """SHA-256, in hex, of the digests of all files: equal digests, equal submissions."""


def read_submission(
    path: Path,
    assignment: Assignment,
    *,
    earlier: Sequence[Assignment] = (),
    later: Sequence[Assignment] = (),
    chain: bool = False,
    beside: Path | None = None,
) -> Submission:
    """What lies at ``path``: a ``.py`` or ``.ipynb`` file, a folder, or a ``.zip`` of one.

    A file may import the modules of the folder ``beside``, or else those around it if that is the
    assignment's own folder. Any other may be a whole class's: a file there is read alone.

    With ``chain`` the student's files for ``earlier`` assignments can be imported, else not; those
    for ``later`` ones count only where they are imported.
    Raises ``NotGradable`` wherever that gives no code to grade.
    """
    label = shown(Path(os.path.abspath(path)).name) or "/"
    others = [*earlier, *later]
    try:
        tree, name, notes = _open(path, label, assignment)
    except NoneFound as problem:
        refuse_another(problem.texts, (), assignment, others)
        raise
    data = tree.read(name, limit=MAX_BYTES[suffix_of(name)])
    code = read_code(name, data, assignment)
    if code.empty:
        raise NotGradable(f"{shown(name)!r}: the file is empty. Hand in your answer in it.")
    main = SourceFile.of(code, data, name=shown(name), module=assignment.file.removesuffix(".py"))
    if beside is not None and type(tree) in (SingleFile, ImportableFolder):
        tree, name = ImportableFolder(beside), path.name
    helpers = find_helpers(
        tree, name, main, code.written, assignment, earlier=earlier, later=later, chain=chain
    )
    texts = [file.text for file in helpers.files]
    refuse_another({main.name: main.text}, texts, assignment, others)
    digest = hashlib.sha256()
    for file in (main, *helpers.files):
        digest.update(f"{file.module}\0{file.digest}\n".encode())
    return Submission(
        id=label,
        main=main,
        helpers=helpers.files,
        uses=helpers.uses,
        unchained=helpers.unchained,
        left=helpers.left,
        notes=[*notes, *code.notes, *helpers.notes],
        digest=digest.hexdigest(),
    )


def fingerprint(
    path: Path,
    assignment: Assignment,
    *,
    earlier: Sequence[Assignment] = (),
    later: Sequence[Assignment] = (),
    chain: bool = False,
    beside: Path | None = None,
) -> str:
    """A digest, equal for submissions that are graded alike or have the same problem.

    The arguments are those of ``read_submission``.
    """
    try:
        submission = read_submission(
            path, assignment, earlier=earlier, later=later, chain=chain, beside=beside
        )
    except NotGradable as problem:
        return f"not gradable: {problem}"
    return f"{submission.digest} {submission.main.name}"


def holds_answer(path: Path, assignment: Assignment) -> bool:
    """Whether what lies at ``path`` seems to define something that ``assignment`` asks for."""
    try:
        tree, name, _ = _open(path, path.name, assignment)
        data = tree.read(name, limit=MAX_BYTES[suffix_of(name)])
        return defines_any(read_code(name, data, assignment).text, assignment)
    except NotGradable:
        return False


def called_after(path: Path, assignments: Sequence[Assignment]) -> list[Assignment]:
    """Those of ``assignments`` that files in a student's folder or its zips are named after.

    They lie where the assignment's is looked for, or else hold all that it asks for.
    """
    try:
        folder = Folder(path)
    except NotGradable:
        return []
    trees: list[Tree] = [folder]
    for zip in _zips(folder)[:MAX_ZIPS]:
        if not any(is_named_for(zip, one) for one in assignments):
            with contextlib.suppress(NotGradable):
                trees.append(_archive(folder, zip))
    return [one for one in assignments if any(_is_called_after(tree, one) for tree in trees)]


def _is_called_after(tree: Tree, assignment: Assignment) -> bool:
    named = [name for name in tree.files if is_named_for(name, assignment)]
    return any(tree.holds(place) for place in expected_places(tree, assignment)) or any(
        lies_where_expected(name, tree, assignment) or _holds_all(tree, name, assignment)
        for name in named
    )


def _holds_all(tree: Tree, name: str, assignment: Assignment) -> bool:
    try:
        data = tree.read(name, limit=MAX_BYTES[suffix_of(name)])
        return defines_all(read_code(name, data, assignment).text, assignment)
    except (KeyError, NotGradable):
        return False


def stage(submission: Submission, directory: Path) -> Path:
    """Write the submission's files, in UTF-8 and read-only, into ``directory``: main's path.

    ``directory`` exists and holds none of them; raises ``OSError`` otherwise.
    """
    for file in (submission.main, *submission.helpers):
        path = directory.joinpath(*file.module.split(".")).with_suffix(".py")
        if path.parent != directory:
            path.parent.mkdir(mode=0o755, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        for flag in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
            flags |= getattr(os, flag, 0)
        with open(os.open(path, flags, 0o600), "wb") as stream:
            stream.write(file.text.encode("utf-8", "backslashreplace"))
        path.chmod(0o444)
    return directory / f"{submission.main.module}.py"


class _Packed(msgspec.Struct, kw_only=True):
    submission: Submission | None = None
    message: str = ""
    candidates: list[str] = []


def pack(
    path: Path,
    assignment: Assignment,
    *,
    earlier: Sequence[Assignment] = (),
    later: Sequence[Assignment] = (),
    chain: bool = False,
) -> bytes:
    """The result of ``read_submission`` as bytes, for a process that cannot read ``path``."""
    try:
        packed = _Packed(
            submission=read_submission(path, assignment, earlier=earlier, later=later, chain=chain)
        )
    except NotGradable as problem:
        packed = _Packed(message=str(problem), candidates=problem.candidates)
    return msgspec.msgpack.encode(packed)


def pack_refusal(message: str) -> bytes:
    """The same for what cannot be read, as ``message`` says."""
    return msgspec.msgpack.encode(_Packed(message=message))


def unpack(data: bytes) -> Submission:
    """The submission that ``pack`` has packed; raises ``NotGradable`` for a packed refusal."""
    packed = msgspec.msgpack.decode(data, type=_Packed)
    if packed.submission is None:
        raise NotGradable(packed.message, packed.candidates)
    return packed.submission


def _around(path: Path, assignment: Assignment) -> Tree:
    """The folder of a single file, to import from only where whoever wrote it owns the rest."""
    folder = path.parent
    if os.path.realpath(folder) == os.path.realpath(assignment.directory):
        return ImportableFolder(folder)
    return SingleFile(folder, path.name)


def _open(path: Path, label: str, assignment: Assignment) -> tuple[Tree, str, list[str]]:
    """The tree that ``path`` stands for, the main file in it, and notes."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):
        raise NotGradable(f"There is no file or folder {label!r}.") from None
    except OSError as error:
        raise NotGradable(f"{label!r} cannot be read ({error.strerror}).") from None
    if stat.S_ISDIR(mode):
        return _find(Folder(path), assignment)
    if path.suffix.lower() == ".zip":
        tree = Archive(label, read_regular(path, limit=MAX_ZIP_BYTES))
        return tree, *find_main(tree, assignment)
    if not stat.S_ISREG(mode):
        read_regular(path, limit=0)
        raise NotGradable(f"{label!r} changed while it was read.")
    if path.suffix.lower() in MAX_BYTES:
        return _around(path, assignment), path.name, []
    raise NotGradable(
        f"{label!r} is not accepted. Hand in a .py or .ipynb file, or a folder or .zip of it."
    )


def _find(folder: Folder, assignment: Assignment) -> tuple[Tree, str, list[str]]:
    """The main file of a folder, or of a zip in it that holds the answer, with its tree, and notes.

    A zip does if it is called after the assignment and no other file is, or if no loose file is an
    answer and no other zip holds one.
    """
    zips = _zips(folder)
    named = named_for(zips, assignment)
    try:
        name, notes = find_main(folder, assignment)
        if named is None or named_for([name, named], assignment) == name:
            return folder, name, notes
    except NoneFound as problem:
        if named is None:
            return _find_in_zips(folder, zips, assignment, problem)
    except NotGradable:
        if named is None:
            raise
    return _find_in(folder, named, assignment)


def _find_in_zips(
    folder: Folder, zips: list[str], assignment: Assignment, problem: NoneFound
) -> tuple[Tree, str, list[str]]:
    found = []
    for zip in zips[:MAX_ZIPS]:
        try:
            found.append(_find_in(folder, zip, assignment))
        except NotGradable as inside:
            if len(folder.files) == 1:
                raise
            if isinstance(inside, NoneFound):
                problem.texts |= inside.texts
    if not found:
        raise problem
    if len(found) > 1:
        names = [tree.label for tree, _, _ in found]
        raise NotGradable(
            f"Several zips hold an answer: {', '.join(map(repr, names))}. Hand in one of them, "
            f"named {assignment.id + '.zip'!r}.",
            names,
        )
    return found[0]


def _find_in(folder: Folder, zip: str, assignment: Assignment) -> tuple[Tree, str, list[str]]:
    archive = _archive(folder, zip)
    name, notes = find_main(archive, assignment)
    return archive, name, [f"Read from {shown(zip)!r}.", *notes]


def _zips(folder: Folder) -> list[str]:
    return [name for name in folder.files if suffix_of(name) == ".zip"]


def _archive(folder: Folder, zip: str) -> Archive:
    return Archive(shown(zip), folder.read(zip, limit=MAX_ZIP_BYTES))
