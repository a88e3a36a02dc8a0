"""Private mechanisms: parameters, checks, guarantees and text form of every composition."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from masquerade.accounting import Cost, Ledger, charge_all
from masquerade.answers import Comparisons, Frame
from masquerade.answers.comparison_columns import Feature
from masquerade.errors import InvalidRecord, NoGuarantee, ParameterError
from masquerade.exact import INFINITE_LOSS, MICRO, Guarantee
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import Coins, SimulatedCoins, WordSource, require_coins
from masquerade.exact.loss import pure_loss, rho_loss
from masquerade.exact.number import text_of
from masquerade.mechanisms.text import text_form
from masquerade.preference.composition import (
    MENUS_ARE_PUBLIC,
    PAIRS_ARE_PUBLIC,
    RECORDS_ARE_PUBLIC,
    Composition,
    Epsilons,
    Reports,
    Rows,
    Unit,
)
from masquerade.preference.item_menus import largest_menu, require_pairs_of_items
from masquerade.preference.mechanism import (
    NEIGHBOURS,
    NEIGHBOURS_OF_MENUS,
    PreferenceMechanism,
    Release,
)
from masquerade.preference.personal_epsilon import Epsilon, epsilons_of, read_epsilon
from masquerade.preference.thurstone import require_features
from masquerade.preference.trust import Device, mask_rows
from masquerade.preference.vector_noise import rho_of_gaussian
from masquerade.preference.voter_device import VoterDevice, VoterReport

EPSILON_IS_PUBLIC = (
    "epsilons are public and were chosen before answering",
    "who the voters are is public, and so their number",
)
RANGES_ARE_PUBLIC = (
    "the features (or items), their order and their ranges are public, not taken from the answers"
)


@dataclass(frozen=True)
class PrivateMechanism(ABC):
    """A mechanism with a proven guarantee: parameters, and the composition that they stand for.

    Parameters
    ----------
    epsilon : number, or sequence of numbers
        Of one unit, in nats; rounded down to millionths, at least one of them. One a voter, in the
        order of ``comparisons.voters``, where noise is added on devices.
    unit : {"voter", "record", "choice"}
        What two neighbouring data sets differ in.

    Examples
    --------
    >>> from masquerade.preference import preference_mechanism
    >>> isinstance(preference_mechanism("linear-knorm", epsilon=1), PrivateMechanism)
    True
    """

    epsilon: Epsilon
    unit: Unit = "record"

    name: ClassVar[str]
    units: ClassVar[tuple[Unit, ...]]
    #: Whether a record may be a choice from a public menu of three or more named items.
    takes_menus: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon))
        parts = self.compose()
        if parts.trust.one_epsilon and isinstance(self.epsilon, tuple):
            raise ParameterError(
                f"{self.name} adds noise once, so it takes one epsilon; use a local mechanism for "
                "epsilons of voters."
            )
        if self.unit not in self.units:
            raise ParameterError(
                f"{self.name} cannot protect the unit {self.unit!r}, only "
                f"{' and '.join(self.units)}; choose another mechanism or unit."
            )
        # The parts read numbers that were written as text; equal mechanisms then have equal fields.
        values = {
            field.name: getattr(part, field.name)
            for part in (parts.statistic, parts.noise, parts.trust)
            for field in dataclasses.fields(part)  # type: ignore[arg-type]
        }
        for field in dataclasses.fields(self):
            if field.name in values:
                object.__setattr__(self, field.name, values[field.name])

    @abstractmethod
    def compose(self) -> Composition:
        """Return the statistic, the noise and the trust that the parameters name."""

    def release(
        self,
        comparisons: Comparisons | Frame,
        *,
        coins: Coins | None = None,
        public_menus: bool = False,
    ) -> Release:
        """Return private weights; noise from the operating system.

        Parameters
        ----------
        public_menus : bool
            The unit ``"choice"`` needs True: which alternatives each voter was shown is public, and
            none was picked by looking at raw answers. Other units do not rest on it.

        Raises
        ------
        InsecureRandomness
            `coins` is anything but `Coins`.
        ParameterError
            The comparisons have no features, or do not suit the mechanism; or the guarantee rests
            on public menus, and nobody said that they are.
        """
        source = require_coins(coins)
        comparisons = Comparisons.of(comparisons)
        self.check(comparisons)
        self.require_consent(public_menus)
        return self._release(comparisons, source)

    def simulate(self, comparisons: Comparisons | Frame, rng: np.random.Generator) -> Release:
        """Return weights with noise of a seeded generator, for studies.

        Privacy
        -------
        None: whoever knows the seed can take the noise off. The result says so.
        """
        source = SimulatedCoins(rng)
        comparisons = Comparisons.of(comparisons)
        self.check(comparisons)
        release = self._release(comparisons, source)
        guarantee = replace(
            release.guarantee,
            status="none",
            assumptions=("simulated: the noise can be foreseen by whoever knows the seed",),
        )
        return replace(release, guarantee=guarantee)

    def require_consent(self, public_menus: bool) -> None:
        """Raise `ParameterError` where the guarantee rests on public menus that nobody stated."""
        if self.unit == "choice":
            require_public_menus(public_menus, self.name)

    def check(self, comparisons: Comparisons) -> None:
        """Raise where the mechanism cannot protect these comparisons; nothing is drawn.

        Raises
        ------
        ParameterError
            There are no features or voters, the list of items was read off the records, or a choice
            to be protected was made among more than two alternatives and the mechanism does not
            take menus.
        """
        require_features(comparisons)
        # A name that one voter alone wrote would stand in the result for all to see.
        if comparisons.items is not None and not comparisons.items_given:
            raise ParameterError(
                f"the items were read off the records, and {self.name} would publish them: one "
                "voter's one record would put its item into the result for all to see. Give the "
                "public list of all items that could be compared, items=[...] (--items FILE on "
                "the command line)."
            )
        if not self.takes_menus:
            require_pairs_of_items(comparisons, self.name)
        if self.unit == "choice":
            require_pairs(comparisons.most_records_of_a_choice())
        if comparisons.n_voters == 0:
            raise ParameterError("there are no voters, so there is nothing to learn.")

    @property
    def on_device(self) -> bool:
        """Whether noise is added on each voter's device, so that nobody need be trusted."""
        return isinstance(self.compose().trust, Device)

    @property
    def hides_records(self) -> bool:
        """Whether the number of a voter's records is protected with them."""
        return self.compose().statistic.whole_voter

    def epsilons(self) -> Fraction | tuple[Fraction, ...]:
        """Return the epsilon of all, or one a voter."""
        epsilon = self.epsilon
        assert isinstance(epsilon, Fraction | tuple)
        return epsilon

    def units_of_a_voter(self, records: int) -> int:
        """Return how many times the loss of a unit all records of a voter cost.

        1 where a whole voter is protected, also one without a record.
        """
        return 1 if self.hides_records else records

    def report_rows(
        self, records: Comparisons, epsilon: Fraction, *, coins: Coins | None = None
    ) -> Rows:
        """Return the masked rows of voters at one epsilon, one a voter or one a record.

        Raises
        ------
        InsecureRandomness
            `coins` is anything but `Coins`: a seed never makes a report.
        """
        source = require_coins(coins)
        self.check(records)
        return self._report_rows(records, epsilon, source)

    def _report_rows(self, records: Comparisons, epsilon: Fraction, source: WordSource) -> Rows:
        # Inside this room alone is the source anything but the operating system, for `simulate`.
        self._require_device()
        return mask_rows(self.compose(), records, [epsilon] * records.n_voters, source)

    def device(self, features: Sequence[Feature], *, epsilon: Any = None) -> VoterDevice:
        """Return the voter's half, which needs nothing but public parameters.

        Parameters
        ----------
        epsilon : number, optional
            The voter's own; default: the mechanism's.

        Raises
        ------
        ParameterError
            Noise is not added on devices, or the mechanism has an epsilon a voter.
        """
        self._require_device()
        own = read_epsilon(self.epsilons() if epsilon is None else epsilon)
        if isinstance(own, tuple):
            raise ParameterError("the mechanism has an epsilon a voter; give this voter's own.")
        return VoterDevice(replace(self, epsilon=own), tuple(features), own)

    def collect(
        self,
        reports: Sequence[VoterReport],
        *,
        features: int | None = None,
        pairs: Comparisons | None = None,
        public_menus: bool = False,
    ) -> Release:
        """Return the release of many devices' reports; the server's half.

        Parameters
        ----------
        reports : sequence of VoterReport
            In the order of ``pairs.voters``, where pairs are given.
        features : int, optional
            How many there are; needed where no pairs are given.
        pairs : Comparisons, optional
            What each voter was shown, in either order, where that is public (the unit
            ``"choice"``): which alternative was chosen is not read from it.
        public_menus : bool
            As for `release`.

        Raises
        ------
        ParameterError
            There is no report, a choice has several pairs, which tell it, or the guarantee rests on
            public menus, and nobody said that they are.
        InvalidRecord
            A report does not fit the features, or its voter's pairs.
        """
        parts = self.compose()
        trust = self._require_device()
        if not reports:
            raise ParameterError("there are no reports, so there is nothing to learn.")
        records = np.array([report.records for report in reports], dtype=np.int64)
        if pairs is not None:
            features = pairs.n_features
            require_pairs(pairs.most_records_of_a_choice())
            if not self.takes_menus:
                require_pairs_of_items(pairs, self.name)
            if len(reports) != pairs.n_voters:
                raise InvalidRecord(
                    f"there are {len(reports)} reports for {pairs.n_voters} voters."
                )
            records = pairs.records_per_voter()
        self.require_consent(public_menus)
        if features is None or (pairs is None and parts.statistic.row_a_record):
            raise ParameterError(
                "give the number of features, or the pairs that were shown if these are public."
            )
        each = 1 if parts.statistic.row_a_record else len(reports[0].values)
        counts = records * each if parts.statistic.row_a_record else np.full(len(reports), each)
        for number, (report, count) in enumerate(zip(reports, counts, strict=True), start=1):
            if len(report.values) != count or not np.isfinite(report.values).all():
                raise InvalidRecord(
                    f"report {number} does not hold {count} finite numbers, as it has to."
                )
        # values[report * each + coordinate]: all reports behind each other
        values = np.array([value for report in reports for value in report.values])
        epsilons = [report.epsilon for report in reports]
        # From here on everything is computed from what was sent, and costs nothing more.
        all_reports = trust.weigh(parts, values.reshape(-1, each), epsilons, records, features)
        return self._publish(all_reports, epsilons, records, pairs)

    def _release(self, comparisons: Comparisons, source: WordSource) -> Release:
        parts = self.compose()
        epsilons = epsilons_of(self.epsilons(), comparisons.n_voters)
        # Pairs are public under the unit choice alone; no other estimate ever sees them.
        reports = parts.trust.collect(parts, comparisons, epsilons, source)
        pairs = comparisons if self.unit == "choice" else None
        return self._publish(reports, epsilons, comparisons.records_per_voter(), pairs)

    def _publish(
        self, reports: Reports, epsilons: Epsilons, records: Integers, pairs: Comparisons | None
    ) -> Release:
        """Return the weights that reports give, which costs no more, with their guarantee."""
        parts = self.compose()
        estimate = parts.statistic.estimate(reports, pairs)
        # A loss grows with the number of units, so the largest number of each epsilon is enough.
        most = dict.fromkeys(epsilons, 0)
        for epsilon, count in set(zip(epsilons, records.tolist(), strict=True)):
            most[epsilon] = max(most[epsilon], self.units_of_a_voter(count))
        features = reports.features
        menus = self.takes_menus and pairs is not None and largest_menu(pairs.difference) > 2
        shown = (MENUS_ARE_PUBLIC if menus else PAIRS_ARE_PUBLIC,)
        # One unit of whoever has the largest epsilon.
        single = max(parts.loss(each, features=features, units=1) for each in most)
        guarantee = Guarantee(
            epsilon_single=single,
            epsilon_event=single,
            epsilon_user=max(
                parts.loss(each, features=features, units=units) for each, units in most.items()
            ),
            # 1 where a whole voter is protected: the number of records is then protected too.
            answers=max(most.values()),
            assumptions=(
                *EPSILON_IS_PUBLIC,
                RANGES_ARE_PUBLIC,
                *(() if self.hides_records else (RECORDS_ARE_PUBLIC,)),
                *(shown if self.unit == "choice" else ()),
                *estimate.assumptions,
                *reports.assumptions,
            ),
            delta=parts.noise.delta,
            unit=self.unit,
            trust=parts.trust.name,
            neighbours=NEIGHBOURS_OF_MENUS if menus else NEIGHBOURS[self.unit],
        )
        return Release(
            weights=estimate.weights,
            noise_covariance=estimate.noise,
            guarantee=guarantee,
            mechanism=str(self),
            sampling_covariance=estimate.sampling,
            shrinkage_covariance=estimate.shrinkage,
            direction_only=estimate.direction_only,
            hardened=parts.noise.hardened,
            replacement=parts.noise.replacement,
            details={**estimate.details, **reports.details},
        )

    def _require_device(self) -> Device:
        trust = self.compose().trust
        if not isinstance(trust, Device):
            raise ParameterError(
                f"{self} does not run on a voter's device: records go to whoever computes. Choose "
                "a local mechanism (or trust=local)."
            )
        return trust

    def fields(self) -> dict[str, str]:
        """Return the parameters of the text form, in order."""
        return {
            field.name: text_of_value(getattr(self, field.name))
            for field in dataclasses.fields(self)
            if field.name == "epsilon" or getattr(self, field.name) not in (None, field.default)
        }

    def __str__(self) -> str:
        return text_form(self.name, self.fields())


def require_pairs(records_of_a_choice: int) -> None:
    """Refuse to protect choices among more than two alternatives.

    Raises `ParameterError`: a choice has several records. They share the chosen alternative and no
    other, so the pairs tell the choice, and they are what the unit ``"choice"`` takes for public.
    """
    if records_of_a_choice > 1:
        raise ParameterError(
            f"a choice has {records_of_a_choice} records, so it was made among "
            f"{records_of_a_choice + 1} alternatives: which pairs stand in the table then tells "
            "what was chosen, and the unit 'choice' takes the pairs for public. Give each choice "
            "as its menu (MenuChoices, masquerade menus): MenuResponse masks it on the voter's "
            "device, and item-wins takes menus of named items where an aggregator may see the "
            "choices. Or ask for choices between two, or protect the unit 'record' or 'voter', "
            "which hides the pairs."
        )


def require_public_menus(public_menus: bool, name: str) -> None:
    """Refuse to rest a guarantee on public menus where nobody said that they are public.

    Raises `ParameterError`: menus that were made from answers tell them, and no noise hides that.
    """
    if public_menus is not True:
        raise ParameterError(
            f"{name} hides which alternative was chosen and nothing else: its guarantee holds only "
            "if which alternatives each voter was shown is public, and none was picked by looking "
            "at raw answers. If that is so, say it with public_menus=True (--public-menus on the "
            "command line); if not, protect the unit 'record' or 'voter', which hides what was "
            "shown too."
        )


def text_of_value(value: Any) -> str:
    """Return a parameter as the text form has it."""
    if isinstance(value, tuple):
        return "given" if value and isinstance(value[0], tuple) else f"{len(value)} values"
    return text_of(value) if isinstance(value, Fraction) else str(value)


@contextmanager
def charge_voters(
    ledger: Ledger, mechanism: PreferenceMechanism, comparisons: Comparisons, name: str
) -> Iterator[None]:
    """Charge every voter with a record, all or nobody; see `charge_all`.

    Each pays for all of their records, at their own epsilon: what the guarantee calls voter level.
    Who has no record pays nothing where numbers of records are public. Gaussian noise has no
    epsilon that adds up and is charged as zero-concentrated loss.

    `name`: of the result, as it stands in each voter's account.

    Raises `NoGuarantee` (the mechanism promises nothing that could be counted; nobody was charged)
    or `InsufficientBudget` (a voter has too little left; what had been reserved was given back).
    """
    if not isinstance(mechanism, PrivateMechanism):
        raise NoGuarantee(
            f"{mechanism} protects nobody, so there is nothing that a ledger could count; leave "
            "the ledger out, or choose a mechanism with an epsilon."
        )
    costs = voter_costs(mechanism, comparisons, name)
    with charge_all(ledger, costs, result="preference", name=name):
        yield


def voter_costs(
    mechanism: PrivateMechanism, comparisons: Comparisons, name: str
) -> list[tuple[str, Cost]]:
    """Return each paying voter with the cost."""
    epsilons = epsilons_of(mechanism.epsilons(), comparisons.n_voters)
    counts = comparisons.records_per_voter().tolist()
    # Voters with equal epsilons and numbers of records pay alike; each price is computed once.
    prices = {
        (epsilon, count): _cost(
            mechanism, name, epsilon, features=comparisons.n_features, records=count
        )
        for epsilon, count in dict.fromkeys(zip(epsilons, counts, strict=True))
    }
    columns = zip(comparisons.voters.to_pylist(), epsilons, counts, strict=True)
    costs = ((str(voter), prices[epsilon, count]) for voter, epsilon, count in columns)
    return [(voter, cost) for voter, cost in costs if cost is not None]


def _cost(
    mechanism: PrivateMechanism, name: str, epsilon: Fraction, *, features: int, records: int
) -> Cost | None:
    units = mechanism.units_of_a_voter(records)
    if units == 0:
        return None
    parts = mechanism.compose()
    if parts.noise.delta:  # Gaussian: its epsilons do not add up, its zero-concentrated losses do
        rho = rho_of_gaussian(epsilon, parts.noise.delta, units=units)
        loss = rho_loss(Fraction(int(rho.micro), MICRO))
        return Cost(name, (), event=INFINITE_LOSS, loss=loss)
    event, user = (parts.loss(epsilon, features=features, units=each) for each in (1, units))
    return Cost(name, (), event=event, loss=pure_loss(user))
