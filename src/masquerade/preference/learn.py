"""Learning a social preference: published weights that rank and decide, charged to a ledger."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from masquerade.accounting import Ledger
from masquerade.answers import Comparisons, Feature, Frame
from masquerade.answers.comparison_columns import widths
from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact import INFINITE_LOSS, Guarantee
from masquerade.exact.arrays import Floats
from masquerade.exact.coins import Coins, require_coins
from masquerade.preference.mechanism import NEIGHBOURS, PreferenceMechanism, Release
from masquerade.preference.mechanisms.automatic import Automatic
from masquerade.preference.menus import MenuChoices
from masquerade.preference.private_mechanism import PrivateMechanism, charge_voters
from masquerade.preference.rankings import ItemStrengths
from masquerade.preference.registry import preference_mechanism

#: Features of an alternative: a number for each name, or an array in the order of the features.
Alternative = Mapping[str, float] | ArrayLike

#: Standard deviations of the noise within which noise alone turns one decision in twenty round.
UNSTABLE_BELOW = 1.64


@dataclass(frozen=True, slots=True)
class Decision(Result):
    """A decision between two alternatives by the published weights, and how firm it is.

    Attributes
    ----------
    preferred : {"first", "second", "tie"}
    margin : float
        Utility of the first alternative minus that of the second.
    noise_sd : float
        Standard deviation of the privacy noise in `margin`; 0 without privacy.
    margin_in_sd : float
        Size of the margin in these standard deviations; infinite without noise.
    unstable : bool
        Whether the margin is within 1.64 standard deviations of the noise: then noise, not the
        voters, may have decided.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import SocialPreference, made_up_voters
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> found = SocialPreference.simulate(choices, rng, mechanism="choice-response", epsilon=1)
    >>> names = [feature.name for feature in found.features]
    >>> found.decide(dict.fromkeys(names, 1.0), dict.fromkeys(names, 1.0)).preferred
    'tie'
    """

    preferred: Literal["first", "second", "tie"]
    margin: float
    noise_sd: float
    margin_in_sd: float
    unstable: bool


@dataclass(frozen=True, slots=True, eq=False)
class SocialPreference(Result):
    """Weights of the features of alternatives, learned from a crowd's pairwise choices.

    Build one with `learn`.

    Attributes
    ----------
    release : Release
        What the mechanism published, for scaled features.
    voters : int
        How many were learned from; public.
    records : int or None
        How many were learned from; public. None where whole voters are protected, for then a
        voter's number of records is protected too.

    Examples
    --------
    >>> comparisons = Comparisons.from_frame(
    ...     {"voter": ["a", "a", "b", "b", "c", "c"], "price": [-1, 2, -3, -1, -2, 1],
    ...      "comfort": [0, 1, -1, 1, 0, 2]},
    ...     ranges={"price": (0, 5), "comfort": (0, 2)})
    >>> learned = SocialPreference.learn(comparisons, mechanism="none")
    >>> learned.decide({"price": 3, "comfort": 2}, {"price": 4, "comfort": 0}).preferred
    'first'
    >>> learned.rank({"cheap": [1, 0], "cosy": [3, 2], "dear": [5, 0]})
    ['cosy', 'cheap', 'dear']
    """

    release: Release
    features: tuple[Feature, ...]
    voters: int
    records: int | None
    #: Whether features are the items themselves, 1 for the one that is taken.
    named_items: bool = False

    @classmethod
    def learn(
        cls,
        comparisons: Comparisons | MenuChoices | Frame,
        *,
        mechanism: str | PreferenceMechanism = "auto",
        epsilon: Any = None,
        unit: str | None = None,
        ledger: Ledger | None = None,
        name: str = "preference",
        coins: Coins | None = None,
        public_menus: bool = False,
    ) -> SocialPreference:
        """Learn the voters' preference, and publish it under a guarantee.

        Parameters
        ----------
        comparisons : Comparisons, or a table as `Comparisons.from_frame` reads it
            Or `MenuChoices` of named items, for the unit ``"choice"``. Features of different units
            need their `ranges`, declared there. Where items are only named, each becomes a feature
            with a weight of its own; a private mechanism then needs the public list of items
            (``items=`` of `Comparisons.from_frame`).
        mechanism : str or PreferenceMechanism
            ``"auto"``, the default, for the most accurate by public numbers (see `Automatic`); it
            needs `epsilon`. ``"none"`` for a result without privacy, or a name (with parameters,
            ``"central-laplace:bound=2"``); see `masquerade.preference.MECHANISMS`.
        epsilon : number, or one number a voter, optional
            Privacy loss per unit, for a mechanism given by name.
        unit : {"voter", "record", "choice"}, optional
            What is protected, for a mechanism given by name. Default: the mechanism's own.
        ledger : Ledger, optional
            Every voter is charged, all or nobody, before anything is drawn: the voter's own epsilon
            times the number of units that all of their records are. The person of an account is the
            voter as text.
        name : str
            What the ledger calls the result. Each call is charged, also under a name used before.
        coins : Coins, optional
            Randomness of the operating system.
        public_menus : bool
            The unit ``"choice"`` needs True: which alternatives each voter was shown is public, and
            none was picked by looking at raw answers.

        Returns
        -------
        SocialPreference
            Its `guarantee` says whom it protects, from whom, and how much.

        Raises
        ------
        ParameterError
            The mechanism is unknown or cannot do what is asked, or its guarantee rests on public
            menus, and `public_menus` is not True.
        InsufficientBudget
            A voter has too little left; nobody was charged and nothing was drawn.
        NoGuarantee
            There is a ledger, and the mechanism protects nobody.
        """
        mechanism, table = _prepare(comparisons, mechanism, epsilon, unit)
        said = {}
        if isinstance(mechanism, PrivateMechanism):
            mechanism.require_consent(public_menus)  # before anybody is charged
            said = {"public_menus": public_menus}
        source = require_coins(coins)
        paid = nullcontext() if ledger is None else charge_voters(ledger, mechanism, table, name)
        # Charged before anything is drawn: a draw that nobody paid for could be looked at.
        with paid:
            release = mechanism.release(table, coins=source, **said)
        records, named = _public_records(mechanism, table), table.items is not None
        return cls(release, table.features, table.n_voters, records, named)

    @classmethod
    def simulate(
        cls,
        comparisons: Comparisons | MenuChoices | Frame,
        rng: np.random.Generator,
        *,
        mechanism: str | PreferenceMechanism = "auto",
        epsilon: Any = None,
        unit: str | None = None,
    ) -> SocialPreference:
        """Learn with the noise of a seeded generator, for studies; the result protects nobody."""
        mechanism, table = _prepare(comparisons, mechanism, epsilon, unit)
        release = mechanism.simulate(table, rng)
        records, named = _public_records(mechanism, table), table.items is not None
        return cls(release, table.features, table.n_voters, records, named)

    @classmethod
    def of_strengths(
        cls, strengths: ItemStrengths, *, voters: int, records: int
    ) -> SocialPreference:
        """Return strengths of named items, computed without privacy, as a preference."""
        k = len(strengths.items)
        known = bool(np.isfinite(strengths.covariance).all())
        guarantee = Guarantee(
            *(INFINITE_LOSS, INFINITE_LOSS, INFINITE_LOSS),
            answers=1,
            assumptions=(),
            unit="voter",
            trust="everyone",
            status="none",
            neighbours=NEIGHBOURS["voter"],
        )
        release = Release(
            weights=strengths.strengths,
            noise_covariance=np.zeros((k, k)),
            guarantee=guarantee,
            mechanism="none",
            sampling_covariance=strengths.covariance if known else None,
            details={"model": "bradley-terry"},
        )
        features = tuple(Feature(item, 0, 1) for item in strengths.items)
        return cls(release, features, voters, records, named_items=True)

    @property
    def weights(self) -> Floats:
        """Utility of one unit of each feature, shape (n_features,)."""
        weights: Floats = self.release.weights / widths(self.features)
        return weights

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the published weights."""
        return self.release.guarantee

    @property
    def noise_sd(self) -> Floats:
        """Standard deviation of the privacy noise in each of `weights`, shape (n_features,)."""
        noise: Floats = np.sqrt(np.diag(self.release.noise_covariance)) / widths(self.features)
        return noise

    @property
    def covariance(self) -> Floats | None:
        """Covariance of `weights`: sampling, noise and shrinkage, shape (n_features, n_features).

        None where the sampling error is not known.
        """
        sampling = self.release.sampling_covariance
        if sampling is None:
            return None
        # Independent parts: who answered, the noise, and what a ridge has pulled in.
        together = sampling + self.release.noise_covariance
        if self.release.shrinkage_covariance is not None:
            together = together + self.release.shrinkage_covariance
        return self._in_own_units(together)

    @property
    def standard_errors(self) -> Floats | None:
        """Standard errors of `weights`: sampling, noise and shrinkage, shape (n_features,).

        None where the sampling error is not known.

        Notes
        -----
        How voters differ is private where their sum is masked. Its sampling error is then that of
        like-minded voters, or, where whole voters are protected, the largest that their bounded
        parts can have. Reports of ten or more devices show how voters differ, with their noise.
        """
        covariance = self.covariance
        if covariance is None:
            return None
        errors: Floats = np.sqrt(np.maximum(np.diag(covariance), 0.0))
        return errors

    def decide(self, first: Alternative, second: Alternative) -> Decision:
        """Return which of two alternatives is preferred, with a margin that knows the noise.

        Parameters
        ----------
        first, second : mapping of str to float, or array of shape (n_features,)
            In the features' own units.
        """
        scaled = (self.vector(first) - self.vector(second)) / widths(self.features)
        margin = float(scaled @ self.release.weights)
        # The noise in exactly this margin: v' C v for the difference v of the alternatives.
        variance = float(scaled @ self.release.noise_covariance @ scaled)
        noise = math.sqrt(max(variance, 0.0))
        in_sd = 0.0 if margin == 0 else abs(margin) / noise if noise > 0 else math.inf
        return Decision(
            "tie" if margin == 0 else "first" if margin > 0 else "second",
            margin,
            noise,
            in_sd,
            in_sd < UNSTABLE_BELOW,
        )

    def interval(self, first: Alternative, second: Alternative) -> tuple[float, float] | None:
        """Return the ends of the 95 % interval of the margin between two alternatives.

        It holds what noise, other voters and shrinkage may change; None where that is not known.
        """
        covariance = self.covariance
        if covariance is None:
            return None
        apart = self.vector(first) - self.vector(second)
        margin, error = float(apart @ self.weights), float(apart @ covariance @ apart)
        reach = 1.96 * math.sqrt(max(error, 0.0))
        return margin - reach, margin + reach

    def rank(self, alternatives: Mapping[str, Alternative] | None = None) -> list[str]:
        """Return the names of the alternatives, the most preferred first; ties as given.

        `alternatives`: each with its features, by name. Named items rank themselves without.

        Raises `ParameterError` where there is nothing to rank.
        """
        if alternatives is None and self.named_items:
            order = np.argsort(-self.weights, kind="stable")
            return [self.features[i].name for i in order]
        if not alternatives:
            raise ParameterError(
                "there is nothing to rank; give alternatives by name, each with its features, such "
                f"as {{'a': {{{self.features[0].name!r}: 1}}}}."
            )
        utility = self.utilities(list(alternatives.values()))
        names = list(alternatives)
        return [names[i] for i in np.argsort(-utility, kind="stable")]

    def utilities(self, alternatives: Sequence[Alternative]) -> Floats:
        """Return the utility of each alternative, shape (n_alternatives,)."""
        if not len(alternatives):
            return np.zeros(0)
        utility: Floats = np.stack([self.vector(one) for one in alternatives]) @ self.weights
        return utility

    def to_arrow(self) -> pa.Table:
        """Return the weights as a table.

        Columns: feature (item, where items are named), weight, noise_sd, range_low and range_high
        (the public range), and where they are known standard_error with low and high, the ends of
        the 95 % interval.
        """
        columns: dict[str, Any] = {
            "item" if self.named_items else "feature": [one.name for one in self.features],
            "weight": self.weights,
            "noise_sd": self.noise_sd,
            "range_low": [feature.low for feature in self.features],
            "range_high": [feature.high for feature in self.features],
        }
        errors = self.standard_errors
        if errors is not None:
            columns["standard_error"] = errors
            columns["low"] = self.weights - 1.96 * errors
            columns["high"] = self.weights + 1.96 * errors
        return pa.table(columns)

    def to_json(self) -> dict[str, Any]:
        """Return everything that is published, as a JSON object."""
        errors = self.standard_errors
        parts = {
            "noise_covariance": self.release.noise_covariance,
            "sampling_covariance": self.release.sampling_covariance,
            "shrinkage_covariance": self.release.shrinkage_covariance,
        }
        return {
            "mechanism": self.release.mechanism,
            "features": [feature.name for feature in self.features],
            "weights": self.weights.tolist(),
            "noise_sd": self.noise_sd.tolist(),
            "standard_errors": None if errors is None else errors.tolist(),
            **{
                name: None if part is None else self._in_own_units(part).tolist()
                for name, part in parts.items()
            },
            "direction_only": self.release.direction_only,
            "voters": self.voters,
            "records": self.records,
            "guarantee": self.release.guarantee_json(),
            "details": dict(self.release.details),
        }

    def __repr__(self) -> str:
        of = "" if self.records is None else f"{self.records} records of "
        return (
            f"SocialPreference({len(self.features)} features, learned from {of}{self.voters} "
            f"voters by {self.release.mechanism}. {self.release.statement})"
        )

    def _in_own_units(self, covariance: Floats) -> Floats:
        """Return a covariance of scaled weights as one of the weights of the features."""
        # A weight of x / width is the weight of x times the width: variances go by both widths.
        own: Floats = covariance / np.outer(widths(self.features), widths(self.features))
        return own

    def vector(self, alternative: Alternative) -> Floats:
        """Return an alternative as an array, shape (n_features,), in the features' own units."""
        names = [feature.name for feature in self.features]
        if isinstance(alternative, Mapping):
            for name in alternative:
                if name not in names:
                    raise ParameterError(f"{name!r} is none of the features {names}.")
            missing = [name for name in names if name not in alternative]
            if missing:
                raise ParameterError(f"the alternative has no {missing[0]!r}; give every feature.")
            alternative = [alternative[name] for name in names]
        try:
            vector = np.asarray(alternative, dtype=np.float64)
        except (TypeError, ValueError):
            vector = np.full(0, np.nan)
        if vector.shape != (len(names),) or not np.isfinite(vector).all():
            raise ParameterError(
                f"an alternative is {alternative!r}, expected {len(names)} finite numbers, one for "
                f"each of {names}."
            )
        return vector


def _prepare(
    data: Comparisons | MenuChoices | Frame,
    mechanism: str | PreferenceMechanism,
    epsilon: Any,
    unit: str | None,
) -> tuple[PreferenceMechanism, Comparisons]:
    if isinstance(mechanism, str):
        mechanism = preference_mechanism(mechanism, epsilon=epsilon, unit=unit)
    elif epsilon is not None or unit is not None:
        raise ParameterError(
            "the mechanism has its epsilon and unit already; give them there, or name the "
            "mechanism by a text."
        )
    comparisons = Comparisons.of(data.comparisons() if isinstance(data, MenuChoices) else data)
    table = comparisons if comparisons.features else comparisons.by_items()
    if isinstance(mechanism, Automatic):
        mechanism = mechanism.choose(table)
    if isinstance(mechanism, PrivateMechanism):
        mechanism.check(table)  # before anybody is charged
    return mechanism, table


def _public_records(mechanism: PreferenceMechanism, table: Comparisons) -> int | None:
    """Return how many records there are, or None where that number is protected."""
    hidden = isinstance(mechanism, PrivateMechanism) and mechanism.unit == "voter"
    return None if hidden else len(table)
