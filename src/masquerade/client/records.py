"""Records of a person's part in each survey, one file a survey, and their changes step by step."""

from __future__ import annotations

import base64
import json
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from masquerade.client.atomic_files import delete_file, locked, make_folder, replace_file
from masquerade.client.connection import token_of
from masquerade.client.offer import Offer
from masquerade.errors import BrokenPromise, UnreadableFile

Record = dict[str, Any]


class Records:
    """The records of one person on one server.

    A record is on the disk when a change returns; no two changes of one overlap, in any processes.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def surveys(self) -> list[str]:
        """Return the tokens of all surveys of which something is remembered."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def read(self, survey: str) -> Record | None:
        """Return the record, or None."""
        path = self._path(survey)
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            raise UnreadableFile(f"{path} cannot be read: {type(error).__name__}.") from error
        if not isinstance(record, dict) or "step" not in record:
            raise UnreadableFile(f"{path} is not a record of a participation.")
        return record

    def change(
        self, survey: str, change: Callable[[Record | None], Record | None]
    ) -> Record | None:
        """Replace a record by `change` of it, and return the new one; None deletes it.

        Nothing is written where `change` raises or returns what it was given.
        """
        path = self._path(survey)
        make_folder(self.folder)
        with locked(self.folder / ".lock"):
            old = self.read(survey)
            new = change(old)
            if new is None:
                delete_file(path)
            elif new is not old:
                replace_file(path, json.dumps(new, ensure_ascii=False, allow_nan=False))
        return new

    def _path(self, survey: str) -> Path:
        # checked: hexadecimal digits lead to no other folder
        return self.folder / f"{token_of(survey)}.json"


#: States in which a participation goes on here, and in which another device has got further.
GOING, ELSEWHERE = ("reserved", "opened"), ("sealed", "submitted")
OVER = ("submitted", "withdrawn", "abandoned")
#: Fields that are deleted when a participation is over.
CONTENT = (
    "survey_text",
    "pairs",
    "drawn",
    "reports",
    "report",
    "salt",
    "commitment",
    "key",
    "ticket",
)
#: Sentence for each reason why a participation ended.
END_REASONS = {
    "expired": "the reservation ended before the questions were opened; begin it again.",
    "abandoned": "you gave it up.",
    "withdrawn": "you withdrew it.",
    "elsewhere": "it was answered elsewhere with the same identity.",
}

#: Till when sealed halves can be taken back; nobody adds them up before.
UNTIL_CLOSED = "until the survey closes"

_ID = re.compile(r"[0-9a-f]{32}")


def first_record(
    survey: str, offer: Offer, level: str, *, named: str, identity: str, ticket: str = ""
) -> Record:
    """Return the first record of a participation; nothing is asked of the server yet.

    `named`: the survey's name among all servers'; `identity` begins its charge's key.
    """
    key = secrets.token_hex(16)
    return {
        "step": "reserving",
        "survey": survey,
        "named": named,
        "title": offer.covered["title"],
        "reveal": offer.covered["reveal"],
        "level": level,
        "offer": offer.to_json(),
        "charge": f"{identity}:{key}",
        "key": key,
        **({"ticket": ticket} if ticket else {}),
    }


def after_reservation(record: Record, answer: dict[str, Any]) -> Record:
    """Return the record after the server's answer to a reservation."""
    state, name = answer.get("state"), answer.get("id")
    same = (answer.get("survey"), answer.get("level")) == (record["survey"], record["level"])
    known = {*GOING, *ELSEWHERE, *OVER, "expired"}
    if not same or not isinstance(name, str) or not _ID.fullmatch(name) or state not in known:
        raise BrokenPromise("the server reserved something else than was asked for; try again.")
    # opened on the server and not here is reserved here: opening again gives the same questions
    if state in GOING:
        return {**record, "id": name, "step": "reserved"}
    # The same person has got further elsewhere, or given up.
    reason = "elsewhere" if state in ELSEWHERE else state
    return {**without(record, *CONTENT), "id": name, "step": "ended", "reason": reason}


def halves_of(record: Record, leader: str) -> dict[str, Any] | None:
    """Return the parties of a participation between two parties; else None.

    ``leader`` and ``helper`` (addresses), ``operator``, and once they were sent ``bytes`` of both
    and ``take_back``, till when that can be undone; both None before, and once it was.
    """
    agreed = record["offer"].get("two_parties")
    if agreed is None:
        return None
    report = record.get("report") if record["step"] == "sent" else None
    return {
        "leader": leader,
        "helper": agreed["helper"],
        "operator": agreed["operator"],
        "bytes": None if report is None else len(base64.b64decode(report)),
        "take_back": None if report is None else UNTIL_CLOSED,
    }


def require_done(answer: dict[str, Any], record: Record, states: tuple[str, ...]) -> None:
    """Raise where a server acknowledges another step than was asked for."""
    if answer.get("id") != record["id"] or answer.get("state") not in states:
        raise BrokenPromise(
            "the server acknowledged something else than was sent; the same reports are kept "
            "here, and doing this again sends the same."
        )


def without(record: Record, *names: str) -> Record:
    """Return a record without some of its fields."""
    return {name: value for name, value in record.items() if name not in names}
