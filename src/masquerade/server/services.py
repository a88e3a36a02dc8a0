"""All services of a server over one database, composed once."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Engine

from masquerade.server.accounts.accounts import Accounts
from masquerade.server.accounts.invitations import TeamInvitations
from masquerade.server.accounts.passkeys import Passkeys
from masquerade.server.accounts.sessions import Sessions
from masquerade.server.accounts.surveyors import Surveyors
from masquerade.server.accounts.teams import Teams
from masquerade.server.accounts.tokens import ApiTokens
from masquerade.server.audit.audit_log import AuditLog
from masquerade.server.participants.participations import Participations
from masquerade.server.participants.profile import People
from masquerade.server.payments.completion_codes import CompletionCodes
from masquerade.server.payments.funds import Funds
from masquerade.server.payments.wallets import Wallets
from masquerade.server.results.cache import ResultCache
from masquerade.server.store import Store
from masquerade.server.surveys.lifecycle import Lifecycle
from masquerade.server.webhooks.webhooks import Webhooks


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that routes and commands ask a server's database through."""

    store: Store
    engine: Engine
    participations: Participations
    profiles: People
    surveys: Lifecycle
    results: ResultCache
    credentials: Surveyors
    accounts: Accounts
    teams: Teams
    invitations: TeamInvitations
    sessions: Sessions
    tokens: ApiTokens
    passkeys: Passkeys
    funds: Funds
    wallets: Wallets
    completion_codes: CompletionCodes
    webhooks: Webhooks
    audit_log: AuditLog
    commission_percent: int

    @classmethod
    def over(cls, store: Store) -> Services:
        """Compose the services of a store."""
        surveyors, desk = store.surveyors, store.desk
        return cls(
            store=store,
            engine=store.engine,
            participations=store.participations,
            profiles=store.people,
            surveys=store.lifecycle,
            results=ResultCache(store),
            credentials=surveyors,
            accounts=surveyors.accounts,
            teams=surveyors.teams,
            invitations=surveyors.invitations,
            sessions=surveyors.sessions,
            tokens=surveyors.tokens,
            passkeys=surveyors.passkeys,
            funds=desk.funds,
            wallets=desk.wallets,
            completion_codes=desk.codes,
            webhooks=desk.webhooks,
            audit_log=desk.audit,
            commission_percent=desk.commission_percent,
        )
