"""What the text of a submission is: encodings, IPython's lines, notebooks."""

import codecs
import io
import json
import tokenize
import warnings
import zipfile
from pathlib import Path
from typing import Any

import nbformat
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.course.magics import comment_out
from grader.course.model import Assignment
from grader.course.submission import NotGradable, SourceFile, Submission, read_submission, stage


def read(
    folder: Path, assignment: Assignment, content: str | bytes, name: str = "attention.py"
) -> Submission:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_submission(path, assignment)


def cell(source: Any, kind: str = "code") -> dict[str, Any]:
    return {"cell_type": kind, "source": source, "metadata": {}}


def notebook(*cells: Any) -> str:
    cells = tuple(cell(each) if isinstance(each, (str, list)) else each for each in cells)
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def read_notebook(folder: Path, assignment: Assignment, *cells: Any) -> Submission:
    return read(folder, assignment, notebook(*cells), "attention.ipynb")


# Encodings


@pytest.mark.parametrize(
    ("data", "note"),
    [
        ("x = 'é'\n".encode(), None),
        (codecs.BOM_UTF8 + "x = 'é'\n".encode(), None),
        (codecs.BOM_UTF8 * 2 + "x = 'é'\n".encode(), None),
        (codecs.BOM_UTF16_LE + "x = 'é'\n".encode("utf-16-le"), "Read as UTF-16."),
        (codecs.BOM_UTF16_BE + "x = 'é'\n".encode("utf-16-be"), "Read as UTF-16."),
        (codecs.BOM_UTF32_LE + "x = 'é'\n".encode("utf-32-le"), "Read as UTF-32."),
        (codecs.BOM_UTF32_BE + "x = 'é'\n".encode("utf-32-be"), "Read as UTF-32."),
        ("x = 'é'\n".encode("cp1252"), "Read as Windows-1252."),
        ("x = 'é'\r\n".encode(), None),
        ("x = 'é'\r".encode(), None),
    ],
)
def test_encodings(handed_in: Path, attention: Assignment, data: bytes, note: str | None) -> None:
    submission = read(handed_in, attention, data)
    assert submission.main.text == "x = 'é'\n"
    assert submission.notes == ([note] if note else [])


def test_undefined_bytes_of_windows_are_replaced(handed_in: Path, attention: Assignment) -> None:
    assert read(handed_in, attention, b"# \x81\xe9\n").main.text == "# \ufffd\xe9\n"


def test_a_broken_utf16_file_is_read_as_far_as_it_goes(
    handed_in: Path, attention: Assignment
) -> None:
    data = codecs.BOM_UTF16_LE + "x = 1\n".encode("utf-16-le") + b"\x00"
    submission = read(handed_in, attention, data)
    assert submission.main.text.startswith("x = 1\n")
    assert "replaced" in submission.notes[1]


@pytest.mark.parametrize(
    "head",
    [
        "# coding: cp1251",
        "# -*- coding: windows-1251 -*-",
        "#!/usr/bin/env python\n# vim: set fileencoding=cp1251 :",
        "\n  # coding=cp1251",
        "# coding: cp1251 coding: utf-8",
    ],
)
def test_coding_lines(handed_in: Path, tmp_path: Path, attention: Assignment, head: str) -> None:
    submission = read(handed_in, attention, f"{head}\nx = 'Ж'\n".encode("cp1251"))
    assert submission.main.text.endswith("\nx = 'Ж'\n")
    assert submission.main.text.count("\n") == head.count("\n") + 2
    assert submission.notes == ["Read as cp1251."]
    (tmp_path / "staged").mkdir()
    staged = stage(submission, tmp_path / "staged")
    with tokenize.open(staged) as stream:
        assert stream.encoding == "utf-8"
        assert stream.read() == submission.main.text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("x = 1\n\n# coding: cp1251\ny = 'é'\n", None),
        ("x = 1  # coding: cp1251\ny = 'é'\n", None),
        ("# coding: utf-8\ny = 'é'\n", "# coding : utf-8\ny = 'é'\n"),
    ],
)
def test_what_looks_like_a_coding_line(
    handed_in: Path, attention: Assignment, content: str, text: str | None
) -> None:
    submission = read(handed_in, attention, content)
    assert submission.main.text == (text or content)
    assert submission.notes == []


@pytest.mark.parametrize(
    "codec",
    [
        *("klingon", "ascii", "rot13", "zlib", "hex", "undefined", "unicode_escape", "idna"),
        *("punycode", "utf-16", "utf-32-le", "cp037", "mbcs", "aliases", "..os", "a" * 3000),
    ],
)
def test_a_coding_line_that_is_wrong_is_passed_over(
    handed_in: Path, attention: Assignment, codec: str
) -> None:
    submission = read(handed_in, attention, f"# coding: {codec}\nx = '\\dé'\n")
    assert submission.main.text.endswith("\nx = '\\dé'\n")
    assert f"The coding line says {codec[:40]}" in submission.notes[0]


def test_nul_is_left_to_the_compiler(handed_in: Path, attention: Assignment) -> None:
    assert read(handed_in, attention, b"x = 1\0\n").main.text == "x = 1\0\n"


# IPython's lines in a .py


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("!pip install torch\nx = 1\n", "# !pip install torch\nx = 1\n"),
        ("%matplotlib inline\n", "# %matplotlib inline\n"),
        ("x = 1\n%time f()", "x = 1\n# %time f()"),
        ("if x:\n    !ls\n", "if x:\n    pass  # !ls\n"),
        ("if x:\n\t%cd ..\nelse:\n\t!ls\n", "if x:\n\tpass  # %cd ..\nelse:\n\tpass  # !ls\n"),
        ("!echo \"it's ((\nx = 1\n%y\n", "# !echo \"it's ((\nx = 1\n# %y\n"),
        ("!pip install a \\\n  b \\\n  c\nx\n", "# !pip install a \\\n#   b \\\n#   c\nx\n"),
        ("?torch\ntorch.mean?\ntorch??\n", "# ?torch\n# torch.mean?\n# torch??\n"),
        ("files = !ls\nt = %timeit f()\n", "# files = !ls\n# t = %timeit f()\n"),
        ("# '''\n!ls\n", "# '''\n# !ls\n"),
        ("s = 'x' # (\n!ls\n", "s = 'x' # (\n# !ls\n"),
        ("s = 'it\\'s ('\n!ls\n", "s = 'it\\'s ('\n# !ls\n"),
        ("s = r'''\\'''\n!ls\n'''\n%x\n", "s = r'''\\'''\n!ls\n'''\n# %x\n"),
        ('f("""a""", (1,\n2))\n!ls\n', 'f("""a""", (1,\n2))\n# !ls\n'),
        ("x = ')'\n!ls\n", "x = ')'\n# !ls\n"),
        ("x = ''\n!ls\n", "x = ''\n# !ls\n"),
        ("%", "# %"),
    ],
)
def test_lines_of_ipython_become_comments(
    handed_in: Path, attention: Assignment, content: str, text: str
) -> None:
    submission = read(handed_in, attention, content)
    assert submission.main.text == text
    assert len(submission.notes) == 1
    assert "were left out: line " in submission.notes[0]


@pytest.mark.parametrize(
    "content",
    [
        "x = (a\n  % b)\n",
        "x = [\n# (\n  1\n  % b]\n",
        "x = a \\\n  % b\n",
        '"""\n!ls\n%x\n"""\n',
        "s = '''it's\n!ls'''\n",
        "s = 'a\\\n!ls'\n",
        'x = f("""(""",\n  "%d"\n  % 3)\n',
        "x %= 3\ny != 4\nz = 5 % 3\nprint('a?')\nw = '!'\n# what?\n",
        "def f():\n    '''Is it?\n    ?really\n    '''\n",
        'x = {\n"a": "it\'s (",\n"b": 2\n% 3}\n',
        "get_ipython().system('ls')\n",
    ],
)
def test_ordinary_python_stays_as_it_is(
    handed_in: Path, attention: Assignment, content: str
) -> None:
    compile(content, "content", "exec")
    submission = read(handed_in, attention, content)
    assert submission.main.text == content
    assert submission.notes == []


def test_the_note_names_the_lines(handed_in: Path, attention: Assignment) -> None:
    submission = read(handed_in, attention, "x = '''\n'''\n!a \\\n b\n%b\n" + "!c\n" * 5)
    assert submission.notes == [
        "Lines that only a notebook understands (!, %, ?) were left out: "
        "line 3; line 5; line 6; line 7; line 8 and 2 more."
    ]


def test_the_librarys_own_sources_stay_as_they_are(handed_in: Path, attention: Assignment) -> None:
    folder = Path(json.__file__).parent.parent
    for path in sorted(folder.glob("*.py")):
        data = path.read_bytes()
        if len(data) > 1 << 20:
            continue
        with tokenize.open(path) as stream:
            expected = stream.read()
        if expected.strip():
            text = read(handed_in, attention, data).main.text
            # The first two lines may be coding lines, which are changed on purpose.
            assert text.split("\n")[2:] == expected.split("\n")[2:], path


def test_hostile_text_takes_no_quadratic_time(handed_in: Path, attention: Assignment) -> None:
    for unit in ("'", '"""', "\\", "(", "=", "x.", " ", "?", "!", "a=", "# coding", "import a,"):
        content = "%x\n" + unit * ((1 << 19) // len(unit))
        assert read(handed_in, attention, content).main.text.startswith("# %x\n")


# Notebooks


def test_code_cells_follow_one_another(handed_in: Path, attention: Assignment) -> None:
    submission = read_notebook(
        handed_in,
        attention,
        cell("# Title", "markdown"),
        "import torch",
        ["def attend(q):\n", "    return q\n"],
        cell("raw", "raw"),
        "",
        "x = 1",
    )
    assert submission.main.text == "import torch\ndef attend(q):\n    return q\n\n\nx = 1\n"
    assert submission.main.origins == [
        "cell 2, line 1",
        "cell 3, line 1",
        "cell 3, line 2",
        "cell 3, line 3",
        "cell 5, line 1",
        "cell 6, line 1",
    ]
    assert submission.main.definitions_first
    assert submission.main.name == "attention.ipynb"
    assert submission.main.module == "attention"


@pytest.mark.parametrize("version", [3, 4])
def test_notebooks_that_jupyter_writes(
    handed_in: Path, attention: Assignment, version: int
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        book = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_markdown_cell("# T"), nbformat.v4.new_code_cell("x = 'é'\n%y")]
        )
        text = nbformat.writes(nbformat.convert(book, version))
    assert ('"worksheets"' in text) == (version == 3)
    submission = read(handed_in, attention, text, "lab.ipynb")
    assert submission.main.text == "x = 'é'\n# %y\n"
    assert submission.main.origins == ["cell 2, line 1", "cell 2, line 2"]
    assert submission.notes[0].endswith("were left out: cell 2, line 2.")


def test_each_cell_is_read_by_itself(handed_in: Path, attention: Assignment) -> None:
    submission = read_notebook(handed_in, attention, "print((1", "!ls", "'''", "%x")
    assert submission.main.text == "print((1\n# !ls\n'''\n# %x\n"


def test_an_indented_cell(handed_in: Path, attention: Assignment) -> None:
    submission = read_notebook(handed_in, attention, "\n  x = 1\n  if x:\n    !ls\ny = 2")
    assert submission.main.text == "\nx = 1\nif x:\n  pass  # !ls\ny = 2\n"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("%%time\nx = 1", "# %%time\nx = 1"),
        ("\n%%capture out\n%%time\nx = 1", "\n# %%capture out\n# %%time\nx = 1"),
        ("%%bash\nls 'x\ncd (", "# %%bash\n# ls 'x\n# cd ("),
        ("%%capture\n%%html\n<b>", "# %%capture\n# %%html\n# <b>"),
        ("%%script false --no-raise-error\nx = 1", "# %%script false --no-raise-error\n# x = 1"),
        ("%%writefile notes.txt\nhello", "# %%writefile notes.txt\n# hello"),
        ("%%writefile\nhello", "# %%writefile\n# hello"),
        ("%%unheard-of\nx", "# %%unheard-of\n# x"),
        ("%%writefile attention.py\nx = 1", "# %%writefile attention.py\nx = 1"),
        ("%%file /content/attention.py\nx = 1", "# %%file /content/attention.py\nx = 1"),
        ("%%writefile -a 'attention.py'\nx = 1", "# %%writefile -a 'attention.py'\nx = 1"),
    ],
)
def test_cell_magics(handed_in: Path, attention: Assignment, source: str, text: str) -> None:
    submission = read_notebook(handed_in, attention, source, "z = 1")
    assert submission.main.text == text + "\nz = 1\n"
    assert submission.helpers == []


def test_cells_left_out_are_named(handed_in: Path, attention: Assignment) -> None:
    submission = read_notebook(handed_in, attention, "x = 1", "%%bash\nls", "%%R\nx <- 1")
    assert submission.notes == [
        "Cells that are not Python of this notebook were left out: cell 2 (%%bash); cell 3 (%%R)."
    ]


def test_helpers_that_a_notebook_writes(handed_in: Path, attention: Assignment) -> None:
    (handed_in / "core.py").write_text("x = 'beside'\n")
    submission = read_notebook(
        handed_in,
        attention,
        "%%writefile core.py\nx = 'old'",
        "%%writefile ./core.py\n!ls\nx = 'new'",
        "%%writefile -a core.py\ny = 2",
        "%%writefile ../../up.py\nz = 3",
        "%%writefile pkg/part.py\np = 1",
        "%%writefile torch.py\n",
        "%%writefile my-file.py\n",
        "import core, pkg.part",
    )
    assert "import core" in submission.main.text
    assert "# # !ls\n# x = 'new'\n" in submission.main.text
    texts = {helper.module: helper.text for helper in submission.helpers}
    assert texts == {
        "core": "# %%writefile ./core.py\n# !ls\nx = 'new'\n# %%writefile -a core.py\ny = 2\n",
        "pkg.part": "# %%writefile pkg/part.py\np = 1\n",
        "up": "# %%writefile ../../up.py\nz = 3\n",
    }
    assert submission.helpers[0].origins == [
        *(f"cell 2, line {line}" for line in (1, 2, 3)),
        *(f"cell 3, line {line}" for line in (1, 2)),
    ]
    assert submission.notes[0].endswith("were left out: cell 2, line 2.")
    assert submission.notes[1:] == ["Not used: 'torch.py' (it would hide a library)."]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "The notebook is broken (Expecting"),
        ("[]", "not a notebook: it has no cells"),
        ("3", "not a notebook"),
        ('{"cells": 3}', "not a notebook"),
        ('{"cells": [' + "9" * 5000 + "]}", "The notebook is broken."),
        ("[" * 200_000, "nested too deeply"),
        ('{"cells": []}', "no code cells"),
        (notebook(cell("# Title", "markdown")), "no code cells"),
        (notebook(""), "the file is empty"),
        (notebook(*["x" * 1000] * 1100), "more than 1 MiB of code"),
        (notebook("\n" * (1 << 21)), "more than 1 MiB of code"),
        (" " * (20 << 20) + "{}", "larger than 20 MiB"),
    ],
)
def test_what_is_no_notebook(
    handed_in: Path, attention: Assignment, content: str, words: str
) -> None:
    with pytest.raises(NotGradable) as caught:
        read(handed_in, attention, content, "lab.ipynb")
    assert words in str(caught.value)
    assert str(caught.value).startswith("'lab.ipynb'")


def test_large_outputs_and_odd_values_do_no_harm(handed_in: Path, attention: Assignment) -> None:
    odd = cell("x = 1")
    odd["outputs"] = [{"data": {"image/png": "A" * (2 << 20), "plot": [float("nan")]}}]
    submission = read_notebook(
        handed_in, attention, odd, cell(None), cell([1, "y = 2"]), cell({}), 3, cell("s", "x")
    )
    assert submission.main.text == "x = 1\n\ny = 2\n\n"


def test_a_lone_surrogate_can_be_staged(
    handed_in: Path, tmp_path: Path, attention: Assignment
) -> None:
    submission = read(handed_in, attention, notebook("x = '\ud800'"), "lab.ipynb")
    assert submission.main.text == "x = '\ufffd'\n"
    main = SourceFile(name="a.py", module="attention", text="x = '\ud800'\n", digest="")
    directory = tmp_path / "staged"
    directory.mkdir()
    stage(Submission(id="a", main=main, digest=""), directory).read_text(encoding="utf-8")


def test_a_notebook_in_another_encoding(handed_in: Path, attention: Assignment) -> None:
    text = json.dumps({"cells": [cell("x = 'é'")]}, ensure_ascii=False)
    for data in (codecs.BOM_UTF8 + text.encode(), text.encode("cp1252"), text.encode("utf-16")):
        assert read(handed_in, attention, data, "lab.ipynb").main.text == "x = 'é'\n"


def test_a_notebook_saved_as_python_is_python(handed_in: Path, attention: Assignment) -> None:
    content = "# coding: utf-8\n\n# In[1]:\n\n\nget_ipython().system('ls')\n# %%time\n"
    submission = read(handed_in, attention, content)
    assert submission.main.text == content.replace("coding:", "coding :")
    assert not submission.main.definitions_first


# Anything at all

FRAGMENTS = st.sampled_from(
    [
        *("def attend(q):\n", "import core\n", "from core import x\n", "'''", '"""', "'", "\\\n"),
        *(
            "!ls\n",
            "%x\n",
            "%%writefile ",
            "attention.py",
            "core.py\n",
            "%%bash\n",
            "    ",
            "?",
            "(",
        ),
        *("# coding: ", "utf-16", "utf-7", "\ufeff", "\0", "\r", "\ud800", "é", "\u2028", "\x0c"),
    ]
)
TEXTS = st.lists(FRAGMENTS | st.text(max_size=5)).map("".join)
CELLS = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["code", "markdown", 3])},
    optional={"source": TEXTS | st.lists(TEXTS) | st.none(), "input": TEXTS},
)
NOTEBOOKS = st.fixed_dictionaries(
    {}, optional={"cells": st.lists(CELLS), "worksheets": st.lists(st.just({"cells": []}) | CELLS)}
).map(lambda book: json.dumps(book).encode())
PYTHON = TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass"))


@st.composite
def zips(draw: st.DrawFn) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", draw(st.sampled_from([0, 8]))) as archive:
        for name in draw(st.sets(st.sampled_from(["attention.py", "core.py", "a/b.ipynb"]))):
            archive.writestr(name, draw(PYTHON | NOTEBOOKS))
    data = bytearray(buffer.getvalue())
    for place in draw(st.lists(st.integers(0, len(data) - 1), max_size=4)):
        data[place] = draw(st.integers(0, 255))
    return bytes(data)


@settings(
    max_examples=400,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.binary() | PYTHON | NOTEBOOKS | zips(), suffix=st.sampled_from(["py", "ipynb"]))
def test_any_bytes_are_read_or_refused(
    handed_in: Path,
    tmp_path_factory: pytest.TempPathFactory,
    attention: Assignment,
    data: bytes,
    suffix: str,
) -> None:
    if data.startswith(b"PK"):
        suffix = "zip"
    try:
        submission = read(handed_in, attention, data, f"attention.{suffix}")
    except NotGradable as error:
        str(error).encode()
        return
    assert "\r" not in submission.main.text
    for file in (submission.main, *submission.helpers):
        file.text.encode()
        if file.origins is not None:
            assert len(file.origins) == file.text.count("\n")
    main = stage(submission, tmp_path_factory.mktemp("staged"))
    assert main.read_bytes().decode() == submission.main.text


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_lines_neither_appear_nor_vanish(text: str) -> None:
    cleaned, lines = comment_out(text)
    before, after = text.split("\n"), cleaned.split("\n")
    assert len(before) == len(after)
    changed = [
        number
        for number, pair in enumerate(zip(before, after, strict=True), 1)
        if pair[0] != pair[1]
    ]
    assert set(lines) <= set(changed)
    assert all(after[number - 1].lstrip().startswith(("#", "pass  #")) for number in changed)
