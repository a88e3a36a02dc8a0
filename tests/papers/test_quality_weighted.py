"""Algorithm 1 of Sun et al."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade_papers.sparse_ldp.quality_weighted import QualityWeighted


def test_the_published_algorithm_by_hand() -> None:
    """Two rounds of algorithm 1 on a full table give the figures worked by hand."""
    values = np.array([[0.0, 1.0, 5.0], [10.0, 9.0, 4.0], [20.0, 21.0, 20.0]])
    task, worker = np.divmod(np.arange(9), 3)
    rows = {"task": task, "worker": worker, "value": values.ravel()}
    found = QualityWeighted(max_iterations=2, floor=1e-9).fit(rows)
    mean = values.mean(axis=1)
    weight = 1 / np.sqrt(((values - mean[:, None]) ** 2).mean(axis=0))
    assert found.values_ == pytest.approx(values @ weight / weight.sum())
    assert (found.iterations_, found.converged_) == (2, False)


def test_a_floor_is_above_0() -> None:
    """Without a floor a worker at the estimate by chance would own the result."""
    with pytest.raises(ParameterError, match="floor is 0"):
        QualityWeighted(floor=0.0)
