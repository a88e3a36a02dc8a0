"""Sums of voters' vectors between two parties, with noise of both; neither sees a vector.

Each voter's device splits a vector of whole numbers into two shares with a proof that its length is
within a public bound; the parties check it with each other's help, add up what holds, and each adds
noise before it shows its sum (`masquerade.aggregate`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from masquerade.aggregate import Prio3, SumNoise, Vector, prio3_survey, verification_key
from masquerade.aggregate.noise import ASSUMPTIONS
from masquerade.answers import Comparisons
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Integers
from masquerade.exact.coins import Coins, WordSource
from masquerade.exact.noise import discrete_gaussian
from masquerade.preference.composition import Composition, Epsilons, Reports, TrustName
from masquerade.preference.vector_noise import AdditiveNoise, GaussianNoise

ONE_PROCESS = (
    "both parties ran in this process, which saw the records; between two computers run by two "
    "parties neither does"
)
_CONTEXT = b"masquerade preference"
_TASK = bytes(32)
_SEED_WORDS = 4  # 32 bytes


@dataclass(frozen=True, slots=True)
class TwoParties:
    """Voters' rows are split, checked and added up by two parties, and each masks its sum.

    `one_epsilon`: noise is added to sums, so that all voters share an epsilon.

    Privacy
    -------
    Protects one record (or choice) of a voter from whoever sees the published sum and everything
    that at most one party sees. Neighbours: the record is replaced; how many voters there are, how
    many records each has, and the most that any has, are public. It costs ``rho = S**2 / (2
    variance)`` of the honest party's noise alone, S being the Euclidean sensitivity of the sum;
    the noise of the other is not counted on. Both together read every row.

    References
    ----------
    Corrigan-Gibbs and Boneh, "Prio", 2017; Canonne, Kamath and Steinke (2020), Theorem 4.
    """

    name: ClassVar[TrustName] = "two-parties"
    one_epsilon: ClassVar[bool] = True

    def collect(
        self, parts: Composition, comparisons: Comparisons, epsilons: Epsilons, source: WordSource
    ) -> Reports:
        """Return the sum of all rows with the noise of both parties.

        A simulation from a seed adds up rows and draws the same two noises, and splits nothing.
        """
        features = comparisons.n_features
        rows = parts.statistic.rows(comparisons)
        sensitivity = parts.statistic.sensitivity(features)
        assert isinstance(parts.noise, AdditiveNoise)
        noise = parts.noise.sized(epsilons[0], sensitivity)
        assert isinstance(noise, GaussianNoise)
        # A record is a vector of half the sensitivity; so many as a voter has, which is public.
        most = max(comparisons.most_records_of_a_voter(), 1)
        block = Vector(rows.shape[1], most * sensitivity.euclidean // 2)
        sums = SumNoise((block,), (noise.squared_scale,))
        if isinstance(source, Coins):
            total = two_party_sum(rows, block, sums, source)
        else:
            # A study: the noise of both parties on the plain sum, as no share has to be hidden.
            drawn = discrete_gaussian(source, noise.squared_scale, 2 * rows.shape[1])
            total = rows.sum(axis=0) + drawn.reshape(2, -1).sum(axis=0)
        return Reports(
            total[None],
            np.array([float(sums.published_variance(0))]),
            records=np.array([len(comparisons)]),
            voters=comparisons.n_voters,
            features=features,
            assumptions=(*ASSUMPTIONS, ONE_PROCESS),
            details={"largest_records": most},
        )


def two_party_sum(rows: Integers, block: Vector, noise: SumNoise, coins: Coins) -> Integers:
    """Return the noisy sum that two parties publish of vectors split between them.

    `rows` (n_voters, size): squares of a row add to at most ``block.largest**2``; the device
    refuses others, and the parties refuse whatever a device sends in their place.
    """
    vdaf = prio3_survey([block])
    key = verification_key(coins.words(_SEED_WORDS).tobytes(), _TASK)
    sums = [vdaf.aggregate([]), vdaf.aggregate([])]
    for row in rows.tolist():
        for party, share in enumerate(_checked_shares(vdaf, key, row, coins)):
            sums[party] = vdaf.aggregate([sums[party], share])
    # Each party adds all of the noise to its own sum before the other sees it.
    shown = [noise.add(share, coins=coins) for share in sums]
    return np.array(vdaf.unshard(shown, count=len(rows))[0], dtype=np.int64)


def _checked_shares(
    vdaf: Prio3[Sequence[Any], list[list[int]]], key: bytes, row: list[int], coins: Coins
) -> list[tuple[int, ...]]:
    """Return both parties' shares of a row that a device split, after the check."""
    report = vdaf.shard([row], context=_CONTEXT, coins=coins)
    begun = [
        vdaf.verify_init(key, _CONTEXT, party, report.nonce, report.public_share, share)
        for party, share in enumerate(report.input_shares)
    ]
    message = vdaf.verifier_message(_CONTEXT, [verifier for _, verifier in begun])
    return [vdaf.verify_next(state, message) for state, _ in begun]


def require_gaussian(noise: AdditiveNoise) -> None:
    """Refuse noise that cannot be added by each of two parties to whole sums."""
    if not noise.delta:
        raise ParameterError(
            "two parties each add Gaussian noise to their sums; take linear-gaussian for the trust "
            "two-parties, or another trust."
        )
