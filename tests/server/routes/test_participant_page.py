"""The page about the protocol agrees with the code: routes, fields, states, problems."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from masquerade.errors import MasqueradeError
from masquerade.server import Settings, create_app
from masquerade.server.db import tables
from masquerade.server.http.connections import PATIENCE_SECONDS
from masquerade.server.http.security import LARGEST_BODY

ROOT = Path(__file__).parents[3]
PAGE = "\n".join(
    (ROOT / "docs/reference" / name).read_text(encoding="utf-8")
    for name in ("protocol.md", "protocol-errors.md")
)
SOURCES = (ROOT / "src" / "masquerade" / "server").rglob("*.py")
PARTICIPANTS = ("/api/v1/participations", "/api/v1/me", "/api/v1/invitations", "/api/v1/levels")
# Of a survey, for participants or for anybody.
OF_A_SURVEY = {f"/api/v1/surveys/{{token}}/{last}" for last in ("invitation", "ticket", "panel")}
# Problems of surveyors' requests only, which other pages tell of.
SURVEYORS = {"forbidden", "stale-version", "aggregation-refused"}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, dict[str, object]]]:
    """The interface's description of itself."""
    file = tmp_path_factory.mktemp("page") / "a.sqlite3"
    app = create_app(Settings(f"sqlite:///{file}"))
    found = app.openapi()
    app.state.services.close()
    return found


def test_every_route_is_on_the_page(document: dict[str, dict[str, dict[str, object]]]) -> None:
    """Each operation of participants stands there with its method, and no other does."""
    offered = {
        f"{method.upper()} {path}"
        for path, operations in document["paths"].items()
        for method in operations
        if path.startswith(PARTICIPANTS) or path in OF_A_SURVEY
    }
    told = set(re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) /api/[^`\s]*)", PAGE))
    assert told - {"GET /api/v1/openapi.json"} == offered


def test_every_state_is_on_the_page() -> None:
    """Each state of a participation stands in the picture of the steps."""
    picture = PAGE.split("```text")[1].split("```")[0]
    names = ["RESERVED", "OPENED", "SEALED", "SUBMITTED", "WITHDRAWN", "EXPIRED", "ABANDONED"]
    for name in names:
        assert getattr(tables, name) in picture


def test_every_problem_is_on_the_page() -> None:
    """Each type of problem stands in the table with its status, and no other does."""
    known = MasqueradeError.by_slug()
    slugs = {slug: one.status for slug, one in known.items() if slug not in SURVEYORS}
    text = "".join(path.read_text(encoding="utf-8") for path in SOURCES)
    slugs |= {m[2]: int(m[1]) for m in re.finditer(r'problem\(\s*(\d{3}), "([a-z-]+)"', text)}
    slugs |= dict.fromkeys(re.findall(r'wrong_places\(\s*"([a-z-]+)"', text), 422)
    table = PAGE.split("| type ends in |")[1].split("\n\n")[0]
    for slug, status in slugs.items():
        row = next((line for line in table.splitlines() if f"`{slug}`" in line), None)
        assert row is not None, slug
        assert str(status) in row, slug
    told = set(
        re.findall(
            r"`([a-z]+(?:-[a-z]+)*)`",
            "".join(line.split("|")[1] for line in table.splitlines()[2:]),
        )
    )
    assert told == {*slugs, "refused"}


def test_the_fields_are_on_the_page(document: dict[str, dict[str, dict[str, object]]]) -> None:
    """The body of each step, and the fields of questions and the battery, are named on the page."""
    shapes: dict[str, dict[str, object]] = document["components"]["schemas"]  # type: ignore[assignment]

    def fields(name: str) -> set[str]:
        properties = shapes[name]["properties"]
        assert isinstance(properties, dict)
        return set(properties) - {"padding"}

    told = set(
        re.findall(
            r"\w+", " ".join(re.findall(r"`([^`]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.S)))
        )
    )
    for name in ("Beginning", "Seal", "Sending", "NewCaps", "Battery", "Reserved", "Opened"):
        assert fields(name) <= told, (name, fields(name) - told)
    assert fields("Sent") <= told
    assert {"battery", "caps", "open_reservations", "statement"} == fields("Me") <= told


def test_the_limits_are_on_the_page() -> None:
    """Lengths and seconds are those of the code."""
    assert f"{LARGEST_BODY // 1024} KiB" in PAGE
    assert f"{PATIENCE_SECONDS:.0f} seconds" in PAGE
