"""Results of a survey: from masked reports to one result, the same on the server and at home."""

from masquerade.results.cross_table import CrossTable, cross_table
from masquerade.results.feature_weights import feature_weights
from masquerade.results.headline import outlook
from masquerade.results.methods import bibliography, methods_text
from masquerade.results.notebook import notebook
from masquerade.results.numeric_claims import numeric_claims, numeric_domain
from masquerade.results.report_files import (
    REPORT_FORMATS,
    read_codebook,
    read_reports,
    write_reports,
)
from masquerade.results.reports import SurveyReports
from masquerade.results.result import result_bytes, result_table, survey_result
from masquerade.results.split_result import split_codebook, split_result
from masquerade.surveys.codebook import Codebook

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
    "split_codebook",
    "split_result",
    "survey_result",
    "write_reports",
]
