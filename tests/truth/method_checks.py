"""Checks of the contract of methods for labels; each takes the class of a method.

As scikit-learn's `check_estimator`: what is promised of every method is tested once, over all that
the registry finds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from masquerade.answers import Claims
from masquerade.errors import DuplicateClaim, NotFitted, ParameterError
from masquerade.mechanisms import RandomizedResponse
from masquerade.simulate import crowd

Check = Callable[[type[Any]], None]


def _claims() -> Any:
    return crowd(np.random.default_rng(5), tasks=40, workers=8, answers_per_task=5, options=2)[0]


def _fit(method: type[Any], claims: Any, gold: Any = None, **more: Any) -> Any:
    if method.name == "gold-majority-vote":  # the one that needs known truths
        gold = gold or {claims.tasks[0].as_py(): claims.options[0].as_py()}
        return method(default_weight=0.5).fit(claims, gold=gold, **more)
    return method().fit(claims, gold=gold, **more)


def nothing_is_learnt_by_the_constructor(method: type[Any]) -> None:
    """Results of an unfitted method are errors that say so."""
    with pytest.raises(NotFitted, match="has learnt nothing"):
        _ = method().truths_


def parameters_make_the_same_method(method: type[Any]) -> None:
    """`get_params` are the constructor's; unknown ones are refused and change nothing."""
    one = method()
    assert method(**one.get_params()).get_params() == one.get_params()
    with pytest.raises(ParameterError):
        one.set_params(nothing=1)
    with pytest.raises(ParameterError):
        one.set_params(ties="nobody")


def results_have_their_shapes(method: type[Any]) -> None:
    """A label and a row of posteriors a task, a reliability and a weight a worker."""
    claims = _claims()
    fit = _fit(method, claims)
    assert fit.truths_.column_names == ["task", "label"]
    posteriors = fit.solution_.posteriors
    assert posteriors.shape == (claims.n_tasks, claims.n_options)
    assert posteriors.sum(axis=1) == pytest.approx(np.ones(claims.n_tasks))
    assert ((posteriors >= 0) & (posteriors <= 1)).all()
    reliability = fit.reliability_
    assert len(reliability) == claims.n_workers
    assert all(0 <= each <= 1 for each in reliability["reliability"].to_pylist())
    assert fit.iterations_ >= 1
    assert fit.result_.method == method.name


def rows_may_come_in_any_order(method: type[Any]) -> None:
    """Shuffled rows give the same labels."""
    claims = _claims()
    order = np.random.default_rng(1).permutation(len(claims))
    shuffled = Claims.from_frame(claims.to_arrow().take(order), options=claims.options.to_pylist())
    gold = {claims.tasks[0].as_py(): claims.options[0].as_py()}
    one, other = (_fit(method, each, gold=gold).truths_.to_pylist() for each in (claims, shuffled))
    assert sorted(map(str, one)) == sorted(map(str, other))


def known_truths_are_kept(method: type[Any]) -> None:
    """Gold is the label of its task, for all votes."""
    claims = _claims()
    first = claims.tasks[0].as_py()
    for label in claims.options.to_pylist():
        fit = _fit(method, claims, gold={first: label})
        assert fit.truths_["label"][0].as_py() == label


def masks_are_checked(method: type[Any]) -> None:
    """A mechanism of another number of options is refused; the right one is taken."""
    claims = _claims()
    gold = {claims.tasks[0].as_py(): claims.options[0].as_py()}
    with pytest.raises(ParameterError, match="for 3 options, the claims have 2"):
        _fit(method, claims, gold=gold, mechanism=RandomizedResponse(3, epsilon=1))
    fit = _fit(method, claims, gold=gold, mechanism=RandomizedResponse(2, epsilon=2))
    assert len(fit.truths_) == claims.n_tasks


def repeated_claims_are_refused(method: type[Any]) -> None:
    """A worker that answers a task twice is an error with the row."""
    rows = {"task": ["a", "a"], "worker": ["x", "x"], "label": ["n", "y"]}
    with pytest.raises(DuplicateClaim, match="row 2"):
        method().fit(rows)


def classes_say_what_they_can(method: type[Any]) -> None:
    """Name, kind and support of streams and probabilities are declared."""
    assert method.name == method.name.lower()
    assert method.kind == "categorical"
    assert isinstance(method.streams, bool)
    assert isinstance(method.gives_probabilities, bool)
    assert (method.__doc__ or "").strip()


CHECKS: tuple[Check, ...] = (
    nothing_is_learnt_by_the_constructor,
    parameters_make_the_same_method,
    results_have_their_shapes,
    rows_may_come_in_any_order,
    known_truths_are_kept,
    masks_are_checked,
    repeated_claims_are_refused,
    classes_say_what_they_can,
)
