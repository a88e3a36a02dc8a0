"""Exact arithmetic: randomness, discrete noise, amounts of privacy loss, and rho to epsilon.

`coins` draws whole numbers from the operating system; `noise` makes discrete Laplace and Gaussian
noise of them, without a floating-point number. `number` reads what people write as fractions.
`micro` counts privacy loss in whole micro-epsilon, `guarantee` says whom it protects.
`epsilon_at_delta` turns losses into epsilon at a delta, always rounded up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.exact.coins import Coins, SimulatedCoins, WordSource
    from masquerade.exact.epsilon_at_delta import DEFAULT_DELTA, epsilon_of_rho, rho_of_epsilon
    from masquerade.exact.guarantee import Guarantee
    from masquerade.exact.micro import INFINITE_LOSS, MICRO, NO_LOSS, Amount, Micro
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "DEFAULT_DELTA",
    "INFINITE_LOSS",
    "MICRO",
    "NO_LOSS",
    "Amount",
    "Coins",
    "Guarantee",
    "Micro",
    "SimulatedCoins",
    "WordSource",
    "epsilon_of_rho",
    "rho_of_epsilon",
]
