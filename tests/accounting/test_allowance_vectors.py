"""A device admits what `masquerade.accounting.Caps` admits: totals at and around many caps.

The cases are in ``tests/vectors/caps.json``; ``tests/web/budget.test.mjs`` runs them too.
``python -m tests.accounting.test_allowance_vectors`` writes them anew.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from masquerade.accounting import Caps, MaskedNumber
from masquerade.accounting.caps import is_gaussian
from masquerade.exact import Micro

FILE = Path(__file__).parents[1] / "vectors" / "caps.json"
CHOSEN = (
    0,
    1,
    999,
    1_000,
    5_000,
    10_000,
    100_000,
    300_000,
    500_000,
    1_000_000,
    2_000_000,
    3_000_000,
    5_000_000,
    8_000_000,
    10_000_000,
    15_000_000,
    20_000_000,
    30_000_000,
    40_000_000,
    49_999_999,
    50_000_000,
    50_001_000,
    60_000_000,
)
DRAWN = 60
VARIANCES = ("1", "119", "119.99", "120", "120.01", "121", "144", "5718", "1000000", "361/3")


def test_every_case_of_the_shared_file_holds_in_python() -> None:
    """The file holds what this module makes: both sums of each cap, and what is admitted."""
    assert json.loads(FILE.read_text()) == made()


def test_the_shared_file_admits_and_refuses_for_every_reason() -> None:
    """Totals at every edge are in it: of epsilon, of both rhos, and of answers in clear."""
    cases = [tuple(one) for cap in json.loads(FILE.read_text())["caps"] for one in cap["totals"]]
    for gaussian in (False, True):
        for admitted in (False, True):
            assert sum(one[3:] == (gaussian, admitted) for one in cases) > 200


def made() -> dict[str, Any]:
    """Return caps with totals, and variances with whether they count as Gaussian."""
    return {"caps": list(make_caps()), "variances": [list(pair) for pair in make_variances()]}


def make_caps() -> Iterator[dict[str, Any]]:
    """Yield caps with their sums of rho and totals ``[epsilon, rho, clear, gaussian, admitted]``.

    An epsilon of None is that of charges which have none.
    """
    rng = random.Random(20261123)
    drawn = [int(math.exp(rng.uniform(math.log(1e4), math.log(5e7)))) for _ in range(DRAWN)]
    for epsilon in (*CHOSEN, *drawn):
        caps = Caps(Micro(epsilon), clear=rng.choice((0, 0, 3)))
        edges = {int(caps.rho.micro), int(caps.gaussian.micro)}
        rhos = {edge + more for edge in edges for more in (-1, 0, 1) if edge + more >= 0}
        totals = [
            (pure, rho, clear, gaussian)
            for pure in (None, epsilon, epsilon + 1)
            for rho in sorted(rhos)
            for clear in (caps.clear, caps.clear + 1)
            for gaussian in (False, True)
        ]
        yield {
            "epsilon": epsilon,
            "clear": caps.clear,
            "rho": caps.rho.micro,
            "gaussian": caps.gaussian.micro,
            "totals": [[*total, admitted(caps, *total)] for total in rng.sample(totals, 16)],
        }


def admitted(caps: Caps, pure: int | None, rho: int, clear: int, gaussian: bool) -> bool:
    """Return whether the library admits a total; nothing is not Gaussian."""
    epsilon = math.inf if pure is None else pure
    return caps.admit(epsilon=epsilon, rho=rho, clear=clear, gaussian=gaussian and rho > 0)


def make_variances() -> Iterator[tuple[str, bool]]:
    """Yield variances of noise on a lattice, with whether it counts as Gaussian."""
    for text in VARIANCES:
        yield text, is_gaussian(MaskedNumber(10, Fraction(text)))


if __name__ == "__main__":
    FILE.write_text(json.dumps(made()).replace("}, {", "},\n{") + "\n")
