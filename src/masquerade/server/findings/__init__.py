"""Results and exports of surveys that are closed: what is kept, and who may see it."""

from masquerade.server.findings.kept import Findings
from masquerade.server.findings.routes import findings_routes

__all__ = ["Findings", "findings_routes"]
