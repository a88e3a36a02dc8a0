"""``masquerade collect``: labels while they are collected, kept in a folder between commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
MASK = "randomized-response:options=2,epsilon=3"


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a table of four tasks, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    Path("tasks.csv").write_text("task\na\nb\nc\nd\n")
    Path("gold.csv").write_text("task,truth\na,yes\n")
    Path("batch.csv").write_text("task,worker,label\na,x,yes\nb,x,yes\nb,y,no\nc,x,no\nc,y,no\n")
    return Path("tasks.csv")


def begin(run: Run, *more: object) -> Any:
    """Begin a collection in the folder ``c``."""
    words = ("collect", "begin", "c", "--tasks", "tasks.csv", "--options", "yes,no", "--json")
    return run(*words, *more)


def test_a_collection_goes_from_command_to_command(run: Run, tasks: Path) -> None:
    """Offers, answers, ranking and labels last between commands."""
    assert begin(run, "--mechanism", MASK, "--gold", "gold.csv").json["open_tasks"] == 3
    assert run("collect", "add", "c", "batch.csv", "--json").json == {
        "folder": "c",
        "tasks": 4,
        "answers": 5,
        "workers": 2,
        "open_tasks": 3,
    }
    offered = run("collect", "next", "c", "--worker", "z", "--count", 2, "--json").json["tasks"]
    assert set(offered) <= {"a", "b", "d"}  # no answer, a dispute, or the one that is known
    more = run("collect", "next", "c", "--worker", "z", "--count", 9, "--json").json["tasks"]
    assert not set(offered) & set(more)
    Path("people.csv").write_text("worker,price\nx,1\nu,0.01\n")
    asked = run("collect", "ask", "c", "--task", "d", "--workers", "people.csv", "--json").json
    assert asked == {"task": "d", "workers": ["u"]}
    found = run("collect", "labels", "c", "--json").json
    assert found["labels"]["a"] == "yes"
    assert found["labels"]["c"] == "no"
    assert found["remarks"][0].startswith("ADAPTIVE")
    assert run("collect", "advice", "c", "--json").json == {"advice": []}
    Path("new.csv").write_text("task,worker,label\nn,x,no\nn,y,no\n")
    assert run("collect", "predict", "c", "new.csv", "--json").json["labels"] == {"n": "no"}
    assert run("collect", "labels", "c", "--out", "out.csv", "--json").json["out"] == "out.csv"
    assert Path("out.csv").read_text().startswith('"task","label"')


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--mechanism", MASK, "--levels", "x.csv"), "were both given"),
        (("--stop", "gain"), "--worth and --price"),
        (("--stop", "never"), "expected 'total'"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    run: Run, tasks: Path, more: tuple[str, ...], message: str
) -> None:
    """The reason is on standard error, and no folder is left behind."""
    outcome = begin(run, *more)
    assert outcome.code == 1
    assert message in outcome.err
    assert not Path("c").exists()


@pytest.mark.parametrize(
    ("more", "stop"),
    [
        (("--stop", "posterior", "--probability", 0.8), 1),
        (("--stop", "gain", "--worth", 1, "--price", 0.5), 2),
    ],
)
def test_stopping_rules_and_levels(
    run: Run, tasks: Path, more: tuple[object, ...], stop: int
) -> None:
    """A rule by certainty stops the agreed task, a high price all with two answers."""
    Path("levels.csv").write_text(f'level,mechanism\nlow,"{MASK}"\n')
    assert begin(run, "--levels", "levels.csv", *more).code == 0
    rows = Path("batch.csv").read_text().splitlines()
    Path("batch.csv").write_text("\n".join([rows[0] + ",level", *(r + ",low" for r in rows[1:])]))
    assert run("collect", "add", "c", "batch.csv", "--json").json["open_tasks"] == 4 - stop


def test_clear_answers_assign_nobody(run: Run, tasks: Path) -> None:
    """Without a mask nobody is offered a task, unless it is said that nothing was promised."""
    assert begin(run).code == 0
    refused = run("collect", "next", "c", "--worker", "x")
    assert (refused.code, "answers are in clear" in refused.err) == (1, True)
    assert begin(run, "--public-answers").code == 1  # the folder is taken
    words = ("collect", "begin", "p", "--tasks", "tasks.csv", "--options", "yes,no")
    assert run(*words, "--public-answers").code == 0
    assert run("collect", "next", "p", "--worker", "x", "--json").json["tasks"]
