"""The documentation says everything that the code offers, and its code runs."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import masquerade
import masquerade_papers
from masquerade import errors, plots
from masquerade.mechanisms.registry import MECHANISMS, PARAMETERS
from masquerade.results import survey_result
from masquerade.server import Settings, create_app, settings
from masquerade.server.settings import PREFIX
from masquerade.surveys.kinds import kinds

ROOT = Path(__file__).parents[1]
DOCS = {
    path.relative_to(ROOT / "docs").as_posix(): path.read_text(encoding="utf-8")
    for path in (ROOT / "docs").rglob("*.md")
    if not {"_build", "api", "gallery"} & set(path.parts)
}
EVERYTHING = "\n".join(DOCS.values())


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_every_mechanism_and_parameter_is_documented(name: str) -> None:
    """The page of mechanisms names each mechanism and each of its parameters."""
    page = DOCS["reference/mechanisms.md"]
    assert f"`{name}`" in page
    for parameter in PARAMETERS[name]:
        assert f"`{parameter}`" in page


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_every_question_kind_is_documented(kind: str) -> None:
    """The page on surveys names each kind of question, as documents write it."""
    page = DOCS["how-to/survey-interface.md"]
    row = next(line for line in page.splitlines() if "with `kind`" in line)
    assert f"`{kind}`" in row


def test_every_figure_is_documented() -> None:
    """The page on results in Python names each function that draws one."""
    drawn = [name for name in plots.__all__ if inspect.isfunction(getattr(plots, name))]
    assert len(drawn) > 8
    for name in set(drawn) - {"new_figure"}:  # an empty one, for figures of one's own
        assert f"`{name}" in DOCS["reference/python-results.md"], f"{name} is on no page"


def test_every_page_opens_with_what_it_is_for() -> None:
    """A page has one title, and states its purpose before its first section."""
    generated = {"changelog.md", "reference/glossary.md"}  # what they include has titles of its own
    for name in DOCS.keys() - generated:
        text = re.sub(r"^```.*?^```", "", DOCS[name], flags=re.M | re.S)
        assert len(re.findall(r"^# .+$", text, flags=re.M)) == 1, f"{name} has not one title"
        opening = re.split(r"^## ", text, flags=re.M)[0]
        assert re.search(r"\b[Yy]ou\b|\b[Yy]our\b", opening), f"{name} does not say what it is for"


def test_every_exception_is_documented() -> None:
    """Each exception is in the tree at the top of its module, which the docs include."""
    assert "masquerade.errors" in DOCS["reference/errors.md"]
    tree = inspect.getdoc(errors) or ""
    for name, one in vars(errors).items():
        if inspect.isclass(one) and issubclass(one, errors.MasqueradeError):
            assert re.search(rf"\b{name}\b", tree)


def test_every_setting_is_documented() -> None:
    """Each setting and its environment variable are in the docs."""
    for name in settings.setting_names():
        assert f"`{name}`" in DOCS["how-to/operations.md"]
        assert f"`{PREFIX}{name.upper()}`" in EVERYTHING


def test_every_route_is_documented(tmp_path: Path) -> None:
    """Each address that the server answers is in the docs."""
    application = create_app(Settings(f"sqlite:///{tmp_path / 'a.sqlite3'}"))
    paths = {
        path
        for route in application.routes
        if (path := getattr(route, "path", "")) not in ("/", "/static")
    }
    paths |= set(application.openapi()["paths"])
    assert len(paths) > 3
    for path in paths:
        assert path in EVERYTHING, f"{path} is on no page of the docs"
    for path, methods in application.openapi()["paths"].items():
        for method in methods:
            request = f"{method.upper()} {path}"
            assert request in EVERYTHING, f"{request} is on no page of the docs"
    application.state.services.close()


def modules() -> list[str]:
    """Return every module of the package but the migrations, and those of the shelf."""
    return [
        found.name
        for package in (masquerade, masquerade_papers)
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if "migrations" not in found.name and not found.name.endswith("__main__")
    ]


def example_of_a_survey() -> dict[str, object]:
    """Return the names that the example of `survey_result` makes; other examples go on from it."""
    names: dict[str, object] = dict(vars(importlib.import_module(survey_result.__module__)))
    own = set(names)
    for example in doctest.DocTestParser().get_examples(survey_result.__doc__ or ""):
        exec(compile(example.source, "<survey_result>", "single"), names)
    return {name: value for name, value in names.items() if name not in own}


def test_the_examples_in_docstrings_run() -> None:
    """Every module can be imported, and every example of a docstring holds."""
    loaded = [importlib.import_module(name) for name in modules()]
    # Looking for examples costs more than running them: only where there are any.
    explained = [module for module in loaded if ">>>" in inspect.getsource(module)]
    assert explained
    shared = example_of_a_survey()
    goes_on = f"After the example of `masquerade.results.{survey_result.__name__}`:"
    failed = [
        one.__name__
        for one in explained
        if doctest.testmod(
            one, extraglobs=shared if goes_on in inspect.getsource(one) else {}
        ).failed
    ]
    assert failed == []


def test_the_changelog_puts_privacy_first() -> None:
    """In each release, the Privacy heading stands before all others."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    assert releases
    for release in releases:
        assert re.findall(r"^### (.+)$", release, flags=re.MULTILINE)[0] == "Privacy"


def test_each_field_of_a_question_is_documented() -> None:
    """The page on questionnaire files names every field of every kind, in the row of the kind."""
    page = DOCS["how-to/surveys-from-a-program.md"]
    for name, kind in kinds().items():
        [row] = re.findall(rf"^\| `{name}` \|.*$", page, flags=re.MULTILINE)
        like = "rating" if "the same as a rating" in row else name
        [more] = re.findall(rf"^\| `{like}` \|.*$", page, flags=re.MULTILINE)
        # `of` is of the rows of a matrix, which a file does not have one by one.
        own = set(inspect.signature(kind).parameters) - {"id", "text", "of"}
        assert [one for one in sorted(own) if f"`{one}`" not in row + more] == [], name


WORD = re.compile(r"--[a-z][a-z-]+|[A-Za-z_]\w{4,}")


def test_the_newest_release_adds_nothing_that_is_gone() -> None:
    """Each name in code that the changelog adds stands in a source, a page or a test."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    release = re.split(r"^## ", text, flags=re.MULTILINE)[1]
    [added] = [one for one in re.split(r"^### ", release, flags=re.MULTILINE) if one[:5] == "Added"]
    files = [ROOT / "Makefile", ROOT / "pyproject.toml"]
    for folder in ("src", "papers", "tools", "benchmarks", "docs", "tests", "conda"):
        kinds = (".py", ".js", ".mjs", ".html", ".md", ".json", ".toml", ".yaml", ".inc")
        files += [one for one in (ROOT / folder).rglob("*") if one.suffix in kinds]
    there = {word for one in files for word in WORD.findall(one.read_text(encoding="utf-8"))}
    named = {word for code in re.findall(r"`([^`\n]+)`", added) for word in WORD.findall(code)}
    assert len(named) > 200
    assert sorted(named - there) == []


def named_tests(text: str) -> list[tuple[str, str]]:
    """Return the files and functions of tests that a text names; a function may be empty."""
    return re.findall(r"`(tests/[\w/.-]+)(?:::(\w+))?`", text)


def require_tests(named: list[tuple[str, str]]) -> None:
    """Fail unless all of these tests are there."""
    for file, function in named:
        text = (ROOT / file).read_text(encoding="utf-8")
        assert not function or f"def {function}(" in text, f"{file}::{function} is not there"


def test_every_promise_of_the_threat_model_names_the_test_that_attacks_it() -> None:
    """Each row that says kept or proven names tests, which exist; so does each row of checks."""
    attacked = 0
    pages = ("threat-model", "threats-of-participants", "threats-of-surveyors")
    text = "\n".join(DOCS[f"explanation/{page}.md"] for page in pages)
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("|") or len(cells) != 3:
            continue
        if re.match(r"kept|proven", cells[2]):
            assert named_tests(cells[1]), f"no test is named in: {line}"
            attacked += 1
    assert attacked > 20
    require_tests(named_tests(text))


def public_rows() -> list[str]:
    """Return the rows of the tables of public things, without their heads."""
    pages = ("what-is-public", "public-in-a-survey", "public-on-a-server")
    lines = [line for page in pages for line in DOCS[f"reference/{page}.md"].splitlines()]
    heads = ("| what | why", "|---")
    return [line for line in lines if line.startswith("|") and not line.startswith(heads)]


def test_everything_public_names_a_test_that_is_there() -> None:
    """Each public thing has a reason and names tests that exist."""
    for row in public_rows():
        cells = [cell.strip() for cell in row.strip("|").split(" | ")]
        assert len(cells) == 3, row
        assert all(cells), row
        named = named_tests(cells[2])
        assert named, f"no test is named in: {row}"
        require_tests(named)
