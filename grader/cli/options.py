"""Options that several commands have."""

from __future__ import annotations

import os

import click

_NO = ("", "0", "false", "no", "off")


def _default_sandbox() -> str:
    """In CI nobody is there to read that something was not enforced."""
    return "auto" if os.environ.get("CI", "").strip().lower() in _NO else "require"


sandbox = click.option(
    "--sandbox",
    type=click.Choice(["auto", "require", "off"]),
    default=_default_sandbox,
    show_default="auto; require where CI is set",
    help="Grade with what confinement there is, only with all of it (or exit 3), or with none.",
)
