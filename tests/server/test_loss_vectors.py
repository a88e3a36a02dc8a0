"""The cost of a level is the same in Python and on the device, from the mechanisms alone.

The cases are in ``tests/vectors/losses.json``; ``tests/web/losses.test.mjs`` runs them too.
``python -m tests.server.test_loss_vectors`` writes them anew.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from masquerade.accounting.words import losses_of_guarantee
from masquerade.exact.loss import Loss, tail
from masquerade.exact.micro import Amount
from masquerade.exact.number import text_of
from masquerade.mechanisms import Mechanism, RandomizedResponse, TwoLayer, parse_mechanism
from masquerade.surveys.offered_levels import OfferedLevel

FILE = Path(__file__).parents[1] / "vectors" / "losses.json"
MANY = 1_400

CHOSEN: tuple[tuple[tuple[str, int], ...], ...] = (
    (("two-layer:options=2,low=0,high=1", 20),),
    (("two-layer:options=2,low=0,high=0.5379", 1),),
    (("two-layer:options=2,low=0,high=0.5379", 200),),
    (("two-layer:options=7,low=0.2,high=0.9", 3), ("two-layer:options=3,low=0.3,high=0.3", 2)),
    (("randomized-response:options=2,flip_probability=0", 2),),
    (("randomized-response:options=2,flip_probability=1", 1),),
    (
        ("randomized-response:options=2,flip_probability=0", 2),
        ("randomized-response:options=5,epsilon=1,null=true", 3),
    ),
    (("randomized-response:options=5,epsilon=0", 4),),
    (("randomized-response:options=7,flip_probability=0.123456789012345678901", 2),),
    (("discrete-gaussian:low=0,high=999999,step=1,sigma=2999997", 1),),
    (("discrete-gaussian:low=1,high=5,step=1,sigma=6", 3),),
    (("discrete-gaussian:low=0,high=1,step=0.1,sigma=1/3", 2),),
    (("bitwise-response:options=5,epsilon=1.5", 1),),
    (("bitwise-response:options=5,most=2,epsilon=1.5,null=true", 20),),
    (("bitwise-response:options=52,most=3,epsilon=0.123456789012345678901", 3),),
    (
        ("bitwise-response:options=31,epsilon=9.5,null=true", 2),
        ("randomized-response:options=5,epsilon=1,null=true", 3),
        ("discrete-gaussian:low=1,high=5,step=1,sigma=6", 1),
    ),
    (("bitwise-response:options=3,epsilon=0", 2),),
    (("subset-selection:options=50,size=3,epsilon=1.375732", 2),),
    (
        ("subset-selection:options=19,size=2,epsilon=0.653717,null=true", 1),
        ("masked-order:items=5,size=2,epsilon=0.679266", 3),
    ),
    (("masked-order:items=10,top=3,size=3,epsilon=1.936896,null=true", 4),),
    (("subset-selection:options=5,size=2,epsilon=0", 2),),
    (("bitwise-response:options=3,epsilon=inf,null=true", 2),),
)


def test_every_case_of_the_shared_file_holds_in_python() -> None:
    """The file holds the output of this module: whole device forms, amounts of each level."""
    assert json.loads(FILE.read_text()) == list(make_cases())


def test_the_shared_file_has_every_kind_of_level() -> None:
    """There are at least 1,400 levels, of each mechanism many, some linked and some in clear."""
    cases = json.loads(FILE.read_text())
    texts = [text for case in cases for text in case["devices"]]
    assert len(cases) >= MANY
    for name in ("randomized-response", "two-layer", "discrete-gaussian", "discrete-laplace"):
        assert sum(text.startswith(name) for text in texts) >= 100, name
    assert sum(bool(case["linked"]) for case in cases) >= 100
    assert sum(bool(case["clear"]) for case in cases) >= 3
    assert sum(case["loss"]["clock"] is not None for case in cases) >= 20


def make_cases() -> Iterator[dict[str, Any]]:
    """Yield levels with the cost of each, in millionths; null where nothing bounds it."""
    rng = random.Random(20261122)
    for groups in CHOSEN:
        yield case([parse_mechanism(text) for text, times in groups for _ in range(times)], ())
    for _ in range(MANY):
        some = [drawn(rng) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        mechanisms = [one for one in some for _ in range(rng.choice((1, 1, 2, 5, 20)))]
        linked: tuple[tuple[int, ...], ...] = ()
        if len(mechanisms) > 2 and rng.random() < 0.3:
            places = sorted(rng.sample(range(len(mechanisms)), rng.randint(2, 3)))
            linked = (tuple(places),)
        yield case(mechanisms, linked)


def drawn(rng: random.Random) -> Mechanism:
    """Return a mechanism of any kind with parameters that somebody might write."""

    def decimal(low: float, high: float) -> str:
        return f"{rng.uniform(low, high):.{rng.choice((1, 2, 4, 6))}f}"

    options = rng.choice((2, 2, 3, 4, 5, 7, 11, 100))
    null = rng.choice(("", ",null=true"))
    epsilon = max(decimal(0.1, 4), "0.1")
    low = rng.choice((0, 1, -100))
    high = low + rng.choice((1, 4, 10, 100))
    lattice = f"low={low},high={high},step={rng.choice(('1', '0.5', '1/4'))}"
    match rng.randrange(16):
        case 0 | 1 | 2 | 3 | 4:
            return parse_mechanism(f"randomized-response:options={options},epsilon={epsilon}{null}")
        case 5:
            flip = decimal(0.1, 0.9)
            return RandomizedResponse(options, flip_probability=flip)
        case 6 | 7 | 8:
            ends = sorted((Fraction(decimal(0, 0.5)), Fraction(decimal(0.5, 1))))
            return TwoLayer(options, low=ends[0], high=ends[1])
        case 9:
            sigma = (high - low) / Fraction(max(decimal(0.2, 3), "0.2"))
            return parse_mechanism(f"discrete-gaussian:{lattice},sigma={text_of(sigma)}")
        case 10 | 11 | 12:
            return parse_mechanism(f"discrete-laplace:{lattice},epsilon={epsilon}{null}")
        case _:
            levels = rng.choice((2, 3)) if high - low > 1 else 2
            return parse_mechanism(
                f"quantised-response:{lattice},epsilon={epsilon},levels={levels}{null}"
            )


def case(mechanisms: list[Any], linked: tuple[tuple[int, ...], ...]) -> dict[str, Any]:
    """Return one level: its mechanisms as runs of equal ones, and its cost."""
    level = OfferedLevel("high", tuple(mechanisms), linked)
    promise, cost = level.guarantee(), level.cost("survey")
    runs: list[list[Any]] = []
    for text in map(str, mechanisms):
        if runs and runs[-1][0] == text:
            runs[-1][1] += 1
        else:
            runs.append([text, 1])
    return {
        "mechanisms": runs,
        "linked": [list(group) for group in linked],
        "devices": {str(one): one.device_form() for one in dict.fromkeys(mechanisms)},
        "single": micro(promise.epsilon_single),
        "event": micro(promise.epsilon_event),
        "user": micro(promise.epsilon_user),
        "delta": float(promise.delta),
        "loss": amounts(cost.loss),
        "event_tail": micro(tail(losses_of_guarantee(promise)[0])),
        "clear": cost.clear,
    }


def amounts(loss: Loss) -> dict[str, Any]:
    """Return the amounts of a loss, None where there is no limit."""

    def finite(amount: float) -> int | None:
        return amount if isinstance(amount, int) else None

    orders = [finite(one) for one in loss.orders]
    return {"pure": finite(loss.pure), "orders": orders, "clock": finite(loss.clock)}


def micro(amount: Amount) -> int | None:
    """Return millionths, or None where there is no limit."""
    return amount.micro if isinstance(amount.micro, int) else None


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(case) for case in make_cases())
    FILE.write_text(f"[\n{lines}\n]\n")
