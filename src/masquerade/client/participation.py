"""One person's part in one survey, and what leads on from there.

::

    reserving -> reserved -> opened -> drawn -> sealed -> sent -> ended (withdrawn)
                                                               ended: over, and why

    reserving  the level is chosen; a key makes asking again harmless
    reserved   the server holds the price back
    opened     the questions are here and what they cost is spent
    drawn      the masks are drawn and on the disk; nobody has seen them
    sealed     the server holds a commitment to them, so no others can take their place
    sent       the server has them

Each step is on the disk before the request that depends on it, and the draw is made only in the
step from opened to drawn, under a lock. So after a crash between any two steps there is at most one
draw, and what is sent always comes from the disk. Answers themselves are never written down.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from masquerade.answers import Question
from masquerade.client.asked import Answer, Asked, codes_of, read_asked
from masquerade.client.connection import Connection
from masquerade.client.promise import check_promise
from masquerade.client.records import Record, Records
from masquerade.errors import (
    AlreadyParticipated,
    BrokenPromise,
    ClearDisclosureRefused,
    CommitmentMismatch,
    InsufficientBudget,
    LevelNotAllowed,
    MissingValue,
    NotFound,
    SeatsTaken,
    WrongState,
)
from masquerade.mechanisms import mask_response

AFTER_SEND = "after_send"
"""The reveal of surveys whose reports are shown only once they are sent."""

_OVER = ("submitted", "withdrawn", "abandoned", "expired")
_CONTENT = ("questions", "reports", "salt", "commitment", "key")


@dataclass(frozen=True, slots=True)
class Masked:
    """What is sent for one question.

    Attributes
    ----------
    question : Question
    report : int
        What the server gets: the code of a label, or whole steps from the lowest number.
    text : str
        The report as people read it.
    """

    question: Question
    report: int
    text: str


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the server acknowledged.

    Attributes
    ----------
    reports : tuple of Masked
        One for each question.
    bill : dict
        What the response cost, and all together: ``survey_epsilon``, ``total_epsilon``, ...
    drawn_before : bool
        Whether the masks had been drawn in an earlier attempt: then the answers of that one count,
        and those given now were not used.
    paid : dict or None
        What came into the wallet: ``currency`` and ``amount``.
    completion_code : str or None
        What shows a panel that the reports have arrived.
    """

    reports: tuple[Masked, ...]
    bill: dict[str, Any]
    drawn_before: bool
    paid: dict[str, Any] | None = None
    completion_code: str | None = None


class Participation:
    """A person's part in a survey; `Client.begin` returns it.

    Privacy
    -------
    Answers are masked in this process with the operating system's randomness, once; what is sent is
    the reports. The masks are checked to be as strong as the level promised before anything is
    answered. The server learns who (by a pseudonym of this survey) took part, and at which level.
    """

    def __init__(self, connection: Connection, records: Records, survey: str) -> None:
        self._connection = connection
        self._records = records
        self.survey = survey
        self._asked: tuple[Asked, ...] | None = None

    def __repr__(self) -> str:
        return f"Participation({self.survey!r}, step={self.step!r})"

    @property
    def step(self) -> str:
        """How far it is, as the disk says; see the top of this module."""
        return str(self._read()["step"])

    @property
    def title(self) -> str:
        """What the survey is called."""
        return str(self._read()["title"])

    @property
    def level(self) -> str:
        """The level that was chosen."""
        return str(self._read()["level"])

    @property
    def reveal(self) -> str:
        """``"before_send"`` or ``"after_send"``: when the reports can be looked at."""
        return str(self._read()["reveal"])

    @property
    def paid(self) -> dict[str, Any] | None:
        """What came into the wallet: ``currency`` and ``amount``."""
        paid = self._read().get("paid")
        return None if paid is None else dict(paid)

    @property
    def completion_code(self) -> str | None:
        """What shows a panel that the reports have arrived, where the survey gives one."""
        code = self._read().get("completion_code")
        return None if code is None else str(code)

    @property
    def price(self) -> dict[str, Any]:
        """What taking part costs, as the server reserved it."""
        return dict(self._read().get("price") or {})

    def reserve(self) -> None:
        """Have the price set aside; `Client.begin` does it."""
        self._require_not_ended()
        record = self._read()
        if record["step"] != "reserving":
            return
        body = {"survey": self.survey, "level": record["level"]}
        try:
            answer = self._connection.own("POST", "/participations", body, key=record["key"])
        except (
            AlreadyParticipated,
            ClearDisclosureRefused,
            InsufficientBudget,
            LevelNotAllowed,
            NotFound,
            SeatsTaken,
            WrongState,
        ):
            # Refused for good: the choice of a level is open again.
            self._from("reserving", lambda _: None)
            raise
        self._from("reserving", lambda old: _reserved(old, answer))
        self._require_not_ended()

    def open(self) -> tuple[Question, ...]:
        """Return the questions; from here on the price is spent.

        Raises
        ------
        BrokenPromise
            They, or their masks, are not what the invitation said; nothing is answered.
        WrongState
            The survey is closed, or this participation over.
        """
        self.reserve()
        record = self._read()
        if record["step"] == "reserved":
            answer = self._step("POST", "open")
            try:
                check_promise(
                    record["promise"],
                    level=record["level"],
                    hash_=answer["hash"],
                    asked=read_asked(answer["questions"]),
                )
            except (KeyError, TypeError) as error:
                raise BrokenPromise(f"the questions cannot be read: {error!r}.") from error
            self._from(
                "reserved", lambda old: {**old, "step": "opened", "questions": answer["questions"]}
            )
        return tuple(one.question for one in self.asked)

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The questions with their masks, once they are opened."""
        if self._asked is None:
            questions = self._read().get("questions")
            if questions is None:
                raise WrongState("the questions are not here; open them first.", state=self.step)
            self._asked = read_asked(questions)
        return self._asked

    def seal(self, answers: Mapping[str, Answer] | None = None) -> bool:
        """Draw the masks, once, write the reports down, and bind this person to them.

        Parameters
        ----------
        answers : mapping of str to Answer, optional
            By the question's id. Not used, and not needed, where the masks were drawn before.

        Returns
        -------
        bool
            Whether the masks were drawn before, in an attempt that did not come to its end.

        Raises
        ------
        MissingValue, UnknownLabel, ParameterError
            An answer is missing or none that can be given; nothing was drawn.
        CommitmentMismatch
            Reports were sealed elsewhere with this person's secret.
        """
        self.open()
        drawn_before = not self._draw(answers)
        record = self._read()
        if record["step"] == "drawn":
            self._step("POST", "seal", {"commitment": record["commitment"]})
            self._from("drawn", lambda old: {**old, "step": "sealed"})
        return drawn_before

    @property
    def reports(self) -> tuple[Masked, ...]:
        """What is sent, as sealed; in surveys that reveal it ``after_send`` only once it is sent.

        Raises
        ------
        WrongState
            It cannot be looked at yet.
        """
        record = self._read()
        seen = ("sent",) if record["reveal"] == AFTER_SEND else ("sealed", "sent")
        if record["step"] not in seen:
            raise WrongState(
                f"the reports of this survey can be looked at once they are {seen[0]}: whoever "
                "could look and then choose would give their answer away by the choice.",
                state=record["step"],
            )
        return tuple(
            Masked(one.question, report, one.in_words(report))
            for one, report in zip(self.asked, record["reports"], strict=True)
        )

    def send(self) -> dict[str, Any]:
        """Send what was sealed and return the bill; sending again changes nothing.

        Raises
        ------
        WrongState
            Nothing is sealed, or the survey is closed.
        """
        if self.step == "drawn":
            self.seal()
        record = self._read()
        if record["step"] == "sealed":
            body = {
                "reports": record["reports"],
                "salt": record["salt"],
                "level": record["level"],
                "survey_hash": record["promise"]["hash"],
            }
            answer = self._step("PUT", "response", body)
            got = {name: answer.get(name) for name in ("paid", "completion_code")}
            bill = answer.get("bill", {})
            self._from(
                "sealed", lambda old: {**_without(old, "key"), **got, "step": "sent", "bill": bill}
            )
            record = self._read()
        if record["step"] != "sent":
            raise WrongState(
                f"this participation is {record['step']}; seal your answers first.",
                state=record["step"],
            )
        return dict(record["bill"])

    def answer(self, answers: Mapping[str, Answer] | None = None) -> Receipt:
        """Mask the answers, seal and send them: `seal` and `send` in one.

        After a crash, do the same again: what was drawn is sent, and nothing is drawn anew.
        """
        drawn_before = self.step == "sent" or self.seal(answers)
        bill = self.send()
        record = self._read()
        return Receipt(
            self.reports, bill, drawn_before, record.get("paid"), record.get("completion_code")
        )

    def abandon(self) -> str:
        """Give up before sending; return the state that is then.

        ``"expired"``: no question was shown, and what was reserved is given back. ``"abandoned"``:
        the price stays spent.
        """
        self.reserve()
        state = str(self._step("POST", "abandon").get("state"))
        self._end(state)
        return state

    def withdraw(self) -> None:
        """Take the reports back, as long as the survey is open; what they cost stays spent."""
        self._step("POST", "withdraw")
        self._end("withdrawn")

    def _draw(self, answers: Mapping[str, Answer] | None) -> bool:
        """Draw the masks if and only if none are drawn yet; return whether they were drawn now."""
        drawn = False

        def draw(record: Record | None) -> Record | None:
            nonlocal drawn
            if record is None or record["step"] != "opened":
                return record
            if answers is None:
                raise MissingValue("nothing is drawn yet; give your answers.")
            asked = self.asked
            codes = codes_of(asked, answers)
            reports = mask_response(codes, [one.mechanism for one in asked])
            salt = secrets.token_hex(16)
            commitment = commitment_of(record["id"], reports, salt)
            drawn = True
            return {
                **record,
                "step": "drawn",
                "reports": reports,
                "salt": salt,
                "commitment": commitment,
            }

        self._records.change(self.survey, draw)
        return drawn

    def _read(self) -> Record:
        record = self._records.read(self.survey)
        if record is None:
            raise NotFound("nothing of this survey is remembered here; begin it.")
        return record

    def _step(self, method: str, name: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Make the request of a step; where the server says that all is over, it is over here."""
        self._require_not_ended()
        record = self._read()
        path = f"/participations/{record['id']}/{name}"
        try:
            return self._connection.own(method, path, body)
        except CommitmentMismatch:
            self._end("elsewhere")
            raise
        except WrongState as error:
            # What was sent from here stays so where it cannot be taken back.
            if error.state in _OVER and (error.state, record["step"]) != ("submitted", "sent"):
                self._end("elsewhere" if error.state == "submitted" else error.state)
            raise

    def _require_not_ended(self) -> None:
        record = self._read()
        if record["step"] == "ended":
            raise WrongState(f"this participation is over: {_WHY[record['reason']]}",
                             state=record["reason"])  # fmt: skip

    def _end(self, reason: str) -> None:
        self._records.change(
            self.survey,
            lambda old: old and {**_without(old, *_CONTENT), "step": "ended", "reason": reason},
        )

    def _from(self, step: str, change: Callable[[Record], Record | None]) -> None:
        self._records.change(
            self.survey, lambda old: change(old) if old and old["step"] == step else old
        )


_WHY = {
    "expired": "the reservation ended before the questions were opened; begin it again.",
    "abandoned": "you gave it up.",
    "withdrawn": "you withdrew it.",
    "elsewhere": "it was answered elsewhere with the same identity.",
}


def beginning(
    survey: str, invitation: Mapping[str, Any], level: str, promise: Mapping[str, Any]
) -> Record:
    """Return the first record of a participation; nothing is asked of the server yet."""
    return {
        "step": "reserving",
        "survey": survey,
        "title": invitation["title"],
        "reveal": invitation["reveal"],
        "level": level,
        "promise": dict(promise),
        "key": secrets.token_hex(16),
    }


def commitment_of(participation: str, reports: list[int], salt: str) -> str:
    """Return what binds a person to reports without telling them.

    Examples
    --------
    >>> commitment_of("0" * 32, [1, -4], "f" * 32)[:16]
    '66fc3097f8497255'
    """
    fields = {"participation": participation, "reports": reports, "salt": salt}
    return hashlib.sha256(json.dumps(fields, separators=(",", ":")).encode()).hexdigest()


def _reserved(record: Record, answer: dict[str, Any]) -> Record:
    state = answer["state"]
    known = {**record, "id": answer["id"], "price": answer.get("price")}
    if state in ("reserved", "opened"):
        return {**known, "step": "reserved"}
    # The same person has got further elsewhere.
    reason = "elsewhere" if state in ("sealed", "submitted") else state
    return {**_without(known, *_CONTENT), "step": "ended", "reason": reason}


def _without(record: Record, *names: str) -> Record:
    return {name: value for name, value in record.items() if name not in names}
