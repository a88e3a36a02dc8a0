"""What a response between two parties costs: its device, both parties, and bytes on the wire.

Run with ``python benchmarks/two_parties.py``. The device's part is measured in Node.js where it is
installed. Each figure is processor time, the best of a few runs. The draft's own reference (Python,
whole polynomials, no encryption) took 10 ms to split a response of 60 bits and 5 ms to check it on
a machine of two shared cores; 22 and 12 ms on a slower one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from card import Cards, sized
from masquerade.aggregate import One, prio3_survey
from masquerade.aggregate.dap import Task, config_of, task_configuration
from masquerade.aggregate.dap_messages import Report, Role
from masquerade.aggregate.hpke import HpkeKey
from masquerade.aggregate.vdaf_configuration import configuration_of

CARDS = Cards(__file__)
DEVICE = Path(__file__).with_name("two_parties_device.mjs")
REPORTS = sized(20, 100)
RUNS = sized(25, 50)
COLD_STARTS = 5
DRAFT = "the draft's reference: {} ms for 60 bits, in Python and without encryption"


def main() -> None:
    """Measure surveys of 60 and of 210 bits, and print."""
    for questions, symbols, parties, wire in ((10, 6, 1.0, 1_900), (30, 7, 2.0, 4_700)):
        what = f"{questions} questions of {symbols} symbols"
        device(what, questions, symbols, wire)
        both_parties(what, questions, symbols, parties)


def device(what: str, questions: int, symbols: int, wire: int) -> None:
    """Print what a device takes for one response."""
    node = shutil.which("node")
    if node is None:
        print(f"{what}: no Node.js here, so the device is not measured")
        return
    command = [node, str(DEVICE), str(questions), str(symbols), str(RUNS)]
    starts = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(COLD_STARTS)
    ]
    least = {name: min(start[name] for start in starts) for name in starts[0]}
    # the goals are for the smaller survey; the larger is told beside it
    small = questions == 10
    note = DRAFT.format(10) if small else ""
    first = f"device, {what}"
    CARDS.add(f"{first}: splitting", least["warm"], "ms", at_most=1 if small else None, note=note)
    CARDS.add(
        f"{first}: reading the code and splitting once",
        least["cold"],
        "ms",
        at_most=60,
    )
    CARDS.add(f"{first}: sealing two shares", least["seals"], "ms", at_most=3)
    CARDS.add(f"{first}: sealed report", least["bytes"], "bytes", at_most=wire)


def both_parties(what: str, questions: int, symbols: int, most: float) -> None:
    """Print what both parties take for one report, from its bytes to two output shares."""
    blocks = [One(symbols)] * questions
    task = Task(
        task_configuration(
            info=bytes(16),
            leader_url="https://leader.example/",
            helper_url="https://helper.example/",
            opening=1_800_000_000,
            duration=1_209_600,
            min_batch_size=20,
            vdaf=configuration_of(prio3_survey(blocks)),
            terms=bytes(32),
        )
    )
    leader, helper = HpkeKey.generate(), HpkeKey.generate()
    configs = config_of(1, leader), config_of(2, helper)
    measurement = [place % symbols for place in range(questions)]
    sent = [
        task.report(measurement, leader=configs[0], helper=configs[1]).encode()
        for _ in range(REPORTS)
    ]
    verify_key = task.verification_key(bytes(32))

    def opened(report: Report) -> tuple[bytes, bytes]:
        metadata, public = report.report_metadata, report.public_share
        return (
            task.open_share(
                Role.LEADER, leader, metadata, public, report.leader_encrypted_input_share
            ),
            task.open_share(
                Role.HELPER, helper, metadata, public, report.helper_encrypted_input_share
            ),
        )

    def checked(report: Report, shares: tuple[bytes, bytes]) -> tuple[int, ...]:
        nonce, public = report.report_metadata.report_id, report.public_share
        state, message = task.leader_init(verify_key, nonce, public, shares[0])
        _, answer = task.helper_answer(verify_key, nonce, public, shares[1], message)
        return task.leader_finish(state, answer)

    reports = [Report.decode(data) for data in sent]
    shares = [opened(report) for report in reports]
    alone = best(lambda: [checked(*pair) for pair in zip(reports, shares, strict=True)])
    whole = best(lambda: [checked(one, opened(one)) for one in map(Report.decode, sent)])
    note = DRAFT.format(5) if questions == 10 else ""
    CARDS.add(f"both parties, {what}: checking", alone, "ms", note=note)
    CARDS.add(f"both parties, {what}: opening and checking", whole, "ms", at_most=most)


def best(work: Callable[[], object]) -> float:
    """Return the least processor time for one report, in milliseconds."""
    least = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start)
    return 1000 * least / REPORTS


if __name__ == "__main__":
    main()
