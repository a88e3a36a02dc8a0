"""Prio3: a measurement is split into shares, each share is checked, and only sums come together.

VDAF draft 20, section 7.2, with its encodings (7.2.7) and its algorithm identifiers, so that the
standard's test vectors come out byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from masquerade.aggregate.circuit import Circuit, Measurement, Result
from masquerade.aggregate.field import Elements
from masquerade.aggregate.proof import decide, prove, query
from masquerade.aggregate.xof import (
    SEED_SIZE,
    GivenSeeds,
    derive_seed,
    domain_separation_tag,
    expand,
    fresh_seeds,
)
from masquerade.errors import InvalidReport, ParameterError
from masquerade.exact import Coins

NONCE_SIZE, LEADER = 16, 0
# Usages: each has a tag of its own, so that no stream of random elements serves two purposes.
(
    _MEASUREMENT_SHARE,
    _PROOF_SHARE,
    _JOINT_RANDOMNESS,
    _PROVE_RANDOMNESS,
    _QUERY_RANDOMNESS,
    _JOINT_SEED,
    _JOINT_PART,
) = range(1, 8)


@dataclass(frozen=True, slots=True)
class SplitReport:
    """A measurement split into shares.

    Attributes
    ----------
    nonce : bytes
        16 random bytes, which also name the report.
    public_share : bytes
        For all parties, the same.
    input_shares : tuple of bytes
        One for each party and for nobody else: encrypt it to the party before it leaves.
    """

    nonce: bytes
    public_share: bytes
    input_shares: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class SimulatedSplitReport:
    """A measurement split by given seeds, for studies and test vectors: it hides nothing.

    Attributes
    ----------
    nonce, public_share, input_shares
        As in `SplitReport`.
    """

    nonce: bytes
    public_share: bytes
    input_shares: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class VerifyState:
    """A party's state of a report until the check is done.

    Attributes
    ----------
    output_share : tuple of int
        To be added up if the check holds, and only then.
    joint_seed : bytes
        What the message has to be.
    """

    output_share: tuple[int, ...]
    joint_seed: bytes


@dataclass(frozen=True)
class Prio3(Generic[Measurement, Result]):
    """Splitting, checking and adding up measurements of one circuit.

    Parameters
    ----------
    algorithm : int
        Identifier of the kind of circuit. It does not bind the circuit's parameters: `context` has
        to (section 9.9).
    circuit : Circuit
    proofs : int
        1 to 255.
    shares : int
        Number of parties, 2 to 255. Party 0 (the leader) gets its share in full, all others a seed.

    Privacy
    -------
    As long as one party is honest, all others together learn the sum over the reports that they
    checked with it and whether each report was well-formed, and no more. This holds for who has
    bounded time (it rests on the extendable output function). All parties together can read every
    measurement. The sum itself is exact: noise is added by `SumNoise`.

    References
    ----------
    Corrigan-Gibbs and Boneh, "Prio", NSDI 2017; Boneh et al., "Zero-knowledge proofs on
    secret-shared data via fully linear PCPs", CRYPTO 2019; Davis et al., "Verifiable distributed
    aggregation functions", PETS 2023.

    Examples
    --------
    >>> from masquerade.aggregate import One, prio3_survey
    >>> vdaf, key, context = prio3_survey([One(3)]), bytes(32), b"a survey"
    >>> report = vdaf.shard([1], context=context)
    >>> states, shares = zip(*(
    ...     vdaf.verify_init(key, context, party, report.nonce, report.public_share, share)
    ...     for party, share in enumerate(report.input_shares)))
    >>> message = vdaf.verifier_message(context, shares)
    >>> sums = [vdaf.aggregate([vdaf.verify_next(state, message)]) for state in states]
    >>> vdaf.unshard(sums, count=1)
    [[0, 1, 0]]
    """

    algorithm: int
    circuit: Circuit[Measurement, Result]
    proofs: int = 1
    shares: int = 2

    def __post_init__(self) -> None:
        if not 1 <= self.proofs <= 255 or not 2 <= self.shares <= 255:
            raise ParameterError(
                f"proofs is {self.proofs} and shares {self.shares}; expected 1 to 255 and 2 to 255."
            )

    @property
    def seeds_needed(self) -> int:
        """Number of seeds of one report."""
        return self.shares * (2 if self.circuit.joint_rand_length else 1)

    def shard(
        self, measurement: Measurement, *, context: bytes, coins: Coins | None = None
    ) -> SplitReport:
        """Return a measurement split into shares (section 7.2.1).

        Parameters
        ----------
        measurement
            What the circuit takes.
        context : bytes
            Names the task, the same for device and parties.
        coins : Coins, optional
            The operating system's; nothing else is accepted.

        Raises
        ------
        ParameterError
            The measurement is not well-formed.
        InsecureRandomness
            `coins` are not the operating system's.
        """
        nonce, *seeds = fresh_seeds(NONCE_SIZE, *[SEED_SIZE] * self.seeds_needed, coins=coins)
        return SplitReport(nonce, *self._split(measurement, context, nonce, seeds))

    def simulate(
        self, measurement: Measurement, *, context: bytes, seeds: GivenSeeds
    ) -> SimulatedSplitReport:
        """Return a measurement split by given seeds: the standard's test vectors, and studies."""
        if len(seeds.seeds) != self.seeds_needed:
            raise ParameterError(
                f"{len(seeds.seeds)} seeds were given, expected {self.seeds_needed}."
            )
        parts = self._split(measurement, context, seeds.nonce, list(seeds.seeds))
        return SimulatedSplitReport(seeds.nonce, *parts)

    def verify_init(
        self,
        verify_key: bytes,
        context: bytes,
        party: int,
        nonce: bytes,
        public_share: bytes,
        input_share: bytes,
    ) -> tuple[VerifyState, bytes]:
        """Return a party's state of a report, and its verifier share (section 7.2.2).

        Parameters
        ----------
        verify_key : bytes
            32, the same for all parties, fixed before the first report, unknown to participants.
        context : bytes
        party : int
            0 for the leader.
        nonce, public_share, input_share : bytes
            Of the report.

        Raises
        ------
        InvalidReport
            A part has the wrong length, or a number is not an element of the field.

        Notes
        -----
        Run it once for each nonce and no more, whatever comes of it: a second run with another
        public share would tell something of the measurement (section 9.2).
        """
        if len(verify_key) != SEED_SIZE or not 0 <= party < self.shares:
            raise ParameterError(
                f"a verification key of {len(verify_key)} bytes for party {party}; expected "
                f"{SEED_SIZE} bytes and a party from 0 to {self.shares - 1}."
            )
        _require_bytes("nonce", nonce, NONCE_SIZE)
        circuit = self.circuit
        parts = self._read_public_share(public_share)
        measurement, proofs, blind = self._read_input_share(context, party, input_share)
        joint_seed = own_part = b""
        joint: Elements = []
        if parts:
            # The client's word for this party's own part does not count: it is computed anew.
            own_part = self._joint_part(context, party, blind, measurement, nonce)
            parts[party] = own_part
            joint_seed = self._joint_seed(context, parts)
            joint = self._joint_randomness(context, joint_seed)
        # From the key, which no device knows: for a point that is known, a proof can be forged.
        query_rand = self._expand(
            verify_key,
            _QUERY_RANDOMNESS,
            context,
            bytes([self.proofs]) + nonce,
            circuit.query_rand_length * self.proofs,
        )
        verifier: Elements = []
        for place in range(self.proofs):
            verifier += query(
                circuit,
                measurement,
                _part(proofs, circuit.proof_length, place),
                _part(query_rand, circuit.query_rand_length, place),
                _part(joint, circuit.joint_rand_length, place),
                self.shares,
            )
        state = VerifyState(tuple(circuit.truncate(measurement)), joint_seed)
        return state, circuit.field.encode(verifier) + own_part

    def verifier_message(self, context: bytes, verifier_shares: Sequence[bytes]) -> bytes:
        """Return the message that ends the check, from the verifier shares of all parties.

        Raises
        ------
        InvalidReport
            The proof does not hold: the measurement is not well-formed, or was changed.
        """
        circuit, field = self.circuit, self.circuit.field
        length = circuit.verifier_length * self.proofs
        size = length * field.size
        if len(verifier_shares) != self.shares:
            raise InvalidReport(
                f"{len(verifier_shares)} verifier shares were given, expected one for each of "
                f"{self.shares} parties."
            )
        verifier, parts = [0] * length, []
        for share in verifier_shares:
            _require_bytes("verifier share", share, size + self._joint_bytes)
            # The sum of the shares alone decides: no single share tells anything.
            verifier = field.add(verifier, field.decode(share[:size]))
            parts.append(share[size:])
        for place in range(self.proofs):
            if not decide(circuit, _part(verifier, circuit.verifier_length, place)):
                raise InvalidReport(
                    "the proof of a report does not hold; expected a well-formed measurement with "
                    "its own proof. Count it as refused and leave it out."
                )
        return self._joint_seed(context, parts) if circuit.joint_rand_length else b""

    def verify_next(self, state: VerifyState, message: bytes) -> tuple[int, ...]:
        """Return the share of a checked measurement that may be added up.

        Raises
        ------
        InvalidReport
            The random numbers of the proof were not those that follow from the shares.
        """
        # Finds a device that told one party of other parts than the parties computed.
        if message != state.joint_seed:
            raise InvalidReport(
                "the joint randomness of a report is not what its shares give; expected the "
                "same. Count it as refused and leave it out."
            )
        return state.output_share

    def aggregate(self, output_shares: Iterable[Sequence[int]]) -> Elements:
        """Return the sum of one party's output shares (section 7.2.4)."""
        total = [0] * self.circuit.output_length
        for share in output_shares:
            total = self.circuit.field.add(total, share)
        return total

    def encode_aggregate(self, aggregate_share: Sequence[int]) -> bytes:
        """Return an aggregate share as bytes."""
        return self.circuit.field.encode(aggregate_share)

    def decode_aggregate(self, data: bytes) -> Elements:
        """Return the aggregate share that bytes encode."""
        _require_bytes(
            "aggregate share", data, self.circuit.output_length * self.circuit.field.size
        )
        return self.circuit.field.decode(data)

    def unshard(self, aggregate_shares: Sequence[Sequence[int]], *, count: int) -> Result:
        """Return the result over `count` measurements, from all parties' sums (section 7.2.5)."""
        if len(aggregate_shares) != self.shares:
            raise ParameterError(
                f"{len(aggregate_shares)} aggregate shares were given, expected one for each of "
                f"{self.shares} parties."
            )
        return self.circuit.decode(self.aggregate(aggregate_shares), count)

    @property
    def _joint_bytes(self) -> int:
        return SEED_SIZE if self.circuit.joint_rand_length else 0

    def _split(
        self, measurement: Measurement, context: bytes, nonce: bytes, seeds: list[bytes]
    ) -> tuple[bytes, tuple[bytes, ...]]:
        circuit, field = self.circuit, self.circuit.field
        encoded, joined = circuit.encode(measurement), bool(circuit.joint_rand_length)
        # Order of the seeds: each helper's share (and blind), the leader's blind, the proof's.
        helper_seeds = [seeds.pop(0) for _ in range((self.shares - 1) * (1 + joined))]
        helpers, blinds = helper_seeds[:: 1 + joined], helper_seeds[1::2] if joined else []
        leader_blind = seeds.pop(0) if joined else b""
        # The leader's share is what the helpers' shares, which are expanded from seeds, leave.
        leader, parts = encoded, []
        for party, seed in enumerate(helpers, 1):
            share = self._helper_measurement(context, party, seed)
            leader = field.subtract(leader, share)
            if joined:
                parts.append(self._joint_part(context, party, blinds[party - 1], share, nonce))
        joint: Elements = []
        if joined:
            # The proof's random numbers follow from all shares: other numbers take another
            # measurement (Fiat and Shamir).
            parts.insert(0, self._joint_part(context, LEADER, leader_blind, leader, nonce))
            joint = self._joint_randomness(context, self._joint_seed(context, parts))
        length = circuit.prove_rand_length
        prove_rand = self._expand(
            seeds.pop(0), _PROVE_RANDOMNESS, context, bytes([self.proofs]), length * self.proofs
        )
        proofs: Elements = []
        for place in range(self.proofs):
            own = _part(joint, circuit.joint_rand_length, place)
            proofs += prove(circuit, encoded, _part(prove_rand, length, place), own)
        for party, seed in enumerate(helpers, 1):
            # The proof is shared as the measurement is.
            proofs = field.subtract(proofs, self._helper_proofs(context, party, seed))
        first = field.encode(leader) + field.encode(proofs) + leader_blind
        others = [seed + (blinds[place] if joined else b"") for place, seed in enumerate(helpers)]
        return b"".join(parts), (first, *others)

    @property
    def public_share_size(self) -> int:
        """Bytes of a report's public share."""
        return self._joint_bytes * self.shares

    def input_share_size(self, party: int) -> int:
        """Return the bytes of a party's input share, before they are encrypted."""
        if party != LEADER:
            return SEED_SIZE + self._joint_bytes
        numbers = self.circuit.measurement_length + self.circuit.proof_length * self.proofs
        return numbers * self.circuit.field.size + self._joint_bytes

    def _read_public_share(self, data: bytes) -> list[bytes]:
        _require_bytes("public share", data, self.public_share_size)
        return [data[start : start + SEED_SIZE] for start in range(0, len(data), SEED_SIZE)]

    def _read_input_share(
        self, context: bytes, party: int, data: bytes
    ) -> tuple[Elements, Elements, bytes]:
        _require_bytes("input share", data, self.input_share_size(party))
        if party != LEADER:
            seed = data[:SEED_SIZE]
            measurement = self._helper_measurement(context, party, seed)
            return measurement, self._helper_proofs(context, party, seed), data[SEED_SIZE:]
        length, size = self.circuit.measurement_length, len(data) - self._joint_bytes
        values = self.circuit.field.decode(data[:size])
        return values[:length], values[length:], data[size:]

    def _expand(self, seed: bytes, usage: int, context: bytes, binder: bytes, n: int) -> Elements:
        tag = domain_separation_tag(self.algorithm, usage, context)
        return expand(self.circuit.field, seed, tag, binder, n)

    def _helper_measurement(self, context: bytes, party: int, seed: bytes) -> Elements:
        length = self.circuit.measurement_length
        return self._expand(seed, _MEASUREMENT_SHARE, context, bytes([party]), length)

    def _helper_proofs(self, context: bytes, party: int, seed: bytes) -> Elements:
        length = self.circuit.proof_length * self.proofs
        return self._expand(seed, _PROOF_SHARE, context, bytes([self.proofs, party]), length)

    def _joint_part(
        self, context: bytes, party: int, blind: bytes, share: Sequence[int], nonce: bytes
    ) -> bytes:
        tag = domain_separation_tag(self.algorithm, _JOINT_PART, context)
        return derive_seed(blind, tag, bytes([party]) + nonce + self.circuit.field.encode(share))

    def _joint_seed(self, context: bytes, parts: Sequence[bytes]) -> bytes:
        tag = domain_separation_tag(self.algorithm, _JOINT_SEED, context)
        return derive_seed(bytes(SEED_SIZE), tag, b"".join(parts))

    def _joint_randomness(self, context: bytes, seed: bytes) -> Elements:
        length = self.circuit.joint_rand_length * self.proofs
        return self._expand(seed, _JOINT_RANDOMNESS, context, bytes([self.proofs]), length)


def _part(values: Sequence[int], length: int, place: int) -> Sequence[Any]:
    return values[place * length : (place + 1) * length]


def _require_bytes(what: str, data: bytes, size: int) -> None:
    if len(data) != size:
        raise InvalidReport(f"the {what} has {len(data)} bytes, expected {size}.")
