"""Noise that each party adds to its own sums, so that both sums together protect everybody.

The noise is a whole number, exact, and drawn by each party by itself: one honest party is enough.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from masquerade.aggregate.bit_circuits import require_length
from masquerade.aggregate.field import FIELD_128, Elements
from masquerade.aggregate.survey_circuit import Block
from masquerade.errors import ParameterError
from masquerade.exact import DEFAULT_DELTA, Coins, Guarantee, Micro, SimulatedCoins
from masquerade.exact.coins import WordSource, require_coins
from masquerade.exact.epsilon_at_delta import epsilon_of_rho, probability_of_failure
from masquerade.exact.loss import Loss, no_loss
from masquerade.exact.noise import discrete_gaussian
from masquerade.exact.number import NumberLike, finite, positive, text_of
from masquerade.exact.pairs import NoisePair

TWO_PARTIES = "two-parties"
_BLOCK = re.compile(r"(\d{1,30})/(\d{1,30})/([0-9./]{1,80})")
_LONGEST = 1 << 20
ASSUMPTIONS = (
    "one of the two parties is honest: it adds its noise and does not show its shares to the other",
    "each response is split on the person's own device, by honest software with fresh "
    "operating-system randomness, and each share is encrypted to its party",
    "the encryption and the extendable output function (TurboSHAKE128) are secure: the promise "
    "holds against anybody of bounded time",
    "each party checks a response once, adds it up once, and shows one noisy sum for a survey; its "
    "database is never put back to an earlier state but by `masquerade restore`",
    "each person is counted once: for whoever is counted k times, rho is k squared times as large",
    "who took part, how many, and how many were refused may be seen; what was answered is "
    "protected",
)


@dataclass(frozen=True, slots=True)
class NoiseTerms:
    """The terms of one party's noise: the worst pair of each block of sums.

    Its text form is ``two-parties:D/m/v;...`` with a part for each block: D is the largest squared
    change of the block, m that of one sum of it, v the parameter of the noise on each sum, all in
    squared steps.

    Examples
    --------
    >>> terms = NoiseTerms.of_text("two-parties:2/1/20;2/1/20")
    >>> float(terms.rho), terms.loss().clock, str(terms)
    (0.1, 200000, 'two-parties:2/1/20;2/1/20')
    """

    pairs: tuple[NoisePair, ...]

    @classmethod
    def of_text(cls, text: str) -> NoiseTerms:
        """Return the terms of a text form; `ParameterError` for any other text."""
        blocks = text.removeprefix(f"{TWO_PARTIES}:").split(";")
        found = [_BLOCK.fullmatch(block) for block in blocks]
        if not text.startswith(f"{TWO_PARTIES}:") or None in found or len(text) > _LONGEST:
            raise ParameterError(
                f"{text[:60]!r} does not say what two parties add: expected "
                f"{TWO_PARTIES}:D/m/v;... with a part for each block of sums."
            )
        parts = [one.groups() for one in found if one is not None]
        terms = cls(tuple(NoisePair(int(d), int(m), positive(v, "variance")) for d, m, v in parts))
        if str(terms) != text:  # one text for one noise
            raise ParameterError(f"{text[:60]!r} is not written as {str(terms)[:60]!r}.")
        return terms

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated loss of a whole response, exactly."""
        # Canonne, Kamath and Steinke (2020), Theorem 4: one block costs D / (2 variance); rhos add.
        return sum((pair.rho for pair in self.pairs), Fraction(0))

    def loss(self) -> Loss:
        """Return the loss of a whole response: that of each block, one after the other."""
        return sum((pair.loss for pair in self.pairs), no_loss())

    def guarantee(self, *, delta: NumberLike = DEFAULT_DELTA) -> Guarantee:
        """Return the promise to a person for their whole response to the survey.

        One changed answer is stated at the cost of the whole response, which bounds it: it may
        decide over other questions and stand in cross tables.
        """
        delta = probability_of_failure(delta)
        rho, loss = Micro.of_amount(self.rho), self.loss()
        epsilon = epsilon_of_rho(rho, delta=delta)
        return Guarantee(
            epsilon_single=epsilon,
            epsilon_event=epsilon,
            epsilon_user=epsilon,
            answers=len(self.pairs),
            assumptions=ASSUMPTIONS,
            delta=delta,
            trust=TWO_PARTIES,
            rho_event=rho,
            rho_user=rho,
            loss_event=loss,
            loss_user=loss,
        )

    def __str__(self) -> str:
        parts = (f"{p.squared}/{p.largest}/{text_of(p.variance)}" for p in self.pairs)
        return f"{TWO_PARTIES}:{';'.join(parts)}"


@dataclass(frozen=True, slots=True)
class SumNoise:
    """Discrete Gaussian noise on the sums of a survey, with its own size for each block.

    Each of the two parties draws all of it: the published sums have it twice.

    Attributes
    ----------
    blocks : tuple of Block
        Of the survey.
    variances : tuple of Fraction
        Parameter of one party's noise on each sum of a block, in squared steps.

    Privacy
    -------
    Protects each person's whole response from whoever sees the published sums and everything that
    at most one of the parties sees. Neighbours: one response replaced by any other that is
    well-formed, the number of responses being the same. It costs
    ``rho = sum over blocks of D / (2 variance)`` of zero-concentrated loss, exactly, where D is
    the block's largest squared Euclidean change (Canonne, Kamath and Steinke, 2020, Theorem 4).
    Only the honest party's noise counts. If both parties put their shares together they read every
    answer.

    Examples
    --------
    >>> from masquerade.aggregate import One
    >>> noise = SumNoise.of_rho([One(5)] * 10, "0.5")
    >>> noise.variances[0], noise.published_variance(0)
    (Fraction(20, 1), Fraction(40, 1))
    >>> noise.guarantee().rho_user.epsilon, noise.guarantee().epsilon_user.epsilon
    (0.5, 5.221535)
    """

    blocks: tuple[Block, ...]
    variances: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not self.blocks or len(self.blocks) != len(self.variances):
            raise ParameterError(
                f"{len(self.variances)} variances were given for {len(self.blocks)} blocks; "
                "expected one for each, and a block at least."
            )
        for place, variance in enumerate(self.variances):
            if not isinstance(variance, Fraction) or variance <= 0:
                raise ParameterError(
                    f"the variance of block {place} is {variance!r}, expected a fraction above 0."
                )

    @classmethod
    def of_rho(cls, blocks: Sequence[Block], rho: NumberLike) -> SumNoise:
        """Return the noise that costs `rho`, with equal errors relative to each block's unit.

        Parameters
        ----------
        blocks : sequence of Block
        rho : number
            Above 0, of a whole response.
        """
        exact = finite(rho, "rho")
        if exact <= 0:
            raise ParameterError(f"rho is {text_of(exact)}, expected above 0.")
        # rho = sum of D / (2 variance), with variance = scale unit**2 in each block.
        relative = sum(Fraction(b.sensitivity_squared, b.unit**2) for b in blocks)
        scale = Fraction(relative) / (2 * exact)
        if scale == 0:
            raise ParameterError(
                "no answer changes any sum; give a block that holds an answer, such as One(2)."
            )
        return cls(tuple(blocks), tuple(scale * block.unit**2 for block in blocks))

    @property
    def rho(self) -> Fraction:
        """Zero-concentrated loss of a whole response, exactly."""
        return self.terms.rho

    @property
    def terms(self) -> NoiseTerms:
        """The terms of the noise: sensitivities and variance of each block."""
        return NoiseTerms(
            tuple(
                NoisePair(block.sensitivity_squared, block.largest_change_squared, variance)
                for block, variance in zip(self.blocks, self.variances, strict=True)
            )
        )

    def published_variance(self, block: int) -> Fraction:
        """Return the parameter of the noise of both parties; the variance is never above it."""
        # Both parties add all of the noise, so that either alone protects.
        return 2 * self.variances[block]

    def add(self, aggregate_share: Sequence[int], *, coins: Coins | None = None) -> Elements:
        """Return one party's aggregate share with its noise, which it may show.

        Draw it once for a survey and keep what came of it: a second draw would halve the noise.

        Parameters
        ----------
        aggregate_share : sequence of int
            Elements of Field128, all outputs of all blocks.
        coins : Coins, optional
            The operating system's; nothing else is accepted.

        Raises
        ------
        InsecureRandomness
            `coins` are not the operating system's.
        """
        return self._with_noise(aggregate_share, require_coins(coins))

    def simulate(self, aggregate_share: Sequence[int], rng: np.random.Generator) -> Elements:
        """Return an aggregate share with seeded noise, for studies: it protects nobody."""
        return self._with_noise(aggregate_share, SimulatedCoins(rng))

    def guarantee(self, *, delta: NumberLike = DEFAULT_DELTA) -> Guarantee:
        """Return the promise to a person for their whole response; see `NoiseTerms.guarantee`."""
        return self.terms.guarantee(delta=delta)

    def _with_noise(self, share: Sequence[int], source: WordSource) -> Elements:
        require_length(share, sum(block.outputs for block in self.blocks))
        # every output has noise, also one that nobody chose
        noise: list[int] = []
        for block, variance in zip(self.blocks, self.variances, strict=True):
            noise += discrete_gaussian(source, variance, block.outputs).tolist()
        # negative noise becomes an element near the modulus; `Field.centred` reads it back
        return FIELD_128.add(share, noise)
