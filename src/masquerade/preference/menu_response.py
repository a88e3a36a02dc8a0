"""Randomized response on a choice among several, for menus that everybody knows were shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from masquerade.accounting import Cost, Ledger, charge_all
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.exact import Guarantee, Loss
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import Coins, SimulatedCoins, WordSource, require_coins, uniform_below
from masquerade.mechanisms import RandomizedResponse
from masquerade.mechanisms.text import text_form
from masquerade.preference.learn import SocialPreference
from masquerade.preference.masked_menus import MaskedMenus, fit_masked_menus
from masquerade.preference.mechanism import Release
from masquerade.preference.menus import MenuChoices
from masquerade.preference.personal_epsilon import Epsilon, epsilons_of, read_epsilon
from masquerade.preference.private_mechanism import (
    EPSILON_IS_PUBLIC,
    RANGES_ARE_PUBLIC,
    text_of_value,
)

MENUS_ARE_PUBLIC = (
    "which alternatives each voter was shown is public, and no menu was made by looking at raw "
    "answers"
)
CHOICES_ARE_PUBLIC = "how many choices each voter made is public"
NEIGHBOURS_OF_MENUS = "one choice of one voter is another alternative of the same public menu"


@dataclass(frozen=True, slots=True)
class MenuResponse:
    """Each choice among k is kept, or exchanged at random; the server fits a model that knows this.

    The platform that showed a menu knows it anyway; what it must not learn is which alternative was
    chosen. That is one of k a choice, however many pairs "chosen and other" could be made of it.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        Of one choice; one for all, or one a voter.

    Privacy
    -------
    Protects each choice from everybody but the voter's own device; a voter with n choices is
    protected at n times epsilon. Neighbours: one choice is another of the same menu; menus are
    public, and none was made by looking at raw answers. A choice is kept with probability at most
    ``e**epsilon / (e**epsilon + k - 1)``, a fraction, and drawn from whole numbers; so the loss is
    at most epsilon, exactly.

    References
    ----------
    Kairouz, Bonawitz and Ramage (2016) for k-ary randomized response.

    Examples
    --------
    >>> menus = MenuChoices.from_frame(
    ...     {"voter": ["ann"] * 3 + ["bob"] * 3, "choice": [1, 1, 1, 2, 2, 2],
    ...      "chosen": [0, 1, 0, 1, 0, 0], "price": [9, 4, 6, 2, 5, 8]},
    ...     ranges={"price": (0, 10)})
    >>> mechanism = MenuResponse(2)
    >>> reported = mechanism.report(menus)          # on each voter's device
    >>> mechanism.collect(reported).guarantee.epsilon.epsilon
    2.0
    """

    epsilon: Epsilon

    name: ClassVar[str] = "menu-response"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", read_epsilon(self.epsilon))

    def report(self, menus: MenuChoices, *, coins: Coins | None = None) -> MenuChoices:
        """Return the same menus with every choice masked: the half of voters' devices.

        Raises
        ------
        InsecureRandomness
            `coins` is anything but `Coins`: a seed never makes a report.
        """
        return self._mask(menus, require_coins(coins))

    def collect(self, reported: MenuChoices) -> Release:
        """Return what masked choices say together: the server's half, which costs nothing more.

        Raises
        ------
        ParameterError
            There is no choice.
        InvalidRecord
            A report is no place in its menu.
        """
        if len(reported) == 0:
            raise ParameterError("there are no choices, so there is nothing to learn.")
        if ((reported.chosen < 0) | (reported.chosen >= reported.sizes)).any():
            raise InvalidRecord("a report names a place outside its menu; leave it out.")
        epsilons = self._epsilons(reported)
        keep, other = np.zeros(len(reported)), np.zeros(len(reported))
        losses = {}
        for (size, epsilon), some in self._groups(reported, epsilons).items():
            response = RandomizedResponse(size, epsilon=epsilon)
            keep[some] = float(response.keep_probability)
            other[some] = (1 - keep[some]) / (size - 1)
            losses[size, epsilon] = response.guarantee().epsilon_single
        masked = MaskedMenus(reported.values, reported.offsets, reported.chosen, keep, other)
        fit = fit_masked_menus(masked, reported.voter)
        counts = reported.choices_per_voter().tolist()
        single = max(losses.values())
        most = max(Loss.of_amount(e * n) for e, n in zip(epsilons, counts, strict=True))
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
            details={"model": "logit", "worth": self._worth(keep, other)},
        )

    def learn(
        self,
        menus: MenuChoices,
        *,
        ledger: Ledger | None = None,
        name: str = "preference",
        coins: Coins | None = None,
    ) -> SocialPreference:
        """Mask every choice and learn what the voters prefer.

        Parameters
        ----------
        ledger : Ledger, optional
            Every voter is charged, all or nobody, the voter's epsilon times number of choices.
        name : str
            What the ledger calls the result.

        Raises
        ------
        InsufficientBudget
            A voter has too little left; nobody was charged and nothing was drawn.
        """
        source = require_coins(coins)
        counts, epsilons = menus.choices_per_voter().tolist(), self._epsilons(menus)
        voters = zip(menus.voters.to_pylist(), epsilons, counts, strict=True)
        costs = [
            (str(voter), Cost(name, (), event=Loss.of_amount(e), user=Loss.of_amount(e * n)))
            for voter, e, n in voters
            if n
        ]
        paid = (
            nullcontext()
            if ledger is None
            else charge_all(ledger, costs, result="preference", name=name)
        )
        with paid:
            reported = self._mask(menus, source)
        return self._learned(self.collect(reported), menus)

    def simulate(self, menus: MenuChoices, rng: np.random.Generator) -> SocialPreference:
        """Learn with masks of a seeded generator, for studies; it protects nobody."""
        release = self.collect(self._mask(menus, SimulatedCoins(rng)))
        guarantee = replace(
            release.guarantee,
            status="none",
            assumptions=("simulated: the masks can be foreseen by whoever knows the seed",),
        )
        return self._learned(replace(release, guarantee=guarantee), menus)

    def __str__(self) -> str:
        return text_form(self.name, {"epsilon": text_of_value(self.epsilon)})

    def _epsilons(self, menus: MenuChoices) -> Sequence[Fraction]:
        return epsilons_of(read_epsilon(self.epsilon), menus.n_voters)

    def _groups(
        self, menus: MenuChoices, epsilons: Sequence[Fraction]
    ) -> Mapping[tuple[int, Fraction], Any]:
        """Return the choices of each size of menu and epsilon: these share a channel."""
        pairs = list(zip(menus.sizes.tolist(), (epsilons[v] for v in menus.voter), strict=True))
        number = {pair: place for place, pair in enumerate(dict.fromkeys(pairs))}
        group = np.array([number[pair] for pair in pairs], dtype=np.int64)
        return {pair: np.flatnonzero(group == place) for pair, place in number.items()}

    def _mask(self, menus: MenuChoices, source: WordSource) -> MenuChoices:
        chosen = _among_alike(menus, source)
        reports = chosen.copy()
        for (size, epsilon), some in self._groups(menus, self._epsilons(menus)).items():
            answers = chosen[some].astype(np.int32)
            response = RandomizedResponse(size, epsilon=epsilon)
            reports[some] = response.mask(answers, np.zeros_like(answers), source)
        return replace(menus, chosen=reports)

    def _worth(self, keep: Floats, other: Floats) -> float:
        """Return how many unmasked choices one masked choice is worth at indifference."""
        # The expected information at b = 0 is (p - q)**2 of that without masks.
        return float(((keep - other) ** 2).mean())

    def _learned(self, release: Release, menus: MenuChoices) -> SocialPreference:
        return SocialPreference(release, menus.features, menus.n_voters, len(menus))


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
