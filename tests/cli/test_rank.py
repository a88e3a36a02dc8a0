"""``masquerade rank``: leaderboards from files of votes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pytest

Run = Callable[..., Any]


@pytest.fixture
def battles(tmp_path: Path) -> Path:
    """Return a file in which a beats b beats c two times of three, and d lost its only vote."""
    rows = ["model_a,model_b,winner,judge,home"]
    for judge in range(12):
        for first, second in (("a", "b"), ("b", "c"), ("a", "c")):
            outcome = "model_b" if judge % 4 == 0 else "tie" if judge % 4 == 1 else "model_a"
            rows.append(f"{first},{second},{outcome},{judge},{judge % 2}")
    rows.append("a,d,model_a,0,1")
    path = tmp_path / "battles.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_rank_prints_the_promised_keys(run: Run, battles: Path) -> None:
    """Items with strength, ranks and the first set; ties; the guarantee; the models."""
    result = run("rank", battles, "--json").json
    assert {"items", "ties", "guarantee", "model", "log_likelihoods", "notes"} <= set(result)
    first = result["items"][0]
    keys = {"item", "strength", "low", "high", "rank_low", "rank_high", "may_be_first"}
    assert keys <= set(first)
    assert (result["model"], result["votes"], result["voters"]) == ("davidson", 37, 12)
    assert result["ties"] == 9
    assert result["guarantee"]["status"] == "none"
    last = result["items"][-1]
    assert (last["item"], last["strength"], last["note"]) == ("d", None, "never won")
    assert (last["rank_low"], last["rank_high"]) == (1, 4)


def test_rank_reads_covariates_priors_and_models(run: Run, battles: Path) -> None:
    """Options reach the fit: an effect, a strength of an item that lost its only vote, a model."""
    effect = run("rank", battles, "--covariates", "home", "--json").json["effects"]
    assert [one["name"] for one in effect] == ["home"]
    pulled = run("rank", battles, "--prior", 2, "--ties", "halves", "--json").json
    assert pulled["model"] == "halves"
    assert all(one["strength"] is not None for one in pulled["items"])


def test_rank_writes_a_table_and_a_page(run: Run, battles: Path) -> None:
    """``--out`` has one row an item; the page has the ranks and the promise."""
    out, page = battles.with_name("board.csv"), battles.with_name("board.html")
    outcome = run("rank", battles, "--out", out, "--report", page)
    assert outcome.code == 0
    assert outcome.out.index("No privacy") < outcome.out.index("may be first")
    assert sorted(pa_csv.read_csv(out)["item"].to_pylist()) == ["a", "b", "c", "d"]
    text = page.read_text()
    assert "Not placed" in text
    assert "never won" in text
    assert "<script" not in text


def test_rank_says_which_row_is_wrong(run: Run, tmp_path: Path) -> None:
    """An unknown outcome is refused with its row, and the command ends with 1."""
    path = tmp_path / "battles.csv"
    path.write_text("model_a,model_b,winner\na,b,model_a\na,b,draw\n")
    outcome = run("rank", path)
    assert outcome.code == 1
    assert "row 2: 'draw'" in outcome.err


def test_rank_protects_votes_and_says_whom(run: Run, battles: Path) -> None:
    """With --epsilon ties are protected too; without public items or a public schedule: refused."""
    items = battles.with_name("items.csv")
    items.write_text("item\na\nb\nc\nd\n")
    words = ("rank", battles, "--epsilon", 1, "--json")
    assert "--items FILE" in run(*words).err
    unsaid = run(*words, "--items", items)
    assert (unsaid.code, "--public-menus" in unsaid.err) == (1, True)
    result = run(*words, "--items", items, "--public-menus").json
    promise = result["guarantee"]
    assert (promise["unit"], promise["trust"], promise["status"]) == (
        "choice",
        "aggregator",
        "proven",
    )
    assert (promise["epsilon"], promise["voter_level_epsilon"]) == (1, 4)
    assert [one["item"] for one in sorted(result["items"], key=lambda one: one["item"])] == [
        *"abcd"
    ]
    assert result["items"][0]["wins"] is None
    local = run(
        *words, "--items", items, "--public-menus", "--mechanism", "battle-scores:trust=local"
    )
    assert local.json["guarantee"]["trust"] == "local"
    voters = run(
        *words[:-1],
        *("--items", items, "--unit", "voter"),
        "--mechanism",
        "battle-scores:votes_each=4",
    )
    assert "their number is private; about" in voters.out
    page = battles.with_name("private.html")
    shown = run(*words[:-1], "--items", items, "--public-menus", "--report", page)
    assert shown.out.index("Protects each choice") < shown.out.index("leaderboard")
    assert "protected" in page.read_text()
    assert "leave out --ties" in run(*words, "--items", items, "--prior", 2, "--public-menus").err
    assert "has no epsilon" in run(*words, "--mechanism", "none").err
