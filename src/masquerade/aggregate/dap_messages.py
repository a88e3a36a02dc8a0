"""Messages of the Distributed Aggregation Protocol, byte for byte (DAP draft 18).

Each is a frozen dataclass with its parts in the order of the draft; the annotation of a part says
how it is written in TLS presentation language (RFC 8446, section 3): numbers with the highest byte
first, byte strings and lists with their length in bytes before them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Any, Protocol, Self, get_args, get_origin, get_type_hints

from masquerade.errors import InvalidReport, ParameterError


class Reader:
    """Bytes of a message, read from the front."""

    def __init__(self, data: bytes) -> None:
        self._data, self._place = data, 0

    @property
    def left(self) -> int:
        """Number of bytes that were not read."""
        return len(self._data) - self._place

    def take(self, size: int) -> bytes:
        """Return the next bytes; refuse a message that ends before."""
        if size > self.left:
            raise InvalidReport(
                f"a message ends {size - self.left} bytes too early; expected all of it."
            )
        self._place += size
        return self._data[self._place - size : self._place]

    def number(self, size: int) -> int:
        """Return the next number of this many bytes."""
        return int.from_bytes(self.take(size))


class Form(Protocol):
    """How one part of a message is written."""

    def write(self, value: Any) -> bytes:
        """Return the bytes of a value."""

    def read(self, reader: Reader) -> Any:
        """Return the value of the next bytes."""


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number of `size` bytes."""

    size: int

    def write(self, value: int) -> bytes:
        """Return the bytes of a value."""
        if not 0 <= value < 1 << 8 * self.size:
            raise ParameterError(f"a number is {value}, expected 0 to 2**{8 * self.size} - 1.")
        return value.to_bytes(self.size)

    def read(self, reader: Reader) -> int:
        """Return the value of the next bytes."""
        return reader.number(self.size)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Exactly `size` bytes."""

    size: int

    def write(self, value: bytes) -> bytes:
        """Return the bytes of a value."""
        if len(value) != self.size:
            raise ParameterError(f"{len(value)} bytes were given, expected {self.size}.")
        return value

    def read(self, reader: Reader) -> bytes:
        """Return the value of the next bytes."""
        return reader.take(self.size)


@dataclass(frozen=True, slots=True)
class Opaque:
    """Bytes with their length before them, in `prefix` bytes; at least `least`."""

    prefix: int
    least: int = 0

    def write(self, value: bytes) -> bytes:
        """Return the bytes of a value."""
        if not self.least <= len(value) < 1 << 8 * self.prefix:
            raise ParameterError(
                f"{len(value)} bytes were given, expected {self.least} to 2**{8 * self.prefix} - 1."
            )
        return len(value).to_bytes(self.prefix) + value

    def read(self, reader: Reader) -> bytes:
        """Return the value of the next bytes."""
        value = reader.take(reader.number(self.prefix))
        if len(value) < self.least:
            raise InvalidReport(f"a part has {len(value)} bytes, expected {self.least} at least.")
        return value


@dataclass(frozen=True, slots=True)
class Many:
    """Messages of one kind; `prefix`: bytes of the length before them, or 0 for up to the end."""

    prefix: int
    kind: type[Message]

    def write(self, value: tuple[Message, ...]) -> bytes:
        """Return the bytes of a value."""
        body = b"".join([one.encode() for one in value])
        return Opaque(self.prefix).write(body) if self.prefix else body

    def read(self, reader: Reader) -> tuple[Message, ...]:
        """Return the value of the next bytes."""
        size = reader.number(self.prefix) if self.prefix else reader.left
        inner, values = Reader(reader.take(size)), []
        while inner.left:
            values.append(self.kind.read(inner))
        return tuple(values)


class Message:
    """A message, or a part of one."""

    __slots__ = ()

    def encode(self) -> bytes:
        """Return the message as bytes, where each part has a size that it can have."""
        parts = [form.write(getattr(self, name)) for name, form in _forms(type(self))]
        return b"".join(parts)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message that comes next."""
        return cls(*[form.read(reader) for _, form in _forms(cls)])

    @classmethod
    def decode(cls, data: bytes) -> Self:
        """Return the one message that bytes encode."""
        reader = Reader(data)
        message = cls.read(reader)
        if reader.left:
            raise InvalidReport(f"a message has {reader.left} bytes too many; expected none.")
        return message


@dataclass(frozen=True, slots=True)
class _Inner:
    """A message within a message."""

    kind: type[Message]

    def write(self, value: Message) -> bytes:
        """Return the bytes of a value."""
        return value.encode()

    def read(self, reader: Reader) -> Message:
        """Return the value of the next bytes."""
        return self.kind.read(reader)


_FORMS: dict[str, tuple[tuple[str, Form], ...]] = {}


def _forms(kind: type[Message]) -> tuple[tuple[str, Form], ...]:
    """Return the parts of a kind of message; read from its annotations once."""
    if kind.__name__ not in _FORMS:
        _FORMS[kind.__name__] = tuple(
            (name, get_args(hint)[1] if get_origin(hint) is Annotated else _Inner(hint))
            for name, hint in get_type_hints(kind, include_extras=True).items()
        )
    return _FORMS[kind.__name__]


U8 = Annotated[int, Number(1)]
U16 = Annotated[int, Number(2)]
U32 = Annotated[int, Number(4)]
U64 = Annotated[int, Number(8)]
Bytes16 = Annotated[bytes, Fixed(16)]
Bytes32 = Annotated[bytes, Fixed(32)]
Short = Annotated[bytes, Opaque(2)]
Long = Annotated[bytes, Opaque(4)]
NonEmptyLong = Annotated[bytes, Opaque(4, least=1)]
Url = Annotated[bytes, Opaque(2, least=1)]


class Role(IntEnum):
    """The role of a sender or receiver."""

    COLLECTOR = 0
    CLIENT = 1
    LEADER = 2
    HELPER = 3


class ReportError(IntEnum):
    """Why a report was refused."""

    BATCH_COLLECTED = 1
    REPORT_REPLAYED = 2
    REPORT_DROPPED = 3
    HPKE_UNKNOWN_CONFIG_ID = 4
    HPKE_DECRYPT_ERROR = 5
    VDAF_VERIFY_ERROR = 6
    TASK_EXPIRED = 7
    INVALID_MESSAGE = 8
    REPORT_TOO_EARLY = 9
    TASK_NOT_STARTED = 10
    OUTDATED_CONFIG = 11


@dataclass(frozen=True, slots=True)
class Extension(Message):
    """Something that a task, a report or a job says besides."""

    extension_type: U16
    extension_data: Short


Extensions = Annotated[tuple[Extension, ...], Many(2, Extension)]


@dataclass(frozen=True, slots=True)
class Interval(Message):
    """A time and a duration, in units of the task's precision."""

    start: U64
    duration: U64


@dataclass(frozen=True, slots=True)
class HpkeConfig(Message):
    """A public key and its algorithms."""

    id: U8
    kem_id: U16
    kdf_id: U16
    aead_id: U16
    public_key: Annotated[bytes, Opaque(2, least=1)]


@dataclass(frozen=True, slots=True)
class HpkeCiphertext(Message):
    """Encrypted bytes, and the key they are for."""

    config_id: U8
    enc: Annotated[bytes, Opaque(2, least=1)]
    payload: NonEmptyLong


@dataclass(frozen=True, slots=True)
class TaskConfiguration(Message):
    """All that device and both parties have to agree on (section 4.2)."""

    task_info: Annotated[bytes, Opaque(1, least=1)]
    leader_aggregator_endpoint: Url
    helper_aggregator_endpoint: Url
    time_precision: U64
    min_batch_size: U64
    batch_mode: U8
    batch_config: Short
    vdaf_type: U32
    vdaf_configuration: Short
    extensions: Extensions


@dataclass(frozen=True, slots=True)
class ReportMetadata(Message):
    """The public part of a report: its id, its time and extensions."""

    report_id: Bytes16
    time: U64
    public_extensions: Extensions = ()


@dataclass(frozen=True, slots=True)
class Report(Message):
    """A device's report, for the leader (section 4.4.2)."""

    report_metadata: ReportMetadata
    public_share: Long
    leader_encrypted_input_share: HpkeCiphertext
    helper_encrypted_input_share: HpkeCiphertext


@dataclass(frozen=True, slots=True)
class PlaintextInputShare(Message):
    """A share before it is encrypted."""

    private_extensions: Extensions
    payload: NonEmptyLong


@dataclass(frozen=True, slots=True)
class ReportShare(Message):
    """The helper's part of a report."""

    report_metadata: ReportMetadata
    public_share: Long
    encrypted_input_share: HpkeCiphertext


@dataclass(frozen=True, slots=True)
class VerifyInit(Message):
    """The helper's part of a report, and the leader's first message about it."""

    report_share: ReportShare
    payload: NonEmptyLong


@dataclass(frozen=True, slots=True)
class AggregationJobInitReq(Message):
    """Reports to be checked together (section 4.5.3.1)."""

    verification_key_id: U8
    agg_param: Long
    extensions: Extensions
    verify_inits: Annotated[tuple[VerifyInit, ...], Many(0, VerifyInit)]


_CONTINUE, _FINISH, _REJECT = range(3)


@dataclass(frozen=True, slots=True)
class VerifyResp(Message):
    """The helper's word on one report: a message for the leader, or why it is refused."""

    report_id: Bytes16
    payload: bytes | None = None
    report_error: ReportError | None = None

    def encode(self) -> bytes:
        """Return the message as bytes."""
        if self.payload is not None:
            return self.report_id + bytes([_CONTINUE]) + Opaque(4, least=1).write(self.payload)
        if self.report_error is not None:
            return self.report_id + bytes([_REJECT, self.report_error])
        return self.report_id + bytes([_FINISH])

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the message that comes next."""
        report_id, kind = reader.take(16), reader.number(1)
        if kind == _CONTINUE:
            return cls(report_id, payload=Opaque(4, least=1).read(reader))
        if kind == _FINISH:
            return cls(report_id)
        code = reader.number(1)
        if kind != _REJECT or code not in tuple(ReportError):
            raise InvalidReport(
                f"a response has type {kind} and error {code}; expected known ones."
            )
        return cls(report_id, report_error=ReportError(code))


@dataclass(frozen=True, slots=True)
class AggregationJobResp(Message):
    """The helper's word on each report of a job, in its order."""

    verify_resps: Annotated[tuple[VerifyResp, ...], Many(0, VerifyResp)]


@dataclass(frozen=True, slots=True)
class BatchSelector(Message):
    """Which reports are collected; also the draft's ``Query``."""

    batch_mode: U8
    config: Short = b""


@dataclass(frozen=True, slots=True)
class CollectionJobReq(Message):
    """The collector's question (section 4.6.1)."""

    query: BatchSelector
    agg_param: Long = b""
    extensions: Extensions = ()


@dataclass(frozen=True, slots=True)
class AggregateShareReq(Message):
    """The leader's request for the helper's sum, with the facts to agree on (4.6.3)."""

    collection_job_req: CollectionJobReq
    batch_selector: BatchSelector
    report_count: U64
    checksum: Bytes32


@dataclass(frozen=True, slots=True)
class AggregateShare(Message):
    """A party's sum, encrypted to the collector."""

    encrypted_aggregate_share: HpkeCiphertext


@dataclass(frozen=True, slots=True)
class VerifierMessage(Message):
    """One message of the check between two parties (VDAF draft 20, section 5.7.1).

    With two parties and one round there are two: the leader's share of the check (type 0), and the
    helper's answer (type 2).
    """

    type: U8
    content: Long
