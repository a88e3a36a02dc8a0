"""Every exception that Masquerade raises on purpose.

::

    MasqueradeError
    ├── InputError (ValueError)         a table or file cannot be used as it is
    │   ├── UnreadableFile              not there, not CSV or Parquet, or broken
    │   ├── SchemaError                 a column is missing
    │   ├── EmptyTable                  no rows
    │   ├── MissingValue                an empty id, a null or NaN label
    │   ├── MixedTypes                  a column holds values of several types
    │   ├── UnknownLabel                a label outside the declared options
    │   ├── DuplicateClaim              one worker answered one task twice
    │   ├── InvalidRecord               a comparison that cannot be used
    │   ├── DuplicateVoter              one voter is there twice
    │   └── DisconnectedItems           items that were compared too little to be ranked
    ├── ParameterError (ValueError)     a parameter is outside its range
    │   ├── MechanismSyntaxError        a mechanism's text form cannot be read
    │   └── NeighbourMismatch           losses between different worlds were to be added
    ├── InsecureRandomness (TypeError)  simulation randomness offered where a person is protected
    ├── NotFitted (AttributeError)      a result was asked for before ``fit``
    ├── MissingExtra (ImportError)      a package of an extra is not installed
    ├── ClusterError                    a cluster is not there, or its workers keep dying
    ├── DatasetUnavailable              a data set is not here and cannot be fetched
    ├── ServerUnavailable               a survey server cannot be reached or cannot answer now
    ├── OperationError                  the data of a server cannot be kept, moved or checked
    │   ├── WrongSchema                 a database is of a newer version, or of none
    │   ├── NotEmpty                    a place that should be empty holds something
    │   └── BrokenBackup                a backup is cut short, changed, or none
    ├── LedgerError
    │   ├── BrokenChain                 a ledger entry does not match its hash
    │   ├── NoGuarantee                 a mechanism promises nothing that could be counted
    │   ├── InsufficientBudget      409 privacy-cap-exceeded   the person's cap would be exceeded
    │   ├── ClearDisclosureRefused  409 clear-cap-exceeded     more answers in clear than allowed
    │   ├── KeyConflict                 one key was used for two different charges
    │   └── NotReserved                 there is no open reservation under this key
    └── SurveyError                     a request that a survey cannot accept
        ├── NotFound                404 not-found              no such survey, or not yours
        ├── Unauthenticated         401 unauthenticated        a request does not say whose it is
        ├── Forbidden               403 forbidden              the role or token does not allow this
        ├── TooManyAttempts         429 too-many-attempts      tried too often in a short time
        ├── TooManyReservations     409 too-many-reservations  begun and not opened too often
        ├── InvalidDocument (ValueError) a written survey that cannot be read, and where
        ├── StaleVersion            412 stale-version          somebody has changed it meanwhile
        ├── TicketRefused           403 ticket-refused         no ticket of this survey
        ├── TicketUsed              409 ticket-used            a ticket that was used before
        ├── QuotaFull               409 budget-exhausted       enough people have begun it
        ├── WrongState              409 wrong-state            survey or participation is elsewhere
        ├── UnderWay                202 under-way              it is being worked out; ask again
        ├── ServerBusy              503 busy                   too much waits; ask again later
        ├── AlreadyParticipated     409 already-participated   begun or answered before
        ├── InvalidReport           422 invalid-report         not a report of its mechanism
        ├── LevelNotAllowed         422 level-not-allowed      not a level of this survey
        ├── SurveyHashMismatch      409 survey-hash-mismatch   reports for another version of it
        ├── CommitmentMismatch      409 commitment-mismatch    reports are not those sealed
        ├── IdempotencyConflict     409 idempotency-conflict   one key was used for two requests
        ├── ConfirmationNeeded      409 confirmation-needed    caps are raised only on confirmation
        ├── AggregationRefused      409 aggregation-refused    two parties do not agree on a sum
        └── BrokenPromise               a server's masks are not those that it promised

Each class carries the HTTP status and the slug by which a server refuses with it: those drawn, and
``422 validation-error`` for all others. Rows in messages are counted from 1, the header not
included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from masquerade.lazy import install_command


class MasqueradeError(Exception):
    """Base of all errors raised on purpose.

    Its ``slug`` and ``status`` name it in problem details (RFC 9457); `details` are the members of
    these beside the message, which the constructor takes by the same names.
    """

    slug: ClassVar[str] = "validation-error"
    status: ClassVar[int] = 422
    #: Each member with its type.
    members: ClassVar[Mapping[str, type]] = {}

    @property
    def details(self) -> dict[str, Any]:
        """The values of `members`, without those that are not known."""
        values = {name: getattr(self, name) for name in self.members}
        return {name: value for name, value in values.items() if value is not None}

    @property
    def advice(self) -> str:
        """The message as a participant reads it."""
        return str(self)

    @classmethod
    def from_problem(cls, detail: str, problem: Mapping[str, Any]) -> MasqueradeError:
        """Return the error that problem details of this slug stand for.

        The server's word is not trusted: a member of another type counts as nothing.
        """
        values = {}
        for name, kind in cls.members.items():
            value = problem.get(name)
            if kind is float and isinstance(value, int):
                value = float(value)
            values[name] = value if isinstance(value, kind) else kind()
        return cls(detail, **values)

    @classmethod
    def by_slug(cls) -> dict[str, type[MasqueradeError]]:
        """Return the class of each slug below this one that a class names itself."""
        found = {cls.slug: cls} if "slug" in vars(cls) else {}
        for below in cls.__subclasses__():
            found |= below.by_slug()
        return found


class InputError(MasqueradeError, ValueError):
    """A table or file cannot be used as it is."""


class UnreadableFile(InputError):
    """A file is not there, of an unknown kind, or broken."""


class SchemaError(InputError):
    """A column is missing or has the wrong type."""


class EmptyTable(InputError):
    """A table has no rows."""


class MissingValue(InputError):
    """An id or a label is empty, null or NaN."""


class MixedTypes(InputError):
    """A column holds values of several types."""


class UnknownLabel(InputError):
    """A label is not among the declared options."""


class DuplicateClaim(InputError):
    """One worker answered one task more than once."""


class InvalidRecord(InputError):
    """A comparison holds a number that is missing, not finite, or of a feature not declared."""


class DuplicateVoter(InputError):
    """One voter is declared twice; a voter has one budget."""


class DisconnectedItems(InputError):
    """Some items are not linked to the others by wins and losses, so no ranking exists."""


class ParameterError(MasqueradeError, ValueError):
    """A parameter is outside its range.

    Attributes
    ----------
    field : str or None
        The parameter, where one alone is wrong.
    question : str or None
        The id of the survey's question whose field it is.
    """

    def __init__(
        self, message: str, *, field: str | None = None, question: str | None = None
    ) -> None:
        super().__init__(message)
        self.field = field
        self.question = question


class MechanismSyntaxError(ParameterError):
    """The text form of a mechanism cannot be read."""


class NeighbourMismatch(ParameterError):
    """Losses of different neighbouring relations or units were to be added."""


class InsecureRandomness(MasqueradeError, TypeError):
    """Randomness for simulation was offered where a person is protected."""


class NotFitted(MasqueradeError, AttributeError):
    """A result was asked for before ``fit``."""


class MissingExtra(MasqueradeError, ImportError):
    """A package is needed that only an extra of this project installs; the message names it.

    Parameters
    ----------
    need : str
        What needs it, as the beginning of a sentence.
    extra : str
        The extra.
    """

    def __init__(self, need: str, extra: str) -> None:
        super().__init__(need, extra)

    def __str__(self) -> str:
        need, extra = self.args
        return f"{need}; install with: {install_command(extra)}"


class ClusterError(MasqueradeError):
    """A cluster does not answer, or its workers keep dying."""


class DatasetUnavailable(MasqueradeError):
    """A public data set is neither in ``MASQUERADE_DATA`` nor can it be downloaded."""


class ServerUnavailable(MasqueradeError):
    """A survey server cannot be reached, cannot answer now, or is no such server."""


class OperationError(MasqueradeError):
    """The data of a server cannot be kept, moved or checked."""


class WrongSchema(OperationError):
    """A database is of a newer version than this one, or of no version that is known."""


class NotEmpty(OperationError):
    """A database or file that should be empty holds something; it stays as it is."""


class BrokenBackup(OperationError):
    """A file is cut short, was changed, or is no backup."""


class LedgerError(MasqueradeError):
    """A ledger cannot accept or confirm an entry."""


class BrokenChain(LedgerError):
    """A ledger entry does not match its hash or its predecessor."""


class NoGuarantee(LedgerError):
    """A mechanism's guarantee is ``none``, or of a form that cannot be added up."""


class InsufficientBudget(LedgerError):
    """A charge would exceed a person's cap; nothing was reserved.

    Attributes
    ----------
    needed, residual : float
        What the charge costs, and what is left.
    unit : str
        Of both: ``"epsilon"`` or ``"rho"``.
    """

    slug = "privacy-cap-exceeded"
    status = 409
    members: ClassVar[Mapping[str, type]] = {"needed": float, "residual": float, "unit": str}

    def __init__(self, message: str, *, needed: float, residual: float, unit: str) -> None:
        super().__init__(message)
        self.needed = needed
        self.residual = residual
        self.unit = unit

    @property
    def advice(self) -> str:
        """The message as a participant reads it."""
        return (
            f"This level costs {self.unit} {self.needed:g} and you have {self.residual:g} left. "
            "Choose a level that protects more, or raise your cap."
        )


class ClearDisclosureRefused(LedgerError):
    """A survey asks for more answers in clear than the person allows.

    Attributes
    ----------
    needed, residual : int
        Numbers of answers: in the survey, and left.
    """

    slug = "clear-cap-exceeded"
    status = 409
    members: ClassVar[Mapping[str, type]] = {"needed": int, "residual": int}

    def __init__(self, message: str, *, needed: int, residual: int) -> None:
        super().__init__(message)
        self.needed = needed
        self.residual = residual

    @property
    def advice(self) -> str:
        """The message as a participant reads it."""
        return (
            f"This level sends {self.needed} answers as they are and your cap leaves "
            f"{self.residual}. Choose a level that masks them."
        )


class KeyConflict(LedgerError):
    """A key that names one charge of a person was used for another."""


class NotReserved(LedgerError):
    """There is no open reservation of this person under this key."""


class SurveyError(MasqueradeError):
    """A request that a survey cannot accept."""


class NotFound(SurveyError):
    """There is no such survey, or it is somebody else's."""

    slug = "not-found"
    status = 404


class InvalidDocument(SurveyError, ValueError):
    """A survey as it is written has not the form it must have, or is not finished.

    Attributes
    ----------
    issues : list of tuple
        A JSON pointer and what is wrong there.
    """

    def __init__(self, issues: list[tuple[str, str]]) -> None:
        self.issues = issues
        first, what = issues[0]
        more = f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""
        super().__init__(f"{first}: {what}{more}" if first else f"{what}{more}")


class StaleVersion(SurveyError):
    """A draft was changed since it was read, or the request does not state the version it read."""

    slug = "stale-version"
    status = 412


class TicketRefused(SurveyError):
    """A survey takes people with a ticket alone, and there was none, or none of this survey."""

    slug = "ticket-refused"
    status = 403


class TicketUsed(SurveyError):
    """A ticket was used before, and each works once."""

    slug = "ticket-used"
    status = 409


class QuotaFull(SurveyError):
    """As many people as a survey asks for at this level have begun it.

    Nothing was reserved.
    """

    slug = "budget-exhausted"
    status = 409


class Unauthenticated(SurveyError):
    """A request does not name its author in the expected form."""

    slug = "unauthenticated"
    status = 401


class Forbidden(SurveyError):
    """Somebody's role, or their token, does not allow their request."""

    slug = "forbidden"
    status = 403


class TooManyAttempts(SurveyError):
    """Signing in, or beginning a survey, was tried too often.

    Attributes
    ----------
    seconds : int
        How long to wait.
    """

    slug = "too-many-attempts"
    status = 429
    members: ClassVar[Mapping[str, type]] = {"seconds": int}

    def __init__(self, message: str, *, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class TooManyReservations(SurveyError):
    """Too many surveys were begun and given up, or left, before their questions were shown."""

    slug = "too-many-reservations"
    # Not 429: waiting a moment does not help, opening a survey does.
    status = 409


class WrongState(SurveyError):
    """The survey, or the participation in it, is not in a state that allows this.

    Attributes
    ----------
    state : str or None
        Of the participation, where there is one.
    """

    slug = "wrong-state"
    status = 409
    members: ClassVar[Mapping[str, type]] = {"state": str}

    def __init__(self, message: str, *, state: str | None = None) -> None:
        super().__init__(message)
        self.state = state or None


class UnderWay(SurveyError):
    """The result is being worked out, and that takes a while.

    Attributes
    ----------
    seconds : int
        After which to ask again.
    done, of : int
        Steps so far, and in all; 0 where that is not known.
    """

    slug = "under-way"
    # Not an error of whoever asks: it is accepted, and not there yet.
    status = 202
    members: ClassVar[Mapping[str, type]] = {"seconds": int, "done": int, "of": int}

    def __init__(self, message: str, *, seconds: int, done: int = 0, of: int = 0) -> None:
        super().__init__(message)
        self.seconds = seconds
        self.done = done
        self.of = of


class ServerBusy(SurveyError):
    """So much work waits that the server takes no more now.

    Attributes
    ----------
    seconds : int
        After which to ask again.
    """

    slug = "busy"
    status = 503
    members: ClassVar[Mapping[str, type]] = {"seconds": int}

    def __init__(self, message: str, *, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class AlreadyParticipated(SurveyError):
    """The participant has already begun or answered the survey."""

    slug = "already-participated"
    status = 409


class InvalidReport(SurveyError):
    """A report is not a possible report of its mechanism."""

    slug = "invalid-report"


class LevelNotAllowed(SurveyError):
    """A privacy level is not among those that the survey offers."""

    slug = "level-not-allowed"


class SurveyHashMismatch(SurveyError):
    """Reports are for another version of the survey."""

    slug = "survey-hash-mismatch"
    status = 409


class CommitmentMismatch(SurveyError):
    """Reports, or another commitment, do not fit the sealed commitment."""

    slug = "commitment-mismatch"
    status = 409


class IdempotencyConflict(SurveyError):
    """One idempotency key was used for two different requests."""

    slug = "idempotency-conflict"
    status = 409


class ConfirmationNeeded(SurveyError):
    """Caps would rise, which the person has not confirmed."""

    slug = "confirmation-needed"
    status = 409


class AggregationRefused(SurveyError):
    """One of two parties refuses a request of the other.

    Attributes
    ----------
    kind : str
        The type of error, as the Distributed Aggregation Protocol names it.
    """

    slug = "aggregation-refused"
    status = 409
    members: ClassVar[Mapping[str, type]] = {"kind": str}

    def __init__(self, message: str, *, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class BrokenPromise(SurveyError):
    """A server's questions or masks are not the promised ones; nothing was answered."""
