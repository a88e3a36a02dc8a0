"""``masquerade truth`` on categories: the default, gold labels, remarks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Run
from typer.testing import CliRunner

from masquerade.cli import app
from masquerade.errors import ParameterError
from masquerade.truth import METHODS

CLAIMS = "task,worker,label\n" + "".join(
    f"t{t},w{w},{'b' if w < 3 else 'a'}\n" for t in range(6) for w in range(5)
)


@pytest.fixture
def claims(tmp_path: Path) -> Path:
    """Return a file in which three of five workers always say b."""
    path = tmp_path / "claims.csv"
    path.write_text(CLAIMS, "utf-8")
    return path


def _truth(*arguments: object) -> dict[str, Any]:
    done = CliRunner().invoke(app, ["truth", *map(str, arguments), "--json"])
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    "name", ["auto", *(method.name for method in METHODS if method.kind == "categorical")]
)
def test_every_method_for_categories_runs(claims: Path, tmp_path: Path, name: str) -> None:
    """Each name is taken, and auto is the default."""
    gold = tmp_path / "gold.csv"
    gold.write_text("task,truth\nt0,b\n", "utf-8")
    known = ["--gold", gold] if name == "gold-majority-vote" else []
    found = _truth(claims, "--method", name, *known)
    assert found["claims"] == 30
    if name == "auto":
        assert found["method"] == _truth(claims)["method"] == "auto"


def test_gold_labels_are_held_on_to(claims: Path, tmp_path: Path) -> None:
    """With --gold, known truths are the labels, and turn the workers' other votes."""
    gold, out = tmp_path / "gold.csv", tmp_path / "out.csv"
    gold.write_text("task,truth\n" + "".join(f"t{t},a\n" for t in range(5)), "utf-8")
    _truth(claims, "--method", "dawid-skene", "--gold", gold, "--out", out)
    rows = out.read_text("utf-8").replace('"', "").split()
    assert rows[1:] == [f"t{t},a" for t in range(6)]


def test_remarks_are_shown(claims: Path) -> None:
    """The limits of the result are in it: here, workers that always say the same."""
    assert any(text.startswith("CONSTANT_WORKER") for text in _truth(claims)["remarks"])


def test_gold_for_numbers_is_refused(tmp_path: Path) -> None:
    """Gold labels are for categories."""
    path = tmp_path / "numbers.csv"
    path.write_text("task,worker,value\na,x,1.5\na,y,2.5\n", "utf-8")
    gold = tmp_path / "gold.csv"
    gold.write_text("task,truth\na,2\n", "utf-8")
    done = CliRunner().invoke(app, ["truth", str(path), "--gold", str(gold)])
    assert isinstance(done.exception, ParameterError)
    assert "for categories" in str(done.exception)


MASKS = {
    "high": "randomized-response:options=2,epsilon=1",
    "low": "randomized-response:options=2,epsilon=4",
}


#: Two of five workers are right; the others say anything.
MIXED = [
    f"t{t},w{w},{'ab'[t % 2 if w > 2 else (t * 7 + w * t * t) // 3 % 2]}"
    for t in range(12)
    for w in range(5)
]


def _with(path: Path, column: str, of_worker: dict[int, str]) -> Path:
    """Write claims with one more column, which each worker has an entry of."""
    named = [f'{row},"{of_worker[int(row.split(",")[1][1:])]}"' for row in MIXED]
    path.write_text("\n".join([f"task,worker,label,{column}", *named]) + "\n", "utf-8")
    return path


def test_each_claim_may_have_a_mechanism(tmp_path: Path) -> None:
    """A column of levels with their table is the same as a column of mechanisms, read unasked."""
    level = {worker: "high" if worker < 3 else "low" for worker in range(5)}
    table = tmp_path / "levels.csv"
    rows = [f'{name},"{text}"' for name, text in MASKS.items()]
    table.write_text("\n".join(["level,mechanism", *rows]) + "\n", "utf-8")
    out, other = tmp_path / "out.csv", tmp_path / "other.csv"
    claims = _with(tmp_path / "a.csv", "level", level)
    found = _truth(claims, "--levels", table, "--method", "one-coin", "--out", out)
    assert found["mechanisms"] == {MASKS["high"]: 36, MASKS["low"]: 24}
    texts = {worker: MASKS[name] for worker, name in level.items()}
    named = _with(tmp_path / "b.csv", "mechanism", texts)
    again = _truth(named, "--method", "one-coin", "--out", other)
    assert again["mechanisms"] == found["mechanisms"]
    assert out.read_text("utf-8") == other.read_text("utf-8")
    # as partitions: a default of its own, and the same labels and counts
    streamed = _truth(claims, "--levels", table, "--engine", "stream", "--out", other)
    assert (streamed["method"], streamed["engine"]) == ("one-coin", "stream")
    assert streamed["mechanisms"] == found["mechanisms"]
    assert out.read_text("utf-8") == other.read_text("utf-8")
    known = tmp_path / "known.csv"
    known.write_text(out.read_text("utf-8").replace("label", "truth"), "utf-8")
    unasked = _truth(named, "--engine", "stream", "--truth", known)
    assert (unasked["method"], unasked["accuracy"]) == ("one-coin", 1.0)
    # two reports at epsilon 4 outweigh three at epsilon 1
    right = [f"t{t},{'ab'[t % 2]}" for t in range(12)]
    assert out.read_text("utf-8").replace('"', "").split()[1:] == right
    assert "mechanisms" not in _truth(named, "--mechanism", MASKS["high"])


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--mechanism", MASKS["high"]), "were both given"),
        (("--kind", "numeric"), "numeric ones are asked for"),
    ],
)
def test_levels_that_cannot_be_meant_are_refused(
    tmp_path: Path, more: tuple[str, str], message: str
) -> None:
    """A table of levels is refused beside one mechanism, and for other claims."""
    table = tmp_path / "levels.csv"
    table.write_text(f'level,mechanism\na,"{MASKS["high"]}"\n', "utf-8")
    claims = _with(tmp_path / "a.csv", "level", dict.fromkeys(range(5), "a"))
    done = CliRunner().invoke(app, ["truth", str(claims), "--levels", str(table), *more])
    assert isinstance(done.exception, ParameterError)
    assert message in str(done.exception)


def test_reliabilities_are_written_and_own_labels_scored(
    run: Run, claims: Path, tmp_path: Path
) -> None:
    """--workers-out has a row a worker, and --truth takes the file that --out wrote."""
    out, workers = tmp_path / "labels.csv", tmp_path / "workers.csv"
    done = run("truth", claims, "--out", out, "--workers-out", workers, "--json")
    assert done.json["workers_out"] == str(workers)
    lines = workers.read_text().splitlines()
    assert (lines[0].split(",")[0].strip('"'), len(lines)) == (
        "worker",
        1 + done.json["workers"],
    )
    assert run("truth", claims, "--truth", out, "--json").json["accuracy"] == 1
    both = run("truth", claims, "--out", out, "--workers-out", out)
    assert (both.code, "another file than --out" in both.err) == (1, True)
    printed = run("truth", claims, "--workers-out", "-", "--json")
    assert printed.out.startswith('"worker"')


def test_probabilities_and_odd_workers_are_written(run: Run, tmp_path: Path) -> None:
    """--probabilities has a column a label, which sum to 1; --advice names who always says one."""
    table, told, sure = (tmp_path / name for name in ("claims.csv", "advice.csv", "sure.csv"))

    def said(task: int, worker: int) -> str:
        wrong = (task + worker) % 9 == 8
        return "yes" if worker < 4 and (task + wrong) % 2 else "no"

    rows = [f"t{task},w{worker},{said(task, worker)}" for task in range(80) for worker in range(5)]
    table.write_text("\n".join(["task,worker,label", *rows]))
    done = run("truth", table, "--probabilities", sure, "--advice", told, "--json")
    assert (done.json["probabilities"], done.json["advice"]) == (str(sure), str(told))
    found = [line.split(",") for line in sure.read_text().splitlines()]
    assert sorted(name.strip('"') for name in found[0]) == ["no", "task", "yes"]
    assert all(abs(float(a) + float(b) - 1) < 1e-9 for _, a, b in found[1:])
    assert [line.split(",")[:2] for line in told.read_text().splitlines()[1:]] == [
        ['"w4"', '"CONSTANT"']
    ]
    assert "another file" in run("truth", table, "--advice", sure, "--probabilities", sure).err
    table.write_text("task,worker,value\na,b,1.5\nc,d,2.5\n")
    assert "these are numbers" in run("truth", table, "--advice", told).err


ODD = ("--task-column", "Aufgabe", "--worker-column", "Kodierer", "--label-column", "Urteil")


@pytest.mark.parametrize(
    ("rows", "words", "said"),
    [
        ("1,a,ja\n1,b,\n", (), "column 'Urteil', row 2: the label is missing"),
        ("1,a,ja\n,b,ja\n", (), "column 'Aufgabe', row 2: the id is missing"),
        ("1,a,ja\n1,b,x\n", ("--options", "ja,nein"), "column 'Urteil', row 2: 'x' is not one of"),
        ("1,a,3\n1,b,x\n", ("--kind", "numeric"), "column 'Urteil', row 2: 'x' is not a number"),
        ("".join(f"{n},a,{n}\n" for n in range(30)), (), "column 'Urteil' holds 30 different"),
    ],
)
def test_columns_are_called_as_in_the_file(
    run: Run, tmp_path: Path, rows: str, words: tuple[str, ...], said: str
) -> None:
    """Errors in columns that options name have the file's own name, never ours."""
    path = tmp_path / "odd.csv"
    path.write_text("Aufgabe,Kodierer,Urteil\n" + rows, "utf-8")
    refused = run("truth", path, *ODD, *words)
    assert refused.code == 1
    assert said in " ".join(refused.err.split())


@pytest.mark.parametrize(
    ("head", "words", "lead"),
    [
        ("Aufgabe,Kodierer,Urteil", (), ("task", "worker", "label")),
        ("Aufgabe,Kodierer,Urteil", ODD[4:], ("task", "worker")),
        ("task,Kodierer,Urteil", ODD[2:4], ("label",)),
        ("Aufgabe,worker,label", (), ("task",)),
    ],
)
def test_missing_columns_lead_to_the_options_that_name_them(
    run: Run, tmp_path: Path, head: str, words: tuple[str, ...], lead: tuple[str, ...]
) -> None:
    """The refusal lists the file's columns, and an option for each missing one and no other."""
    path = tmp_path / "odd.csv"
    path.write_text(f"{head}\n1,a,ja\n1,b,nein\n", "utf-8")
    refused = run("truth", path, *words)
    said = " ".join(refused.err.split())
    assert refused.code == 1
    assert str(head.split(",")) in said
    for name in ("task", "worker", "label"):
        assert (f"--{name}-column" in said) == (name in lead)


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("aufgabe,label\nt0,b\n", "the table of truths has ['aufgabe', 'label']"),
        ("task,label\nt0,b\nt1,\n", "column 'label', row 2: the truth is missing"),
    ],
)
def test_columns_of_gold_are_called_as_in_the_file(
    run: Run, claims: Path, tmp_path: Path, gold: str, said: str
) -> None:
    """A label that stands for the truth keeps its name in errors."""
    path = tmp_path / "gold.csv"
    path.write_text(gold, "utf-8")
    refused = run("truth", claims, "--gold", path)
    assert (refused.code, said in " ".join(refused.err.split())) == (1, True)
