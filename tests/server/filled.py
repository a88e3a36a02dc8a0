"""Surveys with as many responses as a test needs, put into the database at once."""

from __future__ import annotations

import secrets

from sqlalchemy import insert

from masquerade.results import SurveyReports
from masquerade.server import Services
from masquerade.server.db.tables import PARTICIPATION
from masquerade.server.surveys.survey_records import SurveyRecord


def fill(services: Services, record: SurveyRecord, reports: SurveyReports) -> None:
    """Store the reports as responses to an open survey; no ledger entry is made."""
    rows = [
        {
            "id": secrets.token_hex(16),
            "survey": record.token,
            "pseudonym": secrets.token_hex(32),
            "level": level,
            "state": "submitted",
            "attempt": 1,
            "reports": report,
        }
        for level in reports.counts()
        for report in reports.at_level(level).tolist()
    ]
    with services.engine.execution_options(write=True).begin() as connection:
        connection.execute(insert(PARTICIPATION), rows)
