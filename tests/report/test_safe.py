"""Escaping, character by character."""

from __future__ import annotations

import html.parser
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.report import safe

any_text = st.text(st.characters(exclude_categories=[])) | st.text(":#[]\n\r\t \x1b\u2028abc")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("é ü 注意 🙂", "é ü 注意 🙂"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x9b31m", "\\x9b31m"),
        ("a\0b", "a\\x00b"),
        ("a\nb\rc", "a\\nb\\rc"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\u2066x\u2069", "\\u2066x\\u2069"),
        ("\u200b\ufeff", "\\u200b\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\u2028\u2029\x85", "\\u2028\\u2029\\x85"),
        ("\ud800", "\\ud800"),
        ("क्\u200dष", "क्\u200dष"),
        ("##[error]x ##vso[task]", "#\\#[error]x #\\#vso[task]"),
        ("## heading [x]", "## heading [x]"),
        ("[red]x[/red]", "[red]x[/red]"),
    ],
)
def test_escape(text, shown):
    assert safe.escape(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\r\nb\n\nc", ["a", "b", "", "c"]),
        ("10%\r20%", ["10%\\r20%"]),
        ("\tx\ty", ["    x   y"]),
        ("a\x0bb\x0cc\u2028d", ["a\\x0bb\\x0cc\\u2028d"]),
    ],
)
def test_lines(text, shown):
    assert safe.lines(text) == shown


@pytest.mark.parametrize("space", ["", " ", "   ", "\u00a0", "\u3000"])
def test_a_command_is_defused_where_it_begins(space):
    assert safe.guard(f"{space}::error::x") == f"{space}\\::error::x"


@pytest.mark.parametrize("line", ["", ":", "x ::y", "x[::2]", ": :"])
def test_other_colons_are_left_alone(line):
    assert safe.guard(line) == line


@given(any_text)
def test_whatever_is_shown_is_visible_encodable_and_no_command(text):
    for line in safe.lines(text):
        line.encode("utf-8")
        categories = {unicodedata.category(c) for c in line} - {"Co"}
        assert not categories & {"Cc", "Cs", "Zl", "Zp", "Cn"}
        assert not safe.guard(line).lstrip().startswith("::")
        assert "##[" not in line


@given(any_text)
def test_what_is_escaped_stays_as_it_is(text):
    assert safe.escape(safe.escape(text)) == safe.escape(text)


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "\" onload='x'", "&lt;", "a\x1b[31mb\n"]
)
def test_html_stays_text(text):
    found = []
    parser = html.parser.HTMLParser()
    parser.handle_data = found.append
    parser.handle_starttag = lambda *tag: found.append(tag)
    parser.feed(f'<p title="{safe.html(text)}">{safe.html(text)}</p>')
    parser.close()
    (tag, [(name, title)]), *data = found
    assert (tag, name, title, "".join(data)) == ("p", "title", safe.escape(text), safe.escape(text))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "<b>x</b>",
            "[a](http://b)",
            "![a](b)",
            "a | b",
            "# a",
            "- a",
            "1. a",
            "1) a",
            "`a`",
            "~~a~~",
        ),
        *(
            "*a* _b_",
            "www.example.com",
            "https://a.b",
            "<!-- a",
            "$a$",
            "a\n\n# b",
            "    code",
            "\\|",
            "===",
        ),
        *("&amp;", "> a", "[^1]: a", "a\r::error::b", ":smile:", "+ a", "---"),
    ],
)
def test_markdown_stays_text(text):
    shown = safe.markdown(text)
    assert html.unescape(shown) == safe.escape(text).strip()
    assert not set(shown) & set('<>[]()!|*_`~$\\=-+:./"\n\r')
    assert not set(shown.replace("&#", "")) & set("&#")


def test_json_says_the_same_and_is_harmless():
    value = {
        "a": "##[error]x ###[group]",
        "b": "\x9b31m\x7f\u202e\U000e0041\u2028",
        "é": "注意 क्\u200dष",
    }
    data = safe.json(json.dumps(value, ensure_ascii=False, indent=2).encode())
    assert json.loads(data) == value
    assert "é" in data.decode()
    for line in data.decode().split("\n"):
        assert safe.escape(line) == line
        assert "##" not in line


@given(
    st.dictionaries(any_text.map(lambda text: text.encode("utf-8", "replace").decode()), any_text)
)
def test_any_json_says_the_same(value):
    value = {key: text.encode("utf-8", "replace").decode() for key, text in value.items()}
    data = safe.json(json.dumps(value, ensure_ascii=False).encode())
    assert json.loads(data) == value
    assert safe.lines(data.decode()) == [data.decode()]
