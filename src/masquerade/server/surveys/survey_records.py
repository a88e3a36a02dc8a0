"""Survey records: opened once, closed once, never changed in between; their invitations."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from masquerade.errors import NotFound, ParameterError
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.server.db.ledger_storage import LedgerTables
from masquerade.server.db.party_tables import APPROVED, PROPOSED, REFUSED, SPLIT_TASK
from masquerade.server.db.row_sets import RowSet
from masquerade.server.db.tables import (
    CLOSED,
    FIRST_TEAM,
    OPEN,
    PARTICIPATION,
    SUBMITTED,
    SURVEY,
    TAKING,
)
from masquerade.server.http.bodies import encoded
from masquerade.server.surveys.quotas import count_anew
from masquerade.server.surveys.rewards import Reward
from masquerade.server.surveys.ways import Ways
from masquerade.surveys.split_task import SplitTask
from masquerade.surveys.survey import Survey

_TOKEN = re.compile(r"[0-9a-f]{1,32}")
_STATE = select(SURVEY.c.state, SURVEY.c.seats).where(SURVEY.c.token == bindparam("one"))
# FOR SHARE: many may take part at once, and only who changes the survey waits for them.
_STATE_LOCKED = _STATE.with_for_update(read=True)


_STATES = RowSet(SURVEY, ("token", "state", "seats"))


@dataclass(frozen=True, slots=True)
class SurveyRecord:
    """A survey with its state and number of responses."""

    token: str  # unguessable name, part of the share link
    survey: Survey
    hash: str  # of the survey's canonical text
    # ``"open"``, ``"closing"`` (nobody begins it, what was begun can be finished), ``"closed"``,
    # ``"published"`` or ``"cancelled"``.
    state: str
    # opened, closed: ISO dates.
    opened: str
    closed: str | None
    responses: int  # how many responses were accepted and not withdrawn
    # For made-up crowds only: question id to the share of people behind each answer.
    simulated_truth: dict[str, list[float]] | None
    listed: bool = False  # whether participants of other surveys are shown it too
    team: str = FIRST_TEAM  # whose it is
    # As it was written; None for what was opened without a draft.
    document: Mapping[str, object] | None = None
    closes: str | None = None  # the last day on which it is open, or takes what was begun
    quotas: dict[str, int] | None = None  # how many people may take part at each level
    reward: Reward | None = None  # what people get for taking part
    # One of the survey's languages, in which its results are shown; None for the first.
    language: str | None = None
    translation: Survey | None = None  # the survey in that language

    @property
    def shown(self) -> Survey:
        """The survey with the texts that its results have."""
        return self.translation or self.survey

    def in_language(self, language: str | None) -> SurveyRecord:
        """Return the record whose results are shown in a language; None for the first.

        Raises `ParameterError`, which names those there are, where the survey has no such language.
        """
        other = None if language is None else self.survey.in_language(language)
        return replace(self, language=language, translation=other)


class FrozenSurvey:
    """The part of a survey that never changes once it is open."""

    def __init__(self, row: Any, task: Any = None) -> None:
        self.token: str = row.token
        self.pseudonym_key: str = row.pseudonym_key
        self.simulated: bool = row.simulated_truth is not None
        self.listed: bool = row.listed
        self.reward = Reward.from_json(row.reward)
        self.ways = Ways.from_json(row.ways)
        self._json: dict[str, Any] = row.definition
        self._task = task

    @cached_property
    def survey(self) -> Survey:
        """The survey itself: questions and levels."""
        return Survey.from_json(self._json)

    @cached_property
    def text(self) -> str:
        """The canonical text, which devices read and hash."""
        return self.survey.text()

    @cached_property
    def split(self) -> SplitTask | None:
        """The task of a survey between two parties, on which its helper agreed."""
        if self._task is None:
            return None
        return SplitTask.read(base64.b64decode(self._task.configuration), self._task.terms)

    @cached_property
    def approval(self) -> dict[str, str] | None:
        """The proof for devices that the helper agreed; all of it is public."""
        if self.split is None:
            return None
        return {
            "task": self._task.id,
            "configuration": self.split.task.configuration.encode().hex(),
            "terms": self._task.terms,
            "public_key": self._task.public_key,
            "signature": self._task.signature,
        }

    @cached_property
    def hash(self) -> str:
        """The hash of the text in today's form, also for surveys of earlier releases."""
        # Of the text that is sent now, not the hash in the row: devices compare these two.
        return hashlib.sha256(self.text.encode()).hexdigest()


def invitation(frozen: FrozenSurvey, *, state: str, results: bool = False) -> dict[str, Any]:
    """Return the public facts of a survey, with its state, and whether its results are public."""
    return {**_fixed(frozen), "state": state, "results": results}


# By identity of the frozen survey, which never changes; the state does, and is added outside.
@lru_cache(maxsize=1024)
def _fixed(frozen: FrozenSurvey) -> dict[str, Any]:
    return introduction(
        frozen.survey,
        token=frozen.token,
        hash_=frozen.hash,
        simulated=frozen.simulated,
        reward=frozen.reward,
        approval=frozen.approval,
        panel=frozen.ways.panel,
    )


def introduction(
    survey: Survey,
    *,
    token: str,
    hash_: str,
    simulated: bool = False,
    reward: Reward | None = None,
    approval: dict[str, str] | None = None,
    panel: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the public facts of a survey without its state, opened or to be opened."""
    tickets = survey.reach.invitations
    return {
        "token": token,
        "title": survey.title,
        "description": survey.description,
        "topic": survey.topic,
        "hash": hash_,
        "reveal": survey.reveal,
        "simulated": simulated,
        "questions": len(survey.questions),
        "kinds": survey.kinds,
        "template": survey.template,
        "estimator": survey.estimator,
        "levels": [level.to_json() for level in survey.levels],
        "masks": masks_json(survey),
        "linked": [list(group) for group in survey.levels[0].linked],
        "draw": None if survey.draw is None else survey.draw.to_json(),
        "fixed_level": survey.fixed_level,
        "reward": None if reward is None else reward.offer(),
        "panel": panel,
        "look": survey.look.to_json() or None,
        "trust": survey.trust,
        "two_parties": _parties(survey, approval),
        "languages": None if survey.languages is None else survey.languages.before_opening(),
        "asked_by": survey.reach.asked_by,
        "contact": survey.reach.contact,
        "consent": survey.reach.consent,
        "invitations": None if tickets is None else tickets.to_json(),
    }


def _parties(survey: Survey, approval: dict[str, str] | None) -> Mapping[str, object] | None:
    """Return the two parties and the helper's approval; None for masks."""
    terms = survey.two_parties
    if terms is None:
        return None
    return {
        "helper": terms.helper,
        "operator": terms.operator,
        "fingerprint": terms.fingerprint,
        "minimum": terms.minimum,
        "assumptions": list(survey.levels[0].guarantee().assumptions),
        "approval": approval,
    }


def masks_json(survey: Survey) -> dict[str, Mapping[str, object]]:
    """Return the device form of each mechanism of any level, by its text form.

    All levels together, so that nothing about the level that was chosen shows.
    """
    used = {str(m): m for level in survey.levels for m in level.mechanisms}
    return {text: mechanism.device_form() for text, mechanism in used.items()}


@lru_cache(maxsize=1024)
def masks_of(frozen: FrozenSurvey) -> dict[str, Mapping[str, object]]:
    """Return the device form of each mechanism of a survey; see `masks_json`."""
    return masks_json(frozen.survey)


@lru_cache(maxsize=1024)
def longest_mechanisms(frozen: FrozenSurvey) -> int:
    """Return the length in bytes of the mechanisms' names at the level where they are longest."""
    # Answers are padded to this length, so that their size does not tell the level.
    return max(len(encoded([str(m) for m in one.mechanisms])) for one in frozen.survey.levels)


class Surveys:
    """All surveys of a database, within transactions of the caller.

    `allow_clear`: whether surveys may offer to send answers as they are.
    `bind` (optional): binds a survey between two parties, open until a last day, to the task that
    its helper approved, and returns the last day; or raises.
    """

    def __init__(
        self,
        *,
        allow_clear: bool,
        bind: Callable[[Connection, str, Survey, str | None], str] | None = None,
    ) -> None:
        self.allow_clear = allow_clear
        self._bind = bind
        self._frozen: dict[str, FrozenSurvey] = {}

    def frozen(self, connection: Connection, token: str) -> FrozenSurvey:
        """Return the fixed part of a survey; `NotFound` where there is none of this token."""
        # Never removed: what is cached cannot change, and no lock is needed, as two threads would
        # store equal values.
        frozen = self._frozen.get(token)
        if frozen is None:
            row = _row(connection, token)
            task = _task(connection, token) if row.definition.get("two_parties") else None
            frozen = FrozenSurvey(row, task)
            self._frozen[token] = frozen
        return frozen

    def state_and_quotas(
        self, connection: Connection, token: str, *, lock: bool = False
    ) -> tuple[str, dict[str, int] | None]:
        """Return state and quotas of a survey; with `lock` they stay until the transaction ends."""
        query = _STATE_LOCKED if lock else _STATE
        row = connection.execute(query, {"one": token}).one()
        return row.state, row.seats

    def states(
        self, connection: Connection, tokens: Iterable[str]
    ) -> dict[str, tuple[str, dict[str, int] | None]]:
        """Return state and quotas of surveys; they stay until the transaction ends."""
        rows = _STATES.read(connection, ("token",), sorted(set(tokens)), lock="FOR SHARE")
        return {
            token: (state, json.loads(seats) if isinstance(seats, str) else seats)
            for token, state, seats in rows
        }

    def state(self, connection: Connection, token: str, *, lock: bool = False) -> str:
        """Return a survey's state; with `lock` it stays that way until the transaction ends."""
        return self.state_and_quotas(connection, token, lock=lock)[0]

    def insert(
        self,
        connection: Connection,
        survey: Survey,
        *,
        day: str,
        simulated_truth: dict[str, list[float]] | None,
        listed: bool,
        team: str = FIRST_TEAM,
        token: str | None = None,
        document: Mapping[str, object] | None = None,
        closes: str | None = None,
        quotas: dict[str, int] | None = None,
        reward: Reward | None = None,
        ways: Ways | None = None,
    ) -> SurveyRecord:
        """Keep a new survey, open; its token is a draft's, or drawn."""
        names = [level.name for level in survey.levels]
        if CLEAR in names and not self.allow_clear:
            raise ParameterError(
                "this survey would let people send answers as they are, which this server does "
                "not allow. Leave out level 'none', or set MASQUERADE_ALLOW_CLEAR=1."
            )
        # 64 random bits: a link can be passed on, and not guessed.
        token = token or secrets.token_hex(8)
        if survey.two_parties is not None:
            if self._bind is None:
                raise ParameterError("this server opens no surveys between two parties.")
            closes = self._bind(connection, token, survey, closes)
        connection.execute(
            insert(SURVEY),
            {
                "token": token,
                "title": survey.title,
                "definition": survey.to_json(),
                "hash": survey.content_hash(),
                # 256 random bits: without this key no pseudonym can be computed from a secret.
                "pseudonym_key": secrets.token_hex(32),
                "state": OPEN,
                "opened": day,
                "simulated_truth": simulated_truth,
                "listed": listed,
                "team": team,
                "document": document,
                "closes": closes,
                "seats": quotas,
                "reward": None if reward is None else reward.to_json(),
                "ways": None if ways is None else ways.to_json(),
            },
        )
        # All levels at once, so that no first response at a level has to write its cost.
        tables = LedgerTables(connection)
        for level in survey.levels:
            tables.keep_cost(level.cost(token))
        # After the row of the survey, to which the counts refer.
        count_anew(connection, token, quotas)
        return self.read(connection, token)

    def read(self, connection: Connection, token: str) -> SurveyRecord:
        """Return a survey with the number of its responses."""
        row = _row(connection, token)
        return self._record(connection, row, counts(connection, [token]).get(token, 0))

    def read_all(self, connection: Connection, *, team: str | None = None) -> list[SurveyRecord]:
        """Return all surveys, or a team's, open ones first, each group by title."""
        query = select(SURVEY) if team is None else select(SURVEY).where(SURVEY.c.team == team)
        rows = connection.execute(query).all()
        responses = counts(connection, None if team is None else [row.token for row in rows])
        records = [self._record(connection, row, responses.get(row.token, 0)) for row in rows]
        return sorted(records, key=lambda s: (s.state not in TAKING, s.survey.title, s.token))

    def step(
        self, connection: Connection, token: str, *, states: Sequence[str], **values: Any
    ) -> bool:
        """Change a survey that is in one of `states`; return whether it was."""
        # The state is part of the condition: of two who change it at once, one finds it changed.
        condition = (SURVEY.c.token == token) & SURVEY.c.state.in_(states)
        return connection.execute(update(SURVEY).where(condition).values(**values)).rowcount == 1

    def set_quotas(self, connection: Connection, token: str, quotas: dict[str, int] | None) -> bool:
        """Set the quotas of an open survey and count anew; return whether it was open."""
        # The change locks the survey's row, so nobody comes or goes while they are counted.
        done = self.step(connection, token, states=(OPEN,), seats=quotas)
        if done:
            count_anew(connection, token, quotas)
        return done

    def _record(self, connection: Connection, row: Any, responses: int) -> SurveyRecord:
        return SurveyRecord(
            token=row.token,
            survey=self.frozen(connection, row.token).survey,
            hash=row.hash,
            state=row.state,
            opened=row.opened,
            closed=row.closed,
            responses=responses,
            simulated_truth=row.simulated_truth,
            listed=row.listed,
            team=row.team,
            document=row.document,
            closes=row.closes,
            quotas=row.seats,
            reward=Reward.from_json(row.reward),
        )


def participants_state(state: str) -> str:
    """Return a survey's state as participants are told it."""
    # People who took part are not told whether it was published or cancelled.
    return state if state in TAKING else CLOSED


def counts(connection: Connection, tokens: Iterable[str] | None = None) -> dict[str, int]:
    """Return the number of submitted responses of each survey that has any."""
    query = (
        select(PARTICIPATION.c.survey, func.count().label("responses"))
        .where(PARTICIPATION.c.state == SUBMITTED)
        .group_by(PARTICIPATION.c.survey)
    )
    if tokens is not None:
        query = query.where(PARTICIPATION.c.survey.in_(list(tokens)))
    return {row.survey: row.responses for row in connection.execute(query)}


def _task(connection: Connection, token: str) -> Any:
    """Return the task with which a survey was opened."""
    bound = SPLIT_TASK.c.survey == token, SPLIT_TASK.c.state.not_in((PROPOSED, APPROVED, REFUSED))
    return connection.execute(select(SPLIT_TASK).where(*bound)).one()


def _row(connection: Connection, token: str) -> Any:
    # Anything else cannot be there, and a database may refuse to look for it.
    possible = _TOKEN.fullmatch(token)
    query = select(SURVEY).where(SURVEY.c.token == token)
    row = connection.execute(query).first() if possible else None
    if row is None:
        raise NotFound("there is no such survey; check the link.")
    return row
