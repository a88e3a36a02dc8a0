"""Matrix factorization with a proof: bounded influence, a ridge, and objective perturbation."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.guarantee import Guarantee
from masquerade.exact.micro import NO_LOSS, Micro
from masquerade.exact.noise import discrete_laplace
from masquerade.exact.number import NumberLike, finite, in_range, text_of, whole
from masquerade_papers.sparse_ldp.factorization import ONE, FactorizationMechanism

#: A profile is rounded to a millionth (10**-6) of the domain's width, or coarser in powers of ten
#: where the noise is wider than the domain.
FINEST_GRID = 6

#: Largest coordinate of the gradient at which a minimiser is accepted: in widths, or in scales of
#: the noise where that is more than a width.
GRADIENT_TOLERANCE = 1e-12

_DEFAULT_SPLIT = Fraction(1, 4)
_NOISE_STEPS = 1 << 46  # steps of the noise grid in one scale of the noise
_BOUND = 0.5  # B, in widths
_STEEPEST_CURVE = 0.77  # above max |psi''| B = 4 / (3 sqrt 3), psi = B tanh(r / B)
_MOST_TURNS = 200
_MOST_NUMBERS = 1 << 24  # held at a time by one batch of minimisations
_MARGIN = 1e-9  # far above the floating-point error of the few operations that set the scale


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MatrixFactorizationRidge(FactorizationMechanism):
    """Matrix factorization that protects "no answer" too.

    A worker sends the minimiser of ``sum over answered tasks of rho(a[j] - c - u.v[j]) +
    (ridge / 2) |u|**2 + u.eta``, where c is the middle of the domain, ``rho(r) = B**2 log cosh
    (r / B)``, B half its width, and eta Laplace noise. It exists for any number of answers, none
    included.

    Parameters
    ----------
    split : number
        The share of `epsilon` that pays for the ridge, above 0 and below 1; the rest pays for
        noise.

    Others as for `FactorizationMechanism`.

    Privacy
    -------
    Two workers whose answers differ in one task, be it an answer and another or an answer and "no
    answer", are told apart by at most `epsilon`. With l1 and l2sq the largest ``|v|_1`` and
    ``|v|_2**2``, noise of scale b:

    - ``eta = -gradient`` is a one-to-one function of the profile (strong convexity), and one answer
      moves it by at most ``width l1`` in the sum of absolute values: ``exp(width l1 / b)``;
    - the Jacobian changes by a matrix of rank one, its determinant by at most a factor
      ``1 + l2sq / ridge``.

    No profile attains both. With B half a width, two residuals ``r, r'`` of one task at most 2 B
    apart, ``k = l2sq / ridge`` and ``s = sech(r / B)**2``, the loss of an answer and another is at
    most ``B l1 |tanh(r / B) - tanh(r' / B)| / b + ln(1 + k s) - ln(1 + k s')``, and of an answer
    and "no answer" at most ``B l1 |tanh(r / B)| / b + ln(1 + k s)``. At the usual split the largest
    of these is .665 of epsilon, for epsilon .5 to 2; attacks find .62 to .67 of it. Epsilon is
    stated, charged and calibrated for the sum of the two terms above.

    This is the proof for real numbers. What is computed differs from it in three ways, which
    together cost at most `discretisation_loss`, counted within `epsilon`. The noise is discrete
    (and exact), on a grid of 2**-46 scales; the minimiser is found to a gradient of at most
    1e-12; and the profile is rounded to a millionth of the width. A rounded profile is in a cell C
    only if the exact minimiser, for continuous noise within half a step of the grid, is in C
    widened by x on every side, and surely if it is in C narrowed by x, where
    ``x = sqrt(d) (residual + half a step) / ridge``. For any density p the masses of the two differ
    by at most the ratio of their volumes times what p changes over a distance of 2 x.

    Examples
    --------
    >>> mechanism = MatrixFactorizationRidge(low=1, high=5, tasks=20, dimension=2, epsilon=1,
    ...                                      seed=bytes(32))
    >>> promise = mechanism.guarantee(answers=20)
    >>> promise.status, promise.epsilon_event.epsilon, promise.epsilon_user.epsilon < 20
    ('proven', 1.0, True)
    """

    name = "matrix-factorization-ridge"

    split: Fraction = _DEFAULT_SPLIT
    ridge: float = field(init=False)
    #: A profile is rounded to the domain's width divided by this.
    cells_of_a_width: int = field(init=False)
    #: Loss of grid, solver and rounding, counted within `epsilon`.
    discretisation_loss: float = field(init=False)
    _largest_square: float = field(init=False)  # above the largest |v|_2**2
    _tolerance: float = field(init=False)  # of the gradient, in widths
    _scale: float = field(init=False)  # of the noise, in widths

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
        split: NumberLike = _DEFAULT_SPLIT,
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
        self._set(split=finite(split, "split"))
        in_range(self.split, "split", above=0, below=1)
        rows = self.features
        # |v|_1 is at most 1 exactly: features are whole multiples of 1 / ONE.
        largest_square = float((rows**2).sum(axis=1).max()) * (1 + _MARGIN)
        for_ridge, for_noise = (
            float(self.epsilon * share) * (1 - _MARGIN) for share in (self.split, 1 - self.split)
        )
        coarser = math.floor(math.log10(max(1.0, 1 / for_noise)))
        self._set(
            # ln(1 + l2sq / ridge) = split epsilon, solved for the ridge
            ridge=largest_square / math.expm1(min(for_ridge, 700.0)),
            cells_of_a_width=10 ** max(0, FINEST_GRID - coarser),
            _largest_square=largest_square,
            _tolerance=GRADIENT_TOLERANCE * max(1.0, 1 / for_noise),
        )
        self._set(discretisation_loss=self._discretisation_loss(1 / for_noise))
        if self.discretisation_loss > for_noise / 2:
            raise ParameterError(
                f"with epsilon {text_of(self.epsilon)}, split {text_of(self.split)} and dimension "
                f"{self.dimension} the ridge is {self.ridge:.2g}, too small to compute a profile "
                "accurately; lower epsilon, split or dimension."
            )
        # width l1 / b is what is left of epsilon, with l1 = 1 and b in widths
        self._set(_scale=1 / (for_noise - self.discretisation_loss) * (1 + _MARGIN))

    @property
    def noise_scale(self) -> float:
        """The scale b of the noise, in the unit of answers."""
        return self._scale * float(self.width)

    @property
    def _centre(self) -> float:
        return float(self.lattice.low + self.lattice.high) / 2

    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the promise to two workers with answers that differ in `answers` tasks.

        Cost: constant time.

        Notes
        -----
        For many tasks the determinant changes by at most ``(1 + n l2sq / (d ridge))**d``, by the
        inequality of arithmetic and geometric means, which is less than n times one task's factor.
        """
        answers = whole(answers, "answers", low=0)
        one = Micro.of_amount(self.epsilon)
        share = self._largest_square / self.ridge
        # ln det(I + H / ridge) over the n changed tasks, by n factors, or by d equal eigenvalues.
        # both hold, so the smaller one does
        determinant = min(
            answers * math.log1p(share),
            self.dimension * math.log1p(answers * share / self.dimension),
        )
        together = answers / self._scale + determinant + self.discretisation_loss
        user = Micro.of_bound(together, error=_MARGIN * (1 + together)) if answers else NO_LOSS
        return Guarantee(
            epsilon_single=one,
            epsilon_event=one * min(answers, 1),
            epsilon_user=min(user, one * answers),
            answers=answers,
            assumptions=(
                "a profile is sent once, with fresh operating-system randomness; answers counts "
                "the tasks, answered or not, in which two workers may differ",
                "the features are derived on the device from the public seed",
                "the minimiser is found to a gradient of 1e-12 domain widths, the floating-point "
                "error of evaluating it no larger than that; this, the grid of the noise and the "
                "rounding of the profile are counted in epsilon",
                "how long a device computes is not observed",
            ),
        )

    def fewest_answers(self) -> int:
        """Return 0: a profile can always be computed."""
        return 0

    def log_density(self, profiles: Floats, answers: Floats) -> Floats:
        """Return the log density of profiles; see `FactorizationMechanism.log_density`.

        Profiles are taken before rounding, noise as continuous.
        """
        rows, index = self._answered(answers)
        x, target = rows / ONE, self._standardised(index)
        units = np.asarray(profiles, dtype=np.float64) / float(self.width)
        out = np.empty(len(units))
        for part in self._batches(len(units), len(x)):
            # x[answered task, feature], units[profile, feature], bent[profile, answered task]
            bent = np.tanh((target - units[part] @ x.T) / _BOUND)
            noise = _BOUND * bent @ x - self.ridge * units[part]
            # eta = -gradient at the profile; the density takes the determinant of the Hessian.
            log_det = np.linalg.slogdet(self._hessian(bent, x))[1]
            out[part] = log_det - np.abs(noise).sum(axis=1) / self._scale
        return out - self.dimension * math.log(2 * self.noise_scale)

    def _noise(self, source: WordSource, size: int) -> Integers:
        drawn = discrete_laplace(source, Fraction(_NOISE_STEPS), size * self.dimension)
        return drawn.reshape(size, self.dimension)

    def _solve(self, rows: Integers, index: Integers, noise: Integers) -> Floats:
        x, target = rows / ONE, self._standardised(index)
        eta = noise.astype(np.float64) * (self._scale / _NOISE_STEPS)
        out = np.empty(eta.shape)
        for part in self._batches(len(eta), len(x)):
            out[part] = self._minimise(x, target, eta[part])
        # rounded: the solver's last digits depend on more than the minimiser
        cells: Floats = np.rint(out * self.cells_of_a_width)
        profiles: Floats = cells * float(self.width) / self.cells_of_a_width
        return profiles

    def _minimise(self, x: Floats, target: Floats, eta: Floats) -> Floats:
        """Return the minimiser for each row of `eta`, everything in widths: damped Newton."""
        out = np.zeros_like(eta)
        alive = np.arange(len(eta))
        for _ in range(_MOST_TURNS):
            u, noise = out[alive], eta[alive]
            bent = np.tanh((target - u @ x.T) / _BOUND)
            # gradient of the objective: ridge u + eta - sum of psi(r) v, psi(r) = B tanh(r / B)
            gradient = self.ridge * u + noise - _BOUND * bent @ x
            left = np.abs(gradient).max(axis=1) > self._tolerance
            if not left.any():
                return out
            alive, u, noise, gradient = alive[left], u[left], noise[left], gradient[left]
            step = np.linalg.solve(self._hessian(bent[left], x), gradient[..., None])[..., 0]
            out[alive] = u - self._damping(x, target, noise, u, step, gradient)[:, None] * step
        raise ArithmeticError("the minimiser of a profile was not found to the tolerance needed")

    def _damping(
        self, x: Floats, target: Floats, noise: Floats, u: Floats, step: Floats, gradient: Floats
    ) -> Floats:
        """Return by how much of each Newton step the objective falls as it should (Armijo)."""
        share = np.ones(len(u))
        start = self._objective(x, target, noise, u)
        slope = (gradient * step).sum(axis=1)
        slack = 1e-13 * (1 + np.abs(start))  # near the minimum, the fall is below rounding
        for _ in range(60):
            now = self._objective(x, target, noise, u - share[:, None] * step)
            short = now > start - 1e-4 * share * slope + slack
            if not short.any():
                break
            share[short] /= 2
        return share

    def _objective(self, x: Floats, target: Floats, noise: Floats, u: Floats) -> Floats:
        size = np.abs(target - u @ x.T) / _BOUND
        # ln cosh r = |r| + ln(1 + e**(-2 |r|)) - ln 2, which cannot overflow
        log_cosh = size + np.log1p(np.exp(-2 * size)) - math.log(2)
        value: Floats = (
            _BOUND**2 * log_cosh.sum(axis=1)
            + self.ridge / 2 * (u**2).sum(axis=1)
            + (u * noise).sum(axis=1)
        )
        return value

    def _hessian(self, bent: Floats, x: Floats) -> Floats:
        """Return ridge + sum of psi' v v', shape (n, dimension, dimension)."""
        d = self.dimension
        outer = (x[:, :, None] * x[:, None, :]).reshape(len(x), d * d)
        hessian: Floats = ((1 - bent**2) @ outer).reshape(-1, d, d) + self.ridge * np.eye(d)
        return hessian

    def _standardised(self, index: Integers) -> Floats:
        """Return answers in widths from the middle of the domain."""
        widths: Floats = index / (self.lattice.points - 1) - 0.5
        return widths

    def _batches(self, size: int, answered: int) -> list[slice]:
        rows = max(1, _MOST_NUMBERS // max(answered, self.dimension**2))
        return [slice(start, start + rows) for start in range(0, size, rows)]

    def _discretisation_loss(self, scale: float) -> float:
        """Return the loss by grid, solver and rounding, for noise of at least `scale` widths."""
        d, square, curve = self.dimension, self._largest_square, _STEEPEST_CURVE / _BOUND
        noise_step = scale / _NOISE_STEPS
        # The tolerance, and as much again for the floating-point error of evaluating the gradient.
        residual = 2 * self._tolerance
        # A whole step, for the scale may turn out twice as large.
        widened = math.sqrt(d) * (residual + noise_step) / self.ridge
        cell = 1 / self.cells_of_a_width
        if 4 * widened >= cell:
            return math.inf
        volumes = d * (math.log1p(2 * widened / cell) - math.log1p(-2 * widened / cell))
        moved = 2 * math.sqrt(d) * widened
        of_noise = math.sqrt(d) * (self.ridge + self.tasks * square) * moved / scale
        of_determinant: float = self.tasks * curve * square**1.5 * moved / self.ridge
        return d * noise_step / scale + volumes + of_noise + of_determinant
