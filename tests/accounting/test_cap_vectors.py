"""A device has the library's losses and rooms, and admits the same charges, to a millionth.

The cases are in ``tests/vectors/caps.json``; ``tests/web/budget.test.mjs`` runs them too.
``python -m tests.accounting.test_cap_vectors`` writes them anew.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from masquerade.accounting import Caps
from masquerade.accounting.caps import least_cap
from masquerade.exact import Micro
from masquerade.exact.epsilon_at_delta import DEFAULT_DELTA, epsilon_of_orders
from masquerade.exact.loss import Loss, laplace, noise, pure_loss, response, rho_loss, tail

FILE = Path(__file__).parents[1] / "vectors" / "caps.json"
CHOSEN = (
    *(0, 1, 999, 1_000, 1_001, 5_000, 10_000, 100_000, 300_000, 500_000),
    *(1_000_000, 2_000_000, 3_000_000, 6_000_000, 10_000_000, 20_000_000, 50_000_000),
    *(100_000_000, 699_999_999, 700_000_000, 1_000_000_000),
)
DRAWN = 205 - len(CHOSEN)
LOSSES = 1_000


def test_every_case_of_the_shared_file_holds_in_python() -> None:
    """The file holds the output of this module: losses, rooms of caps, and admitted charges."""
    assert json.loads(FILE.read_text()) == made()


def test_the_shared_file_admits_and_refuses_by_every_condition() -> None:
    """Totals at every edge are in it, of epsilons, divergences, clocks and answers in clear."""
    cases = [tuple(one) for cap in json.loads(FILE.read_text())["caps"] for one in cap["totals"]]
    for admitted in (False, True):
        assert sum(one[-1] is admitted for one in cases) > 500


def made() -> dict[str, Any]:
    """Return losses with their amounts, and caps with their rooms and totals."""
    return {"losses": list(make_losses()), "caps": list(make_caps())}


def make_losses() -> Iterator[list[Any]]:
    """Yield 1,000 random losses: how each is made, its amounts, tail and epsilon."""
    rng = random.Random(20261126)
    for _ in range(LOSSES):
        given, loss = drawn(rng)
        amounts = [written(loss.pure), [written(one) for one in loss.orders], written(loss.clock)]
        ends = [written(one.micro) for one in (tail(loss), epsilon_of_orders(loss, DEFAULT_DELTA))]
        yield [given, *amounts, *ends]


def drawn(rng: random.Random) -> tuple[list[Any], Loss]:
    """Return a loss of any kind, and its parameters as texts."""
    size = int(math.exp(rng.uniform(0, math.log(9e7))))
    match rng.randrange(5):
        case 0:
            return ["pure", str(size)], pure_loss(Micro(size))
        case 1:
            symbols, total = rng.choice((2, 3, 5, 10, 101)), rng.choice((97, 10**6, 1 << 62))
            other = rng.randrange(total // (symbols - 1) + 1)
            keep = total - (symbols - 1) * other
            return ["response", str(keep), str(other), str(symbols)], response(keep, other, symbols)
        case 2:
            steps, scale = rng.choice((0, 1, 4, 99, 10_000)), Fraction(size, rng.choice((7, 10**5)))
            given = ["laplace", str(steps), str(scale.numerator), str(scale.denominator)]
            return given, laplace(steps, scale)
        case 3:
            largest = rng.choice((1, 4, 16, 10_000))
            squared, variance = largest * rng.randint(1, 20), Fraction(size, rng.choice((3, 10**4)))
            parts = (squared, largest, variance.numerator, variance.denominator)
            return ["noise", *map(str, parts)], noise(squared, largest, variance)
        case _:
            return ["rho", str(size)], rho_loss(Fraction(size, 10**6))


def make_caps() -> Iterator[dict[str, Any]]:
    """Yield caps with their rooms and totals ``[pure, divergence, clock, clear, admitted]``."""
    rng = random.Random(20261123)
    more = [int(math.exp(rng.uniform(math.log(1e3), math.log(7e8)))) for _ in range(DRAWN)]
    for epsilon in (*CHOSEN, *more):
        caps = Caps(Micro(epsilon), clear=rng.choice((0, 0, 3)))
        room = caps.room
        totals = [
            (pure, divergence, clock, clear)
            for pure in (None, epsilon, epsilon + 1)
            for divergence in (room.divergence, room.divergence + 1)
            for clock in (None, room.clock, room.clock + 1)
            for clear in (caps.clear, caps.clear + 1)
        ]
        yield {
            "epsilon": epsilon,
            "clear": caps.clear,
            "room": list(room),
            "tail": caps.tail().micro,
            "totals": [[*one, admitted(caps, *one)] for one in rng.sample(totals, 12)],
        }


def admitted(caps: Caps, pure: int | None, divergence: int, clock: int | None, clear: int) -> bool:
    """Return whether the library admits a total."""
    finite = [math.inf if one is None else one for one in (pure, clock)]
    return caps.admit(pure=finite[0], divergence=divergence, clock=finite[1], clear=clear)


def written(amount: float) -> int | None:
    """Return millionths, or None where there is no limit, or none that a device can hold."""
    return amount if isinstance(amount, int) and amount < 1 << 53 else None


def test_golden_least_caps() -> None:
    """The least caps of ACCOUNTANT's table; charges beyond delta are refused under their cap."""
    number, million = noise(16, 16, Fraction(144)), Fraction(1, 10**6)
    assert str(least_cap(number * 29, million)) == "9.901985"
    assert str(least_cap(number * 30, million)) == "10.102257"
    one_sum = noise(1, 1, 1 / (2 * Fraction(697069, 10**6)))
    assert str(least_cap(one_sum, million)) == "6.542793"
    yes_or_no = noise(2, 1, 1 / Fraction(5135469, 10**6))
    assert str(least_cap(yes_or_no, million)) == "21.817537"
    assert str(least_cap(number * 25 + pure_loss(Micro(335_000)), million)) == "9.902036"
    assert str(least_cap(rho_loss(Fraction(1501163, 10**6)), million)) == "10.165473"
    assert not Caps(Micro(6_000_000)).admits(one_sum)
    assert not Caps(Micro(20_000_000)).admits(yes_or_no)


if __name__ == "__main__":
    text = json.dumps(made()).replace("}, {", "},\n{").replace("], [[", "],\n[[")
    FILE.write_text(text + "\n")
