"""Randomized response on each choice, for pairs that everybody knows were shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from masquerade.answers import Comparisons
from masquerade.errors import InvalidRecord, ParameterError
from masquerade.exact import Loss
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import WordSource
from masquerade.mechanisms import RandomizedResponse
from masquerade.preference.direction import direction
from masquerade.preference.linear_sum import PAIRS_ARE_PUBLIC
from masquerade.preference.local_mechanism import LocalMechanism, VoterReport
from masquerade.preference.masked_choices import MaskedChoicesFit, fit_masked_choices
from masquerade.preference.mechanism import Release, Unit
from masquerade.preference.personal_epsilon import epsilons_of
from masquerade.preference.private_mechanism import RECORDS_ARE_PUBLIC, require_pairs
from masquerade.preference.voter_weights import voter_weights

Estimator = Literal["likelihood", "linear"]


def orientation(differences: Floats) -> Integers:
    """Return for each record 1 or -1, the sign of its first number that is not zero; 1 for none.

    Divided by it, a record and its opposite are the same pair, so the pair can be public and the
    sign is the choice.
    """
    first = np.argmax(differences != 0, axis=1)
    return np.where(differences[np.arange(len(differences)), first] < 0, -1, 1).astype(np.int64)


@dataclass(frozen=True)
class ChoiceResponse(LocalMechanism):
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
        of the sum of chosen directions, divided by their second moment.

    Privacy
    -------
    Protects each choice from everybody but the voter's own device; a voter with n records is
    protected at n times epsilon. Neighbours: one choice is turned round; the pairs are public. A
    choice is kept with probability at most ``e**epsilon / (1 + e**epsilon)``, a fraction, and drawn
    from whole numbers; so the loss is at most epsilon, exactly.

    References
    ----------
    Warner (1965). It is `RandomizedResponse` with two options.
    """

    unit: Unit = "choice"
    estimator: Estimator = "likelihood"

    name = "choice-response"
    units = ("choice",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.estimator not in ("likelihood", "linear"):
            raise ParameterError(
                f"estimator is {self.estimator!r}, expected 'likelihood' or 'linear'."
            )

    def response(self, epsilon: Fraction) -> RandomizedResponse:
        """Return what each record of a voter with this epsilon goes through."""
        return RandomizedResponse(2, epsilon=epsilon)

    def units_of_a_voter(self, records: int) -> int:
        """Return the number of records: each is masked by itself."""
        return records

    def voter_losses(self, epsilon: Fraction, records: int) -> tuple[Loss, Loss]:
        """Return the loss of one choice, and of all records of a voter."""
        single = self.response(epsilon).guarantee().epsilon_single
        return single, single * records

    def device_form(self, epsilon: Fraction) -> dict[str, str | int]:
        """Return the whole numbers that a voter's device draws from, as JSON-ready values."""
        return {**self.response(epsilon).device_form(), "name": self.name}

    def _report_rows(self, records: Comparisons, epsilon: Fraction, source: WordSource) -> Integers:
        """Return masked choices, 1 or -1 a record in its pair's `orientation`, shape (1, n)."""
        answers = (orientation(records.difference) < 0).astype(np.int32)
        response = self.response(epsilon)
        reports = response.mask(answers, np.zeros_like(answers), source)
        return 1 - 2 * reports.astype(np.int64)[None]

    def _released(self, comparisons: Comparisons, source: WordSource) -> Release:
        epsilons = epsilons_of(self.epsilons(), comparisons.n_voters)
        signs = np.empty(len(comparisons), dtype=np.int64)
        groups: dict[Fraction, list[int]] = {}
        for voter, epsilon in enumerate(epsilons):
            groups.setdefault(epsilon, []).append(voter)
        place = np.array([list(groups).index(epsilon) for epsilon in epsilons], dtype=np.int64)
        of_record = place[comparisons.voter]
        for number, epsilon in enumerate(groups):
            rows = np.flatnonzero(of_record == number)
            some = comparisons if len(groups) == 1 else comparisons._take(rows)
            signs[rows] = self._report_rows(some, epsilon, source)[0]
        return self.combine(signs, pairs=comparisons, epsilons=epsilons)

    def collect(self, reports: Sequence[VoterReport], *, pairs: Comparisons) -> Release:
        """Return what the reports of many devices say together.

        Parameters
        ----------
        reports : sequence of VoterReport
            In the order of ``pairs.voters``.
        pairs : Comparisons
            What each voter was shown, in either order: which was chosen is not read from it.

        Raises
        ------
        ParameterError
            A choice has several pairs, which tell it.
        InvalidRecord
            A report does not fit its voter's pairs.
        """
        require_pairs(pairs.most_records_of_a_choice())
        if len(reports) != pairs.n_voters:
            raise InvalidRecord(f"there are {len(reports)} reports for {pairs.n_voters} voters.")
        counts = pairs.records_per_voter().tolist()
        for number, (report, count) in enumerate(zip(reports, counts, strict=True), start=1):
            if len(report.values) != count or not set(report.values) <= {-1, 1}:
                raise InvalidRecord(
                    f"report {number} is not {count} choices of 1 or -1, one for each pair shown."
                )
        signs = np.array([sign for report in reports for sign in report.values], dtype=np.int64)
        return self.combine(
            signs,
            pairs=pairs,
            epsilons=[report.epsilon for report in reports],
        )

    def combine(
        self,
        signs: Integers,
        *,
        pairs: Comparisons,
        epsilons: Sequence[Fraction],
    ) -> Release:
        """Return what masked choices say together; the server's half.

        Parameters
        ----------
        signs : int64 array, shape (n_records,)
            Masked choices, 1 or -1 in the pairs' `orientation`.
        pairs : Comparisons
            Only what was shown is read, not which was chosen.
        epsilons : sequence of Fraction, one a voter
        """
        require_pairs(pairs.most_records_of_a_choice())
        counts = pairs.records_per_voter()
        kept = {each: self.response(each).keep_probability for each in epsilons}
        contrast = np.array([float(2 * kept[each] - 1) for each in epsilons])
        # A masked choice, made unbiased, has variance 1 / contrast**2: 1 of them is sampling.
        noise = 1 / contrast**2 - 1
        shares, details = self._shares(epsilons, np.ones(len(noise)), noise)
        shown = pairs.scaled() * orientation(pairs.difference)[:, None]
        voter = pairs.voter
        sampling = shrinkage = None
        if self.estimator == "linear":
            weights, covariance = _linear(signs, shown, shares[voter], contrast[voter])
        else:
            best = voter_weights("inverse-variance", between=np.ones(len(noise)), noise=noise)
            emphasis = shares / best
            fit = fit_masked_choices(signs, shown, emphasis[voter], contrast[voter], voter=voter)
            weights, covariance = fit.weights, fit.noise
            sampling, shrinkage = fit.sampling, fit.shrinkage
            details |= _on_shrinkage(fit)
        losses = [
            self.voter_losses(each, count)
            for each, count in dict.fromkeys(zip(epsilons, counts.tolist(), strict=True))
        ]
        return Release(
            weights=weights,
            noise_covariance=covariance,
            guarantee=self._guarantee(
                "local",
                max(single for single, _ in losses),
                max(whole for _, whole in losses),
                (RECORDS_ARE_PUBLIC, PAIRS_ARE_PUBLIC),
            ),
            mechanism=str(self),
            sampling_covariance=sampling,
            shrinkage_covariance=shrinkage,
            direction_only=self.estimator == "linear",
            details=details,
        )


def _linear(
    signs: Integers, shown: Floats, share: Floats, contrast: Floats
) -> tuple[Floats, Floats]:
    """Return the direction of the weighted sum of directions, and its noise."""
    d = shown.shape[1]
    length = np.sqrt((shown**2).sum(axis=1, keepdims=True))
    units = shown / np.where(length > 0, length, 1)
    total = (signs * share / contrast) @ units
    spread = (share**2 * (1 / contrast**2 - 1)) @ units**2
    records = max(float(share.sum()), 1e-9)
    moment = (units * share[:, None]).T @ units / records
    ridge = float(np.sqrt(spread.mean())) / records
    inverse = np.linalg.pinv(moment + ridge * np.eye(d), hermitian=True)
    middle = (units * (share**2 * (1 / contrast**2 - 1))[:, None]).T @ units
    weights, covariance = direction(inverse @ total, inverse @ middle @ inverse)
    return weights, covariance


def _on_shrinkage(fit: MaskedChoicesFit) -> dict[str, Any]:
    """Return how much of the errors is the ridge's, and a remark where that is more than half."""
    bias = np.diag(fit.shrinkage)
    every = np.diag(fit.noise) + np.diag(fit.sampling) + bias
    share = float((bias / np.where(every > 0, every, 1)).max(initial=0))
    said: dict[str, Any] = {"shrinkage_share": share}
    if share > 0.5:
        said["remark"] = (
            "these choices say little: the weights are pulled towards 0, and their directions are "
            "safer than their sizes"
        )
    return said
