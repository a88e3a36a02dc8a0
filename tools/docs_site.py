"""A Sphinx extension: formulas without scripts, and a check that the site needs no other host.

Formulas become MathML while the site is built, so that a page shows them without a script, a font
or a network. When the site is built, every page is read again: what it loads from another host, and
every link inside the site that leads nowhere, is a warning, and ``make docs`` fails on warnings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

#: Attributes from which a browser loads something without being asked.
LOADING = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "image": "href",
    "img": "src",
    "link": "href",
    "script": "src",
    "source": "src",
    "video": "src",
}
#: Links of a page's head that say where something is, and load nothing.
NAMING = {"author", "canonical", "index", "license", "next", "prev", "search"}


_TAG = re.compile(r"<([a-z][a-z0-9]*)(\s[^>]*)>")
_ATTRIBUTE = re.compile(r"""([a-z-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")


class PageLinks(NamedTuple):
    """Anchors of a page, its links, and the files that a browser loads for it."""

    anchors: set[str]
    links: list[str]
    loads: list[str]


def read_page(path: Path) -> PageLinks:
    """Return the anchors, links and files of a page of HTML."""
    page = PageLinks(set(), [], [])
    for tag, inside in _TAG.findall(path.read_text(encoding="utf-8")):
        if not (tag in LOADING or tag == "a" or "id=" in inside):
            continue
        found = {key: unescape(one or other) for key, one, other in _ATTRIBUTE.findall(inside)}
        if "id" in found:
            page.anchors.add(found["id"])
        if tag == "a" and "href" in found:
            page.links.append(found["href"])
        address = found.get(LOADING.get(tag, ""))
        if address and not (tag == "link" and found.get("rel") in NAMING):
            page.loads.append(address)
    return page


def is_elsewhere(address: str) -> bool:
    """Return whether an address is on another host."""
    return bool(urlsplit(address).netloc)


def faults(site: Path) -> Iterable[str]:
    """Yield everything that pages load from another host, and every link that leads nowhere.

    Parameters
    ----------
    site : Path
        A folder of HTML pages.

    Yields
    ------
    str
        The page, and what is wrong.
    """
    pages = {path.resolve(): read_page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        for address in page.loads:
            if is_elsewhere(address):
                yield f"{name} loads {address} from another host"
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            # Sphinx names the anchors on pages of source by the first room that shows a file.
            checked = to in pages and name.parts[0] != "_modules"
            lost = anchor and checked and anchor not in pages[to].anchors
            if lost or not to.exists():
                yield f"{name} links to {link}, which is not there"
    for style in sorted(site.rglob("*.css")):
        text = style.read_text(encoding="utf-8")
        if "url(http" in text.replace('"', "").replace("'", "") or "@import" in text:
            yield f"{style.relative_to(site)} loads from another host"


def check_site(app: Sphinx, failure: Exception | None) -> None:
    """Warn of every fault of a site that was built."""
    if failure is None and app.builder.format == "html":
        for fault in faults(Path(app.outdir)):
            logging.getLogger(__name__).warning(fault)


def visit_formula(self: Any, node: nodes.math | nodes.math_block) -> None:
    """Write a formula as MathML."""
    block = isinstance(node, nodes.math_block)
    formula = tex2mathml(node.astext(), as_block=block)
    self.body.append(f'<div class="math">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the renderer of formulas and the check to Sphinx."""
    renderer = (visit_formula, None)
    app.add_html_math_renderer("mathml", renderer, renderer)
    app.connect("build-finished", check_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
