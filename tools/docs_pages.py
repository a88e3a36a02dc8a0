"""Open every page of the built documentation in a browser, narrow and wide, and look for faults.

    python tools/docs_pages.py [--site docs/_build/html] [--shots FOLDER] [PAGE ...]

A page is at fault if it is wider than its window, writes an error to the console, lacks a picture,
or asks another host for anything. The search has to find pages, from a folder of files and from a
server, also without a network. `--shots` keeps a picture of each page. It needs Chromium, as the
tests of the browser do.
"""

from __future__ import annotations

import argparse
import functools
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

SITE = Path(__file__).resolve().parents[1] / "docs" / "_build" / "html"
WIDTHS = (390, 1280)
PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome", "chromium-browser")
#: Words that the search has to find, with a page that has to be among what it finds.
SOUGHT = {
    "randomized response": "reference/mechanisms.html",
    "backup": "how-to/back-up-a-server.html",
    "what is public": "reference/what-is-public.html",
    "Betriebsrat": "how-to/betriebsraete.html",
}
#: The search says that it is done.
DONE = re.compile("Search finished|did not match")
#: Names of elements that reach beyond the window, outside of boxes that scroll by themselves.
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth
  if (document.scrollingElement.scrollWidth <= width) return ""
  const names = []
  for (const one of document.querySelectorAll("article *")) {
    if (one.getBoundingClientRect().right <= width + 1) continue
    let box = one.parentElement
    while (box && !["auto", "scroll", "hidden"].includes(getComputedStyle(box).overflowX)) {
      box = box.parentElement
    }
    if (!box || box === document.documentElement || box === document.body) {
      names.push(`${one.localName}: ${one.textContent.trim().slice(0, 60)}`)
    }
  }
  return `${document.scrollingElement.scrollWidth} of ${width} pixels: ${names[0] ?? "?"}`
}"""
MISSING = """() => [...document.images].filter(one => one.complete && !one.naturalWidth)
  .map(one => one.getAttribute("src"))"""


def pages_of(site: Path) -> list[str]:
    """Return the pages of the site, without listings of source."""
    found = (path.relative_to(site).as_posix() for path in sorted(site.rglob("*.html")))
    return [name for name in found if not name.startswith("_")]


def watched(page: Page, faults: list[str]) -> Page:
    """Keep every error of a page and every request to another host as a fault."""
    page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "request",
        lambda one: (
            None
            if one.url.startswith(("file:", "data:", "blob:", "http://127.0.0.1:"))
            else faults.append(f"asks for {one.url}")
        ),
    )
    return page


def faults_of_pages(
    browser: Browser, site: Path, names: list[str], shots: Path | None = None
) -> Iterator[str]:
    """Yield the faults of pages at each width, and keep a picture of each."""
    for width in WIDTHS:
        found: list[str] = []
        with browser.new_context(viewport={"width": width, "height": 900}) as context:
            page = watched(context.new_page(), found)
            for name in names:
                found.clear()
                page.goto((site / name).as_uri())
                wide = page.evaluate(TOO_WIDE)
                found += [wide] if wide else []
                found += [f"{source} is not there" for source in page.evaluate(MISSING)]
                yield from (f"{name} at {width}: {fault}" for fault in found)
                if shots is not None:
                    shots.mkdir(parents=True, exist_ok=True)
                    file = shots / f"{name.removesuffix('.html').replace('/', '-')}-{width}.png"
                    page.screenshot(path=file, full_page=True)


def faults_of_search(browser: Browser, address: str) -> Iterator[str]:
    """Yield pages that the search at an address misses, and its errors."""
    scheme = address.partition(":")[0]
    with browser.new_context() as context:
        for words, wanted in SOUGHT.items():
            # A page of its own: leaving one ends its requests, which is no fault.
            found: list[str] = []
            page = watched(context.new_page(), found)
            page.goto(f"{address}/search.html?q={words}")
            page.locator("p.search-summary", has_text=DONE).wait_for()
            links = page.locator("#search-results li a").evaluate_all("all => all.map(a => a.href)")
            if not any(wanted in link for link in links):
                found.append(f"{words!r} finds {len(links)} pages, and not {wanted}")
            yield from [f"{scheme}: {fault}" for fault in found]
            page.close()


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve the site on a free port of this machine, and give its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Write nothing."""

    handler = functools.partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def main() -> int:
    """Print the faults and return their number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--site", type=Path, default=SITE)
    parser.add_argument("--shots", type=Path)
    parser.add_argument("pages", nargs="*")
    given = parser.parse_args()
    site = given.site.resolve()
    with sync_playwright() as playwright, served(site) as address:
        program = next(filter(None, map(shutil.which, PROGRAMS)), None)
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        names = given.pages or pages_of(site)
        faults = [
            *faults_of_pages(browser, site, names, given.shots),
            *(() if given.pages else faults_of_search(browser, site.as_uri())),
            *(() if given.pages else faults_of_search(browser, address)),
        ]
        browser.close()
    print(*faults, f"{len(names)} pages, {len(faults)} faults", sep="\n")
    return len(faults)


if __name__ == "__main__":
    raise SystemExit(min(main(), 100))
