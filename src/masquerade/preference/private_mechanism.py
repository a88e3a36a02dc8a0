"""What every private mechanism of this room does: checks, guarantees, its text form."""

from __future__ import annotations

import dataclasses
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.exact import Loss
from masquerade.exact.coins import Coins, SimulatedCoins, WordSource, require_coins
from masquerade.exact.number import text_of
from masquerade.preference.mechanism import PreferenceGuarantee, Release, Trust, Unit
from masquerade.preference.personal_epsilon import Epsilon, read_epsilon
from masquerade.preference.thurstone import require_features

_PARADIGM = {
    ("voter", "aggregator"): "VLCP",
    ("record", "aggregator"): "RLCP",
    ("choice", "aggregator"): "CLCP",
    ("voter", "secure-sum"): "VLCP",
    ("voter", "local"): "VLDP",
    ("record", "local"): "RLDP",
    ("choice", "local"): "CLDP",
}

EPSILON_IS_PUBLIC = (
    "epsilons are public and were chosen before answering",
    "who the voters are is public, and so their number",
)
RECORDS_ARE_PUBLIC = "how many records each voter has is public"
RANGES_ARE_PUBLIC = (
    "the features (or items), their order and their ranges are public, not taken from the answers"
)


@dataclass(frozen=True)
class PrivateMechanism(ABC):
    """A mechanism with a proven guarantee.

    Parameters
    ----------
    epsilon : number
        Of one unit, in nats; rounded down to millionths, at least one of them.
    unit : {"voter", "record", "choice"}
        What two neighbouring data sets differ in.
    """

    epsilon: Epsilon
    unit: Unit = "record"

    name: ClassVar[str]
    units: ClassVar[tuple[Unit, ...]]
    hardened: ClassVar[bool] = True
    replacement: ClassVar[str | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon))
        if isinstance(self.epsilon, tuple):
            self._check_personal()
        if self.unit not in self.units:
            raise ParameterError(
                f"{self.name} cannot protect the unit {self.unit!r}, only "
                f"{' and '.join(self.units)}; choose another mechanism or unit."
            )

    def _check_personal(self) -> None:
        raise ParameterError(
            f"{self.name} adds noise once, so it takes one epsilon; use a local mechanism for "
            "epsilons of voters."
        )

    def release(self, comparisons: Comparisons, *, coins: Coins | None = None) -> Release:
        """Return private weights; noise from the operating system.

        Raises
        ------
        InsecureRandomness
            `coins` is anything but `Coins`.
        ParameterError
            The comparisons have no features, or do not suit the mechanism.
        """
        source = require_coins(coins)
        self.check(comparisons)
        return self._released(comparisons, source)

    def simulate(self, comparisons: Comparisons, rng: np.random.Generator) -> Release:
        """Return weights with noise of a seeded generator, for studies.

        Privacy
        -------
        None: whoever knows the seed can take the noise off. The result says so.
        """
        source = SimulatedCoins(rng)
        self.check(comparisons)
        released = self._released(comparisons, source)
        guarantee = replace(
            released.guarantee,
            status="none",
            assumptions=("simulated: the noise can be foreseen by whoever knows the seed",),
        )
        return replace(released, guarantee=guarantee)

    def check(self, comparisons: Comparisons) -> None:
        """Raise where the mechanism cannot protect these comparisons; nothing is drawn.

        Raises
        ------
        ParameterError
            There are no features or voters, the list of items was read off the records, or a choice
            to be protected was made among more than two alternatives.
        """
        require_features(comparisons)
        if comparisons.items is not None and not comparisons.items_given:
            raise ParameterError(
                f"the items were read off the records, and {self.name} would publish them: one "
                "voter's one record would put its item into the result for all to see. Give the "
                "public list of all items that could be compared, items=[...] (--items FILE on "
                "the command line)."
            )
        if self.unit == "choice":
            require_pairs(comparisons.most_records_of_a_choice())
        if comparisons.n_voters == 0:
            raise ParameterError("there are no voters, so there is nothing to learn.")

    def epsilons(self) -> Fraction | tuple[Fraction, ...]:
        """Return the epsilon of all, or one a voter."""
        epsilon = self.epsilon
        assert isinstance(epsilon, Fraction | tuple)
        return epsilon

    def units_of_a_voter(self, records: int) -> int:
        """Return how many times the loss of a unit all records of a voter cost.

        1 where a whole voter is protected, also one without a record.
        """
        del records
        return 1

    def voter_losses(self, epsilon: Fraction, records: int) -> tuple[Loss, Loss]:
        """Return the loss of one unit, and of all records of a voter."""
        units = self.units_of_a_voter(records)
        return Loss.of_amount(epsilon), Loss.of_amount(epsilon * units)

    @abstractmethod
    def _released(self, comparisons: Comparisons, source: WordSource) -> Release:
        """Return private weights with noise from `source`."""

    def fields(self) -> dict[str, str]:
        """Return the parameters of the text form, in order."""
        out = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None or (field.name != "epsilon" and value == field.default):
                continue
            out[field.name] = _text(value)
        return out

    def __str__(self) -> str:
        fields = ",".join(f"{key}={value}" for key, value in self.fields().items())
        return f"{self.name}:{fields}"

    def _guarantee(
        self,
        trust: Trust,
        epsilon: Loss,
        voter_level: Loss,
        assumptions: tuple[str, ...],
        delta: Fraction = Fraction(0),
    ) -> PreferenceGuarantee:
        return PreferenceGuarantee(
            unit=self.unit,
            trust=trust,
            epsilon=epsilon,
            voter_level_epsilon=voter_level,
            paradigm=_PARADIGM[self.unit, trust],
            delta=delta,
            voter_level_delta=delta,
            hardened=self.hardened,
            replacement=self.replacement,
            assumptions=(*EPSILON_IS_PUBLIC, RANGES_ARE_PUBLIC, *assumptions),
        )


def warn_of_few_voters(voters: int) -> None:
    """Warn where one voter's numbers are all that is published."""
    if voters < 2:
        warnings.warn(
            "there is one voter only: the result is that voter's preference with noise.",
            stacklevel=4,
        )


def require_pairs(records_of_a_choice: int) -> None:
    """Refuse to protect choices among more than two alternatives.

    Raises
    ------
    ParameterError
        A choice has several records. They share the chosen alternative and no other, so the pairs
        tell the choice, and they are what the unit ``"choice"`` takes for public.
    """
    if records_of_a_choice > 1:
        raise ParameterError(
            f"a choice has {records_of_a_choice} records, so it was made among "
            f"{records_of_a_choice + 1} alternatives: which pairs stand in the table then tells "
            "what was chosen, and the unit 'choice' takes the pairs for public. Ask for choices "
            "between two, or protect the unit 'record' or 'voter', which hides the pairs."
        )


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} values"
    return text_of(value) if isinstance(value, Fraction) else str(value)
