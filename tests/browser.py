"""Opening pages in the browser that the fixture ``chromium`` starts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page


@contextmanager
def opened(
    browser: Browser, path: Path, *, width: int = 1100, scheme: str = "light", script: bool = True
) -> Iterator[Page]:
    """The page in the file ``path``; it may say nothing, ask for nothing and be no wider."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=script
    )
    page = context.new_page()
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.goto(path.as_uri())
    yield page
    assert said == []
    assert set(asked) <= {path.as_uri()}
    if script:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def faults(browser: Browser, path: Path, *, width: int = 1100, scheme: str = "light") -> list[str]:
    """What axe-core finds serious or worse, with the place of each."""
    # Axe is put into the page from outside, which the page's own policy refuses, as it should.
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = context.new_page()
    page.goto(path.as_uri())
    page.eval_on_selector_all("details", "all => all.forEach((one) => { one.open = true; })")
    found = Axe().run(page).response["violations"]
    context.close()
    return [
        f"{one['id']}: {node['html'][:200]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]
