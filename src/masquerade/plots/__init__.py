"""Figures of results, drawn by matplotlib (the extra ``plots``).

Each function draws one kind of table: a result, any frame that speaks Arrow, or a dictionary of
columns. They share one look, in colours that people with any kind of colour vision tell apart, for
light and dark pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.plots.curves import (
        densities,
        ledger_over_time,
        privacy_against_accuracy,
        trade_off,
    )
    from masquerade.plots.intervals import estimates, rankings, reliability, shares
    from masquerade.plots.look import COLOURS, DASHES, MARKERS, THEMES, Theme, new_figure, savefig
    from masquerade.plots.quality import agreement, calibration
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "COLOURS",
    "DASHES",
    "MARKERS",
    "THEMES",
    "Theme",
    "agreement",
    "calibration",
    "densities",
    "estimates",
    "ledger_over_time",
    "new_figure",
    "privacy_against_accuracy",
    "rankings",
    "reliability",
    "savefig",
    "shares",
    "trade_off",
]
