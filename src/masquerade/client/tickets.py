"""Tickets of surveys that take invited people alone, as this device keeps them.

What is asked is on the disk before the request, so that asking again after a crash asks the same.
The code is forgotten once the signature is there. No request here carries the person's secret.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from masquerade.client.atomic_files import locked, make_folder, replace_file
from masquerade.client.connection import Connection, token_of
from masquerade.client.offer import Offer
from masquerade.errors import (
    BrokenPromise,
    ParameterError,
    TicketRefused,
    UnreadableFile,
    WrongState,
)
from masquerade.surveys.blind_rsa import PREFIX_BYTES
from masquerade.surveys.reach import TicketTerms, read_ticket_link

_Kept = dict[str, Any]


def utc_day() -> str:
    """Return the ISO date."""
    return datetime.now(UTC).date().isoformat()


class Tickets:
    """The tickets of one server's surveys, one file each.

    `today`: gives the ISO date.
    """

    def __init__(self, folder: Path, *, today: Callable[[], str] = utc_day) -> None:
        self._folder = folder
        self._today = today

    def keep(self, survey: str, link: str) -> None:
        """Keep the ticket of a link, where it has one; exchanges that began or ended stay."""
        found = read_ticket_link(link)
        if found is None:
            return
        make_folder(self._folder)
        with locked(self._folder / ".lock"):
            old = self._read(survey)
            if "asked" not in old and "ticket" not in old:
                self._write(survey, {"code": found[0], "hash": found[1]})

    def require_day(self, offer: Offer) -> None:
        """Raise `WrongState` before the first day of answers, by this device's clock.

        Whatever the server says: a participation that follows an exchange at once could be joined
        with it by time.
        """
        first = offer.reach.invitations and offer.reach.invitations.answers_from
        if first and self._today() < first:
            raise WrongState(f"people enrol for this survey now, and answer from {first}.")

    def exchange(self, connection: Connection, survey: str, offer: Offer) -> str:
        """Return the ticket of a survey, exchanged for its code where that is not done.

        Returns an empty text where the survey needs none.

        Raises
        ------
        TicketRefused, TicketUsed, WrongState
            There is no code here, it is none of this survey, it was used elsewhere, or it is late.
        BrokenPromise
            The link was made for another survey than the one that is shown now, or what came back
            is no signature by its key.
        """
        terms = offer.reach.invitations
        if terms is None:
            return ""
        make_folder(self._folder)
        # Under the lock: two processes with one code must ask the same.
        with locked(self._folder / ".lock"):
            kept = self._read(survey)
            if not kept:
                raise TicketRefused("this survey needs a ticket; give the whole link on yours.")
            if kept["hash"] != offer.covered["hash"]:
                raise BrokenPromise(
                    "your invitation was made for another survey than the one that is shown; "
                    "nothing was begun."
                )
            if "ticket" not in kept:
                if terms.answers_from is not None and terms.answers_from <= self._today():
                    raise WrongState(
                        f"people could enrol until the day before {terms.answers_from}; it is too "
                        "late."
                    )
                kept = self._exchanged(connection, survey, kept, terms)
            return str(kept["ticket"])

    def _exchanged(
        self, connection: Connection, survey: str, kept: _Kept, terms: TicketTerms
    ) -> _Kept:
        if "asked" not in kept:
            prefix = secrets.token_bytes(PREFIX_BYTES)
            blinded, inverse = terms.public_key.blind(terms.message(survey, prefix))
            asked = {"prefix": prefix.hex(), "blinded": blinded.hex(), "inverse": f"{inverse:x}"}
            kept = {**kept, "asked": asked}
            self._write(survey, kept)
        asked = kept["asked"]
        sent = base64.b64encode(bytes.fromhex(asked["blinded"])).decode()
        body = {"code": kept["code"], "blinded": sent}
        answer = connection.anybody_asks(f"/surveys/{survey}/ticket", body)
        prefix = bytes.fromhex(asked["prefix"])
        try:
            given = base64.b64decode(str(answer.get("signature")), validate=True)
            signature = terms.public_key.finalize(
                terms.message(survey, prefix), given, int(asked["inverse"], 16)
            )
        except (ParameterError, ValueError, binascii.Error) as error:
            raise BrokenPromise(f"the signature of the ticket does not hold: {error}") from None
        done = {"ticket": base64.b64encode(prefix + signature).decode(), "hash": kept["hash"]}
        self._write(survey, done)
        return done

    def _read(self, survey: str) -> _Kept:
        path = self._path(survey)
        try:
            kept = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise UnreadableFile(f"{path} cannot be read: {type(error).__name__}.") from error
        if not isinstance(kept, dict) or "hash" not in kept:
            raise UnreadableFile(f"{path} is not the file of a ticket.")
        return kept

    def _write(self, survey: str, kept: _Kept) -> None:
        replace_file(self._path(survey), json.dumps(kept))

    def _path(self, survey: str) -> Path:
        # checked: hexadecimal digits lead to no other folder
        return self._folder / f"{token_of(survey)}.json"
