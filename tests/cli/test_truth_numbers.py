"""``masquerade truth`` on numbers and ordered categories."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROWS = "a,x,1\na,y,2\na,z,1\nb,x,3\nb,y,3\nb,z,3\n"


@pytest.fixture
def known(tmp_path: Path) -> Path:
    """Return a file of the two truths."""
    path = tmp_path / "truths.csv"
    path.write_text("task,truth\na,1\nb,3\n")
    return path


def test_numbers_go_to_auto_with_the_constant_beside(
    run: Callable[..., Any], tmp_path: Path, known: Path
) -> None:
    """Without a method, numbers get numeric-auto; its error stands beside the constant's."""
    path = tmp_path / "claims.csv"
    path.write_text("task,worker,value\n" + ROWS)
    found = run("truth", path, "--truth", known, "--json").json
    assert (found["method"], found["kind"]) == ("numeric-auto", "numeric")
    assert [remark.split(":")[0] for remark in found["remarks"]] == ["CHOSEN"]
    assert found["mae"] < found["constant"] == 1


@pytest.mark.parametrize(
    ("column", "words", "kind"),
    [
        ("value", ["quantised-response:low=1,high=3,step=1,epsilon=1,levels=3"], "numeric"),
        ("value", ["discrete-laplace:low=1,high=3,step=1,epsilon=1"], "numeric"),
        (
            "label",
            ["randomized-response:options=3,epsilon=1,null=true", "--method", "channel-em"],
            "categorical",
        ),
    ],
)
def test_masks_choose_how_claims_are_read(
    run: Callable[..., Any], tmp_path: Path, known: Path, column: str, words: list[str], kind: str
) -> None:
    """The mechanism says whether answers are numbers or categories; few reports close the gate."""
    path = tmp_path / "claims.csv"
    path.write_text(f"task,worker,{column}\n" + ROWS)
    found = run("truth", path, "--truth", known, "--json", "--mechanism", *words)
    assert found.code == 0, found.err
    assert found.json["kind"] == kind
    assert found.json["remarks"][0].startswith("PRIOR_ONLY")
    assert found.json["mae"] == found.json["constant"]
