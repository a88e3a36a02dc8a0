"""Matrix factorization as published: a noisy profile, from which all answers are rebuilt.

Sun et al., "Truth inference on sparse crowdsourcing data with local differential privacy", IEEE
Big Data 2018. It does not protect whether a task was answered: see `MatrixFactorization`. The
repaired form is `MatrixFactorizationRidge`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.micro import INFINITE_LOSS, Micro
from masquerade.exact.noise import discrete_laplace
from masquerade.exact.number import NumberLike, one_of, text_of, whole
from masquerade.mechanisms.mechanism import Presence, require_flag
from masquerade_papers.sparse_ldp.factorization import (
    ONE,
    FactorizationMechanism,
    UnderdeterminedProfile,
)

if TYPE_CHECKING:
    from masquerade.answers import Claims

_LARGEST_SCALE = 1 << 48


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MatrixFactorization(FactorizationMechanism):
    """Matrix factorization as published: **no guarantee**, for study only.

    A worker who answered the tasks T with answers a sends the profile that minimises
    ``sum over T of (a[j] - u.v[j])**2 + 2 u.eta``, eta Laplace noise of scale K / epsilon, K the
    number of values: ``G^-1 (sum over T of a[j] v[j] - eta)``, G the sum over T of outer products
    of the features with themselves.

    Parameters
    ----------
    on_underdetermined : {"error", "prior"}
        What to do where the answered tasks do not determine a profile (fewer answers than
        `dimension`): refuse, or send noise alone. A pseudo-inverse is not offered: its result lies
        in the span of the answered tasks' features, and so names them.
    acknowledge_no_guarantee : bool
        Nothing is masked without it.

    Others as for `FactorizationMechanism`.

    Privacy
    -------
    None for whether a task was answered. The smallest counterexample: one feature, v = 1. The
    profile is the mean of k answers plus noise of scale K / (k epsilon), so its spread tells k. In
    general the loss between an answer and "no answer" grows without bound with the size of the
    profile. The published epsilon is `published_loss`.

    One case is proven, ``guarantee(presence="assigned", all_answered=True)``: the tasks that were
    answered are public, and two workers differ in the answers themselves. Then noise is added to
    whole numbers, for features and answers are, one answer costs exactly epsilon times width / K
    times the largest sum of absolute features, and the profile is computed from the sum.

    References
    ----------
    Sun et al. (2018), slide 25. There the noise is continuous; here it is exact and discrete, on a
    grid of ``step / 2**30``.

    Examples
    --------
    >>> mechanism = MatrixFactorization(low=1, high=5, tasks=20, dimension=2, epsilon=1,
    ...                                 seed=bytes(32))
    >>> mechanism.guarantee().status, mechanism.published_loss().epsilon
    ('none', 1.0)
    """

    name = "matrix-factorization"

    on_underdetermined: str = "error"
    acknowledge_no_guarantee: bool = False
    _scale: int = field(init=False)  # of the noise, in units of step / ONE

    def __init__(
        self,
        *,
        low: NumberLike,
        high: NumberLike,
        step: NumberLike = 1,
        tasks: int,
        dimension: int,
        epsilon: NumberLike,
        seed: bytes | str,
        distribution: str = "uniform",
        on_underdetermined: str = "error",
        acknowledge_no_guarantee: bool = False,
    ) -> None:
        super().__init__(
            low=low,
            high=high,
            step=step,
            tasks=tasks,
            dimension=dimension,
            epsilon=epsilon,
            seed=seed,
            distribution=distribution,
        )
        one_of(on_underdetermined, "on_underdetermined", ("error", "prior"))
        require_flag(acknowledge_no_guarantee, "acknowledge_no_guarantee")
        # In units of step / ONE, the unit of answers times features; rounded up.
        scale = math.ceil(self.lattice.points * ONE / (self.epsilon * self.lattice.step))
        if scale > _LARGEST_SCALE:
            raise ParameterError(
                f"epsilon is {text_of(self.epsilon)}, too small for {self.lattice.points} answers "
                f"in steps of {text_of(self.lattice.step)}; expected at least "
                f"{float(self.lattice.points * ONE / (self.lattice.step * _LARGEST_SCALE)):.3g}."
            )
        self._set(
            on_underdetermined=on_underdetermined,
            acknowledge_no_guarantee=acknowledge_no_guarantee,
            _scale=scale,
        )

    @property
    def _centre(self) -> float:
        return 0.0

    def published_loss(self, *, answers: int = 1) -> Micro:
        """Return the paper's promise for `answers` changed answers; it is not kept."""
        return Micro.of_amount(self.epsilon * whole(answers, "answers", low=0))

    def guarantee(
        self,
        *,
        answers: int = 1,
        presence: Presence = "hidden",
        all_answered: bool = False,
    ) -> Guarantee:
        """Return the promise: none, but where which tasks were answered is public.

        Parameters
        ----------
        answers : int
            In how many answers two workers may differ.
        presence : {"hidden", "assigned"}
        all_answered : bool
            With ``presence="assigned"``: whether every worker answered every task shown to them.
        """
        answers = whole(answers, "answers", low=0)
        if presence != "assigned" or not all_answered:
            return Guarantee(
                epsilon_single=INFINITE_LOSS,
                epsilon_event=INFINITE_LOSS,
                epsilon_user=INFINITE_LOSS,
                answers=answers,
                status="none",
                assumptions=(
                    "no epsilon bounds what a profile tells about whether a task was answered",
                    f"the published epsilon of {text_of(self.epsilon)} holds for no profile in "
                    "which an answer and 'no answer' must not be told apart",
                ),
            )
        # One answer moves the sums by its range times the largest row of features, in L1.
        most = int(np.abs(self._features).sum(axis=1).max())
        one = Fraction((self.lattice.points - 1) * most, self._scale)
        return Guarantee(
            epsilon_single=Micro.of_amount(one),
            epsilon_event=Micro.of_amount(one * min(answers, 1)),
            epsilon_user=Micro.of_amount(one * answers),
            answers=answers,
            assumptions=(
                "which tasks a worker answered is public, and was decided without looking at the "
                "answers: every task shown was answered",
                "the features are derived on the device from the public seed",
                "a profile is sent once, with fresh operating-system randomness",
            ),
        )

    def fewest_answers(self) -> int:
        """Return the fewest answers from which a profile can be computed."""
        return self.dimension

    def log_density(self, profiles: Floats, answers: Floats) -> Floats:
        """Return the log density of profiles; see `FactorizationMechanism.log_density`."""
        rows, index = self._answered(answers)
        x = rows / ONE
        self._require_determined(x)
        # Normal equations of least squares: G u = x' answers - eta, with Laplace noise eta.
        gram = x.T @ x
        scale = self._scale * float(self.lattice.step) / ONE
        target = self.lattice.values(index) @ x
        noise = target - profiles @ gram
        # eta = target - G u is linear in the profile u, with Jacobian G (change of variables).
        log_det = float(np.linalg.slogdet(gram)[1])
        density: Floats = (
            log_det - np.abs(noise).sum(axis=1) / scale - self.dimension * math.log(2 * scale)
        )
        return density

    def _noise(self, source: WordSource, size: int) -> Integers:
        drawn = discrete_laplace(source, Fraction(self._scale), size * self.dimension)
        return drawn.reshape(size, self.dimension)

    def _profiles(self, claims: Claims, source: WordSource) -> Floats:
        if not self.acknowledge_no_guarantee:
            raise ParameterError(
                f"{self.name} does not protect whether a task was answered; to study it all the "
                "same, give acknowledge_no_guarantee=true. For people use "
                "matrix-factorization-ridge."
            )
        return super()._profiles(claims, source)

    def _solve(self, rows: Integers, index: Integers, noise: Integers) -> Floats:
        unit = float(self.lattice.step) / ONE
        x = rows / ONE
        try:
            self._require_determined(x)
        except UnderdeterminedProfile:
            if self.on_underdetermined == "error":
                raise
            return -noise.astype(np.float64) * unit
        # Whole numbers up to here: which answer was given shifts the noise by whole units, so that
        # the last bits of the sum tell nothing.
        total = index @ rows - noise
        base = float(self.lattice.low) * x.sum(axis=0)
        solved: Floats = np.linalg.solve(x.T @ x, (base + total * unit).T).T
        return solved

    def _require_determined(self, x: Floats) -> None:
        if len(x) < self.dimension or np.linalg.matrix_rank(x) < self.dimension:
            raise UnderdeterminedProfile(
                f"{len(x)} answers do not determine a profile of {self.dimension} numbers; lower "
                "dimension, or choose on_underdetermined='prior' (noise alone is sent), or use "
                "matrix-factorization-ridge, which takes any number of answers."
            )
