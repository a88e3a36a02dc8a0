"""``masquerade prefer`` and ``masquerade simulate comparisons``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pytest

Run = Callable[..., Any]


@pytest.fixture
def choices(run: Run, tmp_path: Path) -> Path:
    """Return a file of made-up choices; test.csv and truth.csv are next to it."""
    path = tmp_path / "choices.csv"
    outcome = run(
        "simulate",
        "comparisons",
        "--out",
        path,
        "--test-out",
        path.with_name("test.csv"),
        "--truth-out",
        path.with_name("truth.csv"),
        "--voters",
        30,
        "--records",
        20,
        "--features",
        3,
        "--json",
    )
    assert outcome.json["records"] == 600
    return path


def test_prefer_prints_the_promised_keys_as_one_json_object(run: Run, choices: Path) -> None:
    """``prefer --json`` gives the documented keys and nothing else on standard output."""
    outcome = run(
        "prefer", choices, "--mechanism", "none", "--test", choices.with_name("test.csv"), "--json"
    )
    result = outcome.json
    assert (outcome.code, outcome.err) == (0, "")
    assert result["features"] == ["f0", "f1", "f2"]
    assert len(result["weights"]) == 3
    assert (result["voters"], result["records"], result["scored"]) == (30, 600, 300)
    assert result["accuracy"] > result["baseline"] > 0.5
    assert result["reference"] == "r4"
    assert result["guarantee"]["status"] == "none"
    assert {"unit", "trust", "epsilon", "voter_level_epsilon"} <= set(result["guarantee"])


def test_prefer_prints_a_statement_for_people(run: Run, choices: Path) -> None:
    """Without ``--json`` the output begins with the protected unit."""
    outcome = run("prefer", choices, "--mechanism", "none:fit=average")
    assert outcome.code == 0
    assert outcome.out.index("No privacy") < outcome.out.index("f0")
    assert "±" in outcome.out


def test_prefer_writes_the_weights(run: Run, choices: Path) -> None:
    """``--out`` holds one row a feature."""
    out = choices.with_name("weights.csv")
    result = run("prefer", choices, "--mechanism", "none", "--out", out, "--json").json
    rows = pa_csv.read_csv(out).to_pydict()
    assert rows["feature"] == ["f0", "f1", "f2"]
    assert rows["weight"] == pytest.approx(result["weights"])
    truth = pa_csv.read_csv(choices.with_name("truth.csv")).to_pydict()
    assert truth["feature"] == rows["feature"]


def test_prefer_reads_ranges_and_features(run: Run, tmp_path: Path) -> None:
    """Columns, public ranges, own voters and a cap are options."""
    path = tmp_path / "c.csv"
    path.write_text("voter,price,comfort,note\na,-10,1,x\na,5,1,y\nb,20,-1,z\nb,-5,0,w\n")
    words = (
        "prefer",
        path,
        "--mechanism",
        "none:fit=average",
        "--features",
        "price,comfort",
        "--ranges",
        "price=0:100,comfort=0:2",
        "--json",
    )
    assert run(*words).json["records"] == 4
    assert run(*words, "--most-records", 1).json["records"] == 2
    path.write_text("price,comfort\n-10,1\n5,1\n20,-1\n")
    assert (
        run("prefer", path, "--mechanism", "none:bound=5", "--one-each", "--json").json["voters"]
        == 3
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--mechanism", "nonsense"), "MechanismSyntaxError"),
        (("--mechanism", "none", "--epsilon", 1), "adds no noise"),
        (("--mechanism", "none", "--ranges", "f0"), "NAME=LOW:HIGH"),
        (("--mechanism", "none", "--ranges", "f0=0:x"), "NAME=LOW:HIGH"),
        (("--mechanism", "none", "--features", "speed"), "'speed'"),
    ],
)
def test_a_refusal_is_one_line_and_exit_code_1(
    run: Run, choices: Path, words: tuple[object, ...], message: str
) -> None:
    """Impossible requests are told on standard error, with nothing on standard output."""
    outcome = run("prefer", choices, *words)
    assert outcome.code == 1
    assert message in outcome.err
    assert outcome.out == ""


def test_a_mechanism_must_be_named(run: Run, choices: Path) -> None:
    """Nobody learns without privacy by leaving an option out."""
    left_out = run("prefer", choices)
    assert left_out.code == 1
    said = " ".join(left_out.err.split())
    assert "auto needs an epsilon" in said
    # each way out that the sentence names is one
    assert "--epsilon 1 " in said
    assert "--mechanism none" in said
    assert run("prefer", choices, "--mechanism", "none").code == 0
    assert run("prefer", choices, "--epsilon", "1").code == 0


def test_prefer_protects_and_says_whom(run: Run, choices: Path) -> None:
    """A private result names its unit, trust, epsilon and the epsilon of a whole voter."""
    words = ("prefer", choices, "--mechanism", "choice-response", "--epsilon", "0.5")
    unsaid = run(*words)
    assert (unsaid.code, "--public-menus" in unsaid.err, unsaid.out) == (1, True, "")
    guarantee = run(*words, "--public-menus", "--json").json["guarantee"]
    assert any("public_menus" in each for each in guarantee["assumptions"])
    assert (guarantee["unit"], guarantee["trust"], guarantee["status"]) == (
        "choice",
        "local",
        "proven",
    )
    assert guarantee["epsilon"] == pytest.approx(0.5, abs=1e-6)
    assert guarantee["voter_level_epsilon"] == pytest.approx(10, abs=1e-4)
    assert "each choice" in run(*words, "--public-menus").out


def test_prefer_takes_personal_epsilons(run: Run, tmp_path: Path) -> None:
    """``--epsilons`` names everybody that was asked, once, with an epsilon of their own."""
    path, budgets = tmp_path / "c.csv", tmp_path / "e.csv"
    path.write_text("voter,f,g\na,1,2\nb,-1,1\na,2,0\n")
    budgets.write_text("voter,epsilon\na,0.5\nb,1\nc,2\n")
    words = ("prefer", path, "--mechanism", "linear-knorm", "--epsilons", budgets, "--json")
    result = run(*words).json
    assert (result["voters"], result["records"]) == (3, 3)
    assert result["guarantee"]["epsilon"] == pytest.approx(2, abs=1e-6)
    assert set(result["details"]["share_by_epsilon"]) == {"0.5", "1", "2"}
    assert "one of the two" in run(*words, "--epsilon", 1).err
    budgets.write_text("voter,epsilon\na,0.5\nb,1\na,2\n")
    assert "DuplicateVoter" in run(*words).err
    budgets.write_text("voter,epsilon\na,0.5\nb,0\n")
    assert "ParameterError" in run(*words).err
    budgets.write_text("voter,loss\na,0.5\n")
    assert "'epsilon' is missing" in run(*words).err


def test_a_range_given_twice_and_a_voter_without_id_are_refused(run: Run, tmp_path: Path) -> None:
    """Neither the last of two ranges nor a nameless voter is taken in silence."""
    choices, personal = tmp_path / "choices.csv", tmp_path / "epsilons.csv"
    choices.write_text("voter,x\na,1\nb,-1\n")
    personal.write_text("voter,epsilon\na,1\n,2\n")
    words = ("prefer", choices, "--mechanism", "direction-selection")
    twice = run(*words, "--epsilon", 1, "--ranges", "x=0:3,x=0:2")
    assert (twice.code, "--ranges names 'x' twice" in twice.err) == (1, True)
    nameless = run(*words, "--epsilons", personal, "--ranges", "x=0:3")
    assert (nameless.code, "the id of declared voter 2 is missing" in nameless.err) == (1, True)


def test_the_command_needs_a_list_of_items_and_prints_it(run: Run, tmp_path: Path) -> None:
    """`--items FILE` (item): its rows in its order; without it a private result is refused."""
    drugs = ["zinc", "insulin", "aspirin", "bromine"]
    choices, items = tmp_path / "choices.csv", tmp_path / "items.csv"
    choices.write_text("voter,chosen,rejected\na,zinc,aspirin\nb,aspirin,zinc\nc,zinc,bromine\n")
    items.write_text("item\n" + "\n".join(drugs) + "\n")
    words = ("prefer", choices, "--mechanism", "linear-knorm", "--epsilon", 1, "--json")
    refused = run(*words)
    assert (refused.code, "--items FILE" in refused.err, refused.out) == (1, True, "")
    assert run(*words, "--items", items).json["features"] == drugs
    items.write_text("item\nzinc\naspirin\n")
    outcome = run(*words, "--items", items)
    assert (outcome.code, "'bromine' is not among the 2 listed" in outcome.err) == (1, True)
    ignored = run(*words, "--items", items, "--unlisted", "ignore").json
    assert (ignored["features"], ignored["records"]) == (["zinc", "aspirin"], 3)
    plain = run("prefer", choices, "--mechanism", "none:bound=3", "--json").json
    assert plain["guarantee"]["status"] == "none"


def test_a_column_of_ties_is_not_ignored(run: Run, tmp_path: Path) -> None:
    """Neither beside items nor as a feature; nor is any other column that would not be read."""
    path = tmp_path / "c.csv"
    words = ("prefer", path, "--mechanism", "none:bound=3")
    path.write_text("voter,chosen,rejected,tie\na,x,y,0\nb,y,x,1\n")
    assert (run(*words).code, "column 'tie'" in run(*words).err) == (1, True)
    path.write_text("voter,price,tie\na,1,0\nb,2,1\n")
    assert (run(*words).code, "column 'tie'" in run(*words).err) == (1, True)
    assert run(*words, "--features", "price").code == 0
    path.write_text("voter,chosen,rejected,price\na,x,y,3\n")
    assert "['price'] stand beside" in run(*words).err


def test_features_without_a_range_are_remarked_on(run: Run, choices: Path) -> None:
    """On standard error, where the unit of a feature decides how much it counts."""
    private = ("prefer", choices, "--mechanism", "linear-knorm", "--epsilon", 1)
    assert "no --ranges were given" in run(*private).err
    assert "no --ranges" not in run(*private, "--ranges", "f0=0:9,f1=0:9,f2=0:9").err
    assert "no --ranges" not in run("prefer", choices, "--mechanism", "none").err


def test_what_is_scored_on_raw_choices_says_so(run: Run, choices: Path) -> None:
    """Accuracy and baseline are outside the guarantee, and no time tells of the records."""
    result = run(
        "prefer",
        choices,
        "--mechanism",
        "choice-response",
        "--epsilon",
        1,
        "--public-menus",
        "--json",
        "--test",
        choices.with_name("test.csv"),
    ).json
    assert result["scored_guarantee"].startswith("none")
    assert "seconds" not in result


def test_a_page_and_a_ranking_of_alternatives(run: Run, tmp_path: Path) -> None:
    """`--alternatives` adds a ranking with ranks and intervals, `--report` a page; a name once."""
    choices, names = tmp_path / "choices.csv", tmp_path / "names.csv"
    rows = "".join(f"{i % 9},{-1 - i % 3},{i % 2}\n" for i in range(90))
    choices.write_text(f"voter,price,comfort\n{rows}", encoding="utf-8")
    names.write_text("name,price,comfort\ncheap,1,0\ndear,4,0\n", encoding="utf-8")
    page = tmp_path / "page.html"
    more = ("--ranges", "price=0:5,comfort=0:2", "--alternatives", str(names))
    result = run("prefer", str(choices), "--epsilon", "2", *more, "--report", str(page), "--json")
    assert result.code == 0
    ranking = result.json["ranking"]
    assert [row["alternative"] for row in ranking] == ["cheap", "dear"]
    assert "Who beats whom" in page.read_text(encoding="utf-8")
    names.write_text("name,price,comfort\ncheap,1,0\ncheap,4,0\n", encoding="utf-8")
    refused = run("prefer", str(choices), "--epsilon", "2", *more)
    assert refused.code == 1
    assert "twice" in refused.err


def test_menus_and_rankings_are_read(run: Run, tmp_path: Path) -> None:
    """Menus with auto and with none; rankings hide a voter, or nobody; no rank twice."""
    menus, ranked = tmp_path / "menus.csv", tmp_path / "ranked.csv"
    rows = "".join(f"{i % 6},{i},{int(p == 1)},{p}\n" for i in range(60) for p in (1, 3, 4))
    menus.write_text(f"voter,choice,chosen,price\n{rows}", encoding="utf-8")
    how = ("--ranges", "price=0:10", "--json")
    assert "--public-menus" in run("menus", str(menus), *how, "--epsilon", "2").err
    masked = run("menus", str(menus), *how, "--epsilon", "2", "--public-menus")
    assert masked.json["guarantee"]["trust"] == "local"
    plain = run("menus", str(menus), *how, "--mechanism", "none").json
    assert plain["weights"][0] < 0
    assert run("menus", str(menus), *how).code == 1
    assert run("menus", str(menus), *how, "--mechanism", "direction-selection").code == 1
    rows = "".join(f"{v},{item},{rank}\n" for v in range(5) for rank, item in enumerate("abc"))
    ranked.write_text(f"voter,item,rank\n{rows}", encoding="utf-8")
    found = run("rank", str(ranked), "--mechanism", "none", "--json")
    assert [row["alternative"] for row in found.json["ranking"]] == [*"abc"]
    unnamed = run("rank", str(ranked), "--epsilon", "1")
    assert (unnamed.code, "public list" in unnamed.err) == (1, True)
    listed = tmp_path / "items.csv"
    listed.write_text("item\na\nb\nc\nd\n", encoding="utf-8")
    given = ("--epsilon", "1", "--items", str(listed), "--json")
    private = run("rank", str(ranked), *given).json
    assert (private["guarantee"]["unit"], private["features"]) == ("voter", [*"abcd"])
    refused = run("rank", str(ranked), *given, "--mechanism", "item-wins")
    assert (refused.code, "the other pairs would tell it" in refused.err) == (1, True)
    ranked.write_text("voter,item,rank\n1,a,1\n1,b,1\n", encoding="utf-8")
    assert "same rank" in run("rank", str(ranked), "--mechanism", "none").err
