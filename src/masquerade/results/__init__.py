"""Results of a survey: from masked reports to one result, the same on the server and at home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.results.analysis_notebook import notebook
    from masquerade.results.charts import chart_svg, question_charts
    from masquerade.results.claims_of_numbers import numeric_claims, numeric_domain
    from masquerade.results.cross_tables import CrossTable, cross_table
    from masquerade.results.differences import Difference, all_differences, difference
    from masquerade.results.feature_weighting import FeatureWeight, feature_weights
    from masquerade.results.groups import (
        GroupComparison,
        group_comparisons,
        group_difference,
        split_group_comparisons,
    )
    from masquerade.results.headline import Outlook, outlook, sentence
    from masquerade.results.methods import bibliography, methods_text
    from masquerade.results.office_files import (
        chart_png,
        report_pdf,
        reports_sav,
        result_sav,
        result_workbook,
    )
    from masquerade.results.question_figures import Figure, QuestionResult
    from masquerade.results.report_counts import ReportCounts
    from masquerade.results.report_files import (
        REPORT_FORMATS,
        read_codebook,
        read_reports,
        write_reports,
    )
    from masquerade.results.reports import SurveyReports
    from masquerade.results.result import result_bytes, survey_result
    from masquerade.results.result_language import result_in_language
    from masquerade.results.result_rows import result_table
    from masquerade.results.simulated import simulate_reports
    from masquerade.results.sum_reports import QuestionSums, estimate_sums
    from masquerade.results.two_party_result import split_codebook, split_result
    from masquerade.results.typed_result import SurveyResult
    from masquerade.results.weighting import Weighting, weighted_result
    from masquerade.surveys.codebook import Codebook
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "REPORT_FORMATS",
    "Codebook",
    "CrossTable",
    "Difference",
    "FeatureWeight",
    "Figure",
    "GroupComparison",
    "Outlook",
    "QuestionResult",
    "QuestionSums",
    "ReportCounts",
    "SurveyReports",
    "SurveyResult",
    "Weighting",
    "all_differences",
    "bibliography",
    "chart_png",
    "chart_svg",
    "cross_table",
    "difference",
    "estimate_sums",
    "feature_weights",
    "group_comparisons",
    "group_difference",
    "methods_text",
    "notebook",
    "numeric_claims",
    "numeric_domain",
    "outlook",
    "question_charts",
    "read_codebook",
    "read_reports",
    "report_pdf",
    "reports_sav",
    "result_bytes",
    "result_in_language",
    "result_sav",
    "result_table",
    "result_workbook",
    "sentence",
    "simulate_reports",
    "split_codebook",
    "split_group_comparisons",
    "split_result",
    "survey_result",
    "weighted_result",
    "write_reports",
]
