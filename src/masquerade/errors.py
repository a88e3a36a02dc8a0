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
    │   └── DuplicateClaim              one worker answered one task twice
    ├── ParameterError (ValueError)     a parameter is outside its range
    │   └── MechanismSyntaxError        a mechanism's text form cannot be read
    ├── InsecureRandomness (TypeError)  simulation randomness offered where a person is protected
    ├── NotFitted (AttributeError)      a result was asked for before ``fit``
    ├── LedgerError
    │   └── BrokenChain                 a ledger entry does not match its hash
    └── SurveyError                     a request that a survey cannot accept
        ├── NotFound                    no such survey, or not yours
        ├── WrongState                  the survey is not open, or not closed
        ├── AlreadyParticipated         this participant has answered this survey
        └── InvalidReport               a report outside the mechanism's symbols

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


class ParameterError(MasqueradeError, ValueError):
    """A parameter is outside its range."""


class MechanismSyntaxError(ParameterError):
    """The text form of a mechanism cannot be read."""


class InsecureRandomness(MasqueradeError, TypeError):
    """Randomness for simulation was offered where a person is protected."""


class NotFitted(MasqueradeError, AttributeError):
    """A result was asked for before ``fit``."""


class LedgerError(MasqueradeError):
    """A ledger cannot accept or confirm an entry."""


class BrokenChain(LedgerError):
    """A ledger entry does not match its hash or its predecessor."""


class SurveyError(MasqueradeError):
    """A request that a survey cannot accept."""


class NotFound(SurveyError):
    """There is no such survey, or it is somebody else's."""


class WrongState(SurveyError):
    """The survey is not in a state that allows this."""


class AlreadyParticipated(SurveyError):
    """The participant has already answered the survey."""


class InvalidReport(SurveyError):
    """A report is not one of the mechanism's symbols."""
