"""How long a test waits for anything: long, as how fast a machine is is no promise."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_SECONDS = 120
"""What every wait of the tests has; none may be below a minute."""

_GLANCE_SECONDS = 0.02


def wait_until(what: str, condition: Callable[[], object]) -> None:
    """Return once `condition` holds; if it never does, fail with the text of the missing event."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, f"waited {PATIENCE_SECONDS} s, and {what}"
        time.sleep(_GLANCE_SECONDS)
