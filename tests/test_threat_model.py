"""The threat model: every test that it names as a proof exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`(tests/[\w/.]+)`", TEXT)))


@pytest.mark.parametrize("name", NAMED)
def test_a_proof_that_is_named_exists(name):
    place = ROOT / name
    assert place.is_file() or any(place.glob("test_*.py"))


def test_each_promise_has_a_proof():
    _, table = TEXT.split("| promise | proved by |\n| --- | --- |\n")
    rows = table.split("\n\n")[0].splitlines()
    assert len(rows) > 10
    assert all("`tests/" in row.split("|")[-2] for row in rows)


def test_the_readme_leads_there():
    assert "(docs/threat-model.md)" in (ROOT / "README.md").read_text("utf-8")
