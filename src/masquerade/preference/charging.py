"""The price of a private preference, charged to each voter's account."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

from masquerade.accounting import Cost, Ledger, charge_all
from masquerade.answers import Comparisons
from masquerade.errors import NoGuarantee
from masquerade.exact import INFINITE_LOSS, MICRO
from masquerade.exact.loss import pure_loss, rho_loss
from masquerade.preference.mechanism import PreferenceMechanism
from masquerade.preference.personal_epsilon import epsilons_of
from masquerade.preference.private_mechanism import PrivateMechanism
from masquerade.preference.vector_noise import rho_of_gaussian


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
