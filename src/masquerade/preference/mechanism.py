"""Mechanisms and their releases: weights, the noise in them, and a guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np

from masquerade.answers import Comparisons, Frame
from masquerade.answers.result import Result
from masquerade.exact import Guarantee
from masquerade.exact.arrays import Floats
from masquerade.exact.coins import Coins

#: For each unit, what two neighbouring data sets differ in.
NEIGHBOURS: Mapping[str, str] = {
    "voter": "all records of one voter are replaced by others",
    "record": "one record of one voter is replaced by another",
    "choice": "one choice of one voter is turned round; the pair that was shown is public",
}


NEIGHBOURS_OF_MENUS = "one choice of one voter is another alternative of the same public menu"

#: Names of Wang et al. (2019), section 3, and ours for choices, by unit and trust.
PARADIGMS: Mapping[tuple[str, str], str] = {
    ("voter", "aggregator"): "VLCP",
    ("record", "aggregator"): "RLCP",
    ("choice", "aggregator"): "CLCP",
    ("record", "two-parties"): "RLCP",
    ("choice", "two-parties"): "CLCP",
    ("voter", "local"): "VLDP",
    ("record", "local"): "RLDP",
    ("choice", "local"): "CLDP",
}

_AGAINST = {
    "local": "from everybody, the server included",
    "aggregator": "from everybody who sees the result, not from who computes it",
    "two-parties": "from everybody, if one of two parties is honest",
    "everyone": "from nobody",
}


@dataclass(frozen=True, slots=True, eq=False)
class Release(Result):
    """The weights that a mechanism publishes, with their guarantee.

    Attributes
    ----------
    weights : float array, shape (n_features,)
        Of the *scaled* features (differences divided by the public widths, each in [-1, 1]); see
        `Comparisons.scaled`.
    noise_covariance : float array, shape (n_features, n_features)
        Covariance of the privacy noise in `weights`, for the same answers. Computed from public
        numbers and, for what is not a plain sum, from what was published or reported, so it costs
        nothing. Zeros where there is no noise.
    guarantee : Guarantee
        Its unit is ``"voter"``, ``"record"`` or ``"choice"`` (see `NEIGHBOURS`), its trust
        ``"local"``, ``"two-parties"``, ``"aggregator"`` or, without privacy,
        ``"everyone"``.
        `epsilon_user` is the loss of all records of one voter.
    mechanism : str
        Its name and parameters as text.
    sampling_covariance : float array, shape (n_features, n_features), optional
        Covariance of `weights` under drawing other voters, where it may be published (it is
        computed from public numbers, from the release itself, or without privacy).
    shrinkage_covariance : float array, shape (n_features, n_features), optional
        Mean square by which a ridge may have drawn `weights` towards 0, where they are drawn.
    direction_only : bool
        Whether only the direction of `weights` was estimated; they then have length 1.
    hardened : bool
        Whether the noise is drawn exactly, on whole numbers. Floating-point noise can give an
        answer away by its last bits, so the promise then holds for real numbers only.
    replacement : str, optional
        A hardened mechanism that does the same work, where `hardened` is false.
    details : mapping
        Further public numbers, such as the effective number of voters. JSON values.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import SocialPreference, made_up_voters
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> found = SocialPreference.simulate(choices, rng, mechanism="choice-response", epsilon=1)
    >>> found.release.mechanism, found.release.guarantee.unit
    ('choice-response:epsilon=1', 'choice')
    """

    weights: Floats
    noise_covariance: Floats
    guarantee: Guarantee
    mechanism: str
    sampling_covariance: Floats | None = None
    shrinkage_covariance: Floats | None = None
    direction_only: bool = False
    hardened: bool = True
    replacement: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def paradigm(self) -> str:
        """VLCP, RLCP, VLDP or RLDP; CLCP, CLDP for the choice unit; empty without privacy."""
        return PARADIGMS.get((self.guarantee.unit, self.guarantee.trust), "")

    def guarantee_json(self) -> dict[str, Any]:
        """Return the guarantee as a JSON object, amounts rounded up to 1e-6."""
        return guarantee_json(self.guarantee, self.hardened, self.replacement)

    @property
    def statement(self) -> str:
        """The guarantee as a sentence, to publish with the weights."""
        return guarantee_statement(self.guarantee)


def guarantee_json(
    promise: Guarantee, hardened: bool = True, replacement: str | None = None
) -> dict[str, Any]:
    """Return a guarantee as a JSON object, amounts rounded up to 1e-6."""
    return {
        "unit": promise.unit,
        "trust": promise.trust,
        "paradigm": PARADIGMS.get((promise.unit, promise.trust), ""),
        "epsilon": promise.epsilon.to_json(),
        "delta": float(promise.delta),
        "voter_level_epsilon": promise.epsilon_user.to_json(),
        "voter_level_delta": float(promise.delta),
        "neighbours": promise.neighbours,
        "status": promise.status,
        "hardened": hardened,
        "replacement": replacement,
        "assumptions": list(promise.assumptions),
    }


def guarantee_statement(promise: Guarantee) -> str:
    """Return a guarantee as a sentence."""
    if promise.status == "none":
        return "No privacy: this result is computed from the raw choices and protects nobody."
    text = f"Protects each {promise.unit} {_AGAINST[promise.trust]}: epsilon {promise.epsilon}"
    text += f", delta {float(promise.delta):.3g}" if promise.delta else ""
    text += f"; a whole voter: epsilon {promise.epsilon_user}"
    text += f", delta {float(promise.delta):.3g}" if promise.delta else ""
    return text + "."


@runtime_checkable
class PreferenceMechanism(Protocol):
    """A way to learn weights from comparisons.

    Ours are frozen dataclasses of their parameters, ``epsilon`` and ``unit`` first. `release` draws
    from the operating system; `simulate` draws from a seeded generator, and what it returns has
    ``status="none"``.

    Examples
    --------
    >>> from masquerade.preference import preference_mechanism
    >>> isinstance(preference_mechanism("linear-knorm", epsilon=1), PreferenceMechanism)
    True
    """

    #: What the command line calls the mechanism.
    name: ClassVar[str]

    def release(self, comparisons: Comparisons | Frame, *, coins: Coins | None = None) -> Release:
        """Return private weights; noise from the operating system."""
        ...

    def simulate(self, comparisons: Comparisons | Frame, rng: np.random.Generator) -> Release:
        """Return weights with noise of a seeded generator, for studies; they protect nobody."""
        ...


#: Every way of learning a preference, by the name that the command line uses.
MECHANISMS: dict[str, type[Any]] = {}

Kind = TypeVar("Kind", bound=PreferenceMechanism)


def register(kind: type[Kind]) -> type[Kind]:
    """Let texts name a mechanism; a decorator of its class."""
    MECHANISMS[kind.name] = kind
    return kind
