"""Texts of workers, joined token by token or by their vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from masquerade.errors import (
    DuplicateClaim,
    EmptyTable,
    MissingValue,
    NotFitted,
    ParameterError,
    SchemaError,
)
from masquerade.truth import HRRASA, RASA, ROVER, TextEstimator, character_embedding, gleu

ORACLE: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "crowd-kit.json").read_text("utf-8")
)
METHODS: tuple[type[TextEstimator], ...] = (ROVER, RASA, HRRASA)
every_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)

ROWS: dict[str, list[str]] = {
    "task": ["s", "s", "s", "r"],
    "worker": ["x", "y", "z", "x"],
    "text": ["the cat sat down", "the cat sat down", "a cat sad", "one text alone"],
}


def vectors(texts: Any) -> Any:
    """Return the vectors that the oracle was made with."""
    return [
        [len(text) + 1, text.count("a") + 0.1, text.count("b") + 0.2, text.count("l")]
        for text in texts
    ]


def _texts(fit: TextEstimator) -> dict[str, str]:
    return dict(zip(*fit.truths_.to_pydict().values(), strict=True))


def _weights(fit: TextEstimator) -> dict[str, float]:
    table = fit.reliability_
    return dict(zip(table["worker"].to_pylist(), table["weight"].to_pylist(), strict=True))


def test_rover_is_crowd_kits() -> None:
    """Texts with words lost, changed and added are joined as by crowd-kit 1.4, word for word."""
    assert _texts(ROVER().fit(ORACLE["texts"])) == ORACLE["rover"]


def test_rasa_is_crowd_kits() -> None:
    """Texts are crowd-kit 1.4's, and weights to nine digits, from the same vectors."""
    fit = RASA(embedding=vectors).fit(ORACLE["texts"])
    assert _texts(fit) == ORACLE["rasa"]
    assert _weights(fit) == pytest.approx(ORACLE["rasa_weights"], rel=1e-9)


def test_hrrasa_is_crowd_kits() -> None:
    """Texts are crowd-kit 1.4's, and weights to nine digits, of the same likeness of texts."""

    def likeness(one: str, other: str) -> float:
        return 0.5 * (one == other) + 0.1

    fit = HRRASA(embedding=vectors, similarity=likeness).fit(ORACLE["texts"])
    assert _texts(fit) == ORACLE["hrrasa"]
    assert _weights(fit) == pytest.approx(ORACLE["hrrasa_weights"], rel=1e-9)


@every_method
def test_most_texts_win(method: type[TextEstimator]) -> None:
    """Two like texts beat a third, a text alone stays, and who wrote the third weighs least."""
    fit = method().fit(ROWS)
    assert _texts(fit) == {"s": "the cat sat down", "r": "one text alone"}
    weight = _weights(fit)
    assert weight["z"] < weight["y"]
    assert fit.reliability_["claims"].to_pylist() == [2, 1, 1]
    assert fit.converged_
    assert fit.iterations_ >= 1


@every_method
def test_known_texts_stay(method: type[TextEstimator]) -> None:
    """A text that is known is the task's, and tasks elsewhere are passed over."""
    fit = method().fit(ROWS, gold={"s": "a cat sad", "elsewhere": "no"})
    assert _texts(fit)["s"] == "a cat sad"


def test_known_texts_judge_workers() -> None:
    """Vectors of known texts stand for the means: who wrote like them weighs most."""
    plain = _weights(RASA().fit(ROWS))
    told = _weights(RASA().fit(ROWS, gold={"s": "a cat sad"}))
    assert plain["y"] > plain["z"]
    assert told["z"] > told["y"]


@every_method
def test_tables_come_back_in_their_own_kind(method: type[TextEstimator]) -> None:
    """From pandas comes a series over the sorted tasks, from a dict a dict in the table's order."""
    pandas = pytest.importorskip("pandas")
    series = method().fit_predict(pandas.DataFrame(ROWS))
    assert series.name == "agg_text"
    assert series.index.tolist() == ["r", "s"]
    assert method().fit_predict(ROWS)["task"].tolist() == ["s", "r"]


@every_method
def test_parameters_are_scikit_learns(method: type[TextEstimator]) -> None:
    """`get_params` gives what the constructor takes, and `set_params` changes it."""
    one = method()
    assert method(**one.get_params()).get_params() == one.get_params()
    if method is not ROVER:
        assert one.set_params(alpha=0.1).get_params()["alpha"] == 0.1
        with pytest.raises(ParameterError, match="alpha is 2"):
            one.set_params(alpha=2)


@every_method
@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ({"text": [1, 2, 3, 4]}, SchemaError, "expected texts"),
        ({"text": ["a", None, "b", "c"]}, MissingValue, "row 2: the text is missing"),
        ({"worker": ["x", "x", "y", "x"]}, DuplicateClaim, "row 2: worker 'x' already"),
        ({"task": [], "worker": [], "text": []}, EmptyTable, "no rows"),
    ],
)
def test_bad_rows_are_named(
    method: type[TextEstimator], rows: Any, error: type[Exception], message: str
) -> None:
    """Each error says which row, and what is wrong with it."""
    with pytest.raises(error, match=message):
        method().fit(ROWS | rows)


@every_method
def test_nothing_is_known_before_fit(method: type[TextEstimator]) -> None:
    """Asking for a result before fit says what to call."""
    for name in ("truths_", "reliability_", "converged_", "iterations_"):
        with pytest.raises(NotFitted, match=rf"{method.__name__}.*call fit"):
            getattr(method(), name)


def test_other_tokens_are_taken() -> None:
    """A tokenizer of letters joins words that are spelt in several ways."""
    rows = {"task": ["a"] * 3, "worker": ["x", "y", "z"], "text": ["colr", "color", "colour"]}
    fit = ROVER(tokenizer=list, detokenizer="".join).fit(rows)
    assert _texts(fit) == {"a": "color"}


def test_an_empty_text_is_a_text() -> None:
    """Who wrote nothing votes for nothing."""
    rows = {"task": ["a"] * 3, "worker": ["x", "y", "z"], "text": ["", "", "noise"]}
    assert _texts(ROVER().fit(rows)) == {"a": ""}


def test_what_an_embedding_has_to_return() -> None:
    """A row of finite numbers for each text, or the error says what came instead."""
    with pytest.raises(ParameterError, match=r"shape \(1,\) for 3 texts"):
        RASA(embedding=lambda texts: [0.0]).fit(ROWS)
    with pytest.raises(ParameterError, match="finite"):
        RASA(embedding=lambda texts: [[np.nan]] * len(texts)).fit(ROWS)
    with pytest.raises(ParameterError, match="gold holds 3"):
        RASA().fit(ROWS, gold={"s": 3})
    with pytest.raises(ParameterError, match="are both 0"):
        HRRASA(embedding_share=0, text_share=0)


def test_likeness_of_texts() -> None:
    """GLEU counts runs of words in common; vectors of like spelling are near."""
    # 1 of 3 words and no longer run in common: 1 of the 6 runs of either
    assert gleu("the cat sat", "the dog ran") == pytest.approx(1 / 6)
    assert gleu("", "") == 1
    assert gleu("a b", "a b c") == pytest.approx(3 / 6)
    near = character_embedding(["colour", "color", "tree"])
    assert near.shape == (3, 512)
    assert np.linalg.norm(near, axis=1) == pytest.approx(np.ones(3))
    assert near[0] @ near[1] > near[0] @ near[2]


def test_a_known_text_need_not_be_a_category() -> None:
    """From a column of categories comes a series that holds a known text all the same."""
    table = pd.DataFrame({"task": ["a"], "worker": ["x"], "text": ["old"]}).astype(
        {"text": "category"}
    )
    assert ROVER().fit_predict(table, gold={"a": "new"})["a"] == "new"
