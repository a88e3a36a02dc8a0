"""Every table and figure of the five papers, beside what comes out here.

Each study says what the paper printed, what comes out, with which error, and whether that is the
same; beside each published method stands ours at the same honestly computed epsilon.
"""

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
