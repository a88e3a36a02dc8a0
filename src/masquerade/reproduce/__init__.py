"""Every table and figure of the five papers, beside what comes out here."""

from masquerade.reproduce.run import PAPERS, Reproduction, reproduce, row_json
from masquerade.reproduce.study import Scale
from masquerade.reproduce.verdict import VERDICTS, Comparison, Estimate, Row

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
