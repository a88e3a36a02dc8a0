"""Errors of past reports, and each person's bias learnt from them, masks subtracted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.number import one_of

_FLOOR = 1e-4  # of a variance, in squared widths
_TURNS = 4  # of the weights of the moment estimates; they change little after two


@dataclass(frozen=True, slots=True)
class VarianceComponents(Result):
    """Variances that make up the errors of a crowd, in squared widths of a question's range.

    Attributes
    ----------
    within : float
        Variance of one person's errors from question to question (sigma_e squared).
    between : float
        Variance of the persons' own tendencies, or biases (tau_b squared).

    Examples
    --------
    >>> VarianceComponents(within=0.06, between=0.01)
    VarianceComponents(within=0.06, between=0.01)
    """

    within: float
    between: float


@dataclass(frozen=True, slots=True)
class Biases(Result):
    """Posterior mean and variance of each person's bias.

    Attributes
    ----------
    bias : float array, shape (n_people, n_coordinates)
        Shrunk towards 0; exactly 0 for a person without history.
    variance : float array, shape (n_people,)
        What is not known of it: posterior variance, a coordinate.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade_papers.loki.history import History
    >>> history = History([0, 1, 0, 1], [0, 0, 1, 1], [0.1, 0.3, 0.2, 0.6], np.zeros(4))
    >>> history.biases().bias.shape
    (2, 1)
    """

    bias: Floats
    variance: Floats
    components: VarianceComponents


class History:
    """Errors of past reports: report minus the crowd's estimate, in widths of the question.

    Only reports go in, never answers, so whatever is computed from a history costs nobody any
    further privacy. Answers in clear do not belong here: they would be raw data.

    Parameters
    ----------
    person, question : int array, shape (n,)
        Integers from 0. A person answers a question at most once.
    report : float array, shape (n,) or (n, n_coordinates)
        Reports in widths of the question's range: a rating from 1 to 5 is divided by 4. Of choices,
        the unbiased one-hot estimates, divided by the square root of the number of options where
        questions with different numbers are mixed.
    noise_variance : float array, shape (n,)
        What the mask added to the variance, all coordinates together, in squared widths.
    people, questions : int, optional
        How many there are, where the last ones have no report.
    weighting : {"precision", "plain"}
        The crowd's estimate of a question: weighted by 1 / (1 + noise variance in units of the
        errors' spread), or the plain mean of Kandappu et al. (2014).

    Raises
    ------
    ParameterError
        The arrays do not fit together, or a person answered a question twice.

    Examples
    --------
    >>> import numpy as np
    >>> person, question = [0, 1, 0, 1], [0, 0, 1, 1]
    >>> history = History(person, question, [0.1, 0.3, 0.2, 0.6], np.zeros(4))
    >>> history.variance_components().within >= 0
    True
    """

    def __init__(
        self,
        person: ArrayLike,
        question: ArrayLike,
        report: ArrayLike,
        noise_variance: ArrayLike,
        *,
        people: int | None = None,
        questions: int | None = None,
        weighting: str = "precision",
    ) -> None:
        self.person = np.asarray(person, dtype=np.int64)
        self.question = np.asarray(question, dtype=np.int64)
        given = np.asarray(report, dtype=np.float64)
        self.noise_variance: Floats = np.asarray(noise_variance, dtype=np.float64)
        reports = given[:, None] if given.ndim == 1 else given
        _check(self.person, self.question, reports, self.noise_variance)
        self.people = _size(self.person, people, "people")
        self.questions = _size(self.question, questions, "questions")
        cells = self.person * self.questions + self.question
        if np.unique(cells).size < cells.size:
            order = np.argsort(cells, kind="stable")
            row = int(order[1:][np.diff(cells[order]) == 0][0])
            raise ParameterError(
                f"row {row + 1}: person {self.person[row]} answered question {self.question[row]} "
                "before; give one report a person and question."
            )
        one_of(weighting, "weighting", ("precision", "plain"))
        weight = np.ones(len(self.person))
        if weighting == "precision":
            # Inverse variances: a masked report says less of the crowd's answer.
            weight = 1 / (self._spread(reports) + self.noise_variance)
        total = np.bincount(self.question, weight, self.questions)
        self.weight: Floats = weight / total[self.question]
        self.estimate: Floats = self._by_question(self.weight[:, None] * reports)
        # A person's error is against an estimate that the person's own report is part of.
        self.error: Floats = reports - self.estimate[self.question]

    @property
    def error_noise(self) -> Floats:
        """Variance that masks add to each error, the estimate's own noise included.

        ``V (1 - 2 w) + sum over the question of w**2 V``, w the weight of this report in the
        estimate. Leaving out what the estimate adds and shares overstates the errors (Kandappu et
        al., eq. 3 and 4).
        """
        shared = np.bincount(
            self.question, self.weight**2 * self.noise_variance, minlength=self.questions
        )
        # Kandappu et al., eq. 3 and 4, with the covariance of report and estimate
        own = self.noise_variance * (1 - 2 * self.weight)
        noise: Floats = own + shared[self.question]
        return noise

    def published_errors(self) -> tuple[Floats, Floats]:
        """Return each person's mean error and variance as published.

        No correction for masks; a person without history has mean 0 and the crowd's variance
        (Kandappu et al. 2014, section 4.1).

        Returns
        -------
        float array, shape (n_people, n_coordinates)
        float array, shape (n_people,)
        """
        count = self._counts()
        mean = self._by_person(self.error) / np.maximum(count, 1)[:, None]
        away = ((self.error - mean[self.person]) ** 2).sum(axis=1)
        variance = np.bincount(self.person, away, self.people) / np.maximum(count, 1)
        known = count > 0
        whole = float((self.error**2).sum(axis=1).mean()) if len(self.error) else 0.0
        return mean, np.where(known, variance, whole)

    def variance_components(self) -> VarianceComponents:
        """Return the variance components, by the method of moments, masks subtracted.

        Sums over persons are weighted by how precise each person's part is; the weights come from
        the estimate before. Both are at least 1e-4. Amounts are a coordinate.
        """
        count = self._counts()
        coordinates = self.error.shape[1]
        noise = self.error_noise / coordinates
        safe = np.maximum(count, 1)
        mean = self._by_person(self.error) / safe[:, None]
        away = ((self.error - mean[self.person]) ** 2).sum(axis=1) / coordinates
        squares = np.bincount(self.person, away, self.people)
        masks = np.bincount(self.person, noise, self.people)
        mean_square = (mean**2).sum(axis=1) / coordinates
        many, some = count > 1, count > 0
        estimate = VarianceComponents(1.0, _FLOOR)
        # analysis of variance with the masks taken off; weights follow the last estimate
        for _ in range(_TURNS):
            typical = estimate.within + masks / safe
            weight = np.where(many, 1 / np.maximum(typical, _FLOOR) ** 2, 0.0)
            free = float((weight * np.maximum(count - 1, 0)).sum())
            within = float((weight * (squares - (1 - 1 / safe) * masks)).sum())
            within = max(within / free, _FLOOR) if free else _FLOOR
            spread = estimate.between + typical / safe
            weight = np.where(some, 1 / np.maximum(spread, _FLOOR) ** 2, 0.0)
            between = float((weight * (mean_square - (within + masks / safe) / safe)).sum())
            between = max(between / float(weight.sum()), _FLOOR) if some.any() else _FLOOR
            estimate = VarianceComponents(within, between)
        return estimate

    def biases(self, components: VarianceComponents | None = None) -> Biases:
        """Return each person's bias, shrunk by how little is known of it.

        ``b = B mean``, ``B = between / (between + 1 / P)``, P the summed precisions of the
        person's errors; what remains unknown is ``between (1 - B)``.
        """
        crowd = components or self.variance_components()
        coordinates = self.error.shape[1]
        # the normal posterior of a random effect: shrinkage B
        precision = 1 / (crowd.within + self.noise_variance / coordinates)
        total = np.bincount(self.person, precision, self.people)
        mean = self._by_person(precision[:, None] * self.error) / np.maximum(total, 1e-300)[:, None]
        share = crowd.between * total / (crowd.between * total + 1)
        return Biases(share[:, None] * mean, crowd.between * (1 - share), crowd)

    def _spread(self, reports: Floats) -> float:
        """Return a rough variance of answers around a question, masks subtracted."""
        count = np.bincount(self.question, minlength=self.questions)
        mean = self._by_question(reports) / np.maximum(count, 1)[:, None]
        away = ((reports - mean[self.question]) ** 2).sum(axis=1)
        free = float(np.maximum(count - 1, 0).sum())
        # The mean of a question carries its share of the masks too.
        masks = float((self.noise_variance * (1 - 1 / count[self.question])).sum())
        return max((float(away.sum()) - masks) / free, 0.01) if free else 0.01

    def _counts(self) -> Integers:
        return np.bincount(self.person, minlength=self.people)

    def _by_person(self, values: Floats) -> Floats:
        return _sums(self.person, values, self.people)

    def _by_question(self, values: Floats) -> Floats:
        return _sums(self.question, values, self.questions)


def _sums(codes: Integers, values: Floats, size: int) -> Floats:
    columns = [np.bincount(codes, column, size) for column in values.T]
    return np.stack(columns, axis=1)


def _size(codes: Integers, given: int | None, name: str) -> int:
    needed = int(codes.max()) + 1 if codes.size else 0
    if given is None:
        return needed
    if given < needed:
        raise ParameterError(f"{name} is {given}, the codes go up to {needed - 1}.")
    return given


def _check(person: Integers, question: Integers, reports: Floats, noise: Floats) -> None:
    lengths: Sequence[Any] = [len(x) for x in (person, question, reports, noise)]
    if len(set(lengths)) > 1 or reports.ndim != 2:
        raise ParameterError(
            f"person, question, report and noise_variance have {lengths} rows; give one each."
        )
    if lengths[0] and min(person.min(), question.min()) < 0:
        raise ParameterError("a code of a person or question is negative; codes start at 0.")
    bad = np.flatnonzero(~np.isfinite(reports).all(axis=1) | ~np.isfinite(noise) | (noise < 0))
    if bad.size:
        row = int(bad[0])
        raise ParameterError(
            f"row {row + 1}: report {reports[row].tolist()}, noise variance {noise[row]}; expected "
            "finite numbers, the variance at least 0."
        )
