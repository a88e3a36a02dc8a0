"""crowd-kit's votes: plain, weighted by skills that are given or learnt, and by messages."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any, ClassVar, Self

import numpy as np

from masquerade.answers import Claims, Frame, Progress
from masquerade.answers.frames import is_pandas
from masquerade.errors import ParameterError
from masquerade.mechanisms import CategoricalMechanism
from masquerade.truth import matrix_completion, message_passing, vote_weights, voting
from masquerade.truth.crowd_kit.names import CrowdKitNames, Renamed, SkillNames
from masquerade.truth.problem import Gold, Problem, Solution, gold_codes
from masquerade.truth.report_mechanisms import AnyMechanism
from masquerade.truth.ties import Ties

_ON_MISSING_SKILL = ("error", "ignore", "value")


class MajorityVote(CrowdKitNames, voting.MajorityVote):
    """Majority vote, also with skills that are given; see `masquerade.truth.MajorityVote`.

    Parameters
    ----------
    default_skill : float, optional
        Skill of workers that the given ones lack, where `on_missing_skill` is ``"value"``.
    on_missing_skill : {"error", "ignore", "value"}
        Whether such a worker is an error, is left out, or has the default.
    ties, seed
        See `CategoricalEstimator`.
    """

    def __init__(
        self,
        default_skill: float | None = None,
        on_missing_skill: str = "error",
        *,
        ties: Ties = "random",
        seed: int = 0,
    ) -> None:
        super().__init__(ties=ties, seed=seed)
        if on_missing_skill not in _ON_MISSING_SKILL:
            raise ParameterError(
                f"on_missing_skill is {on_missing_skill!r}, expected one of {_ON_MISSING_SKILL}."
            )
        if (on_missing_skill == "value") != (default_skill is not None):
            raise ParameterError(
                "default_skill goes with on_missing_skill='value', and that with a default_skill."
            )
        self.default_skill = default_skill
        self.on_missing_skill = on_missing_skill
        self._skills: Any = None

    def fit(
        self,
        data: Claims | Frame,
        skills: Any = None,
        *,
        mechanism: AnyMechanism = None,
        gold: Gold | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Count votes, or sum the skills of voters where a series of skills is given."""
        self._skills = skills
        if skills is not None and self.on_missing_skill == "ignore":
            data = self._of_the_skilled(data, skills)
        return super().fit(data, mechanism=mechanism, gold=gold, progress=progress)

    def fit_predict(  # type: ignore[override]
        self, data: Claims | Frame, skills: Any = None, **options: Any
    ) -> Frame:
        """Return each task's label; see `fit`."""
        if is_pandas(data):
            return self.fit(data, skills, **options).labels_
        self.fit(data, skills, **options)
        return self.truths_

    def fit_predict_proba(  # type: ignore[override]
        self, data: Claims | Frame, skills: Any = None, **options: Any
    ) -> Frame:
        """Return the shares of each task's votes; see `fit`."""
        fit = self.fit(data, skills, **options)
        return fit.probas_ if is_pandas(data) else fit.posteriors_

    def solve(self, problem: Problem) -> Solution:
        """Return the votes; see `CategoricalEstimator.solve`."""
        if self._skills is None:
            return super().solve(problem)
        weighted = voting.WeightedVote(weights=self._skills, default_weight=self.default_skill)
        solution = weighted.solve(problem)
        # crowd-kit's skills_ after the vote: agreement with its labels
        agreement = vote_weights.agreement_with(solution.scores, problem, ties=self.ties)
        return replace(solution, reliability=agreement)

    def _of_the_skilled(self, data: Frame, skills: Any) -> Frame:
        if not is_pandas(data):
            raise ParameterError("on_missing_skill='ignore' takes a pandas table.")
        kept = data[data["worker"].isin(dict(skills))]
        lost = set(data["task"]) - set(kept["task"])
        if lost:
            raise ParameterError(
                f"{len(lost)} tasks, such as {min(map(str, lost))!r}, have no answer of a worker "
                "whose skill is known; give more skills, or on_missing_skill='value'."
            )
        return kept


class Wawa(SkillNames, voting.WeightedVote):
    """Votes weighted by agreement with the majority; see `masquerade.truth.WeightedVote`."""

    def __init__(self, *, ties: Ties = "random", seed: int = 0) -> None:
        super().__init__(ties=ties, seed=seed)


class GoldMajorityVote(SkillNames, vote_weights.GoldMajorityVote):
    """Votes weighted by accuracy on known truths; see `masquerade.truth.GoldMajorityVote`.

    As in crowd-kit, `fit` learns skills alone, a task may have several truths, and labels are the
    votes' for tasks whose truth is known, too.
    """

    def __init__(self, *, ties: Ties = "random", seed: int = 0) -> None:
        super().__init__(ties=ties, seed=seed)

    def fit(  # type: ignore[override]
        self,
        data: Claims | Frame,
        true_labels: Any,
        *,
        mechanism: CategoricalMechanism | None = None,
    ) -> Self:
        """Learn the skills of workers; `true_labels` is a series by task."""
        pandas = import_module("pandas")
        self._frame, self._results = (data if is_pandas(data) else None), None
        self._shown = {}
        if self._is_empty:
            self._shown["skills_"] = pandas.Series(dtype="float64", name="skill")
            return self
        claims = self._as_claims(data, mechanism)
        if mechanism is not None:
            mechanism.check(claims)
        truths = pandas.Series(true_labels)
        right, answers = np.zeros(len(claims)), np.zeros(len(claims))
        # one truth a task at a time
        for _, some in truths.groupby(truths.groupby(level=0).cumcount()):
            code = gold_codes(some, claims)[claims.task]
            answers = np.maximum(answers, code >= 0)
            # A task with several truths is answered rightly by any of them.
            right += code == claims.value
        answered = np.bincount(claims.worker, answers, claims.n_workers)
        correct = np.bincount(claims.worker, right, claims.n_workers)
        index = pandas.Index(claims.workers.to_pylist(), name="worker")
        tested = answered > 0
        skills = pandas.Series(correct[tested] / answered[tested], index[tested], name="skill")
        self._shown["skills_"] = skills.sort_index()
        return self

    def fit_predict(  # type: ignore[override]
        self,
        data: Claims | Frame,
        true_labels: Any,
        *,
        mechanism: CategoricalMechanism | None = None,
    ) -> Any:
        """Return each task's label; see `fit`."""
        return self.fit(data, true_labels, mechanism=mechanism).predict(data)

    def fit_predict_proba(  # type: ignore[override]
        self,
        data: Claims | Frame,
        true_labels: Any,
        *,
        mechanism: CategoricalMechanism | None = None,
    ) -> Any:
        """Return the shares of each task's weighted votes; see `fit`."""
        return self.fit(data, true_labels, mechanism=mechanism).predict_proba(data)


class ZeroBasedSkill(SkillNames, vote_weights.ZeroBasedSkill):
    """Zero-based skill; see `masquerade.truth.ZeroBasedSkill`.

    ``n_iter``, ``lr_init``, ``lr_steps_to_reduce``, ``lr_reduce_factor`` and ``eps`` are its
    ``max_iterations``, ``rate``, ``rate_steps``, ``rate_factor`` and ``tolerance``.
    """

    n_iter, lr_init = Renamed("max_iterations"), Renamed("rate")
    lr_steps_to_reduce, lr_reduce_factor = Renamed("rate_steps"), Renamed("rate_factor")
    eps = Renamed("tolerance")

    def __init__(
        self,
        n_iter: int = 100,
        lr_init: float = 1.0,
        lr_steps_to_reduce: int = 20,
        lr_reduce_factor: float = 0.5,
        eps: float = 1e-5,
        *,
        ties: Ties = "random",
        seed: int = 0,
    ) -> None:
        super().__init__(
            max_iterations=n_iter or 1,
            rate=lr_init,
            rate_steps=lr_steps_to_reduce,
            rate_factor=lr_reduce_factor,
            tolerance=eps,
            ties=ties,
            seed=seed,
        )
        self.max_iterations = n_iter  # 0 as well, as in crowd-kit: the start is the result

    @property
    def skills_(self) -> Any:
        """Weights of workers: series by worker (sorted)."""
        return self._show("skills_", lambda: self._series(self.solution_.weight, "skill", "worker"))


class KOS(CrowdKitNames, message_passing.KOS):
    """Karger, Oh and Shah's messages; see `masquerade.truth.KOS`.

    ``n_iter`` and ``random_state`` are its ``max_iterations`` and ``seed``.
    """

    empty_labels: ClassVar[str] = "object"
    n_iter, random_state = Renamed("max_iterations"), Renamed("seed")

    def __init__(self, n_iter: int = 100, random_state: int = 0, *, ties: Ties = "random") -> None:
        super().__init__(max_iterations=n_iter or 1, seed=random_state, ties=ties)
        self.max_iterations = n_iter


class MMSR(SkillNames, matrix_completion.MMSR):
    """Robust rank-one matrix completion; see `masquerade.truth.MMSR`.

    ``n_iter``, ``tol`` and ``random_state`` are its ``max_iterations``, ``tolerance`` and ``seed``.
    """

    n_iter, tol, random_state = (
        Renamed("max_iterations"),
        Renamed("tolerance"),
        Renamed("seed"),
    )

    def __init__(
        self,
        n_iter: int = 10_000,
        tol: float = 1e-10,
        random_state: int = 0,
        *,
        ties: Ties = "random",
    ) -> None:
        super().__init__(max_iterations=n_iter or 1, tolerance=tol, seed=random_state, ties=ties)
        self.max_iterations = n_iter

    def predict_score(self, data: Frame) -> Any:
        """Return ``scores_`` of claims by the workers' skills, which stay as they are."""
        return self._predicted(data).scores_

    def fit_predict_score(self, data: Frame, *, mechanism: AnyMechanism = None) -> Any:
        """Learn skills and return ``scores_``."""
        return self.fit(data, mechanism=mechanism).scores_

    @property
    def skills_(self) -> Any:
        """Log odds of workers: series by worker (sorted)."""
        return self._show("skills_", lambda: self._series(self.solution_.weight, "skill", "worker"))

    @property
    def scores_(self) -> Any:
        """Sums of skills as shares of a task's sum, which may be negative; a row a task."""

        def shares() -> Any:
            pandas = import_module("pandas")
            claims, scores = self.claims_, self.solution_.scores
            assert claims.options is not None
            return pandas.DataFrame(
                scores / scores.sum(axis=1, keepdims=True),
                index=pandas.Index(claims.tasks.to_pylist(), name="task"),
                columns=pandas.Index(claims.options.to_pylist(), name="label"),
            ).sort_index()

        return self._show("scores_", shares)
