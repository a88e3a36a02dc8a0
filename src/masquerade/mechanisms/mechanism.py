"""What every mechanism can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from masquerade.answers import Claims
from masquerade.errors import ParameterError, UnknownLabel
from masquerade.mechanisms.channel import Channel
from masquerade.mechanisms.coins import Coins, SimulatedCoins, WordSource, require_coins
from masquerade.mechanisms.loss import Guarantee

Codes = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class FlipMixture:
    """A person's flip probability as a discrete mixture, for inference.

    Attributes
    ----------
    flip_probability : float array, shape (n_nodes,)
    weight : float array, shape (n_nodes,)
        Sums to 1.
    """

    flip_probability: NDArray[np.float64]
    weight: NDArray[np.float64]


class Mechanism(ABC):
    """A local randomizer of categorical answers.

    A mechanism masks codes 0, ..., options - 1, and also the code ``options`` ("no answer") where
    `null` is true. Its text form, ``str(mechanism)``, is read back by `parse_mechanism`.
    """

    name: ClassVar[str]
    """What the text form begins with."""

    options: int
    """Number of options, at least 2; "no answer" not counted."""

    null: bool
    """Whether "no answer" is one more symbol, masked like the options."""

    @property
    def symbols(self) -> int:
        """Number of different reports."""
        return self.options + self.null

    @abstractmethod
    def fields(self) -> dict[str, str]:
        """Return the parameters of the text form, in order."""

    @abstractmethod
    def channel(self) -> Channel:
        """Return P(report | answer) of one report, in exact fractions."""

    @abstractmethod
    def flip_mixture(self, nodes: int = 24) -> FlipMixture:
        """Return the distribution of a person's flip probability, as inference integrates it."""

    @abstractmethod
    def guarantee(self, *, answers: int = 1) -> Guarantee:
        """Return the exact promise to a person who reports `answers` answers."""

    @abstractmethod
    def device_form(self) -> dict[str, str | int]:
        """Return the whole-number form that a device draws from, as JSON-ready values.

        ``first`` to ``last`` (both included) is the range of which a person draws one number once,
        for all answers masked together; each other symbol is then reported with probability that
        number / ``total``. The three are texts, for they exceed 2**53.
        """

    @abstractmethod
    def mask(self, answers: Codes, persons: Codes, source: WordSource) -> Codes:
        """Return a report for each answer.

        Parameters
        ----------
        answers : int32 array, shape (n,)
            Codes below `symbols`.
        persons : int32 array, shape (n,)
            Who gives each answer; codes from 0.
        source : WordSource
            Where randomness comes from. What is drawn never depends on the answers.
        """

    def randomize(self, claims: Claims, *, coins: Coins | None = None) -> Claims:
        """Return masked claims, drawn with operating-system entropy; `claims` is not changed.

        Raises
        ------
        InsecureRandomness
            `coins` is anything but `Coins`.
        ParameterError, UnknownLabel
            The claims do not fit the mechanism.
        """
        return self._masked(claims, require_coins(coins))

    def simulate(self, claims: Claims, rng: np.random.Generator) -> Claims:
        """Return masked claims for a study, reproducible by the generator's seed.

        Privacy
        -------
        None: whoever knows the seed can undo the masks. Use `randomize` for people.
        """
        return self._masked(claims, SimulatedCoins(rng))

    def check(self, claims: Claims) -> None:
        """Raise where the claims are not of this mechanism's domain."""
        if claims.options is None:
            raise ParameterError(
                f"{self} masks categories, the claims are numbers; read them with "
                "kind='categorical'."
            )
        if claims.n_options != self.options:
            raise ParameterError(
                f"{self} is for {self.options} options, the claims have {claims.n_options} "
                f"({claims.options.to_pylist()[:10]}); declare all options when reading the "
                "claims (--options on the command line), or change options= of the mechanism."
            )
        if claims.null and not self.null and bool((claims.value == claims.n_options).any()):
            row = int(np.flatnonzero(claims.value == claims.n_options)[0]) + 1
            raise UnknownLabel(
                f"row {row}: no answer was given and {self} cannot mask that; "
                "use null=true, or remove such rows."
            )

    def __str__(self) -> str:
        fields = ",".join(f"{key}={value}" for key, value in self.fields().items())
        return f"{self.name}:{fields}"

    def __repr__(self) -> str:
        return f"parse_mechanism({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mechanism) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def _masked(self, claims: Claims, source: WordSource) -> Claims:
        self.check(claims)
        return claims.with_values(
            self.mask(claims.value, claims.worker, source), null=claims.null or self.null
        )
