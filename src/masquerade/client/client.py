"""A person who takes part in the surveys of one server."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from masquerade.client.connection import Connection
from masquerade.client.identity import Identity
from masquerade.client.link import survey_of, token_of
from masquerade.client.participation import Participation, beginning
from masquerade.client.promise import CLEAR, promise_of
from masquerade.client.records import Record, Records
from masquerade.errors import (
    AlreadyParticipated,
    BrokenPromise,
    LevelNotAllowed,
    NotFound,
    ParameterError,
)

if TYPE_CHECKING:
    import httpx

_EXPIRED = "expired"


class Client:
    """Takes part in surveys; answers are masked in this process before anything is sent.

    Parameters
    ----------
    url : str
        Of the server, or of a survey on it (``https://example.org/s/...``).
    identity : Identity, optional
        Who takes part. Default: the one in ``home``, which is drawn from the operating system's
        randomness when it is first needed; each server has its own.
    home : Path or str, optional
        Where identity and records are kept, for this account only; default
        ``~/.local/share/masquerade``.
    attempts : int
        How often a request is sent at most, with growing pauses.
    transport : httpx.BaseTransport, optional
        What carries the requests; default: the network.

    Privacy
    -------
    See `Participation`. All surveys of one identity share one ledger, whose caps the server
    enforces; a second identity has a second ledger, so what two of them spent adds up.

    Examples
    --------
    ::

        with Client("https://example.org") as me:
            part = me.begin("5a5a5a5a5a5a5a5a", "high")
            for question in part.open():
                print(question.id, question.text)
            receipt = part.answer({"ill": "Yes", "stress": 4})
    """

    def __init__(
        self,
        url: str,
        identity: Identity | None = None,
        home: Path | str | None = None,
        *,
        attempts: int = 5,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        if re.search(r"/s/[0-9a-f]{1,32}/?$", url):
            url, _ = survey_of(url)
        self._identity = identity
        self._connection = Connection(
            url, lambda: self.identity.secret, attempts=attempts, transport=transport
        )
        self.url = self._connection.url
        top = Path(home) if home is not None else Path.home() / ".local" / "share" / "masquerade"
        self._folder = top / _folder_of(self.url)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r})"

    def close(self) -> None:
        """Close all connections."""
        self._connection.close()

    @property
    def identity_file(self) -> Path:
        """Where the identity for this server is kept, unless one was given."""
        return self._folder / "identity"

    @property
    def joined(self) -> bool:
        """Whether there is an identity for this server already."""
        return self._identity is not None or self.identity_file.exists()

    @property
    def identity(self) -> Identity:
        """Who takes part; made and kept where there is none yet."""
        if self._identity is None:
            self._identity = Identity.read_or_create(self.identity_file)
        return self._identity

    def invitation(self, survey: str) -> dict[str, Any]:
        """Return what a survey says of itself before it is begun; no question is among it.

        Parameters
        ----------
        survey : str
            Its token, or its link.

        Returns
        -------
        dict
            ``title``, ``description``, ``topic``, ``state``, ``questions`` (how many), ``kinds``,
            ``reveal``, ``levels`` (each with ``name``, ``odds``, ``words``, ``epsilon_user``, ...),
            ``fixed_level``, ...

        Raises
        ------
        NotFound
            There is no such survey.
        """
        return self._connection.anybody(f"/surveys/{self._token(survey)}/invitation")

    def invitations(self) -> Iterator[dict[str, Any]]:
        """Yield the invitations of surveys that this person has begun or that are listed."""
        return self._pages("/invitations", "invitations")

    def begin(
        self, survey: str, level: str | None = None, *, confirm_clear: bool = False
    ) -> Participation:
        """Choose a level, before any question is shown, and have its price set aside.

        What was begun before goes on where it stopped.

        Parameters
        ----------
        survey : str
            Its token, or its link.
        level : str, optional
            Needed unless the survey has one level for everybody or was begun before.
        confirm_clear : bool
            Needed for level ``none``, at which answers are sent as they are.

        Raises
        ------
        LevelNotAllowed, ParameterError
            The survey does not offer the level, or none was chosen.
        AlreadyParticipated
            It was begun at another level, which cannot change.
        InsufficientBudget, ClearDisclosureRefused
            The person's caps do not leave enough; nothing is begun.
        WrongState
            The survey is closed, or the participation over.
        """
        token = self._token(survey)
        records = self._records
        record = records.read(token)
        if record is None or record.get("reason") == _EXPIRED:
            new = self._beginning(token, level, confirm_clear=confirm_clear)

            def start(old: Record | None) -> Record:
                return new if old is None or old.get("reason") == _EXPIRED else old

            record = records.change(token, start)
        assert record is not None
        if level is not None and record["level"] != level:
            raise AlreadyParticipated(
                f"you began this survey at level {record['level']!r}, which cannot change."
            )
        part = Participation(self._connection, records, token)
        part.reserve()
        return part

    def participation(self, survey: str) -> Participation:
        """Return what was begun here before; nothing is asked of the server.

        Raises
        ------
        NotFound
            Nothing was.
        """
        token = self._token(survey)
        if self._records.read(token) is None:
            raise NotFound("nothing of this survey is remembered here; begin it.")
        return Participation(self._connection, self._records, token)

    def participations(self) -> list[Participation]:
        """Return all that was begun here."""
        return [self.participation(survey) for survey in self._records.surveys()]

    def me(self) -> dict[str, Any]:
        """Return where this person stands: ``battery``, ``caps``, ``statement``, ..."""
        return self._connection.own("GET", "/me")

    def ledger(self) -> list[dict[str, Any]]:
        """Return all entries of this person's ledger, oldest first."""
        return list(self._pages("/me/ledger", "entries"))

    def export(self) -> dict[str, Any]:
        """Return everything that the server holds about this person."""
        return self._connection.own("GET", "/me/export")

    def set_caps(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        clear: int | None = None,
        confirm: bool = False,
    ) -> dict[str, Any]:
        """Lower caps at once, or raise them in some days; return them.

        Parameters
        ----------
        epsilon, delta, clear
            What all answers together may cost, the probability with which that may fail, and how
            many answers may be sent in clear; what is left out stays.
        confirm : bool
            Needed to raise one, which weakens what was promised, for the past too.

        Raises
        ------
        ConfirmationNeeded
            A cap would rise, and `confirm` is false.
        """
        new = {"epsilon": epsilon, "delta": delta, "clear": clear}
        body = {name: value for name, value in new.items() if value is not None}
        answer = self._connection.own("PATCH", "/me/caps", {**body, "confirm": confirm})
        return dict(answer["caps"])

    def leave(self) -> dict[str, Any]:
        """Delete this person's reports of open surveys, and all records here.

        The ledger stays on the server, and the identity here: the answer says why.
        """
        answer = self._connection.own("DELETE", "/me")
        for survey in self._records.surveys():
            self._records.change(survey, lambda _: None)
        return answer

    @property
    def _records(self) -> Records:
        return Records(self._folder / self.identity.folder)

    def _token(self, survey: str) -> str:
        if "/" not in survey:
            return token_of(survey)
        server, token = survey_of(survey)
        if server != self.url:
            raise ParameterError(f"{survey!r} is a survey of another server than {self.url}.")
        return token

    def _beginning(self, token: str, level: str | None, *, confirm_clear: bool) -> Record:
        invitation = self.invitation(token)
        try:
            levels = {one["name"]: one for one in invitation["levels"]}
            if level is None:
                level = invitation["fixed_level"]
            names = ", ".join(levels)
            if level is None:
                raise ParameterError(f"choose a level before the questions are shown: {names}.")
            if level not in levels:
                raise LevelNotAllowed(
                    f"this survey does not offer {level!r}; choose one of {names}."
                )
            promise = promise_of(invitation, levels[level])
            record = beginning(token, invitation, level, promise)
        except (KeyError, TypeError) as error:
            raise BrokenPromise(f"the invitation cannot be read: {error!r}.") from error
        if level == CLEAR and not confirm_clear:
            raise ParameterError(
                "at level 'none' your answers are sent as they are, without any protection; "
                "confirm that, or choose another level."
            )
        return record

    def _pages(self, path: str, name: str) -> Iterator[dict[str, Any]]:
        cursor = ""
        while True:
            answer = self._connection.own("GET", f"{path}?cursor={cursor}" if cursor else path)
            yield from answer[name]
            following = answer.get("next_cursor")
            if not following or following == cursor:
                return
            cursor = str(following)


def _folder_of(url: str) -> str:
    parts = urlsplit(url)
    host = re.sub(r"[^a-z0-9.-]", "-", (parts.hostname or "").lower()).lstrip(".")
    return f"{host}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
