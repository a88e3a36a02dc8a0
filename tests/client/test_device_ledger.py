"""A device's spending by its own account, for all that servers forget or say."""

from __future__ import annotations

import copy
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.client.honest_server import PLAIN, honest
from tests.client.liar import TABLE, URL, Liar
from tests.client.lies import problem

from masquerade.accounting import Caps, Cost, Ledger, MemoryStorage
from masquerade.client import Client, DeviceLedger
from masquerade.client.device_ledger import LedgerFile
from masquerade.errors import (
    AlreadyParticipated,
    BrokenChain,
    ClearDisclosureRefused,
    ConfirmationNeeded,
    InsufficientBudget,
    MasqueradeError,
    ParameterError,
    UnreadableFile,
    WrongState,
)
from masquerade.exact import Micro
from masquerade.mechanisms import parse_mechanism
from masquerade.surveys.offered_levels import OfferedLevel

YES = {f"q{n}": "Yes" for n in range(20)}
NO = {f"q{n}": "No" for n in range(20)}
SMALL = replace(
    PLAIN,
    questions=PLAIN.questions[:4],
    levels=tuple(OfferedLevel(one.name, one.mechanisms[:4]) for one in PLAIN.levels),
)
FOUR = {f"q{n}": "Yes" for n in range(4)}
HIGH = SMALL.level("high").mechanisms
NOISE = [parse_mechanism("discrete-gaussian:low=0,high=10,step=1,sigma=20")] * 3


class Forgetful(httpx.BaseTransport):
    """Holds any number of surveys, and knows nobody's account."""

    def __init__(self) -> None:
        self.surveys: dict[str, Liar] = {}

    @property
    def responses(self) -> int:
        """How many it was sent."""
        return sum(len(one.reports) for one in self.surveys.values())

    def survey(self, number: int) -> str:
        """Return the token of one more survey."""
        token = f"{number:016x}"
        self.surveys[token] = Liar(
            {"steps": honest(SMALL, token, "high"), "token": token, "level": "high"}
        )
        return token

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer for the survey that was looked at, or reserved, last."""
        body = json.loads(request.read() or b"{}")
        path = request.url.path
        if "/surveys/" in path:
            self.last = path.split("/")[-2]
        self.last = body.get("survey", self.last)
        return self.surveys[self.last].handle_request(request)


def fitting(cost: Cost) -> int:
    """Return how many equal responses the library's own ledger admits."""
    ledger = Ledger(MemoryStorage(), clock=lambda: "2026-03-14")
    for count in range(1000):
        try:
            ledger.charge("p", str(count), cost)
        except InsufficientBudget:
            return count
    raise AssertionError("no cap is there")


def test_a_server_that_forgets_gets_no_more_than_fits(tmp_path: Path) -> None:
    """Of 40 surveys of a server that charges nothing, as many are answered as the caps admit."""
    server = Forgetful()
    refused = 0
    with Client(URL, home=tmp_path, attempts=1, transport=server) as me:
        for number in range(40):
            try:
                me.begin(server.survey(number), "high").answer(FOUR)
            except InsufficientBudget:
                refused += 1
        fits = fitting(Cost.of("", HIGH))
        assert fits == 7
        assert (server.responses, refused) == (fits, 40 - fits)
        balance = me.device.balance()
        assert balance.within_caps
        assert me.me()["open_reservations"] == 0


def test_servers_share_what_fits(tmp_path: Path) -> None:
    """Five servers that know nothing of each other get together as much as one would."""
    servers = [(f"https://server{n}.example", Forgetful()) for n in range(5)]
    for number in range(40):
        url, server = servers[number % 5]
        with Client(url, home=tmp_path, attempts=1, transport=server) as me:
            try:
                me.begin(server.survey(number), "high").answer(FOUR)
            except InsufficientBudget:
                continue
    fits = fitting(Cost.of("", HIGH))
    assert sum(server.responses for _, server in servers) == fits
    device = DeviceLedger(tmp_path)
    spent = device.account()["everywhere"]
    assert spent["servers"] == 5
    for url, server in servers:
        here = device.account(url)
        assert 0 < here["battery"]["epsilon_spent"] < spent["epsilon_spent"]
        assert (
            len([e for e in device.entries(url) if e.charge.kind == "commit"]) == server.responses
        )
    assert spent["epsilon_spent"] <= 10


def test_a_new_identity_has_no_new_account(tmp_path: Path) -> None:
    """A second secret on the same device draws on the amount that the first left."""
    from masquerade.client import Identity

    server = Forgetful()
    for number in range(20):
        me = Client(URL, Identity.create(), tmp_path, attempts=1, transport=server)
        try:
            me.begin(server.survey(number), "high").answer(FOUR)
        except InsufficientBudget:
            continue
    assert server.responses == fitting(Cost.of("", HIGH))


@pytest.mark.parametrize("step", ["seal", "send", "withdraw", "abandon", "open", "reserve"])
def test_expired_a_hundred_times_draws_nothing_anew(tmp_path: Path, step: str) -> None:
    """After the reports were sent, "expired" at any step brings the same reports or none."""
    server = Liar(copy.deepcopy(TABLE["surveys"]["plain"]))
    token = server.survey["token"]
    with Client(URL, home=tmp_path, attempts=1, transport=server) as me:
        first = me.begin(token, "high").answer(YES).reports
        server.lies = {step: problem("wrong-state", state="expired")}
        for _ in range(100):
            part = me.participation(token)
            for attempt in (
                part.withdraw,
                part.abandon,
                part.send,
                lambda: me.begin(token, "high").answer(NO),
            ):
                try:
                    attempt()
                except MasqueradeError:
                    continue
        assert len(set(server.commitments)) == 1
        assert {tuple(reports) for reports in server.reports} == {
            tuple(one.report for one in first)
        }
        assert [entry["kind"] for entry in me.ledger()].count("commit") == 1


def test_a_record_that_is_gone_is_no_new_beginning(tmp_path: Path) -> None:
    """Where records are deleted the ledger still knows the surveys that were opened here."""
    server = Liar(copy.deepcopy(TABLE["surveys"]["plain"]))
    token = server.survey["token"]
    with Client(URL, home=tmp_path, attempts=1, transport=server) as me:
        me.begin(token, "high").answer(YES)
        for path in tmp_path.rglob(f"{token}.json"):
            path.unlink()
        with pytest.raises(AlreadyParticipated, match="opened on this device before"):
            me.begin(token, "high")
    assert len(server.commitments) == 1


def test_what_a_crash_left_reserved_is_given_back(tmp_path: Path) -> None:
    """A reservation without its record does not count for ever."""
    server = Liar(copy.deepcopy(TABLE["surveys"]["plain"]))
    token = server.survey["token"]
    with Client(URL, home=tmp_path, attempts=1, transport=server) as me:
        me.begin(token, "high")
        for path in tmp_path.rglob(f"{token}.json"):
            path.unlink()
        assert me.me()["open_reservations"] == 1
        part = me.begin(token, "high")
        assert me.me()["open_reservations"] == 1
        part.answer(YES)
        assert me.me()["open_reservations"] == 0


def test_caps_of_a_device(tmp_path: Path) -> None:
    """They fall at once, rise only with a confirmation, and hold on a server only downwards."""
    device = DeviceLedger(tmp_path, clock=lambda: "2026-03-14")
    assert device.caps() == Caps()
    assert device.set_caps(epsilon=4).epsilon == Micro(4_000_000)
    for raised in ({"epsilon": 5.0}, {"delta": 0.5}, {"clear": 1}):
        with pytest.raises(ConfirmationNeeded):
            device.set_caps(**raised)
    assert device.set_caps(clear=2, confirm=True).clear == 2
    assert device.set_caps(server=URL, epsilon=1).epsilon == Micro(1_000_000)
    assert device.caps().epsilon == Micro(4_000_000)
    assert device.set_caps(server=URL, epsilon=9, confirm=True).epsilon == Micro(4_000_000)
    assert device.caps().delta == Fraction(1, 10**6)
    device.set_caps(server=URL, epsilon=0.1)
    with pytest.raises(ParameterError, match="epsilon is -1, expected a number of at least 0"):
        device.set_caps(epsilon=-1)
    cost = Cost.of("s", HIGH)
    with pytest.raises(InsufficientBudget):
        device.reserve(URL, "a:1", cost)
    assert device.balance().open == 0
    device.reserve("https://other.example", "a:2", cost)
    assert device.balance().open == 1


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": math.nan},
        {"epsilon": math.inf},
        {"epsilon": -1.0},
        {"delta": math.nan},
        {"delta": 1.0},
        {"clear": -1},
    ],
)
def test_a_cap_that_is_no_amount(tmp_path: Path, given: dict[str, Any]) -> None:
    """It is refused by its name, and the caps stay."""
    device = DeviceLedger(tmp_path)
    with pytest.raises(ParameterError, match=f"^{next(iter(given))} is "):
        device.set_caps(**given, confirm=True)
    assert device.caps() == Caps()


def test_clear_answers_count_on_the_device(tmp_path: Path) -> None:
    """None goes by default, and as many as its owner allows."""
    device = DeviceLedger(tmp_path)
    clear = Cost.of("s", [parse_mechanism("randomized-response:options=2,flip_probability=0")])
    with pytest.raises(ClearDisclosureRefused, match="your device allows 0"):
        device.reserve(URL, "a:1", clear)
    device.set_caps(clear=1, confirm=True)
    device.reserve(URL, "a:2", clear)
    device.commit(URL, "a:2")
    with pytest.raises(ClearDisclosureRefused):
        device.reserve(URL, "a:3", clear)
    assert device.account(URL)["battery"]["clear"] == 1


@pytest.mark.parametrize("mechanisms", [HIGH, NOISE])
def test_the_file_holds_what_the_memory_would(tmp_path: Path, mechanisms: Any) -> None:
    """Entries, balances and amounts are those of the library's ledger, to the last hash."""
    costs = [Cost.of(f"s{n}", mechanisms) for n in range(3)]
    ledgers = [
        Ledger(storage, clock=lambda: "2026-03-14")
        for storage in (MemoryStorage(), LedgerFile(tmp_path / "ledger.json"))
    ]
    for ledger in ledgers:
        for number, cost in enumerate(costs):
            ledger.reserve("p", str(number), cost)
            ledger.commit("p", str(number))
        ledger.reserve("q", "0", costs[0])
        ledger.release("q", "0")
        ledger.reserve("q", "1", costs[0])
        ledger.raise_caps("p", Caps(Micro(20_000_000), clear=3))
    memory, kept = ledgers
    for person in ("p", "q"):
        assert memory.entries(person) == kept.entries(person)
        assert memory.balance(person) == kept.balance(person)
        assert memory.explain(person) == kept.explain(person)
    assert memory.verify() == kept.verify()
    assert memory.statistics() == kept.statistics()
    assert memory.expire("2026-03-15") == kept.expire("2026-03-15") == 1


def test_a_ledger_that_was_changed_answers_nothing(tmp_path: Path) -> None:
    """Cut, emptied of an entry, or with a lower amount: nothing is answered until it is whole.

    So it is where the account of all servers alone is cut at its end, or is gone.
    """
    device = DeviceLedger(tmp_path)
    for number in range(3):
        device.reserve(URL, f"a:{number}", Cost.of(f"s{number}", HIGH))
        device.commit(URL, f"a:{number}")
    path = tmp_path / "ledger.json"
    whole = path.read_text()
    held = json.loads(whole)
    cheaper = copy.deepcopy(held)
    for cost in cheaper["costs"].values():
        cost["pure"] = 1
    fewer = copy.deepcopy(held)
    del fewer["chains"]["everywhere"][1]
    shorter, gone = copy.deepcopy(held), copy.deepcopy(held)
    del shorter["chains"]["everywhere"][-1]
    del gone["chains"]["everywhere"]
    changed = [json.dumps(one) for one in (cheaper, fewer, shorter, gone)]
    for text in (whole[:-20], *changed, "[]", "{}"):
        path.write_text(text)
        with pytest.raises((UnreadableFile, BrokenChain)):
            device.reserve(URL, "a:9", Cost.of("s9", HIGH))
    path.write_text(whole)
    device.reserve(URL, "a:9", Cost.of("s9", HIGH))


def test_what_is_sent_does_not_tell_the_ledger(tmp_path: Path) -> None:
    """No request carries anything of the device's own account."""
    server = Liar(copy.deepcopy(TABLE["surveys"]["plain"]))
    seen: list[bytes] = []

    class Looking(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            seen.append(request.read() + str(request.url).encode())
            return server.handle_request(request)

    with Client(URL, home=tmp_path, attempts=1, transport=Looking()) as me:
        me.device.set_caps(epsilon=7.654321)
        part = me.begin(server.survey["token"], "high")
        part.answer(YES)
        (entry,) = [e for e in me.device.entries() if e.charge.kind == "commit"]
    for body in seen:
        for own in ("7654321", "7.654321", "everywhere", entry.hash, entry.charge.key):
            assert own.encode() not in body


def test_withdrawing_gives_nothing_back(tmp_path: Path) -> None:
    """The amount spent stays spent here too, and the survey is over."""
    server = Liar(copy.deepcopy(TABLE["surveys"]["plain"]))
    with Client(URL, home=tmp_path, attempts=1, transport=server) as me:
        part = me.begin(server.survey["token"], "high")
        part.answer(YES)
        spent = me.me()["everywhere"]
        part.withdraw()
        assert me.me()["everywhere"] == spent
        with pytest.raises(WrongState):
            me.begin(server.survey["token"], "high")
