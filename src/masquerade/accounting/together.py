"""Charging many people for one result: all of them, or nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from masquerade.accounting.cost import Cost
from masquerade.accounting.ledger import Ledger
from masquerade.errors import ParameterError
from masquerade.exact import Coins


@contextmanager
def charged_together(
    ledger: Ledger, costs: Sequence[tuple[str, Cost]], *, result: str, name: str
) -> Iterator[None]:
    """Charge everybody, all or nobody, for what is drawn inside.

    The costs are set aside before anything is drawn and final before anything is returned; where
    drawing fails they are given back, for then nothing was seen. A name used twice is charged
    twice: what is drawn again tells more.

    Parameters
    ----------
    ledger : Ledger
    costs : sequence of (str, Cost)
        Person and cost, each person once.
    result : str
        What kind of result it is.
    name : str
        Of the result, as it stands in each person's account.

    Raises
    ------
    ParameterError
        The name is empty, or two people have the same name as text; nobody was charged.
    InsufficientBudget
        Somebody has too little left; what had been reserved was given back.
    """
    if not name:
        raise ParameterError(f"the name of the {result} is empty; the ledger needs one.")
    if len({person for person, _ in costs}) < len(costs):
        raise ParameterError("two people have the same name as text; the ledger needs one each.")
    key = f"{result}:{name}:{int(Coins().words(1)[0]):016x}"  # of its own for each call
    reserved: list[str] = []
    try:
        for person, cost in costs:
            ledger.reserve(person, key, cost)
            reserved.append(person)
        yield
    except BaseException:
        for person in reserved:
            ledger.release(person, key)
        raise
    for person in reserved:
        ledger.commit(person, key)
