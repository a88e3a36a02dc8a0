"""Masquerade: a crowd answers behind masks, and the truth still comes out.

The rooms follow the journey of an answer. `answers`: a question is asked, and a person thinks
something. `mechanisms`: on the person's device the answer becomes a report; only that leaves.
`accounting`: what it costs is charged to the person's ledger. `aggregate`: or it is split between
two parties who see only sums. `estimation`: every figure of people's answers
has its interval from one core. `selection`: whom to ask, and how many. Reports come together as
claims, and these become what is so (`truth`), what is wanted (`preference`), what may be published
(`release`) and the result of a survey (`results`), with intervals and the bill; `analysis` says who
and why, through the same masks. `datasets` and `simulate` try all of it on public and made-up
crowds; `server`, `client` and `cli` are where people meet it. Each room knows itself and the rooms
before it. Rooms load when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade import (
        accounting,
        aggregate,
        analysis,
        answers,
        client,
        datasets,
        errors,
        estimation,
        exact,
        mechanisms,
        plots,
        preference,
        release,
        results,
        selection,
        server,
        simulate,
        surveys,
        truth,
    )
    from masquerade.answers import Claims, Comparisons, Truths
    from masquerade.mechanisms import parse_mechanism
else:
    __getattr__, __dir__ = lazy_room(__name__)

__version__ = "0.1.0"

__all__ = [
    "Claims",
    "Comparisons",
    "Truths",
    "__version__",
    "accounting",
    "aggregate",
    "analysis",
    "answers",
    "client",
    "datasets",
    "errors",
    "estimation",
    "exact",
    "mechanisms",
    "parse_mechanism",
    "plots",
    "preference",
    "release",
    "results",
    "selection",
    "server",
    "simulate",
    "surveys",
    "truth",
]
