"""Randomized response on a choice among several, for menus that everybody knows were shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from masquerade.accounting import Cost, Ledger, charge_all
from masquerade.answers import Frame
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.exact import INFINITE_LOSS, Guarantee, Micro
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import Coins, SimulatedCoins, WordSource, require_coins, uniform_below
from masquerade.exact.loss import pure_loss
from masquerade.exact.number import one_of
from masquerade.mechanisms import RandomizedResponse
from masquerade.mechanisms.text import text_form
from masquerade.preference.composition import MENUS_ARE_PUBLIC
from masquerade.preference.learn import SocialPreference
from masquerade.preference.masked_choices import MaskedChoicesFit
from masquerade.preference.masked_menus import MaskedMenus, fit_masked_menus, plan_groups
from masquerade.preference.mechanism import NEIGHBOURS_OF_MENUS, Release
from masquerade.preference.menus import MenuChoices
from masquerade.preference.personal_epsilon import Epsilon, epsilons_of, read_epsilon
from masquerade.preference.private_mechanism import (
    EPSILON_IS_PUBLIC,
    RANGES_ARE_PUBLIC,
    require_public_menus,
    text_of_value,
)

CHOICES_ARE_PUBLIC = "how many choices each voter made is public"
Grouping = Literal["planned", "single"]

_FEWEST_IN_WAVES = 64  # choices below which reports say too little to plan by


@dataclass(frozen=True, slots=True)
class MenuResponse:
    """Each choice among k is kept, or exchanged at random; the server fits a model that knows this.

    The platform that showed a menu knows it anyway; what it must not learn is which alternative was
    chosen. That is one of k a choice, however many pairs "chosen and other" could be made of it.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        Of one choice; one for all, or one a voter.
    groups : {"planned", "single"}
        ``"planned"``: alternatives of a menu are put into two or more groups, and the group of the
        chosen one is masked; groups are planned from public menus and earlier reports, so that
        weights come out as sharp as can be. ``"single"``: each alternative by itself.

    Privacy
    -------
    Protects each choice from everybody but the voter's own device; a voter with n choices is
    protected at n times epsilon. Neighbours: one choice is another of the same menu; menus are
    public, and none was made by looking at raw answers. One of m groups is kept with probability at
    most ``e**epsilon / (e**epsilon + m - 1)``, a fraction, and drawn from whole numbers; so the
    loss is at most epsilon, exactly, whatever the groups are.

    References
    ----------
    Kairouz, Bonawitz and Ramage (2016) for k-ary randomized response; `plan_groups` for the groups.

    Examples
    --------
    >>> menus = MenuChoices.from_frame(
    ...     {"voter": ["ann"] * 3 + ["bob"] * 3, "choice": [1, 1, 1, 2, 2, 2],
    ...      "chosen": [0, 1, 0, 1, 0, 0], "price": [9, 4, 6, 2, 5, 8]},
    ...     ranges={"price": (0, 10)})
    >>> mechanism = MenuResponse(2)
    >>> reported = mechanism.report(menus)          # on each voter's device
    >>> mechanism.collect(reported, public_menus=True).guarantee.epsilon.epsilon
    2.0
    """

    epsilon: Epsilon
    groups: Grouping = "planned"

    name: ClassVar[str] = "menu-response"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon))
        one_of(self.groups, "groups", get_args(Grouping))

    def report(
        self, menus: MenuChoices, *, weights: ArrayLike | None = None, coins: Coins | None = None
    ) -> MenuChoices:
        """Return the same menus with every choice masked: the half of voters' devices.

        They carry the groups in which alternatives were reported.

        Parameters
        ----------
        weights : float array, shape (n_features,), optional
            Weights of the scaled features by reports of other voters, from `collect`, to plan
            groups by; never by raw answers. Default: all alternatives are equally liked.

        Raises
        ------
        InsecureRandomness
            `coins` is anything but `Coins`: a seed never makes a report.
        """
        source = require_coins(coins)
        if weights is None:
            return self._mask(menus, source)
        given = np.asarray(weights, dtype=np.float64)
        if given.shape != (len(menus.features),) or not np.isfinite(given).all():
            raise ParameterError(
                f"weights have shape {given.shape}, expected {len(menus.features)} finite numbers, "
                "one a feature."
            )
        return self._mask(menus, source, given)

    def collect(self, reported: MenuChoices, *, public_menus: bool = False) -> Release:
        """Return the preference that masked choices give: the server's half.

        Parameters
        ----------
        public_menus : bool
            Say True: which alternatives each voter was shown is public, and no menu was made by
            looking at raw answers. The guarantee holds for such menus alone.

        Raises
        ------
        ParameterError
            There is no choice, or it was not said that menus are public.
        InvalidRecord
            A report is no place in its menu.
        """
        require_public_menus(public_menus, self.name)
        return self._collect(reported)

    def _collect(self, reported: MenuChoices) -> Release:
        if len(reported) == 0:
            raise ParameterError("there are no choices, so there is nothing to learn.")
        group = _groups_of(reported)
        many = np.maximum.reduceat(group, reported.offsets[:-1]) + 1
        if ((reported.chosen < 0) | (reported.chosen >= many)).any():
            raise InvalidRecord("a report names a place outside its menu; leave it out.")
        epsilons = self._epsilons(reported)
        # The worst of the channels, one for each number of groups and epsilon.
        single = max(
            RandomizedResponse(size, epsilon=epsilon).guarantee().epsilon_single
            for size, epsilon in self._channels(reported, many, epsilons)
        )
        masked = self._masked(reported)
        fit = _fit(masked, reported)
        counts = reported.choices_per_voter().tolist()
        most = max(Micro.of_amount(e * n) for e, n in zip(epsilons, counts, strict=True))
        guarantee = Guarantee(
            epsilon_single=single,
            epsilon_event=single,
            epsilon_user=most,
            answers=max(counts),
            assumptions=(
                *EPSILON_IS_PUBLIC,
                RANGES_ARE_PUBLIC,
                CHOICES_ARE_PUBLIC,
                MENUS_ARE_PUBLIC,
            ),
            unit="choice",
            trust="local",
            neighbours=NEIGHBOURS_OF_MENUS,
        )
        return Release(
            weights=fit.weights,
            noise_covariance=fit.noise,
            guarantee=guarantee,
            mechanism=str(self),
            sampling_covariance=fit.sampling,
            shrinkage_covariance=fit.shrinkage,
            details={"model": "logit", "worth": _worth(masked, fit.weights)},
        )

    def learn(
        self,
        menus: MenuChoices | Frame,
        *,
        ledger: Ledger | None = None,
        name: str = "preference",
        coins: Coins | None = None,
        public_menus: bool = False,
    ) -> SocialPreference:
        """Mask every choice and learn a preference from the reports.

        Parameters
        ----------
        menus : MenuChoices, or a table as `MenuChoices.from_frame` reads it
        ledger : Ledger, optional
            Every voter is charged, all or nobody, the voter's epsilon times number of choices.
        name : str
            What the ledger calls the result.
        public_menus : bool
            As for `collect`.

        Raises
        ------
        ParameterError
            It was not said that menus are public; nobody was charged.
        InsufficientBudget
            A voter has too little left; nobody was charged and nothing was drawn.
        """
        require_public_menus(public_menus, self.name)
        source = require_coins(coins)
        menus = MenuChoices.of(menus)
        counts, epsilons = menus.choices_per_voter().tolist(), self._epsilons(menus)
        voters = zip(menus.voters.to_pylist(), epsilons, counts, strict=True)
        costs = [
            (str(voter), Cost(name, (), Micro.of_amount(e), pure_loss(Micro.of_amount(e * n))))
            for voter, e, n in voters
            if n
        ]
        paid = (
            nullcontext()
            if ledger is None
            else charge_all(ledger, costs, result="preference", name=name)
        )
        with paid:
            reported = self._in_waves(menus, source)
        return self._learned(self._collect(reported), menus)

    def simulate(self, menus: MenuChoices | Frame, rng: np.random.Generator) -> SocialPreference:
        """Learn with masks of a seeded generator, for studies; it protects nobody."""
        menus = MenuChoices.of(menus)
        release = self._collect(self._in_waves(menus, SimulatedCoins(rng)))
        guarantee = replace(
            release.guarantee,
            status="none",
            assumptions=("simulated: the masks can be foreseen by whoever knows the seed",),
        )
        return self._learned(replace(release, guarantee=guarantee), menus)

    def __str__(self) -> str:
        fields = {"epsilon": text_of_value(self.epsilon)}
        return text_form(
            self.name, fields | ({} if self.groups == "planned" else {"groups": self.groups})
        )

    def _epsilons(self, menus: MenuChoices) -> Sequence[Fraction]:
        return epsilons_of(read_epsilon(self.epsilon), menus.n_voters)

    def _channels(
        self, menus: MenuChoices, many: Integers, epsilons: Sequence[Fraction]
    ) -> Mapping[tuple[int, Fraction], Any]:
        """Return the choices of each number of groups and epsilon: these share a channel."""
        pairs = list(zip(many.tolist(), (epsilons[v] for v in menus.voter), strict=True))
        number = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
        channel = np.array([number[pair] for pair in pairs], dtype=np.int64)
        return {pair: np.flatnonzero(channel == place) for pair, place in number.items()}

    def _masked(self, reported: MenuChoices) -> MaskedMenus:
        """Return reports with the channel that each went through."""
        group = _groups_of(reported)
        many = np.maximum.reduceat(group, reported.offsets[:-1]) + 1
        keep, other = np.zeros(len(reported)), np.zeros(len(reported))
        for (size, epsilon), some in self._channels(
            reported, many, self._epsilons(reported)
        ).items():
            keep[some] = float(RandomizedResponse(size, epsilon=epsilon).keep_probability)
            # k-ary randomized response: what is not kept is spread evenly over the other groups.
            other[some] = (1 - keep[some]) / (size - 1)
        return MaskedMenus.grouped(
            reported.values, reported.offsets, group, reported.chosen, keep, other
        )

    def _in_waves(self, menus: MenuChoices, source: WordSource) -> MenuChoices:
        """Return masked choices, those of later voters in groups planned by earlier reports.

        Each choice is masked once, at its epsilon, whatever reports it was planned by: the losses
        of adaptive rounds add up as any others do (Dwork and Roth 2014, theorem 3.16).
        """
        if self.groups == "single" or len(menus) < _FEWEST_IN_WAVES:
            return self._mask(menus, source)
        # Voters come whole, an eighth of the choices first, then as many as there are, twice.
        ends = np.searchsorted(menus.voter, menus.voter[[len(menus) >> left for left in (3, 2, 1)]])
        reported, weights, start = [], None, 0
        for end in (*ends.tolist(), len(menus)):
            if end > start:
                part = self._mask(_choices(menus, start, end), source, weights)
                reported.append(part)
                together = _joined(menus, reported)
                weights = self._masked(together).fit_narrow() if end < len(menus) else None
            start = end
        return together

    def _mask(
        self, menus: MenuChoices, source: WordSource, weights: Floats | None = None
    ) -> MenuChoices:
        # A name that one voter alone was shown would stand in the result for all to see.
        if not menus.items_given:
            raise ParameterError(
                f"the items were read off the menus, and {self.name} would publish them. Give the "
                "public list of all items that could be shown, items=[...] (--items FILE on the "
                "command line)."
            )
        epsilons = self._epsilons(menus)
        # The plan reads menus, epsilons and earlier reports, never what was chosen.
        group = _groups_of(menus)
        if self.groups == "planned" and len(menus):
            own = [float(epsilons[voter]) for voter in menus.voter]
            group = plan_groups(menus.values, menus.offsets, own, weights)
        chosen = group[menus.offsets[:-1] + _among_alike(menus, source)]
        many = np.maximum.reduceat(group, menus.offsets[:-1]) + 1 if len(menus) else chosen
        reports = chosen.copy()
        for (size, epsilon), some in self._channels(menus, many, epsilons).items():
            answers = chosen[some].astype(np.int32)
            response = RandomizedResponse(size, epsilon=epsilon)
            reports[some] = response.mask(answers, np.zeros_like(answers), source)
        return replace(menus, chosen=reports, groups=group)

    def _learned(self, release: Release, menus: MenuChoices) -> SocialPreference:
        named = menus.named_items
        return SocialPreference(release, menus.features, menus.n_voters, len(menus), named)


def fit_menus(menus: MenuChoices | Frame) -> SocialPreference:
    """Return a multinomial logit fit of choices from menus, without privacy.

    Parameters
    ----------
    menus : MenuChoices, or a table as `MenuChoices.from_frame` reads it

    Raises
    ------
    ParameterError
        There is no choice.
    """
    menus = MenuChoices.of(menus)
    if len(menus) == 0:
        raise ParameterError("there are no choices, so there is nothing to learn.")
    every = np.ones(len(menus))
    plain = MaskedMenus(menus.values, menus.offsets, menus.chosen, every, 0 * every)
    fit = _fit(plain, menus)
    guarantee = Guarantee(
        *(INFINITE_LOSS, INFINITE_LOSS, INFINITE_LOSS),
        answers=1,
        assumptions=(),
        unit="choice",
        trust="everyone",
        status="none",
        neighbours=NEIGHBOURS_OF_MENUS,
    )
    release = Release(
        weights=fit.weights,
        noise_covariance=np.zeros_like(fit.noise),
        guarantee=guarantee,
        mechanism="none",
        sampling_covariance=fit.sampling + fit.noise,
        shrinkage_covariance=fit.shrinkage,
        details={"model": "logit"},
    )
    named = menus.named_items
    return SocialPreference(release, menus.features, menus.n_voters, len(menus), named)


def _fit(masked: MaskedMenus, menus: MenuChoices) -> MaskedChoicesFit:
    fit = fit_masked_menus(masked, menus.voter)
    return fit.of_strengths() if menus.named_items else fit


def _choices(menus: MenuChoices, start: int, end: int) -> MenuChoices:
    """Return some of the choices, of the same voters."""
    rows = slice(int(menus.offsets[start]), int(menus.offsets[end]))
    return replace(
        menus,
        values=menus.values[rows],
        offsets=menus.offsets[start : end + 1] - rows.start,
        chosen=menus.chosen[start:end],
        voter=menus.voter[start:end],
    )


def _joined(menus: MenuChoices, reported: Sequence[MenuChoices]) -> MenuChoices:
    """Return the first so many choices as they were reported."""
    chosen = np.concatenate([part.chosen for part in reported])
    first = _choices(menus, 0, len(chosen))
    groups = np.concatenate([_groups_of(part) for part in reported])
    return replace(first, chosen=chosen, groups=groups)


def _groups_of(menus: MenuChoices) -> Integers:
    """Return the group of each alternative in its menu: its place, where there are no groups."""
    if menus.groups is not None:
        return menus.groups
    return np.arange(len(menus.values)) - np.repeat(menus.offsets[:-1], menus.sizes)


def _worth(masked: MaskedMenus, weights: Floats) -> float:
    """Return how many unmasked choices one masked choice is worth at these weights."""
    one = np.ones(len(masked.reports))
    plain = MaskedMenus(masked.values, masked.offsets, np.zeros_like(masked.reports), one, 0 * one)
    kept, all_of_it = (each.at(weights).information for each in (masked, plain))
    rank = max(int(np.linalg.matrix_rank(all_of_it, hermitian=True)), 1)
    # Information kept over information there was, averaged over the directions that had any.
    return float(np.trace(np.linalg.pinv(all_of_it, hermitian=True) @ kept) / rank)


def _among_alike(menus: MenuChoices, source: WordSource) -> Integers:
    """Return the places chosen, by the device's coin where several have the same features.

    Such alternatives are one to the model; which row of the table was marked must not matter.
    """
    chosen = menus.chosen.copy()
    menu = np.repeat(np.arange(len(menus)), menus.sizes)
    # Menus are sorted, so that alternatives with equal features stand side by side.
    alike = (np.diff(menus.values, axis=0) == 0).all(axis=1) & (np.diff(menu) == 0)
    for i in np.unique(menu[1:][alike]).tolist():
        rows = menus.values[menus.offsets[i] : menus.offsets[i + 1]]
        places = np.flatnonzero((rows == rows[chosen[i]]).all(axis=1))
        chosen[i] = places[int(uniform_below(source, len(places), 1)[0])]
    return chosen
