"""The commands that read and write files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

Run = Callable[..., Any]

TWO_LAYER = "two-layer:options=2,low=0,high=0.5379"


def test_truth_prints_the_promised_keys_as_one_json_object(run: Run, claims: Path) -> None:
    """``truth --json`` gives the documented keys and nothing else on standard output."""
    truths = claims.with_name("truth.csv")
    truths.write_text("task,truth\na,yes\nb,yes\n")
    outcome = run("truth", claims, "--truth", truths, "--json")
    result = outcome.json
    assert outcome.code == 0
    assert outcome.err == ""
    assert {"method", "converged", "seconds", "kind", "iterations"} <= set(result)
    assert (result["tasks"], result["workers"], result["claims"]) == (3, 3, 9)
    assert (result["accuracy"], result["baseline"], result["scored"]) == (0.5, 0.5, 2)


@pytest.mark.parametrize("method", ["majority-vote", "TruthDiscovery", "one_coin"])
def test_truth_writes_the_answers_of_every_method(run: Run, claims: Path, method: str) -> None:
    """``--out`` holds one label a task, found by the method named in any common spelling."""
    out = claims.with_name("answers.csv")
    assert run("truth", claims, "--method", method, "--out", out).code == 0
    rows = pa_csv.read_csv(out).to_pydict()
    assert (rows["task"], rows["label"]) == (["a", "b", "c"], ["yes", "no", "yes"])


def test_truth_takes_numbers(run: Run, tmp_path: Path) -> None:
    """A column of numbers is scored by mean absolute error, with the median as baseline."""
    path, truths = tmp_path / "claims.csv", tmp_path / "truth.csv"
    path.write_text("task,worker,value\na,x,1.5\na,y,2.5\na,z,9\nb,x,4\n")
    truths.write_text("task,truth\na,2\nb,5\n")
    result = run("truth", path, "--method", "mean", "--truth", truths, "--json").json
    assert result["kind"] == "numeric"
    assert result["mae"] == pytest.approx((13 / 3 - 2 + 1) / 2)
    assert result["baseline"] == pytest.approx((0.5 + 1) / 2)


def test_randomize_then_truth_goes_round(run: Run, tmp_path: Path) -> None:
    """Masked claims can be read back and inferred from, with the mechanism's text form."""
    made, reports, truths = (tmp_path / name for name in ("c.parquet", "r.csv.gz", "t.csv"))
    run("simulate", "crowd", "--out", made, "--truth-out", truths, "--tasks", 100, "--json")
    masked = run(
        "randomize", made, "--options", "0,1", "--mechanism", TWO_LAYER, "--out", reports, "--json"
    ).json
    assert masked["reports"] == 1000
    assert masked["mechanism"] == TWO_LAYER
    assert masked["guarantee"]["status"] == "proven"
    result = run("truth", reports, "--mechanism", TWO_LAYER, "--truth", truths, "--json").json
    assert result["method"] == "auto"
    assert result["scored"] == 100


def test_randomize_leaves_the_claims_alone_and_draws_anew(run: Run, claims: Path) -> None:
    """The input file is unchanged, and two runs differ: no seed reaches a report."""
    before = claims.read_bytes()
    words = ("--options", "0,1", "--mechanism", "randomized-response:options=2,epsilon=0.1")
    big = claims.with_name("big.csv")
    big.write_text("task,worker,label\n" + "".join(f"t{i},w,{i % 2}\n" for i in range(200)))
    outs = [claims.with_name(f"r{i}.csv") for i in range(2)]
    for out in outs:
        assert run("randomize", big, *words, "--out", out).code == 0
    assert outs[0].read_bytes() != outs[1].read_bytes()
    assert claims.read_bytes() == before


def test_reports_are_not_masked_twice_unawares(run: Run, claims: Path) -> None:
    """Reports that exist are kept, and the refusal says what a second mask costs."""
    out = claims.with_name("reports.csv")
    mask = ("--options", "yes,no", "--mechanism", "randomized-response:options=2,epsilon=1")
    words = ("randomize", claims, *mask, "--out")
    assert run(*words, out).code == 0
    out.write_text("mine")
    refused = run(*words, out)
    said = " ".join(refused.err.split())
    assert (refused.code, refused.out, out.read_text()) == (1, "", "mine")
    assert "masks the same answers again and costs as much privacy again" in said
    assert "--overwrite" in said
    assert run(*words, out, "--overwrite").code == 0
    assert out.read_text().startswith('"task"')
    assert all(run(*words, "-").code == 0 for _ in range(2))


def test_privacy_gives_the_reference_values(run: Run) -> None:
    """Twenty answers under two-layer U(0, 1) cost 0, 2.996 and 12.127."""
    result = run("privacy", "two-layer:options=2,low=0,high=1", "--answers", 20, "--json").json
    assert result["epsilon_single"] == 0
    assert result["epsilon_event"] == pytest.approx(2.996, abs=1e-3)
    assert result["epsilon_user"] == pytest.approx(12.127, abs=1e-3)
    assert (result["delta"], result["unit"], result["status"]) == (0, "worker", "proven")
    assert result["assumptions"]


def test_privacy_says_infinite_in_strict_json(run: Run) -> None:
    """A mechanism without protection has the amount "inf", which strict JSON can hold."""
    outcome = run("privacy", "randomized-response:options=2,flip_probability=0", "--json")
    assert outcome.json["epsilon_single"] == "inf"


def test_privacy_explains_in_words(run: Run) -> None:
    """Without ``--json`` the loss is told in odds too."""
    out = run("privacy", "randomized-response:options=2,epsilon=1", "--answers", 3).out
    assert "50:50" in " ".join(out.replace("│", " ").split())


def test_simulate_is_reproducible(run: Run, tmp_path: Path) -> None:
    """The same seed makes the same crowd, another seed another."""
    files = [tmp_path / f"{i}.csv" for i in range(3)]
    for path, seed in zip(files, (1, 1, 2), strict=True):
        run("simulate", "crowd", "--out", path, "--seed", seed)
    assert files[0].read_bytes() == files[1].read_bytes() != files[2].read_bytes()


BAD_CLAIMS = {
    "no rows": ("task,worker,label\n", "no rows"),
    "missing column": ("task,label\na,x\n", "'worker'"),
    "missing task": ("task,worker,label\na,x,1\n,y,1\n", "row 2"),
    "missing label": ("task,worker,label\na,x,1\na,y,\n", "row 2"),
    "nan label": ("task,worker,label\na,x,1\nb,y,NaN\n", "row 2"),
    "duplicate": ("task,worker,label\na,x,1\nb,x,1\na,x,0\n", "row 3: worker 'x'"),
    "ragged": ("task,worker,label\na,x,1\nb,x\n", "cannot be read"),
}


@pytest.mark.parametrize("command", ["truth", "randomize"])
@pytest.mark.parametrize("case", BAD_CLAIMS)
def test_bad_claims_are_refused_and_nothing_is_written(
    run: Run, tmp_path: Path, case: str, command: str
) -> None:
    """Each kind of bad row ends with code 1, names the row on standard error, writes no file."""
    text, said = BAD_CLAIMS[case]
    path, out = tmp_path / "claims.csv", tmp_path / "out.csv"
    path.write_text(text)
    words = ("--mechanism", "randomized-response:options=2,epsilon=1") * (command == "randomize")
    outcome = run(command, path, *words, "--out", out, "--json")
    assert outcome.code == 1
    assert outcome.out == ""
    assert said in outcome.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("truth", "nowhere.csv"), "nowhere.csv is not a file"),
        (("truth", "{claims}", "--options", "yes,maybe"), "row 4"),
        (("truth", "{claims}", "--mechanism", "randomized-response:options=3,epsilon=1"), "3"),
        (("truth", "{claims}", "--method", "median"), "row 1"),
        (("privacy", "one-layer:options=2"), "one-layer"),
        (("privacy", "two-layer:options=2,low=0.5,high=0.1"), "low <= high"),
        (("privacy", "two-layer:options=2,low=0,high=2"), "<= 1"),
        (("privacy", "randomized-response:options=1,epsilon=1"), "options"),
        (("privacy", "randomized-response:options=2,epsilon=-1"), "epsilon"),
        (("privacy", "randomized-response:options=2,epsilon=nan"), "epsilon"),
        (("privacy", "randomized-response:options=2"), "flip_probability"),
        (("randomize", "{claims}", "--mechanism", "x:y", "--out", "o.csv"), "mechanism"),
        (
            (
                "randomize",
                "{claims}",
                "--options",
                "no,yes",
                "--mechanism",
                TWO_LAYER,
                "--out",
                "o.txt",
            ),
            "ending",
        ),
    ],
)
def test_bad_parameters_are_refused(
    run: Run, claims: Path, words: tuple[str, ...], said: str
) -> None:
    """A value out of range ends with code 1 and a message that names it."""
    outcome = run(*(word.format(claims=claims) for word in words))
    assert outcome.code == 1
    assert said in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize(
    "words",
    [
        ("truth",),
        ("privacy", "x", "--answers", "many"),
        ("dance",),
        ("truth", "x", "--y"),
        ("truth", "x", "--duplicates", "some"),
        ("truth", "x", "--method", "guess"),
    ],
)
def test_wrong_usage_ends_with_code_2(run: Run, words: tuple[str, ...]) -> None:
    """A missing argument, an unknown command, option or choice is a matter of usage."""
    assert run(*words).code == 2


def test_every_command_has_help(run: Run) -> None:
    """``--help`` works for the command and all below it."""
    for words in (
        (),
        ("demo",),
        ("serve",),
        ("truth",),
        ("privacy",),
        ("randomize",),
        ("simulate",),
        ("simulate", "crowd"),
    ):
        outcome = run(*words, "--help")
        assert outcome.code == 0
        assert "Usage" in outcome.out


def test_the_package_runs_as_a_module() -> None:
    """``python -m masquerade`` is the same command."""
    done = subprocess.run(
        [sys.executable, "-m", "masquerade", "privacy", TWO_LAYER, "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["mechanism"] == TWO_LAYER


def test_parquet_in_and_out(run: Run, tmp_path: Path) -> None:
    """Claims and answers can be Parquet."""
    made, out = tmp_path / "c.parquet", tmp_path / "a.parquet"
    run("simulate", "crowd", "--out", made, "--tasks", 10, "--options", 3)
    assert run("truth", made, "--out", out).code == 0
    assert pa_parquet.read_table(out).column_names == ["task", "label"]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("task;worker;label\na;x;u\n", "separated by semicolons"),
        ("Task,Worker,Label\na,x,u\n", "'Task' as task"),
        ("task, worker, label\na, x, u\n", "' worker' as worker"),
        ("item,ann,bob\na,yes,no\nb,no,no\n", "a column an annotator: 4 claims"),
    ],
)
def test_what_is_taken_from_a_file_of_another_dialect_is_said(
    run: Run, tmp_path: Path, text: str, note: str
) -> None:
    """Semicolons, capitals, spaces in the header and wide tables are read, with a note."""
    path = tmp_path / "claims.csv"
    path.write_text(text)
    found = run("truth", path)
    assert (found.code, note in found.err) == (0, True)


def test_columns_of_any_name_can_be_named(run: Run, tmp_path: Path) -> None:
    """The options name them; where several could be meant, the error names the option."""
    path = tmp_path / "claims.csv"
    path.write_text("item,question,coder,code\na,q,x,u\nb,q,x,v\n")
    found = run("truth", path)
    assert (found.code, "--task-column" in found.err) == (1, True)
    named = ("--task-column", "item", "--label-column", "code")
    assert run("truth", path, *named).code == 0
    found = run("truth", path, *named, "--engine", "stream")
    assert (found.code, "Use --engine memory" in found.err) == (1, True)
    found = run("truth", path, "--wide", "--layout", "toloka")
    assert (found.code, "leave one of them out" in found.err) == (1, True)


@pytest.mark.parametrize("words", [("simulate", "crowd"), ("simulate", "comparisons")])
def test_a_seed_below_0_is_wrong_usage(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    """Generators take no such seed, and the command says so itself."""
    found = run(*words, "--out", tmp_path / "x.csv", "--seed", -1)
    assert (found.code, "--seed" in found.err) == (2, True)


def test_the_order_of_the_claims_is_not_that_of_the_reports(run: Run, tmp_path: Path) -> None:
    """A file sorted by answer would show the answers; reports stand by task and worker."""
    rows = [(f"t{i}", f"w{i % 3}", "yes" if i % 2 else "no") for i in range(9)]
    words = ("--options", "no,yes", "--mechanism", "randomized-response:options=2,epsilon=1")
    orders = []
    for name, given in (("a", rows), ("b", sorted(rows, key=lambda row: row[2]))):
        path, out = tmp_path / f"{name}.csv", tmp_path / f"{name}-reports.csv"
        path.write_text("task,worker,label\n" + "".join(",".join(row) + "\n" for row in given))
        assert run("randomize", path, *words, "--out", out).code == 0
        orders.append([line.split(",")[:2] for line in out.read_text().splitlines()])
    assert orders[0] == orders[1]


def test_several_reports_of_a_pair_stand_in_an_order_of_their_own(run: Run, tmp_path: Path) -> None:
    """60 answers of one worker to one task, sorted: their reports stand by the answers.

    In the order of the answers one changed answer would change the place of others too.
    """
    path, out = tmp_path / "claims.csv", tmp_path / "reports.csv"
    given = [label for label in "abc" for _ in range(20)]
    path.write_text("task,worker,label\n" + "".join(f"t,w,{label}\n" for label in given))
    words = ("--options", "a,b,c", "--mechanism", "randomized-response:options=3,epsilon=0.1")
    assert run("randomize", path, *words, "--duplicates", "all", "--out", out).code == 0
    told = [line.split(",")[2] for line in out.read_text().splitlines()[1:]]
    # reports in the order of the answers are sorted by chance with a probability below 1e-20
    assert told == sorted(told)


def test_options_seen_in_answers_and_lists_of_hidden_tasks_are_asked_for(
    run: Run, tmp_path: Path
) -> None:
    """`randomize` refuses to read off the answers anything that its reports would show."""
    path, tasks, workers, out = (tmp_path / f"{name}.csv" for name in ("c", "t", "w", "r"))
    path.write_text("task,worker,label\na,x,yes\nb,y,no\n")
    tasks.write_text("task\na\nb\nc\n")
    workers.write_text("worker\nx\ny\nz\n")
    plain = ("randomize", path, "--out", out, "--overwrite", "--mechanism")
    assert "--options" in run(*plain, "randomized-response:options=2,epsilon=1").err
    hidden = (
        *plain,
        "randomized-response:options=2,epsilon=1,null=true",
        "--options",
        "no,yes",
        "--presence",
        "hidden",
        "--json",
    )
    assert "--tasks FILE" in run(*hidden).err
    assert "--workers FILE" in run(*hidden, "--tasks", tasks).err
    found = run(*hidden, "--tasks", tasks, "--workers", workers).json
    assert found["reports"] == 9
    assumed = found["guarantee"]["assumptions"]
    assert any("which tasks were answered is protected" in one for one in assumed)
    assert not any("may be seen" in one for one in assumed)
    shown = [*hidden[:-2], "assigned", "--json"]
    assumed = run(*shown, "--tasks", tasks, "--workers", workers).json["guarantee"]["assumptions"]
    assert "which tasks a person answered may be seen; what was answered is protected" in assumed


@pytest.mark.parametrize(
    ("spec", "status"), [("warner:p=0.8", "assumed"), ("mangat:p=0.6", "none")]
)
def test_privacy_shows_what_is_assumed_and_says_no_sentence_of_it(
    run: Run, spec: str, status: str
) -> None:
    """A design that nobody checks has its table, its status and its assumptions; no odds."""
    shown = run("privacy", spec, "--answers", "2")
    assert shown.code == 0
    assert status in shown.out
    assert "nobody checks it" in shown.out
    assert "sure after" not in shown.out
    assert "ethics" not in shown.out
