"""Gold labels: truths that are known, for inference to hold on to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from masquerade.answers import Claims, Truths
from masquerade.errors import UnknownLabel
from masquerade.exact.arrays import Codes

Gold = Any
"""`Truths`, a table with columns ``task`` and ``truth``, a pandas series, or a dict by task."""


def gold_codes(gold: Gold | None, claims: Claims) -> Codes:
    """Return the known truth of each task as a code, shape (n_tasks,); -1 where unknown.

    Raises
    ------
    UnknownLabel
        A gold label is none of the options; a method could never give it.
    """
    if gold is None:
        return np.full(claims.n_tasks, -1, dtype=np.int32)
    codes = _truths(gold).codes(claims)
    strange = np.flatnonzero(codes == -2)
    if len(strange):
        assert claims.options is not None
        raise UnknownLabel(
            f"gold: the truth of task {claims.tasks[int(strange[0])].as_py()!r} is none of the "
            f"{claims.n_options} options {claims.options.to_pylist()[:10]}; correct it, or declare "
            "all options when reading the claims."
        )
    return codes


def _truths(gold: Gold) -> Truths:
    if isinstance(gold, Truths):
        return gold
    if isinstance(gold, Mapping) and not {"task", "truth"} <= set(gold):
        return Truths.from_frame({"task": list(gold), "truth": list(gold.values())})
    if hasattr(gold, "index") and hasattr(gold, "to_numpy") and not hasattr(gold, "columns"):
        pairs = {"task": gold.index.to_numpy(), "truth": gold.to_numpy()}
        return Truths.from_frame(pairs)
    return Truths.from_frame(gold)
