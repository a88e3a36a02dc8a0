"""Randomized response on each choice, for pairs that everybody knows were shown."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal, get_args

import numpy as np

from masquerade.answers import Comparisons
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.exact import Micro
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.exact.number import one_of, whole
from masquerade.mechanisms import RandomizedResponse
from masquerade.preference.composition import (
    Composition,
    Estimate,
    Fidelity,
    Reports,
    Sensitivity,
    Unit,
)
from masquerade.preference.masked_choices import (
    FEW_VOTERS,
    MaskedChoices,
    MaskedChoicesFit,
    at_least_zero,
    fit_masked_choices,
)
from masquerade.preference.mechanism import register
from masquerade.preference.mechanisms.noisy_item_wins import (
    pairs_met,
    perturbed_strengths,
    require_item_records,
)
from masquerade.preference.other_voters import (
    FEWEST_REPORTS,
    DirectionSpread,
    spread_of_direction,
    spread_of_reports,
)
from masquerade.preference.personal_epsilon import MOST_TIMES_EQUAL, Weighting, voter_weights
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.trust import Device
from masquerade.preference.voter_groups import MOST_GROUPS, find_voter_groups

Estimator = Literal["likelihood", "linear", "bradley-terry"]


def orientation(differences: Floats) -> Integers:
    """Return for each record 1 or -1, the sign of its first number that is not zero; 1 for none.

    Divided by it, a record and its opposite are the same pair, so the pair can be public and the
    sign is the choice.
    """
    # argmax of flags is the first true one.
    first = np.argmax(differences != 0, axis=1)
    return np.where(differences[np.arange(len(differences)), first] < 0, -1, 1).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Choices:
    """The choice between two alternatives, record by record, where the pairs are public.

    `estimator`, `groups`: see `ChoiceResponse`.
    """

    estimator: Estimator = "likelihood"
    groups: int = 1

    units: ClassVar[tuple[Unit, ...]] = ("choice",)
    whole_voter: ClassVar[bool] = False
    row_a_record: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of(self.estimator, "estimator", get_args(Estimator))
        groups = whole(self.groups, "groups", low=1, high=MOST_GROUPS)
        object.__setattr__(self, "groups", groups)
        if groups > 1 and self.estimator != "likelihood":
            raise ParameterError("groups of voters are told apart by estimator=likelihood alone.")

    def rows(self, records: Comparisons) -> Integers:
        """Return each choice, 1 or -1 in its pair's `orientation`, shape (n_records, 1)."""
        return orientation(records.difference)[:, None]

    def sensitivity(self, features: int) -> Sensitivity:
        """Return how far one choice can move: from one sign to the other."""
        return Sensitivity(2, 2)

    def spread(self, variance: Floats, records: Integers, features: int) -> tuple[Floats, Floats]:
        """Return the variance of a choice, at most 1, and that of the noise in it."""
        return np.ones(len(variance)), variance

    def estimate(self, reports: Reports, pairs: Comparisons | None) -> Estimate:
        """Return weights from masked choices; the chosen side of a pair is not read."""
        assert pairs is not None
        signs, voter = reports.rows[:, 0], pairs.voter
        # A device sends signs; anything else would weigh more than a choice.
        if (np.abs(signs) != 1).any():
            number = int(voter[np.argmax(np.abs(signs) != 1)]) + 1
            raise InvalidRecord(f"report {number} has choices other than 1 and -1.")
        differences = pairs.scaled() * orientation(pairs.difference)[:, None]
        contrast = reports.contrast[voter]
        if self.estimator == "linear":
            found = _linear(signs, differences, reports.shares[voter], contrast, voter)
            return Estimate(*found, direction_only=True)
        # The likelihood itself gives voters inverse-variance weights, so a record counts by how far
        # its voter's share is from that.
        between, noise = self.spread(reports.variance, reports.records, reports.features)
        best = voter_weights("inverse-variance", between=between, noise=noise)
        emphasis = (reports.shares / best)[voter]
        if self.estimator == "bradley-terry":
            return _strengths(signs, pairs, emphasis, contrast)
        fit = fit_masked_choices(signs, differences, emphasis, contrast, voter=voter)
        if pairs.items is not None:  # of features, the direction of their sum counts too
            fit = fit.of_strengths()
        details = _on_shrinkage(fit, voters=len(np.unique(voter)))
        if self.groups > 1:
            masked = MaskedChoices(differences * signs[:, None], emphasis, contrast)
            details["groups"] = find_voter_groups(masked, voter, most=self.groups).to_json()
        return Estimate(fit.weights, fit.noise, fit.sampling, fit.shrinkage, details=details)


@dataclass(frozen=True, slots=True)
class ChoiceNoise:
    """Randomized response between the two signs of a choice."""

    hardened: ClassVar[bool] = True
    replacement: ClassVar[str | None] = None
    delta: ClassVar[Fraction] = Fraction(0)

    def response(self, epsilon: Fraction) -> RandomizedResponse:
        """Return the randomized response of a choice at this epsilon."""
        return RandomizedResponse(2, epsilon=epsilon)

    def mask(
        self, rows: Integers, epsilon: Fraction, sensitivity: Sensitivity, source: WordSource
    ) -> Integers:
        """Return signs, each kept or turned round."""
        answers = (rows[:, 0] < 0).astype(np.int32)
        reports = self.response(epsilon).mask(answers, np.zeros_like(answers), source)
        return 1 - 2 * reports.astype(np.int64)[:, None]

    def loss(self, epsilon: Fraction, sensitivity: Sensitivity, *, units: int) -> Micro:
        """Return the loss of one choice, for each: every one is masked by itself."""
        return self.response(epsilon).guarantee().epsilon_single * units

    def fidelity(self, epsilon: Fraction, sensitivity: Sensitivity, size: int) -> Fidelity:
        """Return the contrast, and the noise in a sign divided by it.

        A masked choice, made unbiased, has variance ``1 / contrast**2``: 1 of this is sampling.
        """
        contrast = float(2 * self.response(epsilon).keep_probability - 1)
        return Fidelity(contrast, 1 / contrast**2 - 1)

    def device_form(self, epsilon: Fraction) -> dict[str, str | int]:
        """Return the whole numbers that a voter's device draws from, as JSON-ready values."""
        return {**self.response(epsilon).device_form(), "name": "choice-response"}


def _linear(
    signs: Integers, differences: Floats, share: Floats, contrast: Floats, voter: Integers
) -> DirectionSpread:
    """Return the direction of the weighted sum of directions, and its covariances."""
    d = differences.shape[1]
    length = np.sqrt((differences**2).sum(axis=1, keepdims=True))
    units = differences / np.where(length > 0, length, 1)
    # A masked sign divided by its contrast is unbiased; its noise has variance 1 / c**2 - 1.
    total = (signs * share / contrast) @ units
    spread = (share**2 * (1 / contrast**2 - 1)) @ units**2
    records = max(float(share.sum()), 1e-9)
    moment = (units * share[:, None]).T @ units / records
    # The ridge of `LinearSum.estimate`: one standard deviation of the noise a record.
    ridge = float(np.sqrt(spread.mean())) / records
    inverse = np.linalg.pinv(moment + ridge * np.eye(d), hermitian=True)
    middle = (units * (share**2 * (1 / contrast**2 - 1))[:, None]).T @ units
    # Masked choices of a voter add to a report; what these differ by holds the noise.
    each = np.zeros((int(voter.max(initial=0)) + 1, d))
    np.add.at(each, voter, units * (signs * share / contrast)[:, None])
    sampling = np.zeros((d, d))
    if len(each) >= FEWEST_REPORTS:
        sampling = at_least_zero(spread_of_reports(each, np.ones(len(each))) - middle)
    raw = inverse @ total
    bias = ridge**2 * float(raw @ raw) / d * inverse @ inverse
    return spread_of_direction(raw, inverse @ middle @ inverse, inverse @ sampling @ inverse, bias)


def _strengths(signs: Integers, pairs: Comparisons, emphasis: Floats, contrast: Floats) -> Estimate:
    """Return strengths of named items from wins that were made unbiased."""
    require_item_records(pairs.difference)
    oriented = pairs.difference * orientation(pairs.difference)[:, None]
    # A masked sign over its contrast is unbiased; half of it is a win more or less than a half.
    net = (signs * emphasis / contrast) @ oriented
    noise = (oriented * (emphasis**2 * (1 / contrast**2 - 1) / 4)[:, None]).T @ oriented
    met = pairs_met(pairs, emphasis)
    wins = (net + met.sum(axis=1)) / 2
    return perturbed_strengths(wins, met, float(np.diag(noise).mean()), noise)


def _on_shrinkage(fit: MaskedChoicesFit, *, voters: int) -> dict[str, object]:
    """Return how much of the errors is the ridge's, and remarks: more than half, or few voters."""
    bias = np.diag(fit.shrinkage)
    every = np.diag(fit.noise) + np.diag(fit.sampling) + bias
    share = float((bias / np.where(every > 0, every, 1)).max(initial=0))
    details: dict[str, object] = {"model": "probit", "shrinkage_share": share}
    # The remarks of the specification's page on intervals, sections 3.5 and 3.6.
    remarks = []
    if share > 0.5:
        remarks.append(
            "these choices say little: the weights are pulled towards 0, and their directions are "
            "safer than their sizes"
        )
    if voters < FEW_VOTERS:
        remarks.append(
            "fewer than ten voters do not show how voters differ: the errors are those of "
            "like-minded ones"
        )
    if remarks:
        details["remark"] = "; ".join(remarks)
    return details


@register
@dataclass(frozen=True)
class ChoiceResponse(PrivateMechanism):
    """Each choice is kept or turned round at random; the server fits a model that knows this.

    The platform that showed the alternatives knows the pairs anyway; what it must not learn is
    which of two was chosen. That is one bit a record.

    Parameters
    ----------
    epsilon : number or sequence of numbers
        Of one choice between two alternatives; one for all, or one a voter.
    unit : {"choice"}
    weights, most
        How much each voter counts; see `voter_weights`.
    estimator : {"likelihood", "linear"}
        ``"likelihood"``: maximises the Thurstone-Mosteller likelihood of the masked choices of all
        voters, with a small ridge; gives weights with standard errors. ``"linear"``: the direction
        of the sum of chosen directions, divided by their second moment. ``"bradley-terry"``, for
        named items: their strengths, from wins made unbiased; see `ItemWins`.
    groups : int
        Most groups of voters to tell apart, 1 to 8; see `find_voter_groups`. It reads masked
        choices alone and costs nothing more; ``details["groups"]`` has shares and scaled weights.

    Privacy
    -------
    Protects each choice from everybody but the voter's own device; a voter with n records is
    protected at n times epsilon. Neighbours: one choice is turned round; the pairs are public. A
    choice is kept with probability at most ``e**epsilon / (1 + e**epsilon)``, a fraction, and drawn
    from whole numbers; so the loss is at most epsilon, exactly.

    References
    ----------
    Warner (1965). It is `RandomizedResponse` with two options.

    Examples
    --------
    >>> ChoiceResponse(epsilon=1).unit, str(ChoiceResponse(epsilon=1))
    ('choice', 'choice-response:epsilon=1')
    """

    unit: Unit = "choice"
    weights: Weighting = "equal"
    most: float = MOST_TIMES_EQUAL
    estimator: Estimator = "likelihood"
    groups: int = 1

    name = "choice-response"
    units = Choices.units

    def check(self, comparisons: Comparisons) -> None:
        """Raise where the mechanism cannot protect these comparisons; nothing is drawn."""
        super().check(comparisons)
        if self.estimator == "bradley-terry":
            require_item_records(comparisons.difference)

    def compose(self) -> Composition:
        """Return choices, each masked by randomized response."""
        return Composition(
            Choices(self.estimator, self.groups), ChoiceNoise(), Device(self.weights, self.most)
        )
