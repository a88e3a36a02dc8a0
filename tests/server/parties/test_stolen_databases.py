"""One party's database, with all its keys, tells that people took part, and no answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2
from tests.server.parties.pairs import Pair
from tests.server.parties.test_hostile_parties import EvilLeader

from masquerade.aggregate import FIELD_128
from masquerade.aggregate.dap_messages import Role
from masquerade.errors import InvalidReport

#: Of each chi-square test; there are four in this module, on each kind of database.
FALSE_ALARM = 1e-7
PEOPLE, BINS = 60, 16


def uniform(values: list[int]) -> bool:
    """Return whether field elements are spread as uniform ones, by their highest and lowest bits.

    n = 60 people x 9 elements in 16 bins: 33.75 expected in each.
    """
    modulus = FIELD_128.modulus
    limit = float(chi2.isf(FALSE_ALARM, BINS - 1))
    for codes in ([value * BINS // modulus for value in values], [v % BINS for v in values]):
        counts = np.bincount(codes, minlength=BINS)
        expected = len(values) / BINS
        if float(((counts - expected) ** 2 / expected).sum()) > limit:
            return False
    return True


@pytest.mark.both_databases
def test_audit_shares_of_one_party_are_uniform_whatever_was_answered(pair: Pair) -> None:
    """All answer alike, and both the leader's and the helper's opened shares are pure chance."""
    record = pair.open()
    for _ in range(PEOPLE):
        pair.send(record, {"lunch": "soup", "mood": "5"})
    leader = EvilLeader(pair, record)
    vdaf, task = leader.split.task.vdaf, leader.split.task
    length = vdaf.circuit.measurement_length
    shares: dict[Role, list[list[int]]] = {Role.LEADER: [], Role.HELPER: []}
    helper_keys = pair.helper.transactions.read(lambda c: pair.helper.tasks.secrets(c, leader.id))
    for report in leader.reports:
        for role, key, sealed in (
            (Role.LEADER, leader.keys.leader, report.leader_encrypted_input_share),
            (Role.HELPER, helper_keys.key, report.helper_encrypted_input_share),
        ):
            opened = task.open_share(role, key, report.report_metadata, report.public_share, sealed)
            party = 0 if role is Role.LEADER else 1
            measurement, _, _ = vdaf._read_input_share(task.context, party, opened)
            assert len(measurement) == length
            shares[role].append(list(measurement))
    truth = record.survey.encoding.measurement({"lunch": "soup", "mood": "5"})
    for own, other in zip(*shares.values(), strict=True):
        # Together they are the answer: that is why no one may have both.
        assert FIELD_128.add(own, other) == vdaf.circuit.encode(truth)
    for role in shares:
        assert uniform([value for share in shares[role] for value in share])


@pytest.mark.both_databases
def test_neither_database_holds_a_share_that_its_party_did_not_need(pair: Pair) -> None:
    """The helper's has no report before a job, and the leader's key opens no helper's share."""
    record = pair.open()
    pair.crowd(record, 3)
    leader = EvilLeader(pair, record)
    with pair.helper.engine.begin() as connection:
        for table in ("helper_report", "helper_job", "split_report", "participation"):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar() == 0
    report = leader.reports[0]
    for key in (leader.keys.leader, leader.keys.collector):
        with pytest.raises(InvalidReport, match="cannot be decrypted"):
            leader.split.task.open_share(
                Role.HELPER,
                key,
                report.report_metadata,
                report.public_share,
                report.helper_encrypted_input_share,
            )
