"""The result of a truth method: the truths found, the workers, and what there is to remark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from masquerade.answers.result import Result
from masquerade.plots import estimates, reliability
from masquerade.truth.diagnostics import Remark

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, eq=False)
class Inference(Result):
    """The result of a truth method.

    Attributes
    ----------
    method : str
        Its name.
    truths : pyarrow.Table
        Of categories ``task``, ``label`` and ``posterior``, the label's share of the posterior; of
        numbers ``task``, ``value``, ``claims``, ``standard_error``, ``low``, ``high``.
    workers : pyarrow.Table
        ``worker``, ``claims``, and what the method knows of them, such as ``reliability``.
    converged : bool
    iterations : int
    remarks : tuple of Remark

    Examples
    --------
    >>> from masquerade.truth import MajorityVote
    >>> fit = MajorityVote().fit({"task": ["a", "a", "a"], "worker": ["x", "y", "z"],
    ...                           "label": ["no", "yes", "no"]})
    >>> fit.result_.to_arrow().to_pylist()
    [{'task': 'a', 'label': 'no', 'posterior': 0.6666666666666666}]
    """

    method: str
    truths: pa.Table
    workers: pa.Table
    converged: bool
    iterations: int
    remarks: tuple[Remark, ...]

    def to_arrow(self) -> pa.Table:
        """Return ``truths``."""
        return self.truths

    def plot(self, *, axes: Axes | None = None, theme: str = "light") -> Axes:
        """Draw the reliability of workers; of numbers, the values where nothing else is known."""
        if "reliability" in self.workers.column_names:
            return reliability(self.workers, axes=axes, theme=theme)
        return estimates(self.truths, axes=axes, theme=theme, title="Values of tasks")
