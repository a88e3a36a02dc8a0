"""What a survey found: from masked reports to one result, the same on the server and at home."""

from masquerade.findings.codebook import Codebook
from masquerade.findings.cross_table import CrossTable, cross_table
from masquerade.findings.feature_weights import feature_weights
from masquerade.findings.methods import bibliography, methods_text
from masquerade.findings.notebook import notebook
from masquerade.findings.numeric_claims import numeric_claims, numeric_domain
from masquerade.findings.outlook import outlook
from masquerade.findings.report_files import (
    REPORT_FORMATS,
    read_codebook,
    read_reports,
    write_reports,
)
from masquerade.findings.reports import SurveyReports
from masquerade.findings.result import result_bytes, survey_result
from masquerade.findings.table import result_table

__all__ = [
    "REPORT_FORMATS",
    "Codebook",
    "CrossTable",
    "SurveyReports",
    "bibliography",
    "cross_table",
    "feature_weights",
    "methods_text",
    "notebook",
    "numeric_claims",
    "numeric_domain",
    "outlook",
    "read_codebook",
    "read_reports",
    "result_bytes",
    "result_table",
    "survey_result",
    "write_reports",
]
