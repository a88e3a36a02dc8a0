"""Limits on attempts to sign in; kept in memory and nowhere else."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from masquerade.errors import TooManyAttempts
from masquerade.server.http.limit_table import LimitTable
from masquerade.server.http.rate_limit import Buckets, network_of

WINDOW_SECONDS = 900
AT_ONE_DOOR, AT_ONE_LOGIN, FROM_ONE_ADDRESS = 10, 50, 100


class Attempts:
    """Limits on attempts, whether or not there is such a login.

    Ten in a quarter of an hour for one login from one address. Fifty for one login from anywhere
    and a hundred from one address for any login: more, so that it is not easy to lock others out.

    An address of IPv6 counts with its whole network, all of which one device has.

    Parameters
    ----------
    table : LimitTable, optional
        That other processes may share.
    now : callable
        Seconds of a clock that only rises.
    """

    def __init__(
        self, *, table: LimitTable | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        table = table or LimitTable()
        self._now = now
        limits = {
            "sign-in": AT_ONE_DOOR,
            "sign-in-login": AT_ONE_LOGIN,
            "sign-in-address": FROM_ONE_ADDRESS,
        }
        self._door, self._login, self._address = (
            Buckets(name, quota, seconds=WINDOW_SECONDS, table=table)
            for name, quota in limits.items()
        )

    def take(self, *, login: str, address: str) -> None:
        """Count an attempt.

        Raises
        ------
        TooManyAttempts
            There were too many.
        """
        name = login.strip().lower().encode(errors="replace")
        network = network_of(address)
        # The narrowest first: what it refuses uses up nothing of the others.
        limits = (
            (self._door, name + b"\0" + network),
            (self._login, name),
            (self._address, network),
        )
        for buckets, asker in limits:
            taken, _, seconds = buckets.take(asker, self._now())
            if not taken:
                minutes = math.ceil(seconds / 60)
                raise TooManyAttempts(
                    f"too many attempts to sign in; wait {minutes} "
                    f"{'minute' if minutes == 1 else 'minutes'} and try again.",
                    seconds=math.ceil(seconds),
                )
