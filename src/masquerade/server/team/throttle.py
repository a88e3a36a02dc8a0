"""How often a password may be tried; kept in memory and nowhere else."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from masquerade.errors import TooManyAttempts
from masquerade.server.rate_limit import Buckets

WINDOW_SECONDS = 900
AT_ONE_DOOR, AT_ONE_LOGIN, FROM_ONE_ADDRESS = 10, 50, 100


class Attempts:
    """Limits on attempts, whether or not there is such a login.

    Ten in a quarter of an hour for one login from one address. Fifty for one login from anywhere
    and a hundred from one address for any login: more, so that it is not easy to lock others out.

    Parameters
    ----------
    now : callable
        Seconds of a clock that only rises.
    """

    def __init__(self, *, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        limits = {"door": AT_ONE_DOOR, "login": AT_ONE_LOGIN, "address": FROM_ONE_ADDRESS}
        self._door, self._login, self._address = (
            Buckets(name, quota, seconds=WINDOW_SECONDS) for name, quota in limits.items()
        )

    def take(self, *, login: str, address: str) -> None:
        """Count an attempt.

        Raises
        ------
        TooManyAttempts
            There were too many.
        """
        login = login.strip().lower()
        door = f"{login}\0{address}"
        # The narrowest first: what it refuses uses up nothing of the others.
        limits = ((self._door, door), (self._login, login), (self._address, address))
        for buckets, asker in limits:
            taken, _, seconds = buckets.take(asker.encode(errors="replace"), self._now())
            if not taken:
                minutes = math.ceil(seconds / 60)
                raise TooManyAttempts(
                    f"too many attempts to sign in; wait {minutes} "
                    f"{'minute' if minutes == 1 else 'minutes'} and try again.",
                    seconds=math.ceil(seconds),
                )
