"""Accessibility of a page for everybody: axe-core, sizes of controls, widths.

With ``SHOTS`` naming a folder, each page is kept there as a picture too.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from playwright.sync_api import Error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Page

AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SMALL = """() => [...document.querySelectorAll("a, button, select, input, textarea, summary")]
  .filter((each) => !each.closest("p:not(.actions)") && !each.matches(".skip-link, [type=hidden]"))
  .map((each) => each.closest("label") ?? each)
  .filter((each) => each.getClientRects().length && each.getBoundingClientRect().height < 43.5)
  .map((each) => each.outerHTML)"""
SHOTS = os.environ.get("SHOTS")

Scheme = Literal["light", "dark"]
WINDOWS: dict[str, tuple[tuple[int, Scheme], ...]] = {
    "a narrow light and a wide dark window": ((390, "light"), (1280, "dark")),
    "a narrow dark and a wide light window": ((390, "dark"), (1280, "light")),
}
"""Widths and colour schemes; both pairs together are all there are."""


def faults(
    page: Page, name: str = "page", *, windows: Sequence[tuple[int, Scheme]], whole: bool
) -> dict[str, Any]:
    """Return the faults of a surveyor's page in some windows.

    Unless `whole`, axe-core looks at nothing but colours in every window after the first. A page
    that went on by itself meanwhile, to what it waited for, is looked at anew.
    """
    try:
        return _faults(page, name, windows, whole)
    except Error as error:
        if "context was destroyed" not in str(error):
            raise
        return _faults(page, name, windows, whole)


def _faults(
    page: Page, name: str, windows: Sequence[tuple[int, Scheme]], whole: bool
) -> dict[str, Any]:
    page.wait_for_load_state("load")
    found: dict[str, Any] = {}
    page.evaluate(AXE)
    for place, (width, scheme) in enumerate(windows):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        options: dict[str, Any] = {"runOnly": {"type": "tag", "values": RULES}}
        if place and not whole:
            options = {"runOnly": ["color-contrast"]}
        result = page.evaluate("options => axe.run(options)", options)
        wrong = [(v["id"], [n["html"] for n in v["nodes"]]) for v in result["violations"]]
        wide = page.evaluate("document.documentElement.scrollWidth")
        small = page.evaluate(SMALL)
        if wrong or small or wide > width:
            found[f"{page.url} {width} {scheme}"] = (wrong, small, wide)
        if SHOTS:
            page.screenshot(path=f"{SHOTS}/{name}-{width}-{scheme}.png", full_page=True)
    return found
