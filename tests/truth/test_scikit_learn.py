"""Methods follow the conventions of scikit-learn that do not ask for a matrix."""

from __future__ import annotations

from typing import Any

import pytest

from masquerade.errors import ParameterError
from masquerade.truth import METHODS, DawidSkene, MajorityVote


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_a_method_is_cloned_by_its_parameters(method: Any) -> None:
    """`clone` gives an unfitted method of the same parameters, and the applicable checks pass."""
    base: Any = pytest.importorskip("sklearn.base")
    checks: Any = pytest.importorskip("sklearn.utils.estimator_checks")
    one = method()
    assert base.clone(one).get_params() == one.get_params()
    checks.check_get_params_invariance(method.__name__, one)


def test_an_unknown_parameter_is_corrected_and_changes_nothing() -> None:
    """`set_params` refuses unknown parameters and values out of range, and keeps all."""
    one = DawidSkene()
    before = one.get_params()
    with pytest.raises(ParameterError, match=r"Did you mean 'seed'\?"):
        one.set_params(sed=1)
    with pytest.raises(ParameterError):
        one.set_params(ties="nobody", seed=3)
    assert one.get_params() == before
    assert one.set_params(seed=3).seed == 3


def test_a_method_ends_a_pipeline() -> None:
    """`fit(X, y=None)` and `fit_predict` work as the last step; targets are refused."""
    pipeline: Any = pytest.importorskip("sklearn.pipeline")
    preprocessing: Any = pytest.importorskip("sklearn.preprocessing")
    pandas: Any = pytest.importorskip("pandas")
    rows = {"task": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": ["no", "no", "yes"]}
    claims = pandas.DataFrame(rows)
    for method in (MajorityVote(), DawidSkene()):
        line = pipeline.make_pipeline(preprocessing.FunctionTransformer(lambda data: data), method)
        found = line.fit_predict(claims)
        assert found.to_dict() == {"a": "no", "b": "yes"}
        assert line.fit(claims)[-1].truths_.num_rows == 2
        with pytest.raises(ParameterError, match="gold="):
            method.fit(claims, ["no", "yes"])  # type: ignore[arg-type]
