"""The built documentation needs no other host, and its reference lists everything public."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
import typer

from masquerade.cli import app

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytest.importorskip("sphinx")

ROOT = Path(__file__).parents[1]


def tool(name: str) -> ModuleType:
    """Return a module of the folder `tools`."""
    found = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_every_command_and_option_is_documented() -> None:
    """The reference has a section for each command, with each of its arguments and options."""
    generator = tool("docs_commands")
    page = (ROOT / "docs/reference/command-line.md").read_text(encoding="utf-8")
    assert "{include} commands.inc" in page
    reference = generator.reference()
    sections = dict(re.findall(r"^### `([^`]+)`\n(.*?)(?=^### |\Z)", reference, flags=re.M | re.S))
    known = dict(generator.commands(typer.main.get_command(app)))
    assert set(sections) == set(known)
    assert len(known) > 25
    for name, command in known.items():
        assert f"[`{name}`](#" in reference
        for option in generator.options(command):
            assert f"`{max(option.opts, key=len)}`" in sections[name]
            assert option.help, f"{name} {option.name} has no text of help"


def test_the_reference_has_a_page_for_every_room() -> None:
    """Each room of the library is in the list from which the reference's pages are made."""
    reference = tool("docs_reference")
    pages = [path for path in (ROOT / "docs").rglob("*.md") if "api" in path.stem]
    listed = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    for room in reference.rooms():
        if room != "masquerade.errors":  # has a page of its own, which tests/test_docs.py reads
            assert f"   {room}\n" in listed, f"{room} is not in the Python reference"


def test_a_page_of_the_reference_lists_every_public_name_of_its_room() -> None:
    """Classes, functions and constants are all of `__all__` but for names of another room."""
    reference = tool("docs_reference")
    truth = importlib.import_module("masquerade.truth")
    estimation = importlib.import_module("masquerade.estimation")
    listed = [name for _, names in reference.sections("masquerade.truth") for name in names]
    assert sorted(listed) == sorted(set(truth.__all__) - set(estimation.__all__))
    assert "Codebook" not in dict(reference.sections("masquerade.results"))["Classes"]
    assert reference.comment("masquerade.plots", "THEMES")


def test_every_public_name_of_every_room_is_on_a_page_of_the_reference() -> None:
    """Each name of a room's `__all__` is on its page, or on that of the room it comes from."""
    reference = tool("docs_reference")
    pages = {
        room: {name for _, names in reference.sections(room) for name in names}
        for room in reference.rooms()
    }
    for room in pages:
        module = importlib.import_module(room)
        for name in getattr(module, "__all__", ()):
            home = str(getattr(getattr(module, name), "__module__", room))
            near = [page for page in pages if page == room or home.startswith(page)]
            assert any(name in pages[page] for page in near), f"{room}.{name} is on no page"


def test_signatures_show_a_type_without_what_annotates_it() -> None:
    """Of ``Annotated[type, ...]`` a signature keeps the type, however deep the brackets are."""
    plain = tool("docs_reference").without_annotations
    text = "(a: ~typing.Annotated[bool, Before(func=f, x={1: [2]}), Ge(0)] = False, b: str = 'x')"
    assert plain(text) == "(a: bool = False, b: str = 'x')"
    nested = "(a: Annotated[tuple[int, str], Len(1)] | None = None, *, b: Annotated[int, Ge(0)])"
    assert plain(nested) == "(a: tuple[int, str] | None = None, *, b: int)"
    assert plain("(a: int) -> None") == "(a: int) -> None"


def test_what_a_page_loads_from_another_host_is_found(tmp_path: Path) -> None:
    """Scripts, styles and pictures of other hosts are faults; links to them are none."""
    (tmp_path / "page.html").write_text(
        '<script src="https://cdn.example/a.js"></script><img src="//cdn.example/a.png">'
        '<link rel="stylesheet" href="style.css"><a href="https://example.org/">there</a>',
        encoding="utf-8",
    )
    (tmp_path / "style.css").write_text('a { src: url("https://fonts.example/a") }')
    assert list(tool("docs_site").faults(tmp_path)) == [
        "page.html loads https://cdn.example/a.js from another host",
        "page.html loads //cdn.example/a.png from another host",
        "style.css loads from another host",
    ]


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    """A page or an anchor that is not there is a fault; those that are there are none."""
    (tmp_path / "one.html").write_text(
        '<p id="here"></p><a href="#here">1</a><a href="two.html#there">2</a>'
        '<a href="#gone">3</a><a href="two.html#gone">4</a><a href="three.html">5</a>',
        encoding="utf-8",
    )
    (tmp_path / "two.html").write_text('<h1 id="there">Two</h1>', encoding="utf-8")
    assert list(tool("docs_site").faults(tmp_path)) == [
        f"one.html links to {link}, which is not there"
        for link in ("#gone", "two.html#gone", "three.html")
    ]


def test_formulas_are_written_when_the_site_is_built(tmp_path: Path) -> None:
    """A formula of a page is MathML in its HTML, and no script comes with it."""
    from sphinx.application import Sphinx

    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'tools')!r})\n"
        'extensions = ["docs_site"]\nhtml_math_renderer = "mathml"\n'
    )
    (tmp_path / "index.rst").write_text("A page\n======\n\n:math:`\\frac{a}{b}`\n\n.. math:: x^2\n")
    out = tmp_path / "out"
    with contextlib.redirect_stderr(io.StringIO()) as warnings:
        app = Sphinx(tmp_path, tmp_path, out, tmp_path, "html", status=None, warning=warnings)
        app.build()
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "<mfrac>" in page
    assert 'display="block"' in page
    assert "mathjax" not in page.lower()
    assert warnings.getvalue() == ""


@pytest.fixture(scope="module")
def built(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """The whole site, and the messages of its build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    command += ["-d", str(folder / "doctrees"), str(ROOT / "docs"), str(folder / "html")]
    return folder / "html", subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_the_whole_site_is_built_without_a_warning(
    built: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """`make docs` ends well: no fault of a page, no load from another host, no lost link."""
    assert built[1].returncode == 0, built[1].stderr


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.browser
def test_every_page_of_the_site_is_well_in_a_browser(
    built: tuple[Path, subprocess.CompletedProcess[str]], chromium: Browser
) -> None:
    """No page is wider than a telephone or a desk, has an error, or lacks a picture."""
    pages = tool("docs_pages")
    names = pages.pages_of(built[0])
    assert len(names) > 100
    assert list(pages.faults_of_pages(chromium, built[0], names)) == []


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.browser
def test_the_search_works_without_a_network(
    built: tuple[Path, subprocess.CompletedProcess[str]], chromium: Browser
) -> None:
    """It finds pages from a folder of files and from a server, and asks no other host."""
    pages = tool("docs_pages")
    with pages.served(built[0]) as address:
        for place in (built[0].as_uri(), address):
            assert list(pages.faults_of_search(chromium, place)) == []


def test_diagrams_are_drawn_from_their_texts() -> None:
    """Each SVG is as `tools/diagrams.py` draws its text, and stands on a page."""
    assert tool("diagrams").main(["--check"]) == 0
    pages = "\n".join(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))
    drawn = sorted((ROOT / "docs" / "diagrams").glob("*.txt"))
    assert len(drawn) >= 4
    for path in drawn:
        assert f"diagrams/{path.stem}.svg" in pages


def test_screenshots_are_small_and_on_a_page() -> None:
    """Each scene is there for light and for dark pages, below 80 kB, and a page shows it."""
    pages = "\n".join(path.read_text("utf-8") for path in (ROOT / "docs").rglob("*.md"))
    pictures = sorted((ROOT / "docs" / "screenshots").glob("*.png"))
    scenes = {path.stem.rpartition("-")[0] for path in pictures}
    assert len(scenes) >= 8
    assert {path.stem for path in pictures} == {
        f"{scene}-{theme}" for scene in scenes for theme in ("light", "dark")
    }
    for path in pictures:
        assert path.stat().st_size < 80_000
        assert f"screenshots/{path.name}" in pages
