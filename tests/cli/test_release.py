"""``masquerade release``."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pytest

from masquerade.cli.release import release

Run = Callable[..., Any]


@pytest.fixture
def numbers(tmp_path: Path) -> Path:
    """Return a file of numeric claims about two objects."""
    path = tmp_path / "numbers.csv"
    rows = [f"a,{w},{v}\n" for w, v in zip("rstuvwxyz", (4, 5, 5, 5, 6, 5, 4, 6, 5), strict=True)]
    rows += [f"b,{w},{v}\n" for w, v in zip("rst", (1, 2, 1), strict=True)]
    path.write_text("task,worker,value\n" + "".join(rows))
    return path


def test_release_prints_the_promised_keys_and_writes_its_files(run: Run, numbers: Path) -> None:
    """Rows, summary, shares, codebook and page; errors only where the claims may be read."""
    out, page = numbers.with_name("out.csv.gz"), numbers.with_name("page.html")
    options = ("--epsilon", "1", "--domain", "-10", "10", "--out", out, "--report", page, "--json")
    result = run("release", numbers, *options).json
    assert (result["objects"], result["released"], result["for"]) == (2, 12, "claims")
    assert result["guarantee"]["epsilon"] == 1.0
    assert "errors" not in result
    assert all(Path(path).is_file() for path in result["files"])
    rows = pa_csv.read_csv(out).to_pydict()
    assert rows["task"] == ["a"] * 9 + ["b"] * 3
    assert all(-10 <= value <= 10 for value in rows["value"])
    summary = pa_csv.read_csv(numbers.with_name("out.summary.csv")).to_pydict()
    assert summary["claims"] == [9, 3]
    assert all(
        low <= high for low, high in zip(summary["q50_low"], summary["q50_high"], strict=True)
    )
    assert json.loads(numbers.with_name("out.codebook.json").read_text())["rows"] == 12
    assert "For the collector only" not in page.read_text()
    compared = run("release", numbers, *options, "--compare", "--overwrite").json
    assert compared["errors"]["wasserstein"] >= 0
    assert "For the collector only" in page.read_text()


def test_a_list_of_objects_is_released_whole(run: Run, numbers: Path) -> None:
    """Listed objects are all in the summary, also without claims; others are not."""
    listed, out = numbers.with_name("listed.csv"), numbers.with_name("out.csv")
    words = ("release", numbers, "--epsilon", "1", "--domain", "0", "10", "--out", out, "--json")
    for text, given in (
        ("task\nb\nnobody\n", f"{listed}:5"),
        ("task,expected\nb,5\nnobody,5\n", listed),
    ):
        listed.write_text(text)
        result = run(*words, "--overwrite", "--listed", given).json
        assert result["objects"] == 2
        assert "added or removed" in result["guarantee"]["neighbours"]
        summary = pa_csv.read_csv(numbers.with_name("out.summary.csv")).to_pydict()
        assert summary["task"] == ["b", "nobody"]
    listed.write_text("task\nb\n")
    refused = run(*words, "--overwrite", "--listed", listed)
    assert refused.code == 1
    assert "listed.csv:20" in refused.err


def test_attributes_are_released_with_values(run: Run, tmp_path: Path) -> None:
    """Categories that were named are a column of every file; a column without any is refused."""
    claims, out = tmp_path / "c.csv", tmp_path / "out.csv"
    rows = [f"a,u{n},{2 if n % 2 else 8},{'day' if n % 2 else 'night'}" for n in range(40)]
    claims.write_text("task,worker,value,shift\n" + "\n".join(rows))
    words = ("release", claims, "--epsilon", "8", "--domain", "0", "10", "--out", out, "--json")
    result = run(*words, "--attribute", "shift=day,night").json
    assert (result["objects"], result["released"]) == (1, 40)
    assert "categories of shift" in json.dumps(result["guarantee"])
    table = pa_csv.read_csv(out).to_pydict()
    assert list(table) == ["task", "shift", "worker", "value"]
    wrong = run(*words, "--attribute", "shift", "--overwrite")
    assert "expected a column as in shift=day,night" in wrong.err


@pytest.mark.parametrize(
    "words",
    [
        ("--epsilon", "4", "--domain", "0", "10", "--per-user", "2"),
        ("--epsilon", "4", "--domain", "0", "10", "--step", "1", "--for", "means"),
        ("--epsilon", "1/3", "--domain", "0", "10"),
    ],
)
def test_every_kind_of_release_says_its_guarantee(
    run: Run, numbers: Path, words: tuple[str, ...]
) -> None:
    """Each ends with code 0 and tells its guarantee in words."""
    outcome = run("release", numbers, *words, "--out", numbers.with_name("o.parquet"))
    assert outcome.code == 0
    assert "guarantee" in outcome.out


def test_the_command_has_at_most_sixteen_parameters() -> None:
    """Claims and options together: the text for a person stays short."""
    assert len(inspect.signature(release).parameters) <= 16


def test_objects_can_have_domains_of_their_own(run: Run, numbers: Path) -> None:
    """A table names them; the pair of the command line holds for the others."""
    table = numbers.with_name("domains.csv")
    table.write_text("task,low,high\nb,0,3\n")
    out = numbers.with_name("o.csv")
    words = ("--epsilon", "1", "--domain", "0", "10", "--domains", table, "--out", out)
    assert run("release", numbers, *words).code == 0
    rows = pa_csv.read_csv(out).to_pydict()
    assert max(v for t, v in zip(rows["task"], rows["value"], strict=True) if t == "b") <= 3
    table.write_text("task,low\nb,0\n")
    assert "high" in run("release", numbers, *words, "--overwrite").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epsilon", "0", "--domain", "0", "1"), "epsilon"),
        (("--epsilon", "1", "--domain", "1", "0"), "low below high"),
        (("--epsilon", "1", "--domain", "0", "1", "--step", "3"), "whole number of steps"),
        (("--epsilon", "1", "--domain", "0", "1", "--duplicates", "all"), "duplicates"),
        (("--epsilon", "1", "--domain", "0", "1", "--missing", "keep"), "missing"),
    ],
)
def test_bad_requests_are_refused(
    run: Run, numbers: Path, words: tuple[str, ...], said: str
) -> None:
    """Code 1, or 2 for a word that is none of the choices; the reason is told, and no file made."""
    out = numbers.with_name("o.csv")
    outcome = run("release", numbers, *words, "--out", out)
    assert outcome.code == (2 if said in ("duplicates", "missing") else 1)
    assert said in outcome.err
    assert not out.exists()


@pytest.mark.parametrize(
    ("option", "table", "said"),
    [
        ("--listed", "task,expected\na,5\nb,x\n", "row 2: expected is 'x', expected a whole"),
        ("--listed", "task,expected\na,0\n", "row 1: expected is .0., expected a whole"),
        ("--domains", "task,low,high\na,0,3\nb,3,q\n", "row 2: high is 'q', expected a number"),
        ("--domains", "task,low,high\nb,3,1\n", "row 1: the domain is 3 to 1, expected low below"),
    ],
)
def test_a_bad_row_of_a_public_table_is_named(
    run: Run, numbers: Path, option: str, table: str, said: str
) -> None:
    """With its file, row and value, and the expected form there."""
    beside, out = numbers.with_name("beside.csv"), numbers.with_name("o.csv")
    beside.write_text(table)
    words = ("--epsilon", "1", "--domain", "0", "10", "--out", out, option, beside)
    outcome = run("release", numbers, *words)
    assert outcome.code == 1
    assert re.search(said, " ".join(outcome.err.split()))
    assert not out.exists()


def test_a_category_that_was_not_named_is_said_with_its_row(run: Run, tmp_path: Path) -> None:
    """Row, column, value, expected form; a column that is not there is said too."""
    path = tmp_path / "c.csv"
    path.write_text("task,worker,value,shift\na,x,1,day\na,y,2,dusk\n")
    words = ("--epsilon", "1", "--domain", "0", "9", "--out", tmp_path / "o.csv", "--attribute")
    wrong = " ".join(run("release", path, *words, "shift=day,night").err.split())
    assert "row 2: shift is 'dusk', expected one of day, night" in wrong
    assert "have no column 'colour'" in run("release", path, *words, "colour=red,blue").err


def test_missing_and_repeated_claims_are_resolved_as_told(run: Run, tmp_path: Path) -> None:
    """Rows without a number can be dropped, and repeated claims averaged."""
    path = tmp_path / "c.csv"
    path.write_text("task,worker,value\na,x,1\na,x,3\na,y,\na,z,2\n")
    words = (
        "release",
        path,
        "--epsilon",
        "1",
        "--domain",
        "0",
        "4",
        "--out",
        tmp_path / "o.csv",
        "--json",
    )
    assert run(*words).code == 1
    assert run(*words, "--missing", "drop").code == 1
    result = run(*words, "--missing", "drop", "--duplicates", "mean").json
    assert result["for_the_collector"]["dropped"] == 1


def test_an_empty_value_names_the_way_out(run: Run, tmp_path: Path) -> None:
    """A claim without a number is refused with how many there are, and with --missing drop."""
    path = tmp_path / "n.csv"
    path.write_text("task,worker,value\na,x,1\na,y,\na,z,\na,w,2\n")
    words = ("release", path, "--epsilon", "1", "--domain", "0", "9", "--out", tmp_path / "s.csv")
    done = run(*words)
    assert "row 2: the value is missing (2 of 4 rows have none)" in done.err
    assert "--missing drop" in done.err
    assert "null=True" not in done.err
    assert run(*words, "--missing", "drop").code == 0


def test_intervals_that_are_the_whole_range_are_noted(run: Run, numbers: Path) -> None:
    """Where nothing is said of the answers, a note says so; with a large epsilon there is none."""
    out = numbers.with_name("out.csv")
    options = ("--domain", 0, 10, "--step", 1, "--out", out, "--json", "--overwrite")
    said = run("release", numbers, "--epsilon", "0.001", *options)
    assert "note: in every row of the summary all intervals are the whole range" in said.err
    assert said.json["silent_rows"] == 2
    plain = run("release", numbers, "--epsilon", "500", *options)
    assert "whole range" not in plain.err
    assert plain.json["silent_rows"] == 0


def test_a_release_is_not_written_over(run: Run, numbers: Path) -> None:
    """A second run is refused while any of its files exists, and --overwrite replaces them."""
    out, page = numbers.with_name("out.csv"), numbers.with_name("page.html")
    words = ("release", numbers, "--epsilon", 1, "--domain", 0, 10, "--out", out, "--report", page)
    files = [Path(one) for one in run(*words, "--json").json["files"]]
    assert len(files) == 4
    for kept in [*files, page]:
        others = [one for one in [*files, page] if one != kept]
        for one in others:
            one.unlink(missing_ok=True)
        kept.write_text("mine")
        refused = run(*words)
        said = " ".join(refused.err.split())
        assert (refused.code, kept.read_text()) == (1, "mine")
        assert f"{kept} exists" in said
        assert "adds to that of the run before" in said
        assert not any(one.exists() for one in others)
        kept.unlink()
    out.write_text("old")
    assert run(*words, "--overwrite").code == 0
    assert out.read_text().startswith('"task"')
