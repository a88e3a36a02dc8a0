"""Sealed reports of a device, read by both parties in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.aggregate.test_device_vectors import parameters

from masquerade.aggregate import One, Some, Vector, Whole, prio3_survey
from masquerade.aggregate.dap import Task, config_of, task_configuration
from masquerade.aggregate.dap_messages import Report, Role
from masquerade.aggregate.hpke import HpkeKey, Kem
from masquerade.aggregate.vdaf_configuration import configuration_of

BLOCKS = [One(4), Some(3, 2), Some(2), Whole(9), Vector(2, 5), Vector(1, 3, ball=False), One(12)]
MEASUREMENTS = [
    [3, [True, False, True], [False, True], 9, [3, -4], [-3], 0],
    [0, [False, False, False], [True, True], 0, [0, 0], [3], 11],
    [1, [False, True, False], [False, False], 5, [-5, 0], [0], 7],
]
SUMS = [
    *([1, 1, 0, 1], [1, 1, 1], [1, 2], [14], [-2, -4], [0]),
    [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1],
]
Seal = Callable[[dict[str, Any]], dict[str, Any]]
"""What `sealedReports` of tests/web/aggregate/device.mjs does."""


def reports_add_up(kem: Kem, seal: Seal) -> None:
    """Seal the measurements on a device; open, check and add them up as two parties."""
    terms: dict[str, Any] = {
        "info": b"a survey",
        "leader_url": "https://leader.example/",
        "helper_url": "https://helper.example/",
        "opening": 1_800_000_000,
        "duration": 1_209_600,
        "min_batch_size": 2,
        "terms": bytes(range(32)),
    }
    task = Task(task_configuration(vdaf=configuration_of(prio3_survey(BLOCKS)), **terms))
    leader, helper = HpkeKey.generate(kem), HpkeKey.generate(kem)
    sealed = seal(
        {
            "survey": {
                "blocks": [[type(block).__name__, *parameters(block)] for block in BLOCKS],
                "terms": {k: v.hex() if isinstance(v, bytes) else v for k, v in terms.items()},
            },
            "keys": {
                "leader": config_of(1, leader).encode().hex(),
                "helper": config_of(2, helper).encode().hex(),
            },
            "measurements": MEASUREMENTS,
        }
    )
    assert sealed["task"] == task.id.hex()
    key = task.verification_key(bytes(32))
    sums: list[list[tuple[int, ...]]] = [[], []]
    for text in sealed["reports"]:
        report = Report.decode(bytes.fromhex(text))
        metadata, public = report.report_metadata, report.public_share
        first, second = (
            task.open_share(role, own, metadata, public, share)
            for role, own, share in (
                (Role.LEADER, leader, report.leader_encrypted_input_share),
                (Role.HELPER, helper, report.helper_encrypted_input_share),
            )
        )
        state, message = task.leader_init(key, metadata.report_id, public, first)
        output, answer = task.helper_answer(key, metadata.report_id, public, second, message)
        sums[0].append(task.leader_finish(state, answer))
        sums[1].append(output)
    vdaf = task.vdaf
    assert vdaf.unshard([vdaf.aggregate(each) for each in sums], count=len(MEASUREMENTS)) == SUMS
    assert len({len(text) for text in sealed["reports"]}) == 1
