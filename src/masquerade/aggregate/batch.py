"""Agreement of two parties: the key of the checks, and which reports they added up."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass

from masquerade.aggregate.prio3 import NONCE_SIZE
from masquerade.aggregate.xof import SEED_SIZE
from masquerade.errors import InvalidReport, ParameterError

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
    """
    if len(seed) != SEED_SIZE or len(task) != _TASK_SIZE:
        raise ParameterError(
            f"a seed of {len(seed)} bytes and a task of {len(task)}; expected {SEED_SIZE} and "
            f"{_TASK_SIZE}."
        )
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
