"""The pages hang together: all reachable, links that lead somewhere, names that exist."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from babel.messages.pofile import read_po

from masquerade.selection import POLICIES
from masquerade.truth import METHODS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md")))
    if not {"_build", "api", "gallery"} & set(path.parts)
}
GENERATED = "gallery/index"  # the gallery of docs/notebooks, which is made when the site is built
LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"`((?:tests|benchmarks|docs|src)/[\w./-]+\.\w+)`")


def without_code(text: str) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def entries_of_tables_of_contents() -> list[str]:
    """Return the entries of the tables of contents of all pages, as paths below docs."""
    found = []
    for name, text in PAGES.items():
        folder = Path(name).parent.relative_to("docs") if name.startswith("docs") else None
        for block in re.findall(r"^:::\{toctree\}\n(.*?)^:::", text, flags=re.M | re.S):
            assert folder is not None
            lines = (line.strip() for line in block.splitlines())
            found += [
                (folder / line).as_posix() for line in lines if line and not line.startswith(":")
            ]
    return found


def test_every_page_is_in_one_table_of_contents() -> None:
    """No page is lost, none stands twice, and none is promised that is not there."""
    pages = {
        Path(name).relative_to("docs").with_suffix("").as_posix()
        for name in PAGES
        if name.startswith("docs/")
    }
    listed = entries_of_tables_of_contents()
    assert len(listed) == len(set(listed))
    assert set(listed) == pages - {"index"} | {GENERATED}


def test_no_page_is_longer_than_a_task() -> None:
    """No page has more than 3,000 words: a longer one is split by its readers' tasks."""
    long = {
        name: len(text.split())
        for name, text in PAGES.items()
        if name not in ("CHANGELOG.md", "docs/index.md") and len(text.split()) > 3000
    }
    assert long == {}


def test_every_page_is_linked_from_another() -> None:
    """A reader finds each page from another one, and not from the table of contents alone."""
    alone = {
        f"docs/{name}.md"
        for name in ("changelog", "reference/versioning", "reference/release-checklist")
    }
    linked = {
        (ROOT / name).parent.joinpath(target.partition("#")[0]).resolve()
        for name, text in PAGES.items()
        for target in LINK.findall(without_code(text))
        if "://" not in target
    }
    pages = {name for name in PAGES if name.startswith("docs/")} - alone - {"docs/index.md"}
    assert {name for name in pages if (ROOT / name).resolve() not in linked} == set()


def test_links_between_pages_lead_somewhere() -> None:
    """Every relative link names a file that is there."""
    for name, text in PAGES.items():
        for target in LINK.findall(without_code(text)):
            path = target.partition("#")[0]
            if path and "://" not in target and not path.removeprefix("../").startswith(GENERATED):
                assert (ROOT / name).parent.joinpath(path).exists(), f"{name} links to {target}"


def test_links_to_other_sites_are_whole() -> None:
    """Every address of another site is https, with a host that has a domain."""
    for name, text in PAGES.items():
        for target in LINK.findall(without_code(text)):
            if "://" in target:
                parts = urlsplit(target)
                assert parts.scheme == "https", f"{name} links to {target}"
                assert re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", parts.netloc), target


def test_files_that_pages_name_exist() -> None:
    """A page that says where something is tested or measured is right about it."""
    for name, text in PAGES.items():
        if name != "CHANGELOG.md":  # it speaks of the past too
            for path in FILE.findall(text):
                assert (ROOT / path).exists(), f"{name} names {path}"


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("explanation/truth.md", sorted(method.name for method in METHODS)),
        ("explanation/selection.md", sorted(POLICIES)),
    ],
)
def test_everything_that_can_be_chosen_by_name_is_documented(page: str, names: list[str]) -> None:
    """Methods of inference and policies of selection are on their pages."""
    for name in names:
        assert f"`{name}`" in PAGES[f"docs/{page}"], f"{name} is not in docs/{page}"


def test_every_environment_variable_is_documented() -> None:
    """Every variable of the environment that the package names is in the docs."""
    everything = "\n".join(PAGES.values())
    found = {
        name
        for path in (ROOT / "src").rglob("*.py")
        for name in re.findall(r"MASQUERADE_[A-Z_]*[A-Z]", path.read_text(encoding="utf-8"))
    }
    assert found
    for name in found:
        assert name in everything, f"{name} is on no page"


def test_the_app_and_the_docs_say_the_same_of_privacy() -> None:
    """Privacy in plain words: every paragraph of the app is on the page, word for word."""
    with (ROOT / "locale/participants.pot").open("rb") as file:
        texts = list(read_po(file))
    paragraphs = [str(text.id) for text in texts if str(text.context).startswith("plain.")]
    page = " ".join(PAGES["docs/explanation/plain-words.md"].split())
    assert len(paragraphs) > 15
    for paragraph in paragraphs:
        assert " ".join(paragraph.split()) in page


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.svg")), ids=lambda path: path.stem)
def test_pictures_have_words_and_nothing_else_to_load(path: Path) -> None:
    """A picture has a text for the blind, fits dark pages, and runs no code."""
    text = path.read_text(encoding="utf-8")
    tags = [element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()]
    assert {"title", "desc", "text"} <= set(tags)
    assert "script" not in tags
    assert "image" not in tags
    assert "prefers-color-scheme: dark" in text


def test_methods_are_compared_by_the_measured_figures() -> None:
    """The table of methods has the means, worst sets and calibrations of the benchmark."""
    names = {"truth disc.": "truth-discovery", "DS": "dawid-skene", "combination": "x"}
    names |= {"majority": "majority-vote", "weighted": "weighted-vote"}
    names |= {"one-coin DS": "one-coin-dawid-skene", "combination": "bayesian-combination"}
    measured: dict[str, list[float]] = {}
    heads: list[str] = []
    for line in (DOCS / "explanation" / "truth-accuracy.inc").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == "set":
            heads = [names.get(one, one).lower() for one in cells[1:]]
        elif cells[0] in ("**mean**", "**worst**", "**calibration**"):
            for head, cell in zip(heads, cells[1:], strict=True):
                measured.setdefault(head, []).append(float(cell))
    page = (DOCS / "explanation" / "truth.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| ([-.\d]+) \| ([-.\d]+) \| ([-.\d]+) \|$", page, re.M)
    assert len(rows) == 12
    for name, *shown in rows:
        # auto stands in two tables of the benchmark
        assert [float(one) for one in shown] == pytest.approx(measured[name][:3], abs=6e-4)
