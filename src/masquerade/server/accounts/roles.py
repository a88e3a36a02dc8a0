"""Roles of a team, and the rights that each has."""

from __future__ import annotations

from typing import Final

from masquerade.errors import ParameterError

OWNER, EDITOR, VIEWER, AUDITOR = "owner", "editor", "viewer", "auditor"

#: Each right with what it lets somebody do.
RIGHTS: Final = {
    "survey:read": "see surveys and how many people answered",
    "survey:write": "make, open and close surveys",
    "results:read": "see results",
    "reports:read": "take away single masked reports",
    "team:manage": "invite people, change roles, end anybody's tokens, set webhooks",
    "funds:manage": "pay in and pay out",
    "audit:read": "see the audit log and check the ledger",
    "settings:read": "see the server's settings",
}

#: Each role with its rights.
ROLES: Final = {
    OWNER: frozenset(RIGHTS),
    EDITOR: frozenset({"survey:read", "survey:write", "results:read", "reports:read"}),
    VIEWER: frozenset({"survey:read", "results:read"}),
    AUDITOR: frozenset({"survey:read", "audit:read", "settings:read"}),
}

ROLE_WORDS: Final = {
    OWNER: "everything, the team and money too",
    EDITOR: "makes surveys, sees results, takes reports away",
    VIEWER: "sees surveys and results, takes no single report away",
    AUDITOR: "checks masks, ledger and audit log; sees no result before it is published",
}


def check_role(role: str) -> str:
    """Return `role`.

    Raises
    ------
    ParameterError
        There is no such role.
    """
    if role not in ROLES:
        raise ParameterError(f"{role!r} is no role; choose one of {', '.join(ROLES)}.")
    return role
