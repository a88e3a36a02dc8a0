"""The page that ranks items by a file of votes."""

from __future__ import annotations

import io
import tempfile
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.server.refusals import problem_of

from masquerade.preference import Leaderboard
from masquerade.server.results import leaderboards
from masquerade.server.routes.leaderboards import most_body

if TYPE_CHECKING:
    from tests.server.conftest import Site

VOTES = (
    "model_a,model_b,winner,voter\n"
    + "ant,bee,model_a,v1\nbee,ant,model_a,v2\nant,bee,tie,v3\n" * 40
    + "cat,ant,model_b,v4\ncat,ant,model_a,v5\n" * 30
    + "<b>dog</b>,ant,model_b,v6\n"
)


def test_a_file_becomes_a_leaderboard(site: Site) -> None:
    """Items, possible ranks and those without a place are on the page, as in the library."""
    page = site.owner.post("/leaderboard", files={"file": ("votes.csv", VOTES)})
    assert page.status_code == 200
    board = leaderboards.leaderboard_of_file(VOTES.encode(), "votes.csv")
    for one in board.standings:
        assert one.item.replace("<", "&lt;").replace(">", "&gt;") in page.text
    assert "<b>dog" not in page.text
    assert "never won" in page.text
    assert "181 votes, 40 of them ties, of 6 voters" in page.text


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl"])
def test_every_layout_is_read(site: Site, ending: str) -> None:
    """The same votes give the same page in each kind of file."""
    table = pa.table(
        {"left": ["x", "y", "z"] * 9, "right": ["y", "z", "x"] * 9, "winner": [1] * 27}
    )
    rows = table.to_pylist()
    content = io.BytesIO()
    if ending == "csv":
        text = "left,right,winner\n" + "".join(f"{r['left']},{r['right']},1\n" for r in rows)
        content.write(text.encode())
    else:
        import json

        lines = [json.dumps(row) for row in rows]
        text = "\n".join(lines) if ending == "jsonl" else f"[{','.join(lines)}]"
        content.write(text.encode())
    answer = site.owner.post(
        "/leaderboard", files={"file": (f"v.{ending}", content.getvalue())}, data={"ties": "auto"}
    )
    assert answer.status_code == 200, answer.text
    assert "27 votes, 0 of them ties; model: bradley-terry" in answer.text


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("votes.csv", "model_a,model_b,winner\nx,y,nobody\n", "row 1"),
        ("votes.csv", "model_a,model_b,winner\nx,x,tie\n", "row 1"),
        ("votes.csv", "a,b\n1,2\n", "model_a"),
        ("mine.csv", "", "mine.csv cannot be read: it is empty"),
        ("votes.parquet", "PAR1", "ends in none of"),
        ("votes.json", "[{", ""),
        ("votes.json", "[" * 100_000, "cannot be read"),
        ("votes.jsonl", '{"a":' * 100_000, "row 1"),
        ("votes.jsonl", "".join(f'{{"k{n}":1}}\n' for n in range(4_000)), "4,000 different keys"),
        ("votes.csv.gz", "x", "ends in none of"),
        ("../../votes.exe", "x", "ends in none of"),
    ],
)
def test_a_wrong_file_is_refused_in_words(site: Site, name: str, content: str, said: str) -> None:
    """The page tells the fault, with the row, and takes another file."""
    page = site.owner.post("/leaderboard", files={"file": (name, content)})
    assert page.status_code in (400, 422), page.text
    assert 'role="alert"' in page.text
    assert said in page.text
    assert tempfile.gettempdir() not in page.text  # no path of the server
    assert 'name="file"' in page.text


def test_one_vote_is_one_vote(site: Site) -> None:
    """A table of one row has one vote of one voter."""
    one = "model_a,model_b,winner,voter\nx,y,model_a,v\n"
    page = site.owner.post("/leaderboard", files={"file": ("votes.csv", one)})
    assert "1 vote, 0 of them ties, of 1 voter;" in page.text


def test_no_file_and_a_wrong_model_are_refused(site: Site) -> None:
    """A form without a file, and one with an unknown model of ties, are refused in words."""
    assert "no file was chosen" in site.owner.post("/leaderboard", data={"ties": "auto"}).text
    page = site.owner.post("/leaderboard", files={"file": ("v.csv", VOTES)}, data={"ties": "elo"})
    assert "expected one of auto" in page.text


def test_files_have_bounds(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many votes, items or bytes are refused."""
    monkeypatch.setattr(leaderboards, "MOST_VOTES", 10)
    votes = "left,right,winner\n" + "x,y,1\n" * 11
    page = site.owner.post("/leaderboard", files={"file": ("v.csv", votes)})
    assert "11 votes, and this page takes at most 10" in page.text
    monkeypatch.setattr(leaderboards, "MOST_VOTES", 10**6)
    monkeypatch.setattr(leaderboards, "MOST_ITEMS", 2)
    page = site.owner.post("/leaderboard", files={"file": ("v.csv", VOTES)})
    assert "4 items, and this page takes at most 2" in page.text
    most = most_body("/leaderboard")
    assert most is not None
    problem_of(
        site.owner.post("/leaderboard", files={"file": ("v.csv", b"x" * (most + 1))}),
        413,
        "body-too-large",
    )


def test_a_stranger_sends_nothing(site: Site) -> None:
    """A visitor without a session is refused, with every file."""
    answer = site.visitor.post("/leaderboard", files={"file": ("v.csv", VOTES)})
    assert answer.status_code == 401


def test_the_page_and_the_library_agree() -> None:
    """The file on the page gives the numbers that the library gives for the table."""
    rows = [line.split(",") for line in VOTES.splitlines()]
    columns = {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}
    found = leaderboards.leaderboard_of_file(VOTES.encode(), "V.CSV")
    assert found.standings == Leaderboard.fit(columns).standings
    view = leaderboards.leaderboard_view(found.standings)
    assert [row.label for row in view.rows] == [o.item for o in found.standings if o.placed]
