"""A surveyor's program: from a file of a survey to its result, over HTTP."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.serving import CERTIFICATES

from masquerade.cli import main
from masquerade.client import Surveyor
from masquerade.errors import (
    Forbidden,
    MasqueradeError,
    NotFound,
    ParameterError,
    ServerUnavailable,
    Unauthenticated,
    UnreadableFile,
    WrongState,
)
from masquerade.server.accounts.teams import OWNER
from masquerade.server.db.tables import FIRST_TEAM

if TYPE_CHECKING:
    from tests.client.conftest import Place

DOCUMENT: dict[str, Any] = {
    "masquerade": 1,
    "title": "Work and health",
    "levels": ["low"],
    "questions": [
        {"kind": "choice", "id": "ill", "text": "Worked while ill?", "options": ["Yes", "No"]}
    ],
    "plan": {"people": 30},
}


def token_of(place: Place, *scopes: str) -> str:
    """Return a token of a new owner."""
    login = f"ann-{secrets.token_hex(4)}"
    owner = place.services.teams.add(
        FIRST_TEAM, role=OWNER, login=login, name="Ann", password="four words in a row"
    )
    wanted = scopes or ("survey:read", "survey:write", "results:read", "reports:read")
    return place.services.tokens.create(
        owner.id, FIRST_TEAM, name="test", scopes=wanted, until=None
    )


def reach(place: Place, token: str) -> Surveyor:
    """Return a surveyor's program at the server, which does not wait long."""
    carrier = httpx.HTTPTransport(verify=CERTIFICATES, trust_env=False)
    return Surveyor(place.url, token, attempts=1, transport=carrier)


@pytest.fixture
def surveyor(place: Place) -> Iterator[Surveyor]:
    """A surveyor's program with all that an editor may do."""
    with reach(place, token_of(place)) as made:
        yield made


def answered(place: Place, token: str, people: int) -> None:
    """Let people answer a survey."""
    for number in range(people):
        client = place.client(home=f"home-{number}")
        client.begin(token, level="low").answer({"ill": "Yes" if number % 3 else "No"})


def test_from_a_file_to_a_data_frame(place: Place, surveyor: Surveyor, tmp_path: Path) -> None:
    """A draft is made of a file, changed, opened, answered and closed; figures come as a table."""
    file = tmp_path / "questionnaire.json"
    file.write_text(json.dumps(DOCUMENT), encoding="utf-8-sig")
    draft = surveyor.create(file)
    assert (draft["valid"], draft["state"]) == (True, "draft")
    name = draft["token"]
    assert surveyor.change(name, {"title": "Work"})["document"]["title"] == "Work"
    opened = surveyor.open(name)
    assert opened["link"] == f"{place.url}/s/{name}"
    answered(place, name, 3)
    assert surveyor.progress(name)["responses"] == 3
    with pytest.raises(WrongState):
        surveyor.result(name)
    assert surveyor.close(name)["state"] == "closed"
    assert [one["state"] for one in surveyor.surveys() if one["token"] == name] == ["closed"]
    result = surveyor.result(name)
    assert result["responses"] == 3
    table = surveyor.table(name)
    assert {"Yes", "No"} <= set(table["option"].to_pylist())
    reports = surveyor.reports(name)
    assert len(reports) == 3
    kinds = [("results", end) for end in ("json", "csv", "xlsx", "sav")]
    for what, ending in (*kinds, ("reports", "csv"), ("reports", "sav")):
        path = surveyor.export(name, tmp_path / f"file.{ending}", what)
        assert path.stat().st_size > 50
    paper = surveyor.export(name, tmp_path / "dossier.md", "dossier", language="de")
    assert "Datenschutz" in paper.read_text()
    again = surveyor.export(name, tmp_path / "document.json", "document")
    copy = surveyor.create(again)
    assert copy["document"]["title"] == "Work"
    surveyor.delete(copy["token"])
    with pytest.raises(NotFound):
        surveyor.survey(copy["token"])


def test_the_questionnaire_of_the_documentation_is_valid(surveyor: Surveyor) -> None:
    """The file that the page shows makes a draft that can be opened."""
    page = Path(__file__).parents[2] / "docs" / "how-to" / "surveys-from-a-program.md"
    [shown] = re.findall(r"```json\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)
    draft = surveyor.create(json.loads(shown))
    assert (draft["valid"], draft["errors"]) == (True, [])
    surveyor.delete(draft["token"])


def test_the_same_key_makes_one_draft(surveyor: Surveyor) -> None:
    """A request that is sent again, as it is not known whether it arrived, has one effect."""
    first = surveyor.create(DOCUMENT, key="once")
    assert surveyor.create(DOCUMENT, key="once")["token"] == first["token"]
    assert surveyor.create(copy_of=first["token"])["token"] != first["token"]
    surveyor.open(first["token"])
    # Nothing is lost where the answer to the first of two equal requests did not arrive.
    assert surveyor.survey(first["token"])["state"] == "open"


def test_refusals_say_what_to_do(place: Place, surveyor: Surveyor, tmp_path: Path) -> None:
    """Wrong tokens, rights, files, endings and states are errors of their own."""
    with reach(place, "mq_nothing") as stranger, pytest.raises(Unauthenticated):
        list(stranger.surveys())
    with reach(place, token_of(place, "survey:read")) as reader, pytest.raises(Forbidden):
        reader.create(DOCUMENT)
    for wrong in ("", "mq_ä", "two words"):
        with pytest.raises(ParameterError, match="token"):
            Surveyor(place.url, wrong)
    with pytest.raises(ParameterError, match="over http"):
        Surveyor("http://surveys.example.org", "mq_x")
    with (
        Surveyor("http://127.0.0.1:9", "mq_x", attempts=1) as far,
        pytest.raises(ServerUnavailable),
    ):
        far.survey("5a")
    with pytest.raises(ParameterError, match="give one of"):
        surveyor.create()
    with pytest.raises(ParameterError, match="hexadecimal"):
        surveyor.survey("../me")
    broken = tmp_path / "broken.json"
    broken.write_text("[1]")
    with pytest.raises(UnreadableFile, match="no JSON object"):
        surveyor.create(broken)
    broken.write_text("{")
    with pytest.raises(UnreadableFile, match="surveys import"):
        surveyor.create(broken)
    with pytest.raises(UnreadableFile, match="cannot be read"):
        surveyor.create(tmp_path / "none.json")
    draft = surveyor.create({**DOCUMENT, "questions": []})
    assert not draft["valid"]
    assert draft["errors"]
    with pytest.raises(MasqueradeError):
        surveyor.open(draft["token"])
    with pytest.raises(ParameterError, match=r"results as \.xml"):
        surveyor.export(draft["token"], tmp_path / "r.xml")


def test_the_command_does_the_same(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Surveys are made, opened, closed and exported by commands; the token is no argument."""
    if place.url.startswith("https"):
        pytest.skip("the command trusts the computer's certificates alone")
    (tmp_path / "token").write_text(f"{token_of(place)}\nsecond line\n")
    (tmp_path / "q.json").write_text(json.dumps(DOCUMENT))

    def run(*words: object) -> dict[str, Any]:
        at = ["--server", place.url, "--token-file", str(tmp_path / "token"), "--json"]
        monkeypatch.setattr("sys.argv", ["masquerade", "surveys", *map(str, words), *at])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code, capsys.readouterr().err
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        return found

    name = run("create", tmp_path / "q.json")["token"]
    assert run("open", name)["link"].endswith(name)
    answered(place, name, 1)
    assert run("close", name)["responses"] == 1
    assert run("results", name)["survey"] == name
    at = ["--server", place.url, "--token-file", str(tmp_path / "token")]
    monkeypatch.setattr("sys.argv", ["masquerade", "surveys", "results", name, *at])
    with pytest.raises(SystemExit):
        main()
    heads = capsys.readouterr().out
    assert all(one in heads for one in ("question", "option", "value", "low", "high"))
    assert "…" not in heads
    assert "– no point is shown of fewer than 20 people" in " ".join(heads.split())
    out = tmp_path / "reports.parquet"
    assert run("export", name, "--what", "reports", "--out", out)["bytes"] == out.stat().st_size
    assert name in [one["token"] for one in run("list")["surveys"]]
    monkeypatch.setattr("sys.argv", ["masquerade", "surveys", "list", "--server", place.url])
    monkeypatch.delenv("MASQUERADE_TOKEN", raising=False)
    with pytest.raises(SystemExit):
        main()
    assert "masquerade token create" in capsys.readouterr().err
