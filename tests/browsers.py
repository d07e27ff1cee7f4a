"""A real browser for tests of pages: whatever Chromium this machine has."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, Request, sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--headless",
    "--no-sandbox",  # which does not work for root, as whom a container runs
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

MISSING = "no browser was found: install chromium, or say where one is with SUREPATH_BROWSER"


def browser_path() -> str | None:
    """Where a browser is; None where there is none."""
    named = os.environ.get("SUREPATH_BROWSER")
    return named or next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


class Opened:
    """A page in a browser, and all that it said and asked for."""

    def __init__(self, context: BrowserContext, path: Path) -> None:
        self.said, self.asked = list[str](), list[str]()
        self.page: Page = context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", self._note)
        self.page.goto(path.as_uri())

    def _note(self, request: Request) -> None:
        self.asked.append(request.url)
