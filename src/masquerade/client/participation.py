"""One person's part in one survey, and its steps.

::

    reserving -> reserved -> opened -> drawn -> sealed -> sent -> ended (withdrawn)
                                                               ended: over, and why

    reserving  the level is chosen; a key makes asking again harmless
    reserved   this device holds the price back, and so does the server
    opened     the questions are here and what they cost is spent, here and there
    drawn      the masks are drawn and on the disk; nobody has seen them
    sealed     the server holds a commitment to them, so no others can take their place
    sent       the server has them

Each step is on the disk before the request that depends on it, and the draw is made only in the
step from opened to drawn, under a lock. So after a crash between any two steps there is at most one
draw, and what is sent always comes from the disk. Answers themselves are never written down.

No word of a server leads back: what was opened here is never opened anew, what was drawn is never
drawn again, and "expired" frees only what was reserved and not opened.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from masquerade.client.connection import Connection
from masquerade.client.device_ledger import Bill, DeviceLedger
from masquerade.client.offer import Offer, read_survey
from masquerade.client.questions import (
    MaskedQuestion,
    codes_of,
    masked_content,
    masked_questions,
    split_content,
)
from masquerade.client.records import (
    CONTENT,
    ELSEWHERE,
    END_REASONS,
    OVER,
    Record,
    Records,
    after_reservation,
    require_done,
    without,
)
from masquerade.errors import (
    AlreadyParticipated,
    ClearDisclosureRefused,
    CommitmentMismatch,
    InsufficientBudget,
    LevelNotAllowed,
    MissingValue,
    NotFound,
    ParameterError,
    QuotaFull,
    TicketRefused,
    TicketUsed,
    TooManyReservations,
    WrongState,
)
from masquerade.exact.coins import Coins
from masquerade.surveys import Question
from masquerade.surveys.drawn_blocks import NOT_DRAWN
from masquerade.surveys.offered_levels import OfferedLevel
from masquerade.surveys.pages import Layout
from masquerade.surveys.pair_votes import disjoint_pairs, drawn_pairs, lists_of, require_pairs
from masquerade.surveys.question import Answer
from masquerade.surveys.survey import AFTER_SEND


@dataclass(frozen=True, slots=True)
class Masked:
    """The report of one question."""

    question: Question
    report: int  # what the server gets: the code of a label, or whole steps from the lowest number
    text: str  # the report as people read it


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of a response that the server acknowledged."""

    reports: tuple[Masked, ...]  # one for each question
    bill: Bill
    # Whether the masks had been drawn in an earlier attempt: then the answers of that one count,
    # and those given now were not used.
    drawn_before: bool
    reward: dict[str, Any] | None = None  # what the code is worth: ``currency`` and ``amount``
    completion_code: str | None = None  # what shows a panel that the reports have arrived
    # Length in bytes of the two sealed halves, where they were sent and no reports.
    sealed_bytes: int | None = None


class Participation:
    """A person's part in a survey; `Client.begin` returns it.

    Privacy
    -------
    Answers are masked in this process with the operating system's randomness, once; what is sent is
    the reports. Every number is worked out here from the masks, the questions are those whose hash
    was in the invitation, and the response is charged to this device's own ledger too. The server
    learns who (by a pseudonym of this survey) took part, and at which level.
    """

    def __init__(
        self, connection: Connection, records: Records, device: DeviceLedger, survey: str
    ) -> None:
        self._connection = connection
        self._records = records
        self._device = device
        self.survey = survey
        self._questions: tuple[MaskedQuestion, ...] | None = None
        self._language: str | None = None
        self._offered: tuple[str, Offer] | None = None

    def __repr__(self) -> str:
        return f"Participation({self.survey!r}, step={self.step!r})"

    @property
    def step(self) -> str:
        """The step it has reached, as the disk says; see the top of this module."""
        return str(self._read()["step"])

    @property
    def title(self) -> str:
        """Title of the survey."""
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
    def reward(self) -> dict[str, Any] | None:
        """Worth of the completion code: ``currency`` and ``amount``."""
        reward = self._read().get("reward")
        return None if reward is None else dict(reward)

    @property
    def completion_code(self) -> str | None:
        """Code that shows a panel that the reports have arrived, where the survey gives one."""
        code = self._read().get("completion_code")
        return None if code is None else str(code)

    @property
    def price(self) -> dict[str, Any]:
        """Price of taking part, worked out here from the masks."""
        record = self._read()
        level = self._level(record)
        return {**level.price(), "clear": level.cost("").clear}

    @staticmethod
    def check_parties(connection: Connection, offer: Offer, survey: str) -> None:
        """Check that both parties agreed to a survey, where it is between two; nothing is sent.

        Raises
        ------
        BrokenPromise
            The helper's key, signature or terms are not those of the survey, or it says otherwise
            at its own address.
        ServerUnavailable
            The helper cannot be asked.
        """
        agreement = offer.agreement
        if agreement is None:
            return
        agreement.task(survey=survey, hash_=offer.covered["hash"])
        try:
            answer = connection.elsewhere(agreement.address)
        except NotFound:
            answer = {}
        agreement.require_helper(answer)

    def reserve(self) -> None:
        """Have the price set aside, here and on the server; `Client.begin` does it.

        Raises
        ------
        InsufficientBudget, ClearDisclosureRefused
            The caps of this device, or those on the server, do not leave enough.
        """
        self._require_not_ended()
        record = self._read()
        if record["step"] != "reserving":
            return
        body = {"survey": self.survey, "level": record["level"]}
        if "ticket" in record:
            body["ticket"] = record["ticket"]
        try:
            cost = self._level(record).cost(record["named"])
            # Here first: what this device refuses, the server never hears of.
            self._device.reserve(self._server, record["charge"], cost)
            answer = self._connection.own("POST", "/participations", body, key=record["key"])
        except (
            AlreadyParticipated,
            ClearDisclosureRefused,
            InsufficientBudget,
            LevelNotAllowed,
            NotFound,
            QuotaFull,
            TicketRefused,
            TicketUsed,
            TooManyReservations,
            WrongState,
        ):
            # Refused for good: the choice of a level is open again.
            # In this order: after a crash in between, `keep_only` finds what is still reserved.
            self._from("reserving", lambda _: None)
            self._device.release(self._server, record["charge"])
            raise
        new = self._from("reserving", lambda old: after_reservation(old, answer))
        if new is not None and new["step"] == "ended":
            self._device.release(self._server, record["charge"])
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
            # Days may have passed since it was begun.
            offer = self._offer(record)
            self.check_parties(self._connection, offer, self.survey)
            if offer.agreement is not None:
                self._device.require_one_address(record["named"])
            answer = self._step("POST", "open")
            opened = offer.require_opening(
                answer, participation=record["id"], level=record["level"], token=self.survey
            )
            shown: Record = {}
            if lists_of(opened.questions):
                given = answer.get("pairs")
                if offer.agreement is not None:
                    # Nobody else learns the pairs: they are in no sum.
                    given = drawn_pairs(opened.questions, disjoint_pairs(Coins()))
                shown = {"pairs": require_pairs(opened.questions, given)}
            if opened.draw is not None:
                # Before a question is seen, once, and by no answer.
                shown = {"drawn": opened.draw.draw(Coins())}
            # Spent before anybody sees a question: from here on nothing gives it back.
            self._device.commit(self._server, record["charge"])
            text = answer["survey"]
            self._from(
                "reserved", lambda old: {**old, "step": "opened", "survey_text": text, **shown}
            )
        return tuple(one.question for one in self.questions)

    @property
    def questions(self) -> tuple[MaskedQuestion, ...]:
        """The questions with their masks, once they are opened."""
        if self._questions is None:
            record = self._read()
            if "survey_text" not in record:
                raise WrongState("the questions are not here; open them first.", state=self.step)
            survey = read_survey(record["survey_text"])
            if self._language is not None:
                survey = survey.in_language(self._language)
            asked = masked_questions(survey, record["level"], pairs=record.get("pairs"))
            if survey.draw is not None:
                places = survey.draw.places(survey.draw.require(record.get("drawn")))
                asked = tuple(asked[place] for place in places)
            self._questions = asked
        return self._questions

    @property
    def languages(self) -> tuple[str, ...]:
        """Tags of the languages that the survey is in; empty where it does not say."""
        languages = self._offer(self._read()).languages
        return () if languages is None else languages.codes

    def read_in(self, language: str) -> None:
        """Give the questions in a language of the survey from here on; it is told to nobody.

        Raises `ParameterError` where the survey is not in that language.
        """
        if language not in self.languages:
            raise ParameterError(
                f"the survey is not in {language!r}; it is in {', '.join(self.languages) or '?'}."
            )
        self._language, self._questions = language, None

    @property
    def layout(self) -> Layout:
        """Pages of the survey with their texts and consents, once they are opened."""
        record = self._read()
        if "survey_text" not in record:
            raise WrongState("the pages are not here; open them first.", state=self.step)
        survey = read_survey(record["survey_text"])
        return (survey if self._language is None else survey.in_language(self._language)).layout

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
        # Read again: what is sealed is what is on the disk, whichever process drew it.
        if record["step"] == "drawn":
            answer = self._step("POST", "seal", {"commitment": record["commitment"]})
            require_done(answer, record, ELSEWHERE)
            self._from("drawn", lambda old: {**old, "step": "sealed"})
        return drawn_before

    @property
    def reports(self) -> tuple[Masked, ...]:
        """Reports as sealed; in surveys that reveal them ``after_send`` only once they are sent.

        Raises
        ------
        WrongState
            It cannot be looked at yet.
        """
        record = self._read()
        if self._offer(record).agreement is not None:
            raise WrongState(
                "this survey has no reports to look at: the answers are sent in two sealed halves.",
                state=record["step"],
            )
        seen = ("sent",) if record["reveal"] == AFTER_SEND else ("sealed", "sent")
        if record["step"] not in seen:
            raise WrongState(
                f"the reports of this survey can be looked at once they are {seen[0]}: whoever "
                "could look and then choose would give their answer away by the choice.",
                state=record["step"],
            )
        return tuple(
            Masked(one.question, report, one.in_words(report))
            for one, report in zip(
                self.questions,
                (report for report in record["reports"] if report != NOT_DRAWN),
                strict=True,
            )
        )

    @property
    def sealed_bytes(self) -> int | None:
        """Length in bytes of the two sealed halves of the answers; None where there are none."""
        report = self._read().get("report")
        return None if report is None else len(base64.b64decode(report))

    def send(self) -> Bill:
        """Send the sealed reports and return the bill; sending again changes nothing.

        Raises
        ------
        WrongState
            Nothing is sealed, or the survey is closed.
        """
        if self.step == "drawn":
            self.seal()
        record = self._read()
        if record["step"] == "sealed":
            split = "report" in record
            body = {
                **({"report": record["report"]} if split else {"reports": record["reports"]}),
                "salt": record["salt"],
                "level": record["level"],
                "survey_hash": self._offer(record).covered["hash"],
            }
            answer = self._step("PUT", "sealed-report" if split else "response", body)
            require_done(answer, record, ("submitted",))
            reward, code = answer.get("reward"), answer.get("completion_code")
            got = {
                "reward": reward if isinstance(reward, dict) else None,
                "completion_code": code if isinstance(code, str) else None,
            }
            promise = self._level(record).guarantee()
            bill = self._device.bill(self._server, record["charge"], promise).to_json()
            self._from(
                "sealed", lambda old: {**without(old, "key"), **got, "step": "sent", "bill": bill}
            )
            record = self._read()
        if record["step"] != "sent":
            raise WrongState(
                f"this participation is {record['step']}; seal your answers first.",
                state=record["step"],
            )
        return Bill(**record["bill"])

    def answer(self, answers: Mapping[str, Answer] | None = None) -> Receipt:
        """Mask the answers, seal and send them: `seal` and `send` in one.

        After a crash, do the same again: what was drawn is sent, and nothing is drawn anew.
        """
        drawn_before = self.step == "sent" or self.seal(answers)
        bill = self.send()
        record = self._read()
        sealed = self.sealed_bytes
        return Receipt(
            self.reports if sealed is None else (),
            bill,
            drawn_before,
            record.get("reward"),
            record.get("completion_code"),
            sealed,
        )

    def abandon(self) -> str:
        """Give up before sending; return the state that is then.

        ``"expired"``: no question was shown, and what was reserved is given back. ``"abandoned"``:
        the price stays spent.
        """
        self.reserve()
        opened = self._read()["step"] != "reserved"
        said = self._step("POST", "abandon").get("state")
        # Where the questions were seen here, nothing that a server says makes it as if not.
        state = "expired" if said == "expired" and not opened else "abandoned"
        self._end(state)
        return state

    def withdraw(self) -> None:
        """Take the reports back, as long as the survey is open; their cost stays spent."""
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
            questions = self.questions
            codes = codes_of(questions, answers)
            offer = self._offer(record)
            # Under the record's lock: of two processes one draws, and the other finds it drawn.
            if offer.agreement is None:
                spread = None
                if offer.draw is not None:
                    spread = partial(
                        offer.draw.spread, drawn=record["drawn"], questions=offer.questions
                    )
                content = masked_content(
                    questions, codes, participation=record["id"], spread=spread
                )
            else:
                split = offer.agreement.task(survey=self.survey, hash_=offer.covered["hash"])
                survey = read_survey(record["survey_text"])
                split.check(survey)
                content = split_content(
                    survey,
                    split,
                    questions,
                    codes,
                    participation=record["id"],
                    pairs=record.get("pairs"),
                )
            drawn = True
            return {**record, "step": "drawn", **content}

        self._records.change(self.survey, draw)
        return drawn

    @property
    def _server(self) -> str:
        return self._connection.url

    def _offer(self, record: Record) -> Offer:
        if self._offered is None or self._offered[0] != record["charge"]:
            self._offered = record["charge"], Offer.read(record["offer"], stored=True)
        return self._offered[1]

    def _level(self, record: Record) -> OfferedLevel:
        return self._offer(record).level(record["level"])

    def _read(self) -> Record:
        record = self._records.read(self.survey)
        if record is None:
            raise NotFound("nothing of this survey is remembered here; begin it.")
        return record

    def _step(
        self, method: str, name: str, body: Mapping[str, object] | None = None
    ) -> dict[str, Any]:
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
            step, state = record["step"], error.state
            if step == "reserved" and state in ("expired", "sealed"):
                self._end("elsewhere" if state == "sealed" else "expired")
            # What was sent from here stays so where it cannot be taken back.
            elif state in OVER and (state, step) != ("submitted", "sent"):
                self._end("elsewhere" if state == "submitted" else state)
            raise

    def _require_not_ended(self) -> None:
        record = self._read()
        if record["step"] == "ended":
            raise WrongState(
                f"this participation is over: {END_REASONS[record['reason']]}",
                state=record["reason"],
            )

    def _end(self, reason: str) -> None:
        record = self._read()
        self._records.change(
            self.survey,
            lambda old: old and {**without(old, *CONTENT), "step": "ended", "reason": reason},
        )
        # What was spent is not given back by this: only what was opened nowhere is.
        self._device.release(self._server, record["charge"])

    def _from(self, step: str, change: Callable[[Record], Record | None]) -> Record | None:
        # Only from this step: another process may have got further, and no step is taken twice.
        return self._records.change(
            self.survey, lambda old: change(old) if old and old["step"] == step else old
        )
