"""What every way of learning a preference takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from masquerade.answers import Comparisons
from masquerade.exact import Loss
from masquerade.exact.arrays import Floats
from masquerade.exact.coins import Coins
from masquerade.preference.composition import TrustName, Unit

NEIGHBOURS: Mapping[str, str] = {
    "voter": "all records of one voter are replaced by others",
    "record": "one record of one voter is replaced by another",
    "choice": "one choice of one voter is turned round; the pair that was shown is public",
}
"""For each unit, what two neighbouring data sets differ in."""


@dataclass(frozen=True, slots=True)
class PreferenceGuarantee:
    """Whom a published preference protects, from whom, and how much.

    Attributes
    ----------
    unit : {"voter", "record", "choice"}
        What two neighbouring data sets differ in; see `NEIGHBOURS`.
    trust : {"local", "aggregator", "secure-sum", "everyone"}
        ``"local"``: noise is added on the voter's device and nobody need be trusted;
        ``"aggregator"``: whoever computes the result sees the raw records; ``"secure-sum"``: only
        the sum is seen, provided enough voters are honest; ``"everyone"``: nothing is protected.
    epsilon : Loss
        For one unit.
    voter_level_epsilon : Loss
        For all records of one voter: the figure that protects a person. Where the unit is smaller
        than a voter it is the largest number of units of a voter times `epsilon`.
    paradigm : str
        VLCP, RLCP, VLDP or RLDP; CLCP, CLDP for the choice unit; empty for none.
    delta, voter_level_delta : Fraction
        Additive probability with which the epsilons may fail; 0 where they hold outright.
    status : {"proven", "none"}
        ``"none"`` for a result that protects nobody, for instance a simulated one.
    hardened : bool
        Whether the noise is drawn exactly, on whole numbers. Floating-point noise can give an
        answer away by its last bits, so the promise then holds for real numbers only.
    replacement : str, optional
        A hardened mechanism that does the same work, where `hardened` is false.
    assumptions : tuple of str
        What has to be true for the promise to hold.
    """

    unit: Unit
    trust: TrustName
    epsilon: Loss
    voter_level_epsilon: Loss
    paradigm: str = ""
    delta: Fraction = Fraction(0)
    voter_level_delta: Fraction = Fraction(0)
    status: Literal["proven", "none"] = "proven"
    hardened: bool = False
    replacement: str | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def neighbours(self) -> str:
        """What two neighbouring data sets differ in."""
        return NEIGHBOURS[self.unit]

    def to_json(self) -> dict[str, Any]:
        """Return the guarantee as a JSON object, amounts rounded up to 1e-6."""
        return {
            "unit": self.unit,
            "trust": self.trust,
            "paradigm": self.paradigm,
            "epsilon": self.epsilon.to_json(),
            "delta": float(self.delta),
            "voter_level_epsilon": self.voter_level_epsilon.to_json(),
            "voter_level_delta": float(self.voter_level_delta),
            "neighbours": self.neighbours,
            "status": self.status,
            "hardened": self.hardened,
            "replacement": self.replacement,
            "assumptions": list(self.assumptions),
        }

    def __str__(self) -> str:
        if self.status == "none":
            return "No privacy: this result is computed from the raw choices and protects nobody."
        whom = {"voter": "each voter", "record": "each record", "choice": "each choice"}[self.unit]
        against = {
            "local": "from everybody, the server included",
            "aggregator": "from everybody who sees the result, not from who computes it",
            "secure-sum": "from everybody, if enough voters are honest",
            "everyone": "from nobody",
        }[self.trust]
        text = f"Protects {whom} {against}: epsilon {self.epsilon}"
        text += f", delta {float(self.delta):.3g}" if self.delta else ""
        text += f"; a whole voter: epsilon {self.voter_level_epsilon}"
        text += f", delta {float(self.voter_level_delta):.3g}" if self.voter_level_delta else ""
        return text + "."


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """What a mechanism publishes.

    Attributes
    ----------
    weights : float array, shape (n_features,)
        Of the *scaled* features (differences divided by the public widths, each in [-1, 1]); see
        `Comparisons.scaled`.
    noise_covariance : float array, shape (n_features, n_features)
        Covariance of the privacy noise in `weights`, for the same answers. Computed from public
        numbers and, for what is not a plain sum, from what was published or reported, so it costs
        nothing. Zeros where there is no noise.
    guarantee : PreferenceGuarantee
    mechanism : str
        Its name and parameters as text.
    sampling_covariance : float array, shape (n_features, n_features), optional
        Covariance of `weights` under drawing other voters, where it may be published (it is
        computed from public numbers, from the release itself, or without privacy).
    shrinkage_covariance : float array, shape (n_features, n_features), optional
        Mean square by which a ridge may have drawn `weights` towards 0, where they are drawn.
    direction_only : bool
        Whether only the direction of `weights` was estimated; they then have length 1.
    details : mapping
        Further public numbers, such as the effective number of voters. JSON values.
    """

    weights: Floats
    noise_covariance: Floats
    guarantee: PreferenceGuarantee
    mechanism: str
    sampling_covariance: Floats | None = None
    shrinkage_covariance: Floats | None = None
    direction_only: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


@runtime_checkable
class PreferenceMechanism(Protocol):
    """A way to learn weights from comparisons.

    Ours are frozen dataclasses of their parameters, ``epsilon`` and ``unit`` first. `release` draws
    from the operating system; `simulate` draws from a seeded generator, and what it returns has
    ``status="none"``.
    """

    name: ClassVar[str]
    """What the command line calls the mechanism."""

    def release(self, comparisons: Comparisons, *, coins: Coins | None = None) -> Release:
        """Return private weights; noise from the operating system."""
        ...

    def simulate(self, comparisons: Comparisons, rng: np.random.Generator) -> Release:
        """Return weights with noise of a seeded generator, for studies; they protect nobody."""
        ...
