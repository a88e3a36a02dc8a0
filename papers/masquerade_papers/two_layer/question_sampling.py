"""Question sampling: report a few answers clearly instead of all of them faintly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from masquerade.exact.arrays import Codes, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.loss import Loss
from masquerade.exact.number import NumberLike, positive, whole
from masquerade.exact.pairs import Pair
from masquerade.mechanisms.mechanism import Mechanism
from masquerade.mechanisms.randomized_response import (
    ASSUMPTIONS,
    MOST_SYMBOLS,
    RandomizedResponse,
)

if TYPE_CHECKING:
    from masquerade.answers import Claims

_BEST_EPSILON = Fraction("2.18")

SAMPLING_ASSUMPTIONS = (
    *ASSUMPTIONS,
    "which answers are reported is drawn by coins that do not look at them",
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class QuestionSampling(Mechanism):
    """Report k of a person's n answers, chosen by coins, each by randomized response at E / k.

    Parameters
    ----------
    options : int
        Number of options, at least 2.
    epsilon : number
        E, the loss of all reports of a person together, in nats, above 0.
    keep : int or "auto"
        How many answers each person reports (all of them where there are fewer). ``"auto"`` is
        E / 2.18, rounded, at least 1: for two options, k reports of strength E / k then carry the
        most, for ``k tanh(E / 2k)**2`` is largest there.

    Privacy
    -------
    Protects a person, all n answers together, from everyone but the person's own device: the user
    level costs at most E whatever n is, for at most k reports are sent, at E / k each. Neighbours:
    two people whose answers differ in all n (user) or in one (event); one changed answer costs
    E / k. Which questions are reported is drawn without looking at the answers and says nothing.
    k and E / k depend on n alone, so n is not protected; see "assigned" in `Mechanism`.

    Sampling is not counted as amplification: which answers are reported is seen.

    Examples
    --------
    >>> mechanism = QuestionSampling(2, epsilon=10)
    >>> mechanism.reported(20), str(mechanism.inner(20))
    (5, 'randomized-response:options=2,epsilon=2')
    >>> promise = mechanism.guarantee(answers=20)
    >>> promise.epsilon_event.epsilon, promise.epsilon_user.epsilon
    (2.0, 10.0)
    """

    name = "question-sampling"
    kind: ClassVar[Literal["categorical", "numeric"]] = "categorical"
    null = False

    options: int
    epsilon: Fraction
    keep: int | None  # None: as many as carry the most

    def __init__(
        self, options: int, *, epsilon: NumberLike, keep: int | Literal["auto"] = "auto"
    ) -> None:
        self._set(
            options=whole(options, "options", low=2, high=MOST_SYMBOLS),
            epsilon=positive(epsilon, "epsilon"),
            keep=None if keep == "auto" else whole(keep, "keep", low=1),
        )

    def reported(self, answers: int) -> int:
        """Return how many of `answers` answers a person reports."""
        answers = whole(answers, "answers", low=0)
        wanted = self.keep if self.keep is not None else round(self.epsilon / _BEST_EPSILON)
        return min(max(wanted, 1), answers)

    def inner(self, answers: int) -> RandomizedResponse:
        """Return the mechanism of each report of a person with `answers` answers (at least 1).

        Inference on the reports takes it as its mechanism.
        """
        reported = self.reported(whole(answers, "answers", low=1))
        return RandomizedResponse(self.options, epsilon=self.epsilon / reported)

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the exact promise to a person with `answers` answers.

        Cost: constant time.
        """
        answers = whole(answers, "answers", low=0)
        inner = self.inner(max(answers, 1)).guarantee(answers=self.reported(answers))
        return replace(inner, answers=answers, assumptions=SAMPLING_ASSUMPTIONS)

    def pairs(self, *, answers: int = 1) -> dict[Pair, int]:
        """Return those of the answers that are reported: which these are, coins decide."""
        return self.inner(max(answers, 1)).pairs(answers=self.reported(answers))

    def loss(self, *, answers: int = 1, changed: int | None = None) -> Loss:
        """Return the loss of the answers that are reported, as many as change."""
        most = self.reported(answers)
        differ = most if changed is None else min(most, changed)
        return self.inner(max(answers, 1)).loss(answers=differ)

    def variance(self, *, answers: int = 1) -> float:
        """Return the variance that the mask adds to the one-hot estimate of an answer.

        The estimate is n / k times that of randomized response where the answer is among the k
        of `answers` = n that are reported, else 0.
        """
        answers = whole(answers, "answers", low=1)
        # Unreported answers count as 0, so the estimate of a reported one is n / k times as large:
        # its square is V + 1 (V the variance) before, and n / k times that now.
        share = answers / self.reported(answers)
        return share * (self.inner(answers).variance() + 1) - 1

    def check(self, claims: Claims) -> None:
        """Raise where the claims are not of this mechanism's domain."""
        self.inner(1).check(claims)

    def choose(self, persons: Codes, source: WordSource) -> Integers:
        """Return which answers are reported, as places in `persons`, in order.

        Every choice of k among a person's n answers is equally likely, and no answer is looked at.
        """
        count = np.bincount(persons)
        reported = np.array([self.reported(n) for n in range(int(count.max(initial=0)) + 1)])
        while True:
            keys = source.words(len(persons))
            order = np.lexsort((keys, persons))
            same = (persons[order[1:]] == persons[order[:-1]]) & (
                keys[order[1:]] == keys[order[:-1]]
            )
            if not same.any():  # equal keys would favour the earlier answer
                break
        # rank of each answer among its person's, in the order of the random keys
        rank = np.arange(len(persons)) - (np.cumsum(count) - count)[persons[order]]
        return np.sort(order[rank < reported[count[persons[order]]]])

    def _masked(self, claims: Claims, source: WordSource) -> Claims:
        self.check(claims)
        kept = self.choose(claims.worker, source)
        count = np.bincount(claims.worker)
        worker, answers = claims.worker[kept], claims.value[kept]
        value = np.empty_like(answers)
        for n in np.unique(count[worker]).tolist():
            # epsilon / k depends on how many answers a person gave: one mechanism for each number
            of_n = np.flatnonzero(count[worker] == n)
            value[of_n] = self.inner(n).mask(answers[of_n], worker[of_n], source)
        return replace(claims, task=claims.task[kept], worker=worker, value=value)
