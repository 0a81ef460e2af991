"""The templates of releases. ``@{ name }@`` is filled in: YAML and shell need plain braces."""

from __future__ import annotations

import json
import shlex
from typing import Any

import jinja2

from grader.report import safe

_EVERYWHERE = {
    "python": "3.12",
    # Which release of uv it is decides which of Python it brings.
    "uv": "0.13.8",
}


def render(name: str, **values: Any) -> bytes:
    """The template called ``name``, filled in; a value that is missing is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grader.integrations", "templates"),
        variable_start_string="@{",
        variable_end_string="}@",
        block_start_string="[%",
        block_end_string="%]",
        comment_start_string="[#",
        comment_end_string="#]",
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= {
        "markdown": safe.markdown,
        "html": safe.html,
        "quoted": json.dumps,
        "word": shlex.quote,
    }
    environment.globals |= _EVERYWHERE
    return environment.get_template(name).render(values).encode()
