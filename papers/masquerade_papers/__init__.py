"""Every table and figure of the five papers, beside our results.

Each study says what the paper printed, what comes out, with which error, and whether that is the
same; beside each published method stands ours at the same honestly computed epsilon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade_papers.run import PAPERS, Reproduction, reproduce, row_json
    from masquerade_papers.study import Scale
    from masquerade_papers.verdict import VERDICTS, Comparison, Estimate, Row
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "PAPERS",
    "VERDICTS",
    "Comparison",
    "Estimate",
    "Reproduction",
    "Row",
    "Scale",
    "reproduce",
    "row_json",
]
