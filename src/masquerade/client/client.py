"""A participant in the surveys of one server."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from masquerade.client.connection import Connection, survey_of, token_of
from masquerade.client.device_ledger import DeviceLedger, entry_json
from masquerade.client.identity import Identity, MovedAccount
from masquerade.client.offer import Offer
from masquerade.client.participation import Participation
from masquerade.client.records import Record, Records, first_record, halves_of
from masquerade.client.tickets import Tickets
from masquerade.errors import (
    AlreadyParticipated,
    BrokenPromise,
    NotFound,
    ParameterError,
    WrongState,
)

if TYPE_CHECKING:
    import httpx

_EXPIRED = "expired"
#: What an invitation says that no hash covers: the server's word.
_OUTSIDE = ("token", "state", "simulated", "reward")


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
    earlier : str, optional
        Address that the server had before. The account of this identity there moves to the present
        one, if the earlier address itself names it.

    Privacy
    -------
    See `Participation` and `DeviceLedger`. All surveys of one home share one ledger on this
    device, whatever servers they are on; each server keeps one of each identity besides.

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
        earlier: str | None = None,
    ) -> None:
        invited = None
        if re.search(r"/s/[0-9a-f]{1,32}/?([?#].*)?$", url):
            link, (url, invited) = url, survey_of(url)
        self._identity = identity
        # The secret only when a request needs it: a look at an invitation makes no identity.
        self._connection = Connection(
            url,
            lambda: self._account.sent(self._connection),
            attempts=attempts,
            transport=transport,
            refused=lambda: self._account.refused(),
        )
        self.url = self._connection.url
        top = home_of(home)
        self._folder = top / _folder_of(self.url)
        self._account = MovedAccount(
            lambda: self.identity, url=self.url, folder=self._folder, earlier=earlier
        )
        self.device = DeviceLedger(top)
        self._tickets = Tickets(self._folder / "tickets")
        if invited is not None:
            self._tickets.keep(invited, link)

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
        """File of the identity for this server, unless one was given."""
        return self._folder / "identity"

    @property
    def joined(self) -> bool:
        """Whether there is an identity for this server already."""
        return self._identity is not None or self.identity_file.exists()

    @property
    def identity(self) -> Identity:
        """The participant's identity; made and kept where there is none yet."""
        if self._identity is None:
            self._identity = Identity.read_or_create(self.identity_file)
        return self._identity

    def invitation(self, survey: str) -> dict[str, Any]:
        """Return the invitation to a survey; no question is in it.

        Parameters
        ----------
        survey : str
            Its token, or its link.

        Returns
        -------
        dict
            ``title``, ``description``, ``topic``, ``questions`` (how many), ``kinds``,
            ``reveal``, ``levels`` (each with ``name``, ``mechanisms``, ``odds``, ``words``,
            ``epsilon_user``, ..., all worked out here, the strongest first), ``fixed_level``, ...
            The server's word, which nothing checks: ``state``, ``simulated``, ``reward``.

        Raises
        ------
        NotFound
            There is no such survey.
        BrokenPromise
            It says something of its levels that their masks do not keep.
        """
        return _shown(self._invitation(self._token(survey)))

    def invitations(self) -> Iterator[dict[str, Any]]:
        """Yield the invitations of surveys that this person has begun or that are listed."""
        for one in self._pages("/invitations", "invitations"):
            yield {**_shown(one), "participation": one.get("participation")}

    def enrol(self, survey: str) -> None:
        """Exchange a ticket, so that one can answer from the survey's first day of answers on.

        Parameters
        ----------
        survey : str
            The link of the ticket; or the survey's token, where the link was given before.

        Raises
        ------
        TicketRefused, TicketUsed
            There is no ticket, it is none of this survey, or it was used elsewhere.
        WrongState
            It is too late, or the survey needs no ticket.
        BrokenPromise
            The link was made for another survey than the one that is shown now.
        """
        token = self._token(survey)
        offer = Offer.read(self._invitation(token))
        if not self._tickets.exchange(self._connection, token, offer):
            raise WrongState("this survey needs no ticket; begin it.")

    def begin(
        self,
        survey: str,
        level: str | None = None,
        *,
        confirm_clear: bool = False,
        agree: bool = False,
    ) -> Participation:
        """Choose a level, before any question is shown, and have its price set aside.

        What was begun before goes on where it stopped.

        Parameters
        ----------
        survey : str
            Its token, or its link; that of a ticket, where the survey needs one.
        level : str, optional
            Needed unless the survey has one level for everybody or was begun before.
        confirm_clear : bool
            Needed for level ``none``, at which answers are sent as they are.
        agree : bool
            Needed where the invitation has a ``consent``: that the person agrees to it.

        Raises
        ------
        BrokenPromise
            The invitation says something of its levels that their masks do not keep.
        LevelNotAllowed, ParameterError
            The survey does not offer the level, or none was chosen.
        AlreadyParticipated
            It was begun at another level, which cannot change; or it was opened here before, and
            its record is gone.
        TicketRefused, TicketUsed
            The survey takes people with a ticket alone.
        InsufficientBudget, ClearDisclosureRefused
            The caps of this device or of the server do not leave enough; nothing is begun.
        WrongState
            The survey is closed, or the participation over.
        """
        token, records = self._token(survey), self._records
        record = records.read(token)
        if record is None or record.get("reason") == _EXPIRED:
            record = self._started(
                token, self._beginning(token, level, confirm_clear=confirm_clear, agree=agree)
            )
        # a crash may have left the price reserved under a key of which no record tells
        self.device.keep_only(
            self.url, self._named(token), record["charge"], identity=self.identity.folder
        )
        if level is not None and record["level"] != level:
            raise AlreadyParticipated(
                f"you began this survey at level {record['level']!r}, which cannot change."
            )
        part = Participation(self._connection, records, self.device, token)
        part.reserve()
        return part

    def participation(self, survey: str) -> Participation:
        """Return the participation in a survey begun on this device; no server is asked.

        Raises
        ------
        NotFound
            Nothing was.
        """
        token = self._token(survey)
        if self._records.read(token) is None:
            raise NotFound("nothing of this survey is remembered here; begin it.")
        return Participation(self._connection, self._records, self.device, token)

    def participations(self) -> list[Participation]:
        """Return all participations that were begun on this device."""
        return [self.participation(survey) for survey in self._records.surveys()]

    def me(self) -> dict[str, Any]:
        """Return where this device's own account stands; nothing is asked of the server.

        Returns
        -------
        dict
            ``battery``, ``everywhere`` (all servers together), ``caps``, ``statement``, ...
        """
        return self.device.account(self.url)

    def ledger(self) -> list[dict[str, Any]]:
        """Return the device's ledger of this server, oldest entry first.

        Each has the survey's ``title``, and ``two_parties`` where its answers were split between
        two: ``leader`` and ``helper`` (addresses), ``operator``, ``bytes`` of both sealed halves
        and ``take_back`` (until when); the last two are None unless the halves were sent.
        """
        titles: dict[str, Any] = {}
        parties: dict[str, Any] = {}
        for token in self._records.surveys():
            record = self._records.read(token)
            if record is not None:
                titles[token], parties[token] = record["title"], halves_of(record, self.url)
        entries = map(entry_json, self.device.entries(self.url))
        return [
            {
                **entry,
                "title": titles.get(entry["survey"]),
                "two_parties": parties.get(entry["survey"]),
            }
            for entry in entries
        ]

    def me_on_server(self) -> dict[str, Any]:
        """Return where this person stands by the server's word.

        What was sent from other devices with the same secret is known only there.
        """
        return self._connection.own("GET", "/me")

    def ledger_on_server(self) -> list[dict[str, Any]]:
        """Return all entries of this person's ledger by the server's word, oldest first."""
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
        """Lower caps on this server at once, or have them raised in some days; return them.

        What this device allows on this server follows at once, and is never above what it allows
        in all: that is changed by ``device.set_caps``.

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
        # here first: where the request is lost, the lower cap holds at least on this device
        self.device.set_caps(
            server=self.url, epsilon=epsilon, delta=delta, clear=clear, confirm=confirm
        )
        answer = self._connection.own("PATCH", "/me/caps", {**body, "confirm": confirm})
        return dict(answer["caps"])

    def leave(self) -> dict[str, Any]:
        """Delete this person's reports of open surveys, and all records here.

        The ledger stays on the server and here, and the identity here: the answer says why. What
        was opened here is not begun anew: the ledger remembers it.
        """
        # the server first: where that fails, the records here are still whole
        answer = self._connection.own("DELETE", "/me")
        for survey in self._records.surveys():
            record = self._records.read(survey)
            self._records.change(survey, lambda _: None)
            if record is not None:
                self.device.release(self.url, record["charge"])
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
        self._tickets.keep(token, survey)
        return token

    def _invitation(self, token: str) -> dict[str, Any]:
        given: dict[str, Any] = self._connection.anybody(f"/surveys/{token}/invitation")
        if given.get("token") != token:
            raise BrokenPromise("the invitation is of another survey than the one asked for.")
        return given

    def _started(self, token: str, new: Record) -> Record:
        """Keep a new record of a participation, unless another process began it meanwhile."""

        def start(old: Record | None) -> Record:
            return new if old is None or old.get("reason") == _EXPIRED else old

        record = self._records.change(token, start)
        assert record is not None
        return record

    def _beginning(
        self, token: str, level: str | None, *, confirm_clear: bool, agree: bool
    ) -> Record:
        if self.device.answered(self._named(token), identity=self.identity.folder):
            raise AlreadyParticipated(
                "the questions of this survey were opened on this device before, so it is not "
                "begun anew, whatever the server says."
            )
        offer = Offer.read(self._invitation(token))
        Participation.check_parties(self._connection, offer, token)
        level = offer.fixed_level if level is None else level
        if level is None:
            names = ", ".join(one.name for one in offer.levels)
            raise ParameterError(f"choose a level before the questions are shown: {names}.")
        # The masks decide what needs consent, not a name or a number of the server.
        if offer.level(level).clear and not confirm_clear:
            raise ParameterError(
                f"at level {level!r} your answers are sent as they are, without any protection; "
                "confirm that, or choose another level."
            )
        if offer.reach.consent and not agree:
            raise ParameterError(
                f"this survey asks for consent: {offer.reach.consent!r} Agree to it (agree=True, "
                "--agree), or leave the survey out."
            )
        named, identity = self._named(token), self.identity.folder
        if offer.agreement is not None:
            self.device.require_one_address(named)
        self._tickets.require_day(offer)
        # Last, as it uses up the code; and nothing of the person goes along.
        ticket = self._tickets.exchange(self._connection, token, offer)
        return first_record(token, offer, level, named=named, identity=identity, ticket=ticket)

    def _named(self, token: str) -> str:
        return f"{self.url}/s/{token}"

    def _pages(self, path: str, name: str) -> Iterator[dict[str, Any]]:
        cursor = ""
        while True:
            answer = self._connection.own("GET", f"{path}?cursor={cursor}" if cursor else path)
            yield from answer[name]
            following = answer.get("next_cursor")
            # a server that repeats itself must not keep this device asking for ever
            if not following or following == cursor:
                return
            cursor = str(following)


def home_of(home: Path | str | None) -> Path:
    """Return the folder in which identities, records and the ledger are kept."""
    return Path(home) if home is not None else Path.home() / ".local" / "share" / "masquerade"


def _shown(invitation: dict[str, Any]) -> dict[str, Any]:
    """Return an invitation with this device's own numbers in place of the server's."""
    return {**{name: invitation.get(name) for name in _OUTSIDE}, **Offer.read(invitation).to_json()}


def _folder_of(url: str) -> str:
    parts = urlsplit(url)
    host = re.sub(r"[^a-z0-9.-]", "-", (parts.hostname or "").lower()).lstrip(".")
    # the hash tells addresses apart that differ in port or path alone
    return f"{host}-{hashlib.sha256(url.encode()).hexdigest()[:8]}"
