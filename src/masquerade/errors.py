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
    │   ├── DisconnectedItems           items that were compared too little to be ranked
    │   └── UnderdeterminedProfile      too few answers to compute a worker's profile from
    ├── ParameterError (ValueError)     a parameter is outside its range
    │   └── MechanismSyntaxError        a mechanism's text form cannot be read
    ├── InsecureRandomness (TypeError)  simulation randomness offered where a person is protected
    ├── NotFitted (AttributeError)      a result was asked for before ``fit``
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
    │   ├── InsufficientBudget          a charge would exceed the person's cap
    │   ├── ClearDisclosureRefused      more answers in clear than the person's cap allows
    │   ├── KeyConflict                 one key was used for two different charges
    │   └── NotReserved                 there is no open reservation under this key
    └── SurveyError                     a request that a survey cannot accept
        ├── NotFound                    no such survey, or not yours
        ├── Unauthenticated             a request does not say whose it is
        ├── Forbidden                   the role or the token does not allow this
        ├── TooManyAttempts             signing in, or beginning a survey, was tried too often
        ├── TooManyReservations         surveys were begun and not opened too often
        ├── InvalidDocument (ValueError) a written survey that cannot be read, and where
        ├── StaleVersion                somebody else has changed it in the meantime
        ├── SeatsTaken                  as many as a survey asks for, or can pay, have begun it
        ├── InsufficientFunds           there is less money than this takes
        ├── WrongState                  the survey or the participation is in another state
        ├── AlreadyParticipated         this participant has begun or answered this survey
        ├── InvalidReport               a report that the mechanism cannot have made
        ├── LevelNotAllowed             a privacy level that the survey does not offer
        ├── SurveyHashMismatch          the reports are for another version of the survey
        ├── CommitmentMismatch          the reports are not those that were sealed
        ├── IdempotencyConflict         one idempotency key was used for two requests
        ├── ConfirmationNeeded          caps are raised only for who confirms it
        └── BrokenPromise               a server's masks are not those that it promised

Rows in messages are counted from 1, the header not included.
"""

from __future__ import annotations


class MasqueradeError(Exception):
    """Base of all errors raised on purpose."""


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


class UnderdeterminedProfile(InputError):
    """A worker gave too few answers to compute a profile from."""


class ParameterError(MasqueradeError, ValueError):
    """A parameter is outside its range."""


class MechanismSyntaxError(ParameterError):
    """The text form of a mechanism cannot be read."""


class InsecureRandomness(MasqueradeError, TypeError):
    """Randomness for simulation was offered where a person is protected."""


class NotFitted(MasqueradeError, AttributeError):
    """A result was asked for before ``fit``."""


class ClusterError(MasqueradeError):
    """A cluster does not answer, its workers keep dying, or the software for it is missing."""


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

    def __init__(self, message: str, *, needed: float, residual: float, unit: str) -> None:
        super().__init__(message)
        self.needed = needed
        self.residual = residual
        self.unit = unit


class ClearDisclosureRefused(LedgerError):
    """A survey asks for more answers in clear than the person allows.

    Attributes
    ----------
    needed, residual : int
        Numbers of answers: in the survey, and left.
    """

    def __init__(self, message: str, *, needed: int, residual: int) -> None:
        super().__init__(message)
        self.needed = needed
        self.residual = residual


class KeyConflict(LedgerError):
    """A key that names one charge of a person was used for another."""


class NotReserved(LedgerError):
    """There is no open reservation of this person under this key."""


class SurveyError(MasqueradeError):
    """A request that a survey cannot accept."""


class NotFound(SurveyError):
    """There is no such survey, or it is somebody else's."""


class InvalidDocument(SurveyError, ValueError):
    """A survey as it is written has not the form it must have, or is not finished.

    Attributes
    ----------
    places : list of tuple
        A JSON pointer and what is wrong there.
    """

    def __init__(self, places: list[tuple[str, str]]) -> None:
        self.places = places
        first, what = places[0]
        more = f" (and {len(places) - 1} more)" if len(places) > 1 else ""
        super().__init__(f"{first}: {what}{more}" if first else f"{what}{more}")


class StaleVersion(SurveyError):
    """A draft was changed since it was read, or the request does not say what it was read as."""


class SeatsTaken(SurveyError):
    """As many people as a survey asks for at this level, or can pay, have begun it.

    Nothing was reserved.
    """


class InsufficientFunds(SurveyError):
    """There is less money in an account than a transfer takes; nothing was moved.

    Attributes
    ----------
    needed, there : int
    currency : str
    """

    def __init__(self, message: str, *, needed: int, there: int, currency: str) -> None:
        super().__init__(message)
        self.needed = needed
        self.there = there
        self.currency = currency


class Unauthenticated(SurveyError):
    """A request does not say, in the form that is expected, whose it is."""


class Forbidden(SurveyError):
    """Somebody's role, or their token, does not allow what they ask for."""


class TooManyAttempts(SurveyError):
    """Signing in, or beginning a survey, was tried too often.

    Attributes
    ----------
    seconds : int
        How long to wait.
    """

    def __init__(self, message: str, *, seconds: int) -> None:
        super().__init__(message)
        self.seconds = seconds


class TooManyReservations(SurveyError):
    """Too many surveys were begun and given up, or left, before their questions were shown."""


class WrongState(SurveyError):
    """The survey, or the participation in it, is not in a state that allows this.

    Attributes
    ----------
    state : str or None
        Of the participation, where there is one.
    """

    def __init__(self, message: str, *, state: str | None = None) -> None:
        super().__init__(message)
        self.state = state


class AlreadyParticipated(SurveyError):
    """The participant has already begun or answered the survey."""


class InvalidReport(SurveyError):
    """A report is none that the mechanism can have made."""


class LevelNotAllowed(SurveyError):
    """A privacy level is none of those that the survey offers."""


class SurveyHashMismatch(SurveyError):
    """Reports are for another version of the survey."""


class CommitmentMismatch(SurveyError):
    """Reports, or another commitment, do not fit what was sealed."""


class IdempotencyConflict(SurveyError):
    """One idempotency key was used for two different requests."""


class ConfirmationNeeded(SurveyError):
    """Caps would rise, which the person has not confirmed."""


class BrokenPromise(SurveyError):
    """A server's questions or masks are not what it promised; nothing was answered."""
