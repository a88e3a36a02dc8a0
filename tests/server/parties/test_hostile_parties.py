"""Dishonest devices, leaders and helpers, and the refusal of each."""

from __future__ import annotations

import dataclasses
import secrets
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import httpx
import pytest
from tests.server.parties.pairs import LEADER, QUESTIONS, Pair, device_report
from tests.server.parties.test_two_parties import near

from masquerade.aggregate import BatchTally
from masquerade.aggregate.dap_messages import (
    AggregateShareReq,
    AggregationJobInitReq,
    AggregationJobResp,
    Report,
    ReportError,
    ReportShare,
    Role,
    VerifyInit,
)
from masquerade.errors import (
    AggregationRefused,
    BrokenPromise,
    NotFound,
    ParameterError,
    WrongState,
)
from masquerade.server.parties.helper_proposals import Proposal
from masquerade.server.parties.helper_tasks import HelperTask
from masquerade.server.parties.proposals import LeaderSecrets
from masquerade.server.parties.split_reports import reports_after
from masquerade.server.surveys.survey_records import SurveyRecord
from masquerade.surveys.split_task import COLLECTION, SplitTask

BATCH_MISMATCH, OVERLAP, TOO_SMALL = "batchMismatch", "batchOverlap", "invalidBatchSize"


class Liar:
    """A circuit that encodes every given value, as a dishonest device does."""

    def __init__(self, circuit: Any) -> None:
        self._circuit = circuit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._circuit, name)

    def encode(self, measurement: Sequence[int]) -> list[int]:
        """Return the vector as it is."""
        return [value % self._circuit.field.modulus for value in measurement]


def lie(split: SplitTask, vector: Sequence[int]) -> Report:
    """Return a sealed report of any vector, with the best proof that can be made of it."""
    vdaf = split.task.vdaf
    circuit: Any = Liar(vdaf.circuit)
    liar = dataclasses.replace(vdaf, circuit=circuit)
    shares = liar.shard(vector, context=split.task.context)
    return split.task.seal(shares, leader=split.terms.leader, helper=split.terms.helper)


class EvilLeader:
    """A leader that asks its helper for anything."""

    def __init__(self, pair: Pair, record: SurveyRecord) -> None:
        self.helper = pair.helper.aggregation
        self.split, self.keys = pair.leader.transactions.read(
            lambda c: pair.leader.participations.rules.split_reports.task(c, record.token)
        )
        self.id = self.split.task.id.hex()
        found = pair.leader.transactions.read(
            lambda c: list(reports_after(c, record.token, "", most=1000))
        )
        self.reports = [report for _, report in found]

    def body(self, reports: Sequence[Report], **other: Any) -> bytes:
        """Return a job of these reports."""
        keys: LeaderSecrets = self.keys
        verify_key = self.split.task.verification_key(keys.seed)
        inits = []
        for report in reports:
            share = self.split.task.open_share(
                Role.LEADER,
                keys.leader,
                report.report_metadata,
                report.public_share,
                report.leader_encrypted_input_share,
            )
            _, message = self.split.task.leader_init(
                verify_key, report.report_metadata.report_id, report.public_share, share
            )
            part = ReportShare(
                report.report_metadata, report.public_share, report.helper_encrypted_input_share
            )
            inits.append(VerifyInit(part, message))
        fields = {
            "verification_key_id": 0,
            "agg_param": b"",
            "extensions": (self.split.batch_extension,),
            "verify_inits": tuple(inits),
        }
        return AggregationJobInitReq(**{**fields, **other}).encode()

    def check(self, reports: Sequence[Report], **other: Any) -> list[ReportError | None]:
        """Send a job; return why each report was refused."""
        return self.send(self.body(reports, **other))

    def send(self, body: bytes) -> list[ReportError | None]:
        """Send the body of a job; return why each report was refused."""
        _, answer = self.helper.check(self.id, body)
        return [one.report_error for one in AggregationJobResp.decode(answer).verify_resps]

    def collect(self, reports: Sequence[Report], **other: Any) -> bytes:
        """Ask for the sum of these reports."""
        tally = BatchTally.of(one.report_metadata.report_id for one in reports)
        fields = {
            "collection_job_req": COLLECTION,
            "batch_selector": self.split.batch_selector,
            "report_count": tally.count,
            "checksum": tally.checksum,
        }
        return self.helper.collect(self.id, AggregateShareReq(**{**fields, **other}).encode())


def refusal(kind: str) -> Any:
    """Expect the helper to refuse, and why."""
    return pytest.raises(AggregationRefused, check=lambda error: error.kind == kind)


HONEST = [1, 0, 0, 0, 0, 0, 1, 0, 0]
FORGED = (
    [1, 1, 0, 0, 0, 0, 1, 0, 0],
    [0, 0, 0, 0, 0, 0, 1, 0, 0],
    [2, -1, 0, 0, 0, 0, 1, 0, 0],
    [50, 0, 0, 0, 0, 0, 1, 0, 0],
    [-1, 1, 1, 0, 0, 0, 1, 0, 0],
    [1, 0, 0, 0, 0, 0, 1, 1, 1],
)


@pytest.mark.both_databases
def test_forged_answers_are_refused_and_counted(pair: Pair) -> None:
    """Two answers, none, minus one, fifty votes: all are refused, and no sum changes."""
    record = pair.open(rho="1.4")
    pair.crowd(record, 9)
    split = _split(pair, record)
    for vector in FORGED:
        pair.send(record, {"lunch": "soup", "mood": None}, change=partial(_instead, split, vector))
    assert lie(split, HONEST).public_share
    pair.close(record)
    assert pair.leader.aggregation.run() == 1
    result = pair.result(record)
    assert (result["responses"], result["refused"]) == (9, len(FORGED))
    assert near(pair, record.token, [[3, 3, 3], [0, 0, 0, 9, 0, 0]])


@pytest.mark.both_databases
def test_a_report_is_checked_once(pair: Pair) -> None:
    """A report in two jobs counts once: the helper's second answer is that it was replayed."""
    record = pair.open()
    pair.crowd(record, 5)
    leader = EvilLeader(pair, record)
    assert leader.check(leader.reports[:3]) == [None] * 3
    replayed = ReportError.REPORT_REPLAYED
    assert leader.check(leader.reports[2:]) == [replayed, None, None]
    # In another order they are another job.
    assert leader.check(leader.reports[::-1]) == [replayed] * 5
    assert leader.collect(leader.reports)


def test_a_refused_report_is_not_checked_again(sqlite_pair: Pair) -> None:
    """A leader that changes a report and tries again learns nothing more: its id is spent."""
    record = sqlite_pair.open()
    sqlite_pair.crowd(record, 4)
    leader = EvilLeader(sqlite_pair, record)
    body = AggregationJobInitReq.decode(leader.body(leader.reports[:1]))
    [good] = body.verify_inits
    bad = dataclasses.replace(good, payload=good.payload[:-1] + bytes([good.payload[-1] ^ 1]))
    wrong = dataclasses.replace(body, verify_inits=(bad,)).encode()
    assert leader.send(wrong) == [ReportError.VDAF_VERIFY_ERROR]
    assert leader.check(leader.reports[:1]) == [ReportError.REPORT_REPLAYED]


def test_the_same_job_gives_the_same_bytes_and_counts_once(sqlite_pair: Pair) -> None:
    """Duplicated jobs are answered from the stored answer, in any order."""
    record = sqlite_pair.open()
    sqlite_pair.crowd(record, 6)
    leader = EvilLeader(sqlite_pair, record)
    second, first = leader.body(leader.reports[3:]), leader.body(leader.reports[:3])
    answers = [leader.helper.check(leader.id, body) for body in (second, first, second, first)]
    assert answers[:2] == answers[2:]
    assert leader.collect(leader.reports)


@pytest.mark.both_databases
def test_asking_twice_with_one_report_removed_gives_nothing_new(pair: Pair) -> None:
    """The difference of two sums would be one person's answers: there is one sum."""
    record = pair.open()
    pair.crowd(record, 6)
    leader = EvilLeader(pair, record)
    leader.check(leader.reports[:5])
    first = leader.collect(leader.reports[:5])
    assert leader.collect(leader.reports[:5]) == first
    with refusal(OVERLAP):
        leader.check(leader.reports[5:])
    with refusal(OVERLAP):
        leader.check(leader.reports[:5])
    with refusal(OVERLAP):
        leader.collect(leader.reports)
    with refusal(OVERLAP):
        leader.collect(leader.reports[:4])
    assert pair.helper.tasks.standing(leader.id)["seed"] is None


def test_a_sum_of_other_reports_is_not_given(sqlite_pair: Pair) -> None:
    """Both have to agree on the set, and it has to be large enough."""
    record = sqlite_pair.open(minimum=5)
    sqlite_pair.crowd(record, 6)
    leader = EvilLeader(sqlite_pair, record)
    with refusal(BATCH_MISMATCH):
        leader.collect(leader.reports)
    leader.check(leader.reports[:4])
    with refusal(BATCH_MISMATCH):
        leader.collect(leader.reports[1:5])
    with refusal(TOO_SMALL):
        leader.collect(leader.reports[:4])
    leader.check(leader.reports[4:])
    with refusal(BATCH_MISMATCH):
        leader.collect(leader.reports, report_count=5)
    other = dataclasses.replace(leader.split.batch_selector, config=bytes(32))
    with refusal("batchInvalid"):
        leader.collect(leader.reports, batch_selector=other)
    assert leader.collect(leader.reports)


@pytest.mark.both_databases
def test_withdrawn_reports_are_refused_whoever_sends_them(pair: Pair) -> None:
    """A leader that keeps a withdrawn report cannot add it up once the helper was told."""
    record = pair.open()
    pair.crowd(record, 5)
    leader = EvilLeader(pair, record)
    gone = leader.reports[0].report_metadata.report_id
    assert leader.helper.withdraw(leader.id, [gone]) == 0
    assert leader.helper.withdraw(leader.id, [gone]) == 0
    refused = [ReportError.REPORT_REPLAYED, *[None] * 4]
    assert leader.check(leader.reports) == refused
    # Too late: it is in the sum, and the helper says so.
    added = leader.reports[1].report_metadata.report_id
    assert leader.helper.withdraw(leader.id, [added]) == 1


@pytest.mark.both_databases
def test_a_withdrawal_gives_no_second_sum(pair: Pair) -> None:
    """With and without one person's report: before the sum only the first, after it neither."""
    record = pair.open()
    pair.crowd(record, 6)
    leader = EvilLeader(pair, record)
    leader.check(leader.reports)
    gone, rest = leader.reports[0], leader.reports[1:]
    # It was added up before it was taken back: there is a sum with it, or none.
    assert leader.helper.withdraw(leader.id, [gone.report_metadata.report_id]) == 1
    with refusal(BATCH_MISMATCH):
        leader.collect(rest)
    first = leader.collect(leader.reports)
    with refusal(OVERLAP):
        leader.helper.withdraw(leader.id, [gone.report_metadata.report_id])
    with refusal(OVERLAP):
        leader.collect(rest)
    assert leader.collect(leader.reports) == first


def test_malformed_jobs_are_refused_whole(sqlite_pair: Pair) -> None:
    """An id twice, no report, another batch, key or parameter, or bytes that are none."""
    record = sqlite_pair.open()
    sqlite_pair.crowd(record, 3)
    leader = EvilLeader(sqlite_pair, record)
    one = leader.reports[0]
    other = dataclasses.replace(leader.split.batch_extension, extension_data=bytes(32))
    wrong = (
        leader.body([one, one]),
        leader.body([]),
        leader.body([one], extensions=()),
        leader.body([one], extensions=(other,)),
        leader.body([one], verification_key_id=1),
        leader.body([one], agg_param=b"x"),
        leader.body([one])[:-1],
        b"",
    )
    for body in wrong:
        with refusal("invalidMessage"):
            leader.send(body)
    assert leader.check([one]) == [None]


def test_shares_of_another_task_time_or_key_are_refused(sqlite_pair: Pair) -> None:
    """A report sealed under other terms does not open, and its id is spent."""
    record, other = sqlite_pair.open(), sqlite_pair.open(rho="8", title="Other")
    sqlite_pair.crowd(record, 4)
    leader = EvilLeader(sqlite_pair, record)
    foreign = device_report(
        sqlite_pair.leader.surveys.frozen(other.token)[0].approval,
        other.survey.text(),
        {"lunch": "soup", "mood": "1"},
    )
    template = AggregationJobInitReq.decode(leader.body(leader.reports))
    inits = list(template.verify_inits)
    share = inits[0].report_share
    changed = (
        dataclasses.replace(share, encrypted_input_share=foreign.helper_encrypted_input_share),
        dataclasses.replace(
            inits[1].report_share,
            report_metadata=dataclasses.replace(inits[1].report_share.report_metadata, time=1),
        ),
        dataclasses.replace(
            inits[2].report_share,
            encrypted_input_share=dataclasses.replace(
                inits[2].report_share.encrypted_input_share, config_id=1
            ),
        ),
        dataclasses.replace(inits[3].report_share, public_share=bytes(64)),
    )
    job = dataclasses.replace(
        template,
        verify_inits=tuple(
            dataclasses.replace(init, report_share=part)
            for init, part in zip(inits, changed, strict=True)
        ),
    )
    assert leader.send(job.encode()) == [
        ReportError.HPKE_DECRYPT_ERROR,
        ReportError.INVALID_MESSAGE,
        ReportError.HPKE_UNKNOWN_CONFIG_ID,
        ReportError.HPKE_DECRYPT_ERROR,
    ]
    assert leader.check(leader.reports) == [ReportError.REPORT_REPLAYED] * 4


def test_a_leader_that_changes_the_terms_is_found_out_by_the_device(sqlite_pair: Pair) -> None:
    """Other noise, questions, tables, minimum, helper or key than approved: nothing is sent."""
    record = sqlite_pair.open()
    other = sqlite_pair.open(title="Other")
    frozen, foreign = (sqlite_pair.leader.surveys.frozen(one.token)[0] for one in (record, other))
    right = frozen.approval
    assert right is not None
    assert foreign.approval is not None
    answers = {"lunch": "soup", "mood": "1"}
    assert device_report(right, frozen.text, answers)
    texts = [
        sqlite_pair.define(rho="8").text(),
        sqlite_pair.define(minimum=2).text(),
        sqlite_pair.define(bins=10).text(),
        sqlite_pair.define(cross=(("lunch", "mood"),)).text(),
        sqlite_pair.define(questions=QUESTIONS[::-1]).text(),
        foreign.text,
    ]
    for text in texts:
        with pytest.raises(BrokenPromise):
            device_report(right, text, answers)
    noisy = right["terms"].replace('"noise":["', '"noise":["1')
    swapped = {
        "terms": (noisy, foreign.approval["terms"]),
        "configuration": (foreign.approval["configuration"], right["configuration"] + "00", ""),
        "signature": (foreign.approval["signature"], "00" * 64, ""),
        "public_key": ("04" + "00" * 64, right["public_key"][:-2] + "00"),
    }
    for name, values in swapped.items():
        for value in values:
            with pytest.raises(BrokenPromise):
                device_report({**right, name: value}, frozen.text, answers)


def test_a_helper_is_known_by_its_key(sqlite_pair: Pair) -> None:
    """Another fingerprint than its operator gave is refused when it is entered."""
    with pytest.raises(BrokenPromise, match="fingerprint"):
        sqlite_pair.leader.helpers.add(
            sqlite_pair.team,
            address=sqlite_pair.address,
            token=sqlite_pair.token,
            fingerprint="0" * 32,
        )
    with pytest.raises(ParameterError, match="32 digits"):
        sqlite_pair.leader.helpers.add(
            sqlite_pair.team, address=sqlite_pair.address, token="x", fingerprint="no"
        )
    assert sqlite_pair.leader.helpers.list(sqlite_pair.team) == []


def test_a_helper_that_answers_wrongly_ends_the_survey(
    sqlite_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answers for other reports, in another order or with another check are not added up."""
    record = sqlite_pair.open()
    sqlite_pair.crowd(record, 4)
    sqlite_pair.close(record)
    from masquerade.server.parties.helper_client import HelperClient

    real = HelperClient.check

    def reordered(self: HelperClient, task: str, body: bytes) -> bytes:
        responses = AggregationJobResp.decode(real(self, task, body)).verify_resps
        return AggregationJobResp(responses[::-1]).encode()

    monkeypatch.setattr(HelperClient, "check", reordered)
    assert sqlite_pair.leader.aggregation.run() == 1
    with pytest.raises(WrongState, match="other reports"):
        sqlite_pair.result(record)


def test_a_task_that_was_not_approved_is_not_answered(sqlite_pair: Pair) -> None:
    """Neither jobs nor sums, nor the seed of the verification key."""
    survey, token = sqlite_pair.define(), secrets.token_hex(8)
    sqlite_pair.add_helper()
    asked = sqlite_pair.ask(survey, token)
    helper = sqlite_pair.helper
    assert helper.tasks.standing(asked["task"])["seed"] is None
    for call in (helper.aggregation.check, helper.aggregation.collect):
        with refusal("unrecognizedTask"):
            call(asked["task"], b"")


@pytest.mark.both_databases
def test_the_people_of_a_survey_are_in_one_sum(pair: Pair) -> None:
    """A leader that has its survey approved twice has one task, and none once reports were seen."""
    record = pair.open()
    pair.crowd(record, 4)
    evil = EvilLeader(pair, record)
    tasks, text = pair.helper.tasks, pair.leader.surveys.frozen(record.token)[0].text
    first = tasks.task(evil.id)

    def again(token: str) -> HelperTask:
        expires = first.split.terms.expires + secrets.randbelow(1000)
        keys = first.split.terms.leader, first.split.terms.collector
        proposal = Proposal(text, token, LEADER, 40, int(time.time()), expires, *keys)
        assert first.leader is not None
        return tasks.propose(proposal, first.leader)

    second = again(record.token)
    tasks.decide(second.id, approve=True)
    with pytest.raises(NotFound):
        tasks.approval(first.id)
    with refusal("unrecognizedTask"):
        evil.check(evil.reports)
    assert tasks.approval(second.id)
    assert tasks.is_replaced(tasks.task(first.id))
    assert not tasks.is_replaced(tasks.task(second.id))
    third = again(record.token)
    assert tasks.copies(third) == []
    pair.helper.aggregation.withdraw(second.id, [bytes(16)])
    with pytest.raises(WrongState, match="some of the people alone"):
        tasks.decide(third.id, approve=True)
    assert tasks.approval(second.id)
    assert len(tasks.copies(again(secrets.token_hex(8)))) == 1


def test_the_operator_is_told_that_the_same_was_approved_before(sqlite_pair: Pair) -> None:
    """A leader that opens one survey twice, to ask two groups apart, is seen on the page."""
    survey = sqlite_pair.define()
    sqlite_pair.open(survey)
    with httpx.Client(base_url=sqlite_pair.address, trust_env=False, follow_redirects=True) as page:
        before = page.get(sqlite_pair.helper.sessions.new_link()).text
        sqlite_pair.ask(survey, secrets.token_hex(8))
        assert "nearly the same before" not in before
        assert "nearly the same before" in page.get("/").text


def _instead(split: SplitTask, vector: Sequence[int], _honest: Report) -> Report:
    return lie(split, vector)


def _split(pair: Pair, record: SurveyRecord) -> SplitTask:
    split = pair.leader.surveys.frozen(record.token)[0].split
    assert split is not None
    return split
