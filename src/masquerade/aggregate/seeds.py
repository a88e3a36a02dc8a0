"""Where the randomness of a split report comes from: the operating system, or a test vector.

The two never meet. `Prio3.shard` takes `Coins` and makes a `SplitReport`; `Prio3.simulate` takes
`GivenSeeds` and makes a `SimulatedSplitReport`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from masquerade.aggregate.xof import SEED_SIZE
from masquerade.errors import ParameterError
from masquerade.exact import Coins
from masquerade.exact.coins import require_coins

_WORD_BYTES = 8


@dataclass(frozen=True, slots=True)
class GivenSeeds:
    """Seeds that somebody knows, hence for studies and test vectors only.

    Attributes
    ----------
    nonce : bytes
        16.
    seeds : tuple of bytes
        Of 32 each.
    """

    nonce: bytes
    seeds: tuple[bytes, ...]

    def __post_init__(self) -> None:
        if len(self.nonce) != 16 or any(len(seed) != SEED_SIZE for seed in self.seeds):
            raise ParameterError(
                f"a nonce of {len(self.nonce)} bytes and seeds of {[len(s) for s in self.seeds]}; "
                f"expected 16 and {SEED_SIZE} each."
            )

    @classmethod
    def of_bytes(cls, nonce: bytes, rand: bytes) -> GivenSeeds:
        """Return the seeds that stand one after the other in `rand`."""
        starts = range(0, len(rand), SEED_SIZE)
        return cls(nonce, tuple(rand[start : start + SEED_SIZE] for start in starts))


def fresh_seeds(*sizes: int, coins: Coins | None = None) -> Sequence[bytes]:
    """Return independent uniform bytes of these lengths from the operating system.

    Raises
    ------
    InsecureRandomness
        `coins` are not the operating system's.
    """
    total = sum(sizes)
    drawn = require_coins(coins).words(-(-total // _WORD_BYTES)).tobytes()
    ends = [sum(sizes[: place + 1]) for place in range(len(sizes))]
    return [drawn[end - size : end] for end, size in zip(ends, sizes, strict=True)]
