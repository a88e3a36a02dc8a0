"""Make the screenshots of the documentation: a real server, a real browser, light and dark.

python tools/screenshots.py [FOLDER]

It starts ``masquerade demo``, walks through it as a person who answers and as a person who asks,
and writes ``docs/screenshots/SCENE-light.png`` and ``-dark.png``. It needs Chromium, as the tests
of the browser do. Pictures are made anew by hand, when pages change.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "screenshots"
DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 780}
COLOURS = 48
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")

Shoot = Callable[[str], None]


@contextmanager
def demonstration() -> Iterator[str]:
    """Run the demonstration on any free port and give its address."""
    command = [str(Path(sys.executable).with_name("masquerade")), "demo"]
    command += ["--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        found = re.search(r"http://[\w.:]+", process.stdout.readline())
        if found is None:
            raise SystemExit("masquerade demo printed no address.")
        yield found[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def asking(page: Page, address: str, shoot: Shoot) -> None:
    """Take pictures of the pages of a surveyor."""
    page.goto(f"{address}/surveys")
    shoot("surveys")
    page.goto(f"{address}/#question-ill")
    page.locator("#question-ill").evaluate("part => part.scrollIntoView()")
    shoot("result")
    page.goto(f"{address}/surveys/new")
    page.get_by_role("button", name="Employee pulse").click()
    page.wait_for_load_state("networkidle")
    shoot("builder")
    page.goto(f"{address}/surveys")
    page.locator("a", has_text="Live").first.click()
    shoot("live")


def answering(page: Page, address: str, shoot: Shoot) -> None:
    """Take pictures of the screens of a participant."""
    page.goto(f"{address}/")
    page.get_by_role("link", name="Answer it yourself").click()
    page.locator('main[data-view="intro"]').wait_for()
    shoot("level")
    page.locator("#start").click()
    page.locator('main[data-view="question"]').wait_for()
    shoot("question")
    while page.locator("#next").count():
        page.locator('input[name="answer"]').first.check()
        page.locator("#next").click()
        page.wait_for_timeout(400)
    shoot("mask")
    page.locator("#seal").click()
    page.locator(".pair").first.wait_for()
    shoot("sent")
    page.locator("#send:enabled, #finish").first.click()
    page.locator('main[data-view="done"]').wait_for()
    page.goto(f"{address}/me/ledger")
    page.locator('main[data-view="ledger"]').wait_for()
    shoot("privacy")


def main(arguments: list[str]) -> None:
    """Make every picture."""
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for theme in THEMES:
            # Anew for each: once its page was opened, the next survey to answer is another one.
            with demonstration() as address:
                for journey, window in ((answering, PHONE), (asking, DESK)):
                    walk(browser, journey, window, theme, address, folder)
        browser.close()


def walk(
    browser: Browser,
    journey: Callable[[Page, str, Shoot], None],
    window: ViewportSize,
    theme: Theme,
    address: str,
    folder: Path,
) -> None:
    """Go through one journey in one theme, and write its pictures."""
    context = browser.new_context(viewport=window, color_scheme=theme, locale="en")
    page = context.new_page()

    def shoot(scene: str) -> None:
        page.wait_for_timeout(500)
        picture = Image.open(io.BytesIO(page.screenshot(animations="disabled")))
        small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        small.save(folder / f"{scene}-{theme}.png", optimize=True)

    journey(page, address, shoot)
    context.close()


if __name__ == "__main__":
    main(sys.argv[1:])
