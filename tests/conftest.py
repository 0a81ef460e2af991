"""What the tests of several rooms share: one fork server and one browser, each started once."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import torch

from grader.workers.forked import ForkServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest_plugins = ["pytester"]

LONGEST = frozenset(
    {
        "test_attacks.py",
        "test_cluster.py",
        "test_elsewhere.py",
        "test_endings.py",
        "test_expected.py",
        "test_lasting.py",
        "test_nbgrader.py",
        "test_readme.py",
    }
)
"""Begun first: one of them at the end would keep one core waiting for the other."""


def pytest_configure(config: pytest.Config) -> None:
    # pytest-xdist would begin with the files that have most tests, which are the quick ones.
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)


# Suites are run with this file around them where nothing but the grader is installed.
with contextlib.suppress(ImportError):
    import hypothesis

    hypothesis.settings.register_profile("grader", deadline=None, database=None)
    hypothesis.settings.load_profile("grader")

# As the grading process has it: with more threads than idle cores they wait for each other.
torch.set_num_threads(1)

SECRET = "canary-1d0f7c52"
"""In the environment of whoever starts the fork server; no worker may find it."""


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADE_SECRET", SECRET)
        server = ForkServer.launch()
    assert "GRADE_SECRET" not in os.environ
    yield server
    server.close()


@pytest.fixture(scope="session")
def secret() -> str:
    return SECRET


@pytest.fixture(scope="session")
def chromium() -> Iterator["Browser"]:
    """The system's browser: Playwright's own would be a download for every machine."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    executable = next(filter(None, map(shutil.which, names)), None)
    if executable is None:
        pytest.skip("there is no Chromium: apt-get install -y chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Its own sandbox needs a user other than root, and it opens our own files only.
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()
