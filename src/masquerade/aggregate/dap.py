"""A task of the Distributed Aggregation Protocol: its identity, its reports and its checks.

DAP draft 18 over Prio3: what a device seals for each party, how each party opens and checks it, and
how sums go to the collector. Transport, storage and the order of steps are the caller's.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from masquerade.aggregate.dap_messages import (
    CollectionJobReq,
    Extension,
    HpkeCiphertext,
    HpkeConfig,
    Interval,
    PlaintextInputShare,
    Report,
    ReportMetadata,
    Role,
    TaskConfiguration,
    VerifierMessage,
)
from masquerade.aggregate.field import Elements
from masquerade.aggregate.hpke import AEAD, KDF, TAG_SIZE, HpkeKey, Kem, seal
from masquerade.aggregate.prio3 import (
    NONCE_SIZE,
    Prio3,
    SimulatedSplitReport,
    SplitReport,
    VerifyState,
)
from masquerade.aggregate.vdaf_configuration import prio3_of
from masquerade.aggregate.xof import SEED_SIZE
from masquerade.errors import InvalidReport, ParameterError
from masquerade.exact import Coins

_TASK_SIZE = 32


def verification_key(seed: bytes, task: bytes) -> bytes:
    """Return the verification key of a task, as DAP draft 18 derives it.

    Parameters
    ----------
    seed : bytes
        32 random bytes that both parties have and no participant; drawn before the task is named.
    task : bytes
        Identifier of the task, 32 bytes.

    Privacy
    -------
    For a known report, a key can be made with which the check tells something of the measurement.
    The seed is fixed beforehand, so that nobody can choose the key after seeing reports.

    References
    ----------
    Krawczyk and Eronen, "HMAC-based extract-and-expand key derivation function", RFC 5869.

    Examples
    --------
    >>> len(verification_key(bytes(32), bytes(32)))
    32
    """
    if len(seed) != SEED_SIZE or len(task) != _TASK_SIZE:
        raise ParameterError(
            f"a seed of {len(seed)} bytes and a task of {len(task)}; expected {SEED_SIZE} and "
            f"{_TASK_SIZE}."
        )
    # RFC 5869: extract with the salt "verify_key", then expand with the task as its info.
    extracted = hmac.digest(b"verify_key", seed, hashlib.sha256)
    return hmac.digest(extracted, task + b"\x01", hashlib.sha256)  # one block is 32 bytes


@dataclass(frozen=True, slots=True)
class BatchTally:
    """A tally of the reports that one party added up: their number and a checksum of nonces.

    Parties compare it before either shows its sum. It finds a report that only one of them has; it
    is no guard against a report that both added twice, for which each party keeps all nonces.

    Attributes
    ----------
    checksum : bytes
        Exclusive or of the SHA-256 of each nonce; 32 bytes.

    Examples
    --------
    >>> one, other = BatchTally.of([bytes(16)]), BatchTally.of([bytes([1] * 16)])
    >>> one.merge(other) == BatchTally.of([bytes([1] * 16), bytes(16)])
    True
    """

    count: int = 0
    checksum: bytes = bytes(32)

    @classmethod
    def of(cls, nonces: Iterable[bytes]) -> BatchTally:
        """Return the tally of reports, in any order.

        Raises
        ------
        InvalidReport
            A nonce stands twice, or has not 16 bytes.
        """
        seen: set[bytes] = set()
        checksum = 0
        for nonce in nonces:
            # a nonce twice would cancel in the exclusive or, and go unnoticed
            if len(nonce) != NONCE_SIZE or nonce in seen:
                raise InvalidReport(
                    f"nonce {nonce.hex()} stands twice or has not {NONCE_SIZE} bytes; "
                    "expected each report once. Leave the second out."
                )
            seen.add(nonce)
            checksum ^= int.from_bytes(hashlib.sha256(nonce).digest())
        return cls(len(seen), checksum.to_bytes(32))

    def merge(self, other: BatchTally) -> BatchTally:
        """Return the tally of both sets of reports, which have none in common."""
        checksum = int.from_bytes(self.checksum) ^ int.from_bytes(other.checksum)
        return BatchTally(self.count + other.count, checksum.to_bytes(32))


DRAFT = b"dap-18"
LEADER_SELECTED = 2
#: Extensions of a task: from when reports are, and the SHA-256 of the survey with all its terms
#: (the latter of the range that no registry gives out).
TASK_INTERVAL, SURVEY_TERMS = 1, 0xFF4D
_INITIALIZE, _FINISH = 0, 2
# What a sealed share has beside the share: no extensions (2 bytes), its length (4), the tag.
_SEALING_BYTES = 2 + 4 + TAG_SIZE


def task_configuration(
    *,
    info: bytes,
    leader_url: str,
    helper_url: str,
    opening: int,
    duration: int,
    min_batch_size: int,
    vdaf: tuple[int, bytes],
    terms: bytes,
) -> TaskConfiguration:
    """Return the configuration of a survey's task; times in seconds, `opening` since 1970.

    `info`: 1 to 255 random bytes, so that nobody can guess the task's identifier. `vdaf`: as
    `configuration_of` gives it. `terms`: SHA-256 of the survey's canonical text: questions, noise,
    keys of both parties, the hash of the verification key's seed, and when it ends.

    Privacy
    -------
    All reports have one and the same time, the beginning of the interval: when somebody answered
    is not in the report.
    """
    if len(terms) != 32 or duration < 1:
        raise ParameterError(
            f"terms of {len(terms)} bytes and a duration of {duration} s; expected a SHA-256 and "
            "a second at least."
        )
    # One interval as long as the task, in which all reports lie.
    interval = Interval(opening // duration, 1)
    return TaskConfiguration(
        info,
        leader_url.encode("ascii"),
        helper_url.encode("ascii"),
        duration,
        min_batch_size,
        LEADER_SELECTED,
        b"",
        *vdaf,
        (Extension(TASK_INTERVAL, interval.encode()), Extension(SURVEY_TERMS, terms)),
    )


def config_of(identifier: int, key: HpkeKey) -> HpkeConfig:
    """Return the public half of a key, as parties publish it."""
    return HpkeConfig(identifier, key.kem, KDF, AEAD, key.public_key)


@dataclass(frozen=True)
class Task:
    """A task, by its configuration; `id` is the SHA-256 of the encoded configuration."""

    configuration: TaskConfiguration
    id: bytes = field(init=False)
    _encoded: bytes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Its hash is the task: a party with other terms opens no report of it.
        encoded = self.configuration.encode()
        object.__setattr__(self, "id", hashlib.sha256(encoded).digest())
        object.__setattr__(self, "_encoded", encoded)

    @classmethod
    def decode(cls, data: bytes) -> Task:
        """Return the task of an encoded configuration."""
        return cls(TaskConfiguration.decode(data))

    @cached_property
    def vdaf(self) -> Prio3[Any, Any]:
        """The circuit with its algorithm."""
        return prio3_of(self.configuration.vdaf_type, self.configuration.vdaf_configuration)

    @property
    def context(self) -> bytes:
        """The bytes that bind every share and proof to the task."""
        return DRAFT + self.id

    @cached_property
    def time(self) -> int:
        """The one time that all reports have."""
        for extension in self.configuration.extensions:
            if extension.extension_type == TASK_INTERVAL:
                return Interval.decode(extension.extension_data).start
        raise ParameterError("the task names no interval; expected one with the time of reports.")

    def verification_key(self, seed: bytes) -> bytes:
        """Return the key of the checks, from the seed that both parties have."""
        return verification_key(seed, self.id)

    def report(
        self,
        measurement: Any,
        *,
        leader: HpkeConfig,
        helper: HpkeConfig,
        coins: Coins | None = None,
    ) -> Report:
        """Return a sealed report of a measurement of the circuit (DAP section 4.4.2)."""
        split = self.vdaf.shard(measurement, context=self.context, coins=coins)
        return self.seal(split, leader=leader, helper=helper)

    def seal(
        self, split: SplitReport | SimulatedSplitReport, *, leader: HpkeConfig, helper: HpkeConfig
    ) -> Report:
        """Return a report with each share encrypted to its party."""
        metadata = ReportMetadata(split.nonce, self.time)
        aad = self._share_aad(metadata, split.public_share)
        sealed = [
            _seal(config, PlaintextInputShare((), share).encode(), info=_share_info(role), aad=aad)
            for role, config, share in zip(
                (Role.LEADER, Role.HELPER), (leader, helper), split.input_shares, strict=True
            )
        ]
        return Report(metadata, split.public_share, *sealed)

    def open_share(
        self,
        role: Role,
        key: HpkeKey,
        metadata: ReportMetadata,
        public_share: bytes,
        encrypted: HpkeCiphertext,
    ) -> bytes:
        """Return a party's input share (DAP sections 4.5.3.3 and 4.5.3.4).

        Raises `InvalidReport` also for a report of another time, or with extensions: none is known.
        """
        # One time for all reports, or a report would tell when its person answered.
        if metadata.time != self.time or metadata.public_extensions:
            raise InvalidReport(
                f"a report has time {metadata.time} and {len(metadata.public_extensions)} "
                f"extensions; expected {self.time} and none."
            )
        aad = self._share_aad(metadata, public_share)
        plaintext = key.open(encrypted.enc, encrypted.payload, info=_share_info(role), aad=aad)
        share = PlaintextInputShare.decode(plaintext)
        if share.private_extensions:
            raise InvalidReport("a share has extensions; expected none.")
        return share.payload

    def require_sizes(self, report: Report, leader_share: bytes, *, helper: HpkeConfig) -> None:
        """Refuse a report with parts of other lengths than circuit and encryption give.

        `leader_share` is opened, the helper's is not. No number is read: each party does that in
        its one check of the nonce. Longer parts would make jobs that the helper refuses as a whole.

        Raises `InvalidReport`.
        """
        lengths = {
            "public share": (len(report.public_share), self.vdaf.public_share_size),
            "leader's share": (len(leader_share), self.vdaf.input_share_size(0)),
            "helper's share": (
                len(report.helper_encrypted_input_share.payload),
                self.vdaf.input_share_size(1) + _SEALING_BYTES,
            ),
            "helper's key exchange": (
                len(report.helper_encrypted_input_share.enc),
                Kem(helper.kem_id).public_size,
            ),
        }
        for name, (found, expected) in lengths.items():
            if found != expected:
                raise InvalidReport(f"the {name} has {found} bytes, expected {expected}.")

    def leader_init(
        self, verify_key: bytes, nonce: bytes, public_share: bytes, input_share: bytes
    ) -> tuple[VerifyState, bytes]:
        """Return the leader's state and its message to the helper (VDAF section 5.7.1)."""
        state, share = self.vdaf.verify_init(
            verify_key, self.context, 0, nonce, public_share, input_share
        )
        return state, VerifierMessage(_INITIALIZE, share).encode()

    def helper_answer(
        self,
        verify_key: bytes,
        nonce: bytes,
        public_share: bytes,
        input_share: bytes,
        message: bytes,
    ) -> tuple[tuple[int, ...], bytes]:
        """Return the helper's share of a checked measurement, and its answer to the leader.

        Raises `InvalidReport` (the proof does not hold, or the leader could not finish the check).
        """
        leader_share = _content(message, _INITIALIZE)
        state, share = self.vdaf.verify_init(
            verify_key, self.context, 1, nonce, public_share, input_share
        )
        # Beyond the draft: the leader takes the helper's part of the joint randomness from the
        # public share. A device that names another there, and proves with the true one, would let
        # the helper count a report that the leader then cannot finish.
        named = public_share[SEED_SIZE:]
        if share[len(share) - len(named) :] != named:
            raise InvalidReport(
                "a report names another part of the helper's randomness than its share gives."
            )
        answer = self.vdaf.verifier_message(self.context, [leader_share, share])
        output = self.vdaf.verify_next(state, answer)
        return output, VerifierMessage(_FINISH, answer).encode()

    def leader_finish(self, state: VerifyState, answer: bytes) -> tuple[int, ...]:
        """Return the leader's share of a measurement that the helper found well-formed."""
        return self.vdaf.verify_next(state, _content(answer, _FINISH))

    def seal_aggregate(
        self,
        role: Role,
        collector: HpkeConfig,
        request: CollectionJobReq,
        aggregate_share: Sequence[int],
    ) -> HpkeCiphertext:
        """Return a party's sum, encrypted to the collector (DAP section 4.6.6).

        Encrypting twice gives different bytes: store the answer and give it again.
        """
        return _seal(
            collector,
            self.vdaf.encode_aggregate(aggregate_share),
            info=_aggregate_info(role),
            aad=self.id + self._encoded + request.encode(),
        )

    def open_aggregate(
        self, role: Role, key: HpkeKey, request: CollectionJobReq, encrypted: HpkeCiphertext
    ) -> Elements:
        """Return a party's sum, for the collector."""
        aad = self.id + self._encoded + request.encode()
        data = key.open(encrypted.enc, encrypted.payload, info=_aggregate_info(role), aad=aad)
        return self.vdaf.decode_aggregate(data)

    def _share_aad(self, metadata: ReportMetadata, public_share: bytes) -> bytes:
        """Return the draft's ``InputShareAad``."""
        length = len(public_share).to_bytes(4)
        return b"".join([self.id, self._encoded, metadata.encode(), length, public_share])


def require_sealable(config: HpkeConfig) -> None:
    """Check that a share can be encrypted to a public key.

    Raises `ParameterError` (it is of another suite, or no key).
    """
    _seal(config, b"", info=b"", aad=b"")


def _seal(config: HpkeConfig, plaintext: bytes, *, info: bytes, aad: bytes) -> HpkeCiphertext:
    if (config.kdf_id, config.aead_id) != (KDF, AEAD) or config.kem_id not in tuple(Kem):
        raise ParameterError(
            f"a key is for suite {config.kem_id:#x}, {config.kdf_id:#x}, {config.aead_id:#x}; "
            "expected P-256 or X25519 with HKDF-SHA256 and AES-128-GCM."
        )
    enc, payload = seal(Kem(config.kem_id), config.public_key, plaintext, info=info, aad=aad)
    return HpkeCiphertext(config.id, enc, payload)


def _share_info(role: Role) -> bytes:
    # Without the receiver's role, the two encrypted shares could be exchanged.
    return DRAFT + b" input share" + bytes([Role.CLIENT, role])


def _aggregate_info(role: Role) -> bytes:
    return DRAFT + b" aggregate share" + bytes([role, Role.COLLECTOR])


def _content(message: bytes, wanted: int) -> bytes:
    read = VerifierMessage.decode(message)
    if read.type != wanted:
        raise InvalidReport(f"a message of the check has type {read.type}, expected {wanted}.")
    return read.content
