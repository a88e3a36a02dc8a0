"""The selection of people by a policy, at once or in waves, as a record that explains itself."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from masquerade.answers.result import Result
from masquerade.errors import ParameterError
from masquerade.exact.arrays import Floats, Integers
from masquerade.exact.coins import require_generator
from masquerade.exact.number import in_range, one_of
from masquerade.selection.pool import Pool

# A level's quota: so many people or this share of all chosen, whichever is more.
LEAST_QUOTA = 8
LEAST_SHARE = 0.05


def by_precision(
    pool: Pool,
    score: Floats,
    *,
    budget: float,
    quotas: bool = True,
    precision_target: float | None = None,
) -> Integers:
    """Return the people chosen, best first.

    With a weighted estimate, what people tell adds up: each adds `Pool.precision`. So the best use
    of a budget is a knapsack: people are taken by precision over score while the money lasts, then
    whoever still fits; a single better person beats all of them, if there is one.

    `score` (n,): see `Pool.score`. `quotas`: give each privacy level of the pool a quota of 8
    people or a twentieth of all, whichever is more, if there are so many and they can be paid.
    Without quotas of noisy levels nobody could tell whether people at different levels think
    differently, and those without protection would be asked again and again. `precision_target`:
    stop as soon as the predicted standard error, in widths, is this small.

    Notes
    -----
    Cost: sorting, O(n log n).
    """
    allowed = np.flatnonzero(pool.admissible & (pool.cost <= budget))
    value = pool.precision
    # The knapsack by value over price, at least half as good as the best set (Dantzig, 1957),
    # with the single best person as the alternative.
    order = allowed[np.argsort(-(value / score)[allowed], kind="stable")]
    chosen = while_it_lasts(order, pool.cost, budget)
    if allowed.size:
        best = int(allowed[np.argmax(value[allowed])])
        if value[best] > value[chosen].sum():
            order = np.concatenate(([best], order[order != best]))
            chosen = while_it_lasts(order, pool.cost, budget)
    if quotas and len(set(pool.level)) > 1:
        first = _first_of_levels(pool, order, chosen.size, budget)
        rest = order[~np.isin(order, first)]
        left = budget - float(pool.cost[first].sum())
        chosen = np.concatenate((first, while_it_lasts(rest, pool.cost, left)))
    if precision_target is not None:
        chosen = _until_precise(pool, chosen, precision_target)
    return chosen


def predicted_error(pool: Pool, chosen: Integers) -> float:
    """Return the expected root-mean-square error of the weighted estimate, in widths.

    With weights ``w`` proportional to `Pool.precision`, which sum to 1 and are 0 for others, and N
    people in the pool, whose mean is wanted: ``MSE = sum over the pool of (w - 1 / N)**2 (within +
    bias variance) + sum of w**2 noise variance``.
    NaN where nobody is chosen.

    Examples
    --------
    >>> from masquerade.selection import Pool
    >>> pool = Pool(["ann", "bob", "cem"], cost=[1.0, 2.0, 1.0], noise_variance=[0.0, 0.5, 2.0])
    >>> round(predicted_error(pool, np.array([0, 1])), 3)
    0.188
    """
    if not chosen.size:
        return math.nan
    return math.sqrt(_squared(pool, chosen)[-1])


def _squared(pool: Pool, chosen: Integers) -> Floats:
    """Return the expected squared error of each prefix of `chosen`."""
    weight = pool.precision[chosen]
    total = np.cumsum(weight)
    persons = pool.within + pool.bias_variance[chosen]
    # The mean that is wanted is the pool's own: each person's answer counts w - 1 / N too much.
    size = len(pool)
    everybody = size * pool.within + float(pool.bias_variance.sum())
    own = np.cumsum(weight**2 * persons) / total**2
    own += everybody / size**2 - 2 * np.cumsum(weight * persons) / (total * size)
    noise = np.cumsum(weight**2 * pool.noise_variance[chosen]) / total**2
    return np.asarray(np.maximum(own, 0.0) + noise)


def _until_precise(pool: Pool, chosen: Integers, target: float) -> Integers:
    enough = np.flatnonzero(_squared(pool, chosen) <= target**2) if chosen.size else chosen
    return chosen[: int(enough[0]) + 1] if enough.size else chosen


def while_it_lasts(order: Integers, cost: Floats, budget: float) -> Integers:
    """Return, in order, the people that can still be paid when their turn comes."""
    batches = []
    left = budget
    while order.size:
        # Rounding of the sum must not refuse the last one who can be paid.
        paid = np.cumsum(cost[order])
        fit = int(np.searchsorted(paid, left * (1 + 1e-12), side="right"))
        if fit:
            batches.append(order[:fit])
            left -= float(paid[fit - 1])
        order = order[fit + 1 :]  # the next one does not fit
        order = order[cost[order] <= left * (1 + 1e-12)]
    return np.concatenate(batches) if batches else np.array([], dtype=np.int64)


def _first_of_levels(pool: Pool, order: Integers, size: int, budget: float) -> Integers:
    """Return people to fill the levels' quotas, in turns, so that all get some of the money."""
    each = max(LEAST_QUOTA, math.ceil(LEAST_SHARE * size))
    level = np.asarray(pool.level, dtype=object)[order]
    queues = [order[level == name][:each] for name in sorted(set(level))]
    first: list[int] = []
    left = budget
    for turn in range(each):
        for queue in queues:
            if turn < queue.size and pool.cost[queue[turn]] <= left:
                first.append(int(queue[turn]))
                left -= float(pool.cost[queue[turn]])
    return np.array(first, dtype=np.int64)


def at_random(pool: Pool, *, budget: float, rng: np.random.Generator) -> Integers:
    """Return people in random order, while the money lasts."""
    return while_it_lasts(rng.permutation(_allowed(pool)), pool.cost, budget)


def stratified_random(pool: Pool, *, budget: float, rng: np.random.Generator) -> Integers:
    """Return people at random, each privacy level in proportion to its size in the pool.

    Everybody gets a random place within the own level; whoever has the lowest share of the level
    before them comes first.
    """
    allowed = rng.permutation(_allowed(pool))
    level = np.unique(
        np.asarray(pool.level, dtype=object)[allowed].astype(str), return_inverse=True
    )
    codes = level[1]
    size = np.bincount(codes)
    place = np.empty(allowed.size)
    for code in range(size.size):
        mine = np.flatnonzero(codes == code)
        # One random offset a level decides fairly which level comes first.
        place[mine] = (np.arange(mine.size) + rng.random()) / mine.size
    return while_it_lasts(allowed[np.argsort(place, kind="stable")], pool.cost, budget)


def _allowed(pool: Pool) -> Integers:
    return np.flatnonzero(pool.admissible)


#: Names of the ways to choose people.
POLICIES = ("precision", "random", "stratified-random")

#: Most of the budget that the first wave may spend.
FIRST_SHARE = 0.6

MOST_WAVES = 5


@dataclass(frozen=True, slots=True, eq=False)
class Selection(Result):
    """The people to invite, with the reasons.

    Attributes
    ----------
    chosen : int array
        Places in the pool, in the order of choice.
    people : tuple of str
        The same, by name.
    cost : float
        What they are paid together.
    predicted_error : float
        Expected root-mean-square error of the weighted estimate, in widths of the question; NaN
        where nobody is chosen.
    score, precision : float array, shape (n_chosen,)
        What each takes of money and privacy, and what each adds.
    inputs : str
        SHA-256 of the pool: the same inputs give the same choice.

    Examples
    --------
    >>> from masquerade.selection import Pool, select
    >>> pool = Pool(["ann", "bob", "cem"], cost=[1.0, 2.0, 1.0], noise_variance=[0.0, 0.5, 2.0])
    >>> select(pool, budget=2).people
    ('ann', 'cem')
    """

    policy: str
    alpha: float
    budget: float
    chosen: Integers
    people: tuple[str, ...]
    cost: float
    predicted_error: float
    score: Floats
    precision: Floats
    inputs: str

    def to_arrow(self) -> pa.Table:
        """Return the people asked, in the order of choice: ``person``, ``score``, ``precision``."""
        columns = {"person": self.people, "score": self.score, "precision": self.precision}
        return pa.table(columns)

    def explain(self, person: str) -> str:
        """Return the reason why a person was chosen or not, in a sentence to them."""
        if person not in self.people:
            return (
                f"You were not invited: with a budget of {self.budget:g}, others came first by the "
                f"policy '{self.policy}'. It looked at costs and privacy levels, never "
                "at an answer."
            )
        place = self.people.index(person)
        return (
            f"You were invited as number {place + 1} of {len(self.people)} by the policy "
            f"'{self.policy}': a report at your privacy level adds {self.precision[place]:.3g} to "
            f"the precision of the result and takes {self.score[place]:.3g} of money and privacy "
            "together. It looked at costs and privacy levels, never at an answer."
        )

    def to_json(self) -> dict[str, Any]:
        """Return the record as a JSON object."""
        return {
            "policy": self.policy,
            "alpha": self.alpha,
            "budget": self.budget,
            "selected": list(self.people),
            "cost": self.cost,
            "predicted_rmse": None if np.isnan(self.predicted_error) else self.predicted_error,
            "inputs": self.inputs,
        }


def select(
    pool: Pool,
    *,
    budget: float,
    policy: str = "precision",
    alpha: float = 0.0,
    rng: np.random.Generator | None = None,
    quotas: bool = True,
    precision_target: float | None = None,
) -> Selection:
    """Return the people to invite.

    Parameters
    ----------
    budget : float
        Above 0; infinite where only `precision_target` ends the selection.
    policy : str
        ``"precision"``, ``"random"`` or ``"stratified-random"``.
    alpha : float
        0: spend the least money; 1: spread the loss of privacy most evenly.
    rng : numpy.random.Generator, optional
        For the policies by chance; unpredictable by default.
    quotas : bool
        See `by_precision`.
    precision_target : float, optional
        Predicted standard error, in widths, at which ``"precision"`` stops.

    Privacy
    -------
    It sees levels and costs, never an answer or a report. That people chose their level without
    looking at their answers is assumed.

    Raises
    ------
    ParameterError
        A parameter is out of range.

    Examples
    --------
    >>> from masquerade.selection import Pool
    >>> pool = Pool(["ann", "bob", "cem"], cost=[1.0, 2.0, 1.0], noise_variance=[0.0, 0.5, 2.0])
    >>> chosen = select(pool, budget=3)
    >>> chosen.people, chosen.cost
    (('ann', 'bob'), 3.0)
    """
    in_range(budget, "budget", above=0)
    one_of(policy, "policy", POLICIES)
    if precision_target is not None and (policy != "precision" or not precision_target > 0):
        raise ParameterError(
            f"precision_target is {precision_target} with policy {policy!r}; expected a number "
            "above 0 with policy 'precision'."
        )
    score = pool.score(budget=budget, alpha=alpha)
    rng = np.random.default_rng() if rng is None else require_generator(rng)
    if policy == "random":
        chosen = at_random(pool, budget=budget, rng=rng)
    elif policy == "stratified-random":
        chosen = stratified_random(pool, budget=budget, rng=rng)
    else:
        chosen = by_precision(
            pool, score, budget=budget, quotas=quotas, precision_target=precision_target
        )
    return Selection(
        policy=policy,
        alpha=alpha,
        budget=budget,
        chosen=chosen,
        people=tuple(pool.people[i] for i in chosen.tolist()),
        cost=math.fsum(pool.cost[chosen]),
        predicted_error=predicted_error(pool, chosen),
        score=score[chosen],
        precision=pool.precision[chosen],
        inputs=pool.digest(),
    )


def next_wave(
    pool: Pool,
    *,
    budget: float,
    wave: int,
    response_rate: float,
    responded: Collection[str] = (),
    silent: Collection[str] = (),
    alpha: float = 0.0,
    quotas: bool = True,
) -> Selection:
    """Return the people to invite next, by the policy ``"precision"``.

    Which people came, and at which level, may steer the next wave; what they reported may not, for
    stopping where reports please would bias the result. Money is held when a person begins, so
    inviting more than can be paid never overspends: who comes too late is told before any question.

    Parameters
    ----------
    pool : Pool
        Everybody, as before the first wave.
    budget : float
        For all waves together.
    wave : int
        1 to 5. The first may spend 0.6 of the budget, the others all that is left.
    response_rate : float
        Share of the invited who are expected to come, above 0; so many more are invited.
    responded, silent : collection of str
        Who came and is paid, and who was invited and did not come.

    Raises
    ------
    ParameterError
        A parameter is out of range, or a name is not in the pool.

    Examples
    --------
    >>> from masquerade.selection import Pool
    >>> people = [f"p{n}" for n in range(20)]
    >>> pool = Pool(people, cost=[1.0] * 20, noise_variance=[0.5] * 20)
    >>> len(next_wave(pool, budget=10, wave=1, response_rate=0.5).people)
    12
    """
    in_range(wave, "wave", low=1, high=MOST_WAVES)
    in_range(response_rate, "response_rate", above=0, high=1)
    place = {person: i for i, person in enumerate(pool.people)}
    unknown = next((p for p in (*responded, *silent) if p not in place), None)
    if unknown is not None:
        raise ParameterError(f"{unknown!r} is not in the pool.")
    # Whoever came is paid already; whoever is silent costs nothing and is not asked again.
    came = np.array(sorted(place[person] for person in responded), dtype=np.int64)
    left = budget - float(pool.cost[came].sum())
    if wave == 1:
        left = min(left, FIRST_SHARE * budget)
    if left <= 0:
        raise ParameterError(f"nothing is left of the budget of {budget:g} for another wave.")
    gone = {place[person] for person in (*responded, *silent)}
    rest = np.array([i for i in range(len(pool)) if i not in gone], dtype=np.int64)
    remaining = Pool(
        [pool.people[i] for i in rest.tolist()],
        pool.cost[rest],
        pool.noise_variance[rest],
        level=[pool.level[i] for i in rest.tolist()],
        privacy_share=pool.privacy_share[rest],
        bias_variance=pool.bias_variance[rest],
        within=pool.within,
    )
    # Only those who come are paid, so so many more are invited.
    return select(remaining, budget=left / response_rate, alpha=alpha, quotas=quotas)
