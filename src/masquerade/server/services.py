"""All services of a server over one database, composed once."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from zoneinfo import ZoneInfo

from sqlalchemy import Engine

from masquerade.accounting import Caps, Ledger
from masquerade.server.accounts.accounts import Accounts
from masquerade.server.accounts.openid import Identities, Provider
from masquerade.server.accounts.passkeys import Passkeys
from masquerade.server.accounts.sessions import Sessions
from masquerade.server.accounts.surveyor_rights import Credentials
from masquerade.server.accounts.teams import TeamInvitations, Teams
from masquerade.server.accounts.tokens import ApiTokens
from masquerade.server.audit.audit_log import AuditLog
from masquerade.server.db.engine import connect, migrate
from masquerade.server.db.ledger_storage import LedgerDatabase
from masquerade.server.db.long_work import LongWork
from masquerade.server.db.pseudonyms import Pseudonyms
from masquerade.server.db.seals import Seals, begin_sealing
from masquerade.server.db.server_values import ServerValues
from masquerade.server.db.single_flight import SingleFlight
from masquerade.server.db.transactions import Transactions
from masquerade.server.keys import ServerKey
from masquerade.server.mail.mailings import Mailings
from masquerade.server.mail.post import Post
from masquerade.server.mail.smtp import MailServer
from masquerade.server.operations.daily_jobs import DailyJobs, HeldPlaces
from masquerade.server.participants.moved_accounts import MovedAccounts
from masquerade.server.participants.pair_choice import PairChoice, PairPlans
from masquerade.server.participants.participations import Participations
from masquerade.server.participants.profile import Profiles
from masquerade.server.parties.helper_client import HelperClient
from masquerade.server.parties.helper_services import require_no_tasks
from masquerade.server.parties.leader_aggregation import LeaderAggregation
from masquerade.server.parties.proposals import Proposals, bind_task
from masquerade.server.parties.split_reports import SplitReports
from masquerade.server.parties.team_helpers import Helpers
from masquerade.server.results.cache import ResultCache, StoredReports
from masquerade.server.results.groups import Groups
from masquerade.server.results.over_time import OverTime
from masquerade.server.results.relations import Relations
from masquerade.server.results.weighted import WeightedResults
from masquerade.server.surveys.drafts import Drafts
from masquerade.server.surveys.ending import SurveyEndings
from masquerade.server.surveys.lifecycle import Lifecycle
from masquerade.server.surveys.rewards import CompletionCodes
from masquerade.server.surveys.selection_runs import SelectionRuns
from masquerade.server.surveys.survey_records import Surveys
from masquerade.server.surveys.tickets import TicketKeys, Tickets
from masquerade.server.webhooks.webhooks import Webhooks


@dataclass(frozen=True, slots=True)
class Services:
    """The services through which routes and commands use a server's database."""

    engine: Engine
    transactions: Transactions
    values: ServerValues
    accounts: Accounts
    credentials: Credentials
    teams: Teams
    invitations: TeamInvitations
    sessions: Sessions
    tokens: ApiTokens
    passkeys: Passkeys
    identities: Identities
    audit_log: AuditLog
    webhooks: Webhooks
    completion_codes: CompletionCodes
    surveys: Lifecycle
    drafts: Drafts
    selection_runs: SelectionRuns
    tickets: Tickets
    mailings: Mailings
    post: Post
    reports: StoredReports
    long_work: LongWork
    results: ResultCache
    relations: Relations
    groups: Groups
    weighted: WeightedResults
    over_time: OverTime
    helpers: Helpers
    proposals: Proposals
    aggregation: LeaderAggregation
    ledger: Ledger
    participations: Participations
    pair_plans: PairPlans
    moved_accounts: MovedAccounts
    profiles: Profiles
    daily_jobs: DailyJobs
    held_places: HeldPlaces
    person_key: str = field(repr=False)

    @classmethod
    def open(
        cls,
        url: str,
        *,
        today: Callable[[], str] | None = None,
        clock: Callable[[], float] = time.time,
        time_zone: str = "UTC",
        caps: Caps | None = None,
        allow_clear: bool = False,
        reservation_days: int = 2,
        unopened_reservations: int = 20,
        webhook_private: bool = False,
        helper_private: bool = False,
        rewrites: bool = True,
        key: str | None = None,
        server_key: ServerKey | None = None,
        provider: Provider | None = None,
        mail: MailServer | None = None,
    ) -> Services:
        """Compose the services over a database, after making or updating its schema.

        What is not named here is the setting of this name; see `Settings`.

        Parameters
        ----------
        today : callable, optional
            Gives the ISO date; replaced in tests.
        clock : callable
            Gives the seconds since 1970, for one-time codes.
        rewrites : bool
            Whether an SQLite file is rewritten soon after each change, so that it does not tell
            the order of arrival. Of several processes on one file one does.
        key : str, optional
            Key that an SQLite file is encrypted with, in hexadecimal.
        provider : Provider, optional
            OpenID provider by which surveyors may sign in.
        mail : MailServer, optional
            Mail server through which invitations are sent.
        """
        engine = connect(url, key=key)
        # Before anything else reads or writes: no service knows an older schema.
        migrate(engine)
        transactions = Transactions(engine, rewrites=rewrites)
        try:
            # Also the check of the key: a server with another one does not start.
            transactions.read(require_no_tasks)
            transactions.write(lambda connection: begin_sealing(connection, server_key))
        except BaseException:  # or its thread would wait for ever
            transactions.close()
            raise
        zone = ZoneInfo(time_zone)
        # Devices change from enrolling to answering by UTC, and know of no other zone.
        utc_today = today or (lambda: datetime.now(UTC).date().isoformat())
        today = today or (lambda: datetime.now(zone).date().isoformat())
        caps, seals = caps or Caps(), Seals(server_key)
        values, reports = ServerValues(transactions), StoredReports(transactions)
        tokens, sessions = ApiTokens(transactions, today=today), Sessions(transactions, today=today)
        teams = Teams(transactions, today=today)
        surveys = Surveys(allow_clear=allow_clear, bind=partial(bind_task, zone=zone))
        helpers = Helpers(
            transactions,
            connect=partial(HelperClient, private=helper_private),
            seals=seals,
            private=helper_private,
        )
        proposals = Proposals(
            transactions, helpers, seals=seals, today=today, clock=clock, zone=zone
        )
        aggregation = LeaderAggregation(transactions, helpers, seals=seals, today=today)
        endings = SurveyEndings(transactions, today=today, caps=caps)
        lifecycle = Lifecycle(transactions, surveys, endings, today=today, zone=zone)
        keys = TicketKeys(seals)
        drafts = Drafts(
            transactions,
            surveys,
            today=today,
            utc_today=utc_today,
            caps=caps,
            confirm=proposals.confirm,
            keys=keys,
        )
        pair_plans = PairPlans(reports)
        mailings = Mailings(
            transactions, surveys, server=mail or MailServer(), seals=seals, today=today
        )
        flights = SingleFlight(engine, transactions)
        work = LongWork(engine, transactions)
        results = ResultCache(reports, flights, work, aggregation)
        participations = Participations(
            transactions,
            surveys,
            today=today,
            utc_today=utc_today,
            caps=caps,
            unopened_reservations=unopened_reservations,
            split_reports=SplitReports(seals),
            pair_choice=PairChoice(pair_plans.plan),
        )
        return cls(
            engine=engine,
            transactions=transactions,
            values=values,
            accounts=Accounts(transactions, clock=clock, seals=seals),
            credentials=Credentials(
                transactions, sessions=sessions, tokens=tokens, teams=teams, today=today
            ),
            teams=teams,
            invitations=TeamInvitations(transactions, today=today),
            sessions=sessions,
            tokens=tokens,
            passkeys=Passkeys(
                transactions, today=today, key=lambda: values.secret("challenge_key")
            ),
            identities=Identities(
                transactions, provider, today=today, key=lambda: values.secret("challenge_key")
            ),
            audit_log=AuditLog(transactions, today=today),
            webhooks=Webhooks(transactions, today=today, private=webhook_private, seals=seals),
            completion_codes=CompletionCodes(transactions),
            surveys=lifecycle,
            drafts=drafts,
            selection_runs=SelectionRuns(transactions, lifecycle, drafts, today=today),
            tickets=Tickets(transactions, surveys, keys, today=utc_today),
            mailings=mailings,
            post=Post(transactions, surveys, mailings, clock=clock),
            reports=reports,
            long_work=work,
            results=results,
            relations=Relations(results, flights, aggregation),
            groups=Groups(results, aggregation),
            weighted=WeightedResults(results, flights),
            over_time=OverTime(results, flights, lifecycle),
            helpers=helpers,
            proposals=proposals,
            aggregation=aggregation,
            ledger=Ledger(LedgerDatabase(transactions), clock=today, caps=caps),
            participations=participations,
            pair_plans=pair_plans,
            moved_accounts=MovedAccounts(transactions, key=values.secret("person_key")),
            profiles=Profiles(transactions, surveys, participations, today=today, caps=caps),
            daily_jobs=DailyJobs(
                transactions,
                endings,
                today=today,
                caps=caps,
                reservation_days=reservation_days,
            ),
            held_places=HeldPlaces(endings),
            # All names in the ledger are made with it, so it never changes.
            person_key=values.secret("person_key"),
        )

    def identity(self, secret: str) -> Pseudonyms:
        """Return the names of a participant by the secret of their device."""
        return Pseudonyms(secret, self.person_key)

    def owner_sign_in_path(self) -> str:
        """Return the path by which the owner signs in.

        It is that of a fresh one-time link, and of the sign-in page once the owner can use it.
        """
        if self.teams.first_owner() is None:
            return "/sign-in"
        return f"/owner?token={self.values.new_owner_token()}"

    def close(self) -> None:
        """End long computations, finish the waiting transactions and close all connections."""
        self.long_work.close()
        self.transactions.close()
