"""Suites can be run where nothing is installed but the grader and what it requires itself."""

import os
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]

PROGRAM = """
import sys

class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1].split():
            raise ModuleNotFoundError(f"{name} is not in the base install", name=name)

sys.meta_path.insert(0, Refusing())
import pytest
sys.exit(pytest.main(sys.argv[2:]))
"""


def base_distributions() -> set[str]:
    """What ``pip install -e .`` installs."""
    found: set[str] = set()
    pending = ["attention-grader"]
    while pending:
        name = canonicalize_name(pending.pop())
        if name in found:
            continue
        try:
            needs = [Requirement(text) for text in requires(name) or []]
        except PackageNotFoundError:
            continue
        found.add(name)
        pending += [one.name for one in needs if not one.marker or one.marker.evaluate()]
    return found


def refused_modules() -> set[str]:
    base = base_distributions()
    return {
        module
        for module, owners in packages_distributions().items()
        if not base & {canonicalize_name(owner) for owner in owners}
    }


def test_hidden_suites_run_with_the_base_install_alone():
    refused = refused_modules() - {"pip", "setuptools", "pkg_resources", "_distutils_hack"}
    assert {"hypothesis", "xdist"} <= refused
    assert not {"torch", "numpy", "pytest", "msgspec"} & refused
    options = ["-q", "-p", "grader.session.checks.plugin", "-p", "no:cacheprovider"]
    chosen = ["tests/hidden", "-k", "test_attention and axes_of_size_one"]
    submission = ["--submission", "solutions/attention/accepted/einsum.py"]
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM, " ".join(refused), *options, *chosen, *submission],
        cwd=ROOT,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert re.search(r"\b4 passed", ended.stdout)
