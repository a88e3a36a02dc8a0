"""Results of every room have one form: table, dictionary, file, figure, and HTML in notebooks."""

from __future__ import annotations

import dataclasses
import importlib
import json
import pkgutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import masquerade as mq
from masquerade.answers import Claims, Comparisons, Result, Truths
from masquerade.answers.result import UNPUBLISHED
from masquerade.answers.result_file import read_result
from masquerade.errors import ParameterError, UnreadableFile
from masquerade.exact import Micro
from masquerade.truth.numeric import Median

CLAIMS = {
    "task": ["a", "a", "a", "b", "b", "b"],
    "worker": ["x", "y", "z", "x", "y", "z"],
    "label": ["no", "no", "yes", "yes", "yes", "yes"],
}
CHOICES = {
    "voter": ["u", "u", "v", "v"],
    "price": [1.0, -1.0, 0.5, 1.0],
    "speed": [0.0, 1.0, -1.0, 1.0],
}


def social() -> Result:
    """Return weights learned from four choices."""
    table = Comparisons.from_frame(CHOICES)
    return mq.preference.SocialPreference.simulate(
        table, np.random.default_rng(0), mechanism="none"
    )


def released() -> Result:
    """Return a release of two objects."""
    numbers = {"task": ["a"] * 30 + ["b"] * 30, "worker": list(range(30)) * 2}
    claims = Claims.from_frame(numbers | {"value": list(np.linspace(0, 9, 60))}, kind="numeric")
    rng = np.random.default_rng(0)
    return mq.release.simulate_release(claims, rng, epsilon=1.0, domain=(0, 10))


MADE: dict[str, Callable[[], Result]] = {
    "claims": lambda: Claims.from_frame(CLAIMS),
    "comparisons": lambda: Comparisons.from_frame(CHOICES),
    "truths": lambda: Truths.from_frame({"task": ["a", "b"], "truth": ["no", "yes"]}),
    "estimate": lambda: mq.estimation.Estimate(0.5, 0.1, 0.1, 0.0, 0.3, 0.7, shown=0.5),
    "shares": lambda: mq.estimation.estimate_shares(
        [80, 120], mq.mechanisms.RandomizedResponse(2, flip_probability=0.2)
    ),
    "strengths": lambda: mq.preference.fit_rankings([["a", "b"], ["b", "a"], ["a", "b"]]),
    "preference": social,
    "release": released,
    "selection": lambda: mq.selection.select(
        mq.selection.Pool(["p", "q"], cost=[1.0, 2.0], noise_variance=[0.1, 0.1]),
        budget=3.0,
    ),
    "spent": lambda: mq.accounting.Spent(Micro(5), Fraction(1, 100), "sum", {"sum": Micro(5)}),
    "audit": lambda: mq.accounting.audit(
        mq.mechanisms.RandomizedResponse(2, flip_probability=0.25), rng=np.random.default_rng(0)
    ),
    "inference": lambda: mq.truth.MajorityVote().fit(CLAIMS).result_,
    "numbers": lambda: (
        Median()
        .fit({"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "value": [1.0, 2.0, 3.0]})
        .result_
    ),
}


@pytest.fixture(params=MADE)
def result(request: pytest.FixtureRequest) -> Result:
    """Return a result of some room."""
    return MADE[request.param]()


def test_a_result_is_the_same_table_in_every_library(result: Result) -> None:
    """Arrow, pandas and polars have the same columns and rows, and Arrow readers take it itself."""
    table = result.to_arrow()
    assert len(table.column_names) == len(set(table.column_names))
    assert list(result.to_pandas().columns) == table.column_names
    assert result.to_polars().shape == table.shape == pl.DataFrame(result).shape
    assert pa.table(result).equals(table)
    assert isinstance(result.to_pandas(), pd.DataFrame)


def test_a_result_is_saved_and_made_again(result: Result, tmp_path: Path) -> None:
    """The result of `load` has the same table, and the same dictionary, to the last bit."""
    for name in ("result.json", "result.json.gz"):
        result.save(tmp_path / name)
        again = type(result).load(tmp_path / name)
        assert type(again) is type(result)
        assert again.to_arrow().schema == result.to_arrow().schema
        assert str(again.to_arrow().to_pydict()) == str(result.to_arrow().to_pydict())
        assert str(again.to_dict()) == str(result.to_dict())


def test_a_dictionary_holds_plain_values(result: Result) -> None:
    """A dictionary is of texts, numbers and lists: JSON can hold it."""
    assert json.dumps(result.to_dict())


def test_a_notebook_shows_a_table(result: Result) -> None:
    """The HTML has every column, and no colour of its own."""
    html = result._repr_html_()
    assert html.count("<th>") == len(result.to_arrow().column_names)
    assert "#" not in html
    assert "background" not in html


def test_html_is_escaped_and_says_what_is_not_shown() -> None:
    """Any label is text; of a long table the number of rows left out is said."""
    table = {"task": [f"<b>{i}" for i in range(25)], "worker": ["x"] * 25, "label": ["<i>"] * 25}
    html = Claims.from_frame(table)._repr_html_()
    assert "&lt;b&gt;0" in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert "5 more rows" in html


def test_intervals_are_named_alike_everywhere() -> None:
    """No result has an interval under other names than low and high."""
    others = {"lower", "upper", "ci_lo", "ci_hi", "from", "to", "lo", "hi", "ci_low", "ci_high"}
    for make in MADE.values():
        columns = set(make().to_arrow().column_names)
        assert not columns & others
        assert ("low" in columns) == ("high" in columns)


def test_results_are_frozen() -> None:
    """Nobody changes a result after it was computed."""
    for module in pkgutil.iter_modules(mq.__path__):
        if module.name in ("__main__", "cli", "server", "client"):
            continue
        room = importlib.import_module(f"masquerade.{module.name}")
        for name in getattr(room, "__all__", ()):
            kind = getattr(room, name)
            if isinstance(kind, type) and issubclass(kind, Result) and kind is not Result:
                assert kind.__dataclass_params__.frozen, name  # type: ignore[attr-defined]


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    """Asking for one kind where the file holds another says which it holds."""
    path = tmp_path / "x.json"
    estimate = mq.estimation.Estimate(0.5, 0.1, 0.1, 0.0, 0.3, 0.7)
    estimate.save(path)
    with pytest.raises(ParameterError, match="holds a Estimate, expected a Claims"):
        Claims.load(path)
    with pytest.raises(ParameterError, match=r"ending '\.csv'"):
        estimate.save(tmp_path / "x.csv")


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"format": "masquerade-result-1"}',
        '{"format": "masquerade-result-1", "result": {"object": {"class": "os:system"}}}',
        '{"format": "masquerade-result-1", "result": {"object": {"class": '
        '"masquerade.server.settings:Settings", "fields": {}}}}',
        '{"format": "masquerade-result-1", "result": {"object": {"class": '
        '"masquerade.answers.frames:read_table", "fields": {"path": "/etc/passwd"}}}}',
        '{"format": "masquerade-result-1", "result": {"object": {"class": '
        '"masquerade_papers.two_layer.error_bounds:Formula", "fields": {"value": 1}}}}',
        '{"format": "masquerade-result-1", "result": {"array": {"type": "|O", "data": ""}}}',
    ],
)
def test_a_hostile_or_broken_file_is_refused(content: str, tmp_path: Path) -> None:
    """A file can name no function, no class outside the library, and no object array."""
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(UnreadableFile):
        read_result(path)


@dataclasses.dataclass(frozen=True)
class Held(Result):
    """A result with numbers that only its holder sees."""

    shown: float
    raw: float = dataclasses.field(metadata=UNPUBLISHED)


def test_what_is_not_published_is_in_nothing_that_leaves(tmp_path: Path) -> None:
    """Such a field is in no table, dictionary or HTML, and a result that needs it is not saved."""
    held = Held(1.0, raw=77.0)
    assert "77" not in f"{held.to_arrow()} {held.to_dict()} {held._repr_html_()}"
    with pytest.raises(ParameterError, match="shown to nobody"):
        held.save(tmp_path / "x.json")
    release: Any = released()
    assert release.collector
    release.save(tmp_path / "r.json")
    assert not type(release).load(tmp_path / "r.json").collector
