"""Messages and tasks of the aggregation protocol: bytes, binding, and a whole run."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.aggregate.standard_circuits import prio3_count, prio3_sum_vec_with_multiproof

from masquerade.aggregate import One, Prio3, Some, Vector, Whole, prio3_survey
from masquerade.aggregate.dap import Task, config_of, task_configuration
from masquerade.aggregate.dap_messages import (
    AggregateShareReq,
    AggregationJobInitReq,
    AggregationJobResp,
    BatchSelector,
    CollectionJobReq,
    Extension,
    HpkeCiphertext,
    HpkeConfig,
    Message,
    PlaintextInputShare,
    Report,
    ReportError,
    ReportMetadata,
    ReportShare,
    Role,
    VerifyInit,
    VerifyResp,
)
from masquerade.aggregate.hpke import HpkeKey, Kem
from masquerade.aggregate.vdaf_configuration import configuration_of, prio3_of
from masquerade.errors import InvalidReport, ParameterError

LEADER, HELPER, COLLECTOR = (
    HpkeKey(kem, bytes([n] * 32)) for n, kem in enumerate([*Kem, *Kem][:3])
)
SURVEY = prio3_survey([One(3), Some(4, 2), Whole(10), Vector(2, 3)])
ANSWERS = [1, [True, False, True, False], 7, [2, -2]]


def task(**changes: Any) -> Task:
    """Return a task of a small survey."""
    values: dict[str, Any] = {
        "info": b"a survey",
        "leader_url": "https://leader.example/dap/",
        "helper_url": "https://helper.example/",
        "opening": 1_800_000_000,
        "duration": 1_209_600,
        "min_batch_size": 20,
        "vdaf": configuration_of(SURVEY),
        "terms": hashlib.sha256(b"terms").digest(),
    }
    return Task(task_configuration(**{**values, **changes}))


def report_of(one: Task) -> Report:
    """Return a report of the answers, for the two keys."""
    return one.report(ANSWERS, leader=config_of(1, LEADER), helper=config_of(2, HELPER))


def test_a_task_has_the_bytes_of_the_draft() -> None:
    """Every part of a configuration stands at its place, and the identifier is its SHA-256."""
    one = task(vdaf=(4, bytes.fromhex("0000000400000002")))
    parts = [
        *("08", b"a survey".hex()),
        *("001b", b"https://leader.example/dap/".hex()),
        *("0017", b"https://helper.example/".hex()),
        *("0000000000127500", "0000000000000014"),
        *("02", "0000"),
        *("00000004", "0008", "00000004", "00000002"),
        *("0038", "0001", "0010", "00000000000005d0", "0000000000000001"),
        *("ff4d", "0020", hashlib.sha256(b"terms").hexdigest()),
    ]
    assert one.configuration.encode().hex() == "".join(parts)
    assert one.id == hashlib.sha256(one.configuration.encode()).digest()
    assert one.context == b"dap-18" + one.id
    assert Task.decode(one.configuration.encode()) == one


def test_a_report_has_the_bytes_of_the_draft() -> None:
    """Identifier, time, no extensions, public share, and two ciphertexts with their keys' names."""
    metadata = ReportMetadata(bytes(range(16)), 1488)
    sealed = HpkeCiphertext(1, b"enc", b"payload")
    report = Report(metadata, b"public", sealed, replace(sealed, config_id=2))
    ciphertext = "0003" + b"enc".hex() + "00000007" + b"payload".hex()
    parts = [
        *(bytes(range(16)).hex(), "00000000000005d0", "0000"),
        *("00000006", b"public".hex(), "01", ciphertext, "02", ciphertext),
    ]
    assert report.encode().hex() == "".join(parts)
    assert PlaintextInputShare((), b"share").encode().hex() == "000000000005" + b"share".hex()


def messages() -> list[Message]:
    """Return one message of each kind that parties exchange."""
    sealed = HpkeCiphertext(1, b"enc", b"payload")
    metadata = ReportMetadata(bytes(16), 5, (Extension(7, b"x"),))
    init = VerifyInit(ReportShare(metadata, b"public", sealed), b"share")
    query = CollectionJobReq(BatchSelector(2))
    return [
        config_of(1, LEADER),
        Report(metadata, b"", sealed, sealed),
        AggregationJobInitReq(0, b"", (Extension(1, bytes(32)),), (init, init)),
        AggregationJobResp(
            (
                VerifyResp(bytes(16), payload=b"go on"),
                VerifyResp(bytes(16)),
                VerifyResp(bytes(16), report_error=ReportError.REPORT_REPLAYED),
            )
        ),
        AggregateShareReq(query, BatchSelector(2, bytes(32)), 400, bytes(32)),
    ]


@pytest.mark.parametrize("message", messages(), ids=lambda message: type(message).__name__)
def test_messages_are_read_as_they_were_written(message: Message) -> None:
    """Bytes and messages are one to one: one byte more or less is another message, or none."""
    data = message.encode()
    assert type(message).decode(data) == message
    for other in (data[:-1], data + b"\x00"):
        with pytest.raises(InvalidReport, match=r"too early|too many"):
            type(message).decode(other)


@given(st.binary(max_size=300))
def test_prop_any_bytes_are_a_report_or_refused(data: bytes) -> None:
    """Nothing but a refusal comes of bytes that are no report, and no report has two forms."""
    try:
        report = Report.decode(data)
    except InvalidReport:
        return
    assert report.encode() == data


@pytest.mark.parametrize("data", [b"\x03" + bytes(4), b"\x02\x00", b"\x02\x0c"])
def test_an_unknown_response_is_refused(data: bytes) -> None:
    """A type or an error that the draft does not have is not taken for another."""
    with pytest.raises(InvalidReport, match=r"expected known ones|too early"):
        VerifyResp.decode(bytes(16) + data)


@pytest.mark.parametrize(
    "vdaf",
    [
        SURVEY,
        prio3_survey([Some(3), Vector(1, 2, ball=False)], chunk=3),
    ],
)
def test_circuits_are_read_as_they_were_written(vdaf: Prio3[Any, Any]) -> None:
    """Both parties and the device make the same circuit of the same bytes."""
    algorithm, parameters = configuration_of(vdaf)
    again = prio3_of(algorithm, parameters)
    assert configuration_of(again) == (algorithm, parameters)
    assert (again.algorithm, again.circuit.proof_length) == (algorithm, vdaf.circuit.proof_length)
    with pytest.raises(InvalidReport, match=r"too many|too early|expected 1 to"):
        prio3_of(algorithm, parameters + b"\x00")


def test_a_circuit_without_a_form_is_refused() -> None:
    """Several proofs, several helpers and circuits of the standard have no place in a task."""
    for vdaf in (
        prio3_count(shares=3),
        prio3_sum_vec_with_multiproof(length=3, largest=7, chunk=2),
        prio3_count(),
    ):
        with pytest.raises(ParameterError, match="no form"):
            configuration_of(vdaf)
    with pytest.raises(ParameterError, match="not known"):
        prio3_of(1, b"")


def test_two_parties_and_a_collector_come_to_the_sum() -> None:
    """From sealed reports, messages of the check and encrypted sums, the answers are added up."""
    one, count = task(), 3
    key, request = one.verification_key(bytes(32)), CollectionJobReq(BatchSelector(2))
    leader, helper = [], []
    for report in [Report.decode(report_of(one).encode()) for _ in range(count)]:
        metadata, public = report.report_metadata, report.public_share
        sealed = report.leader_encrypted_input_share
        share = one.open_share(Role.LEADER, LEADER, metadata, public, sealed)
        state, message = one.leader_init(key, metadata.report_id, public, share)
        sealed = report.helper_encrypted_input_share
        share = one.open_share(Role.HELPER, HELPER, metadata, public, sealed)
        output, answer = one.helper_answer(key, metadata.report_id, public, share, message)
        leader.append(one.leader_finish(state, answer))
        helper.append(output)
    sums = []
    for role, outputs in ((Role.LEADER, leader), (Role.HELPER, helper)):
        total = one.vdaf.aggregate(outputs)
        sent = one.seal_aggregate(role, config_of(3, COLLECTOR), request, total)
        sums.append(one.open_aggregate(role, COLLECTOR, request, sent))
    assert one.vdaf.unshard(sums, count=count) == [[0, 3, 0], [3, 0, 3, 0], [21], [6, -6]]


def test_every_report_of_a_task_has_one_length_and_one_time() -> None:
    """Neither length nor time of a report tells an answer or its time."""
    one = task()
    reports = [report_of(one) for _ in range(3)]
    assert len({len(report.encode()) for report in reports}) == 1
    assert {report.report_metadata.time for report in reports} == {1_800_000_000 // 1_209_600}
    assert len({report.report_metadata.report_id for report in reports}) == 3


OTHER_TASKS: list[dict[str, Any]] = [
    {"info": b"another"},
    {"leader_url": "https://else.example/"},
    {"helper_url": "https://else.example/"},
    {"opening": 1_700_000_000},
    {"duration": 86_400},
    {"min_batch_size": 1},
    {"vdaf": configuration_of(prio3_survey([One(4)]))},
    {"terms": bytes(32)},
]


@pytest.mark.parametrize("changes", OTHER_TASKS, ids=lambda changes: next(iter(changes)))
def test_a_share_opens_for_its_task_alone(changes: dict[str, Any]) -> None:
    """A party with any other term than the device's cannot read its share."""
    one, other = task(), task(**changes)
    report = report_of(one)
    metadata = replace(report.report_metadata, time=other.time)
    sealed = report.leader_encrypted_input_share
    with pytest.raises(InvalidReport, match="cannot be decrypted"):
        other.open_share(Role.LEADER, LEADER, metadata, report.public_share, sealed)


def test_a_share_opens_for_its_report_and_role_alone() -> None:
    """Identifier, public share, role and time are bound to a share, and extensions refused."""
    one = task()
    report = report_of(one)
    metadata, public = report.report_metadata, report.public_share
    sealed = report.leader_encrypted_input_share
    wrong: list[tuple[Role, ReportMetadata, bytes]] = [
        (Role.HELPER, metadata, public),
        (Role.LEADER, replace(metadata, report_id=bytes(16)), public),
        (Role.LEADER, metadata, bytes(len(public))),
        (Role.LEADER, replace(metadata, time=metadata.time + 1), public),
        (Role.LEADER, replace(metadata, public_extensions=(Extension(1, b""),)), public),
    ]
    for role, sent, share in wrong:
        with pytest.raises(InvalidReport, match=r"cannot be decrypted|expected 1488 and none"):
            one.open_share(role, LEADER, sent, share, sealed)


def test_messages_of_the_check_are_not_exchanged() -> None:
    """The leader's message is no answer, and a changed answer is refused."""
    one = task()
    report, key = report_of(one), bytes(32)
    nonce, public = report.report_metadata.report_id, report.public_share
    shares = [
        one.open_share(role, party, report.report_metadata, public, sealed)
        for role, party, sealed in (
            (Role.LEADER, LEADER, report.leader_encrypted_input_share),
            (Role.HELPER, HELPER, report.helper_encrypted_input_share),
        )
    ]
    state, message = one.leader_init(key, nonce, public, shares[0])
    _, answer = one.helper_answer(key, nonce, public, shares[1], message)
    for changed in (message, answer[:-1] + bytes([answer[-1] ^ 1])):
        with pytest.raises(InvalidReport, match=r"type 0, expected 2|joint randomness"):
            one.leader_finish(state, changed)
    with pytest.raises(InvalidReport, match="type 2, expected 0"):
        one.helper_answer(key, nonce, public, shares[1], answer)


def test_a_sum_opens_for_its_role_and_request_alone() -> None:
    """The collector cannot take the leader's sum for the helper's, nor one of another request."""
    one, request = task(), CollectionJobReq(BatchSelector(2))
    total = [0] * one.vdaf.circuit.output_length
    sent = one.seal_aggregate(Role.HELPER, config_of(3, COLLECTOR), request, total)
    assert one.open_aggregate(Role.HELPER, COLLECTOR, request, sent) == total
    for role, other in ((Role.LEADER, request), (Role.HELPER, replace(request, agg_param=b"x"))):
        with pytest.raises(InvalidReport, match="cannot be decrypted"):
            one.open_aggregate(role, COLLECTOR, other, sent)


def test_what_does_not_fit_a_message_is_refused() -> None:
    """Too long, too short and too large parts, unknown suites and half terms are errors."""
    for wrong in (
        lambda: ReportMetadata(bytes(15), 0).encode(),
        lambda: ReportMetadata(bytes(16), 1 << 64).encode(),
        lambda: task(info=b""),
        lambda: task(info=bytes(256)),
        lambda: task(terms=b""),
        lambda: task(duration=0),
        lambda: task().report(
            ANSWERS, leader=HpkeConfig(1, 16, 1, 2, LEADER.public_key), helper=config_of(2, HELPER)
        ),
    ):
        with pytest.raises(ParameterError, match="expected"):
            wrong()
