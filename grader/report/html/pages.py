"""What all pages share: one style, one content security policy, and escaped text."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import Any

import jinja2
from markupsafe import Markup

from grader.report import safe
from grader.report.words import (
    NO_SCORE,
    WORDS,
    count,
    grade,
    has_score,
    lateness,
    moment,
    most_likely,
    notes,
)


def render(template: str, *, script: str = "", **values: Any) -> bytes:
    """The page ``template`` filled with ``values``, in UTF-8.

    ``script`` names a file beside the templates, the only one that the page lets run. Every
    string of ``values`` is shown as text, whoever wrote it; only ``Markup`` is taken as it is.
    """
    style = _source("style.css")
    code = _source(script) if script else ""
    # What a student managed to put into a page could neither run nor reach anybody. Only the
    # attributes of our own drawings need a style of their own.
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; style-src-attr 'unsafe-inline'; "
        f"script-src {_digest(code) if code else repr('none')}; base-uri 'none'; form-action 'none'"
    )
    page = (
        _environment()
        .get_template(template)
        .render(style=Markup(style), script=Markup(code), policy=policy, **values)
    )
    return page.encode()


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grader.report.html", "templates"),
        autoescape=True,
        finalize=_visible,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["lines"] = safe.lines
    environment.filters["count"] = count
    environment.filters["moment"] = moment
    environment.globals.update(
        notes=notes,
        words=WORDS,
        grade=grade,
        has_score=has_score,
        no_score=NO_SCORE,
        lateness=lateness,
        most_likely=most_likely,
    )
    return environment


def _visible(value: Any) -> Any:
    """What is not plainly visible, written out; autoescape then sees to what HTML would act on."""
    return safe.escape(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _source(name: str) -> str:
    return resources.files("grader.report.html").joinpath("templates", name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
