"""Groups of voters: a mixture, as large as held-out choices support."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from masquerade.answers.result import Result
from masquerade.exact.arrays import Floats, Integers
from masquerade.preference.masked_choices import TYPICAL_MARGIN, MaskedChoices

#: More groups than that are not tried unless asked for.
MOST_GROUPS = 8

_STARTS = 3
_MOST_ROUNDS = 60
_CLOSE = 1e-6  # rise of the log-likelihood a choice at which a fit ends
_SURER = 1.0  # standard errors by which one group more has to foretell held-out choices better


@dataclass(frozen=True, slots=True, eq=False)
class VoterGroups(Result):
    """Groups of voters with weights of their own, the largest first.

    `shares` (float array, shape (n_groups,)): of the voters; they add to 1.
    `weights` (float array, shape (n_groups, n_features)): of the scaled features.
    `held_out` (float array, shape (n_tried,)): mean log-probability of a held-out choice with 1, 2,
    ... groups.

    Examples
    --------
    >>> import numpy as np
    >>> groups = VoterGroups(np.array([0.6, 0.4]), np.eye(2), np.array([-0.7, -0.6]))
    >>> groups.shares.tolist()
    [0.6, 0.4]
    """

    shares: Floats
    weights: Floats
    held_out: Floats

    def to_json(self) -> dict[str, Any]:
        """Return shares, weights and held-out scores, as a JSON object."""
        return {
            "shares": self.shares.tolist(),
            "weights": self.weights.tolist(),
            "held_out": self.held_out.tolist(),
        }


def find_voter_groups(choices: MaskedChoices, voter: Integers, *, most: int) -> VoterGroups:
    """Return groups of voters, as many as foretell held-out choices best.

    `choices`: choices of all voters, masked or not.
    `voter` (int array, shape (n_records,)): whose choice each is; codes from 0.
    `most`: largest number of groups to try, at least 1.

    Notes
    -----
    A mixture of Thurstone-Mosteller models, seen through the mask, fitted by EM (Dempster, Laird
    and Rubin 1977) from several starts. Every second choice of a voter is held out: groups are
    fitted to the others, which also say how likely a voter is in each. A group more is taken where
    held-out choices are foretold better by more than a standard error over voters. Of masked
    choices all of this is post-processing. Starts have a fixed seed, so the result is the same
    every time.
    """
    n = int(voter.max(initial=-1)) + 1
    place = np.arange(len(voter)) - np.searchsorted(voter, voter)  # of a choice among its voter's
    # Of each voter every other choice; who gave only one has nothing held out.
    kept = place % 2 == 0
    train, test = _part(choices, kept), _part(choices, ~kept)
    scores: list[Floats] = []
    chosen = 1
    for groups in range(1, most + 1):
        shares, weights = _fit(train, voter[kept], n, groups)
        member = _members(train, voter[kept], n, shares, weights)[0]
        # ln P(held out | kept) = ln sum of P(group | kept) P(held out | group).
        each = _by_voter(test, voter[~kept], n, weights) + np.log(np.maximum(member, 1e-300))
        scores.append(np.logaddexp.reduce(each, axis=1))
        if groups > 1:
            gain = scores[-1] - scores[chosen - 1]
            if gain.mean() > _SURER * gain.std() / np.sqrt(max(n - 1, 1)):
                chosen = groups
            elif groups > chosen + 1:
                break
    shares, weights = _fit(choices, voter, n, chosen)
    # Groups have no names; the largest is the first.
    order = np.argsort(-shares, kind="stable")
    held_out = np.array([float(each.sum()) for each in scores]) / max(int((~kept).sum()), 1)
    return VoterGroups(shares[order], weights[order], held_out)


def _part(choices: MaskedChoices, some: np.ndarray) -> MaskedChoices:
    return MaskedChoices(choices.oriented[some], choices.emphasis[some], choices.contrast[some])


def _by_voter(choices: MaskedChoices, voter: Integers, voters: int, weights: Floats) -> Floats:
    """Return the log-likelihood of each voter's choices in each group, (n_voters, n_groups)."""
    columns = [
        np.bincount(
            voter, weights=choices.emphasis * np.log(choices.at(own).probability), minlength=voters
        )
        for own in weights
    ]
    return np.stack(columns, axis=1)


def _members(
    choices: MaskedChoices, voter: Integers, voters: int, shares: Floats, weights: Floats
) -> tuple[Floats, float]:
    """Return how likely each voter is in each group, and the log-likelihood (the E-step)."""
    # E-step: joint[voter, group] = ln P(group) + ln P(the voter's choices | group)
    joint = _by_voter(choices, voter, voters, weights) + np.log(np.maximum(shares, 1e-300))
    total = np.logaddexp.reduce(joint, axis=1)
    return np.exp(joint - total[:, None]), float(total.sum())


def _fit(
    choices: MaskedChoices, voter: Integers, voters: int, groups: int
) -> tuple[Floats, Floats]:
    """Return shares and weights of the best of several EM runs."""
    d = choices.oriented.shape[1]
    typical = float((choices.oriented**2).sum(axis=1).mean()) if len(choices.oriented) else 0.0
    ridge = (typical if typical > 0 else 1.0) / TYPICAL_MARGIN**2
    everybody = choices.fit(np.zeros(d), ridge)
    if groups == 1:
        return np.ones(1), everybody[None]
    rng = np.random.default_rng(groups)  # of a search over public or published numbers alone
    best: tuple[float, Floats, Floats] | None = None
    # A voter's mean choice, to start groups where voters are.
    sums = np.zeros((voters, d))
    np.add.at(sums, voter, choices.oriented * (choices.emphasis / choices.contrast)[:, None])
    sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-300)
    for _ in range(_STARTS):
        shares = np.full(groups, 1 / groups)
        length = max(float(np.linalg.norm(everybody)), 1.0)
        weights = length * sums[rng.choice(voters, groups, replace=voters < groups)]
        before = -np.inf
        for _ in range(_MOST_ROUNDS):
            member, value = _members(choices, voter, voters, shares, weights)
            if value - before < _CLOSE * max(len(voter), 1):
                break
            before = value
            # M-step of shares: the mean posterior of each group
            shares = member.mean(axis=0)
            # M-step: each group's weights, its voters counting by how likely they are in it; two
            # steps upwards are enough (generalised EM).
            weights = np.stack(
                [
                    MaskedChoices(
                        choices.oriented, choices.emphasis * own[voter], choices.contrast
                    ).fit(start, ridge / groups, steps=2)
                    for own, start in zip(member.T, weights, strict=True)
                ]
            )
        if best is None or value > best[0]:
            best = value, shares, weights
    assert best is not None
    return best[1], best[2]
