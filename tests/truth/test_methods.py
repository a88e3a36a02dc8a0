"""Methods by name."""

from __future__ import annotations

from typing import Any

import pytest
from tests.truth.method_checks import CHECKS

import masquerade.truth
from masquerade.errors import ParameterError
from masquerade.truth import (
    GLAD,
    MACE,
    METHODS,
    Auto,
    BayesianCombination,
    DawidSkene,
    Estimator,
    MajorityVote,
    NumericAuto,
    OneCoin,
    OneCoinDawidSkene,
    Subtypes,
    TruthDiscovery,
    TwoCoin,
    WeightedVote,
    method_named,
)
from masquerade.truth.numeric import CATD, Mean, Median


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("majority-vote", MajorityVote),
        ("MajorityVote", MajorityVote),
        ("MAJORITY_VOTE", MajorityVote),
        ("mv", MajorityVote),
        ("truth-discovery", TruthDiscovery),
        ("TD", TruthDiscovery),
        ("one coin", OneCoin),
        ("OneCoin", OneCoin),
        ("channel-aware", OneCoin),
        ("dawid-skene", DawidSkene),
        ("DS", DawidSkene),
        ("one-coin-dawid-skene", OneCoinDawidSkene),
        ("two-coin", TwoCoin),
        ("GLAD", GLAD),
        ("mace", MACE),
        ("wawa", WeightedVote),
        ("bayesian-combination", BayesianCombination),
        ("auto", Auto),
        ("subtypes", Subtypes),
        ("CATD", CATD),
        ("median", Median),
        ("Mean", Mean),
    ],
)
def test_names_are_read_leniently(text: str, method: type[Estimator]) -> None:
    """Case, hyphens and underscores do not matter, and short names are known."""
    assert method_named(text) is method


def test_auto_depends_on_the_kind_of_claims() -> None:
    """For numbers, auto is another method."""
    assert method_named("auto", kind="numeric") is NumericAuto


def test_an_unknown_name_lists_the_known_ones() -> None:
    """The error names every method."""
    with pytest.raises(ParameterError, match="'oracle' is unknown") as caught:
        method_named("oracle")
    assert all(method.name in str(caught.value) for method in METHODS)


def test_names_and_kinds_are_declared() -> None:
    """Every method has its own name and a kind, and is found by that name."""
    assert len({method.name for method in METHODS}) == len(METHODS)
    for method in METHODS:
        assert method_named(method.name) is method
        assert method.kind in ("categorical", "numeric")


def test_the_public_names_exist() -> None:
    """Everything in __all__ can be imported."""
    for name in masquerade.truth.__all__:
        assert getattr(masquerade.truth, name) is not None


@pytest.mark.parametrize("text", [None, 3, MajorityVote])
def test_a_method_is_named_by_a_text(text: Any) -> None:
    """A class or a number is no name."""
    with pytest.raises(ParameterError, match=r"expected a name such as 'majority-vote'"):
        method_named(text)


def test_auto_is_for_two_kinds() -> None:
    """Claims of another kind have no best method."""
    with pytest.raises(ParameterError, match="kind is 'text', expected 'categorical' or"):
        method_named("auto", kind="text")  # type: ignore[arg-type]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "method",
    [one for one in METHODS if one.kind == "categorical"],
    ids=lambda method: method.name,
)
def test_every_method_for_labels_keeps_the_contract(method: Any, check: Any) -> None:
    """Each check of `method_checks` passes on each registered method."""
    check(method)
