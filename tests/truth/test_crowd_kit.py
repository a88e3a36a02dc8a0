"""Code written for crowd-kit runs unchanged."""

from __future__ import annotations

import pytest

from masquerade.errors import ParameterError, UnknownLabel
from masquerade.truth import WeightedVote
from masquerade.truth.crowd_kit import GLAD, MajorityVote, OneCoinDawidSkene
from masquerade.truth.crowd_kit import DawidSkene as Model

pandas = pytest.importorskip("pandas")

ROWS = [(2, "b", "y"), (1, "a", "x"), (1, "b", "x"), (1, "c", "y"), (2, "a", "y"), (2, "c", "y")]


@pytest.fixture
def frame() -> object:
    """Return a frame as crowd-kit takes it."""
    return pandas.DataFrame(ROWS, columns=["task", "worker", "label"])


def test_labels_and_probabilities_have_crowd_kits_form(frame: object) -> None:
    """Constructor arguments, fit_predict, fit_predict_proba and attributes are crowd-kit's."""
    model = Model(n_iter=10, tol=1e-4)
    labels = model.fit_predict(frame)
    assert labels.name == "agg_label"
    assert labels.index.name == "task"
    assert labels.to_dict() == {1: "x", 2: "y"}
    assert model.labels_.equals(labels)
    probabilities = model.fit_predict_proba(frame)
    assert probabilities.index.tolist() == [1, 2]
    assert probabilities.columns.tolist() == ["x", "y"]
    assert probabilities.columns.name == "label"
    assert probabilities.sum(axis=1).to_numpy() == pytest.approx([1, 1])
    assert model.probas_.to_numpy() == pytest.approx(probabilities.to_numpy())
    assert model.priors_.index.name == "label"
    assert model.priors_.sum() == pytest.approx(1)
    assert model.errors_.index.names == ["worker", "label"]
    assert model.errors_.loc["a"].sum().to_numpy() == pytest.approx([1, 1])
    assert len(model.loss_history_) == model.iterations_


def test_skills_abilities_and_difficulties(frame: object) -> None:
    """Skills are by worker, GLAD's parameters by worker and by task."""
    assert MajorityVote().fit(frame).skills_.to_dict() == {"a": 1, "b": 1, "c": 0.5}
    assert OneCoinDawidSkene().fit(frame).skills_.name == "skill"
    glad = GLAD(n_iter=3).fit(frame)
    assert glad.alphas_.index.tolist() == ["a", "b", "c"]
    assert glad.betas_.index.tolist() == [1, 2]


def test_what_is_not_learnt_is_no_attribute(frame: object) -> None:
    """An attribute of another method is missing, as Python expects."""
    fit = MajorityVote().fit(frame)
    for name in ("priors_", "errors_", "alphas_", "loss_history_", "knowing_"):
        assert not hasattr(fit, name)


def test_true_labels_are_gold(frame: object) -> None:
    """Dawid-Skene takes crowd-kit's series of true labels."""
    gold = pandas.Series(["y"], index=pandas.Index([1], name="task"))
    assert Model().fit_predict(frame, gold)[1] == "y"
    assert Model().fit_predict(frame, gold=gold)[1] == "y"


def test_gold_must_be_an_option(frame: object) -> None:
    """A gold label that nobody could give is refused, with the task."""
    with pytest.raises(UnknownLabel, match="task 1"):
        Model().fit(frame, gold={1: "z"})


def test_weights_may_be_given(frame: object) -> None:
    """A worker without a weight is an error, or gets the default."""
    with pytest.raises(ParameterError, match="worker 'b'"):
        WeightedVote(weights={"c": 5.0}).fit(frame)
    heavy = WeightedVote(weights={"c": 5.0}, default_weight=1.0).fit_predict(frame)
    assert heavy.to_dict() == {1: "y", 2: "y"}
    agreed = WeightedVote().fit(frame)
    assert (
        agreed.reliability_["weight"].to_pylist() == agreed.reliability_["reliability"].to_pylist()
    )
