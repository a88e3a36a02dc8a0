"""Code written for crowd-kit runs with another import."""

from __future__ import annotations

from typing import Any

import pytest

from masquerade import truth
from masquerade.errors import ParameterError, SchemaError, UnknownLabel
from masquerade.truth import crowd_kit

pandas = pytest.importorskip("pandas")

ROWS = [(2, "b", "y"), (1, "a", "x"), (1, "b", "x"), (1, "c", "y"), (2, "a", "y"), (2, "c", "y")]
#: What each method is called here.
OURS = {"Wawa": "WeightedVote"}


@pytest.fixture
def frame() -> Any:
    """Return a frame as crowd-kit takes it."""
    return pandas.DataFrame(ROWS, columns=["task", "worker", "label"])


@pytest.mark.parametrize("name", crowd_kit.__all__)
def test_the_results_are_those_of_the_method_here(name: str, frame: Any) -> None:
    """Labels, posteriors and skills are the method's own, in crowd-kit's form."""
    gold = {1: "x"} if name == "GoldMajorityVote" else None
    theirs, ours = getattr(crowd_kit, name)(), getattr(truth, OURS.get(name, name))()
    labels = theirs.fit_predict(frame, gold)
    assert labels.equals(ours.fit_predict(frame, gold=gold))
    assert labels.equals(theirs.labels_)
    assert (labels.name, labels.index.name) == ("agg_label", "task")
    shares = theirs.fit_predict_proba(frame, gold)
    assert shares.equals(ours.fit_predict_proba(frame, gold=gold))
    assert shares.equals(theirs.probas_)
    assert (shares.columns.tolist(), shares.columns.name) == (["x", "y"], "label")
    assert theirs.skills_.to_dict() == dict(zip("abc", _reliability(ours), strict=True))


def _reliability(fit: Any) -> list[float]:
    table = fit.reliability_.sort_by("worker")
    found: list[float] = table["reliability"].to_pylist()
    return found


@pytest.mark.parametrize("name", crowd_kit.__all__)
def test_parameters_have_crowd_kits_names_and_places(name: str) -> None:
    """A parameter by crowd-kit's name, or by its place, is the parameter of the method here."""
    kind = getattr(crowd_kit, name)
    for place, (theirs, ours) in enumerate(kind.renamed.items()):
        assert getattr(kind(**{theirs: 7}), ours) == 7
        if not place:
            assert kind(7).get_params()[ours] == getattr(kind(7), theirs) == 7
    with pytest.raises(ParameterError, match=r"no parameter 'n_itr'"):
        kind(n_itr=3)
    with pytest.raises(ParameterError, match="by position"):
        kind(*range(9))
    base: Any = pytest.importorskip("sklearn.base")
    assert base.clone(kind()).get_params() == kind().get_params()


def test_true_labels_are_gold(frame: Any) -> None:
    """Dawid-Skene takes crowd-kit's series of true labels, and refuses an unknown one."""
    gold = pandas.Series(["y"], index=pandas.Index([1], name="task"))
    assert crowd_kit.DawidSkene().fit_predict(frame, gold)[1] == "y"
    with pytest.raises(UnknownLabel, match="task 1"):
        crowd_kit.DawidSkene().fit(frame, {1: "z"})


def test_a_missing_column_is_named(frame: Any) -> None:
    """A frame without workers is refused by the name of the column."""
    with pytest.raises(SchemaError, match="worker"):
        crowd_kit.MajorityVote().fit(frame[["task", "label"]])
