"""Recognises files by their first bytes, whatever their names say."""

from __future__ import annotations

import re

_BEGINNINGS = {
    b"%PDF-": "a PDF document",
    b"{\\rtf": "a document of a word processor",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "a document of Microsoft Office",
    b"bplist00": "a saved web page",
    b"SQLite format 3\0": "a database",
    b"\x89PNG\r\n": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF87a": "a picture",
    b"GIF89a": "a picture",
    b"\x1f\x8b": "a compressed file",
    b"\xfd7zXZ\0": "a compressed file",
    b"(\xb5/\xfd": "a compressed file",
    b"7z\xbc\xaf\x27\x1c": "an archive",
    b"Rar!\x1a\x07": "an archive",
    b"\x7fELF": "a program",
    b"version https://git-lfs": "a pointer of Git LFS, and not the file that it stands for",
}
_PATTERNS = (
    (rb"(?i)\s*<(?:!doctype|html|head|body|\?xml)\b", "a web page"),
    (rb"MIME-Version:|From: .*\r?\nSnapshot-Content", "a saved web page"),
    (rb"BZh\d1AY&SY", "a compressed file"),
    (rb"(?s).{257}ustar", "an archive"),
    (rb"(?s)..\r\r?\n[\0-\x07]\0\0\0", "compiled Python"),
    (rb"(?s)MZ[^\n]{0,58}\0", "a program"),
    (rb"\x80[\x02-\x05][\x95}\]cq]", "pickled Python objects"),
    (rb"diff --git |--- \S+.*\n\+\+\+ ", "a patch"),
)
_IN_ZIPS = (
    (b"word/", "a Word document"),
    (b"ppt/", "a presentation"),
    (b"xl/", "a spreadsheet"),
    (b"application/vnd.oasis", "a document of an office program"),
    (b"/data.pkl", "a file of saved tensors"),
)


def other_than_code(data: bytes) -> str:
    """What kind of file it is if not code, such as ``a PDF document``; empty if it may be code."""
    head = data[:4096].removeprefix(b"\xef\xbb\xbf")
    if head.startswith(b"PK\x03\x04"):
        return next((words for part, words in _IN_ZIPS if part in data), "a zip archive")
    for beginning, words in _BEGINNINGS.items():
        if head.startswith(beginning):
            return words
    return next((words for pattern, words in _PATTERNS if re.match(pattern, head)), "")


def is_notebook(data: bytes) -> bool:
    """Whether a file is a Jupyter notebook, or a part of one."""
    head = data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    return (
        head.startswith(b"{")
        and re.search(rb'"(?:nbformat|cell_type|worksheets)"', data) is not None
    )


def is_python(data: bytes) -> bool:
    """Whether a file has lines that only Python has."""
    return (
        re.search(rb"(?m)^(?:def \w+\(|class \w+[(:]|import \w|from [\w.]+ import )", data)
        is not None
    )
