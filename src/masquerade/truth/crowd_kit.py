"""crowd-kit's names of the methods that are here, for code that was written for crowd-kit.

Only the import changes: ``from masquerade.truth.crowd_kit import DawidSkene``. Each class is the
method of `masquerade.truth` with crowd-kit's names of parameters and of fitted attributes.
Comparisons of pairs are in `masquerade.preference.crowd_kit`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar, Self

from masquerade.answers import Claims, Frame
from masquerade.errors import ParameterError
from masquerade.lazy import suggestion
from masquerade.truth import dawid_skene, glad, voting
from masquerade.truth.categorical import CategoricalEstimator
from masquerade.truth.estimator import as_series, probabilities

__all__ = [
    "GLAD",
    "MACE",
    "DawidSkene",
    "GoldMajorityVote",
    "MajorityVote",
    "OneCoinDawidSkene",
    "Wawa",
]


class CrowdKitNames(CategoricalEstimator):
    """A method under crowd-kit's names: parameters by position, fitted attributes from pandas."""

    #: crowd-kit's parameters in its order, and what they are called here.
    renamed: ClassVar[dict[str, str]] = {}

    def __init__(self, *values: Any, **named: Any) -> None:
        if len(values) > len(self.renamed):
            raise ParameterError(
                f"{type(self).__name__} takes {len(self.renamed)} parameters by position "
                f"({', '.join(self.renamed)}), {len(values)} were given; name the others."
            )
        named = dict(zip(self.renamed, values, strict=False)) | named
        ours = {self.renamed.get(name, name): value for name, value in named.items()}
        known = {field.name for field in self._parameters()}
        for name in ours.keys() - known:
            raise ParameterError(
                f"{type(self).__name__} has no parameter {name!r}, expected one of "
                f"{sorted({*self.renamed, *known})}.{suggestion(name, [*self.renamed, *known])}"
            )
        super().__init__(**ours)

    def __getattr__(self, name: str) -> Any:
        if name in self.renamed:
            return getattr(self, self.renamed[name])
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    # The second parameter has crowd-kit's name and use, in which it is no target.
    def fit(  # type: ignore[override]
        self, data: Claims | Frame, true_labels: Any = None, **options: Any
    ) -> Self:
        """Learn from claims; `true_labels` is ``gold`` of `CategoricalEstimator.fit`."""
        return super().fit(data, **_with_gold(true_labels, options))

    def fit_predict(  # type: ignore[override]
        self, data: Claims | Frame, true_labels: Any = None, **options: Any
    ) -> Frame:
        """Return each task's label; see `CategoricalEstimator.fit_predict`."""
        return super().fit_predict(data, **_with_gold(true_labels, options))

    def fit_predict_proba(
        self, data: Claims | Frame, true_labels: Any = None, **options: Any
    ) -> Frame:
        """Return each task's posteriors; see `CategoricalEstimator.fit_predict_proba`."""
        return super().fit_predict_proba(data, **_with_gold(true_labels, options))

    @property
    def labels_(self) -> Any:
        """Labels of tasks: a series by task."""
        return as_series(self.truths_, self.claims_.to_pandas())

    @property
    def probas_(self) -> Any:
        """Posteriors of tasks: a data frame, a row a task (sorted), a column a label."""
        return probabilities(self.posteriors_, self.claims_.options)

    @property
    def skills_(self) -> Any:
        """Reliability of workers: a series by worker (sorted)."""
        index = import_module("pandas").Index(self.claims_.workers.to_pylist(), name="worker")
        skills = import_module("pandas").Series(self.solution_.reliability, index, name="skill")
        return skills.sort_index()


def _with_gold(true_labels: Any, options: dict[str, Any]) -> dict[str, Any]:
    return options if true_labels is None else {"gold": true_labels, **options}


_ITERATIONS = {"n_iter": "max_iterations", "tol": "tolerance"}


class MajorityVote(CrowdKitNames, voting.MajorityVote):
    """`masquerade.truth.MajorityVote`; with ``skills=``, take `masquerade.truth.WeightedVote`."""


class Wawa(CrowdKitNames, voting.WeightedVote):
    """`masquerade.truth.WeightedVote`."""


class GoldMajorityVote(CrowdKitNames, voting.GoldMajorityVote):
    """`masquerade.truth.GoldMajorityVote`."""


class DawidSkene(CrowdKitNames, dawid_skene.DawidSkene):
    """`masquerade.truth.DawidSkene`."""

    renamed = _ITERATIONS


class OneCoinDawidSkene(CrowdKitNames, dawid_skene.OneCoinDawidSkene):
    """`masquerade.truth.OneCoinDawidSkene`."""

    renamed = _ITERATIONS


class MACE(CrowdKitNames, dawid_skene.MACE):
    """`masquerade.truth.MACE`, which is crowd-kit's with ``method="vb"``, from one start."""

    renamed: ClassVar[dict[str, str]] = {"n_iter": "max_iterations", "random_state": "seed"}


class GLAD(CrowdKitNames, glad.GLAD):
    """`masquerade.truth.GLAD`."""

    renamed: ClassVar[dict[str, str]] = {
        **_ITERATIONS,
        "m_step_max_iter": "max_steps",
        "m_step_tol": "gradient_tolerance",
    }
