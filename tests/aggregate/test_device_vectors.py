"""Both halves of the two-party reports, Python's and the device's, give the same bytes.

The cases are in ``tests/vectors/two-parties.json``: surveys with answers, randomness, the encoded
measurement, the configuration of the task, and SHA-256 of each part of the split report; streams of
TurboSHAKE128. ``tests/web/aggregate_device.test.mjs`` runs them too.
``python tests/aggregate/test_device_vectors.py`` writes them anew.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import random
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import pytest
from Crypto.Hash import TurboSHAKE128

from masquerade.aggregate import Block, GivenSeeds, One, Some, Vector, Whole, prio3_survey
from masquerade.aggregate.dap import Task, task_configuration
from masquerade.aggregate.item_blocks import Matching
from masquerade.aggregate.vdaf_configuration import configuration_of, prio3_of
from masquerade.surveys import (
    Choice,
    Comparison,
    Number,
    PairVote,
    Question,
    Rating,
    SeveralOf,
    ShowIf,
)
from masquerade.surveys.pair_votes import parts_of
from masquerade.surveys.two_party_encoding import MOST_CELLS, Encoding

FILE = Path(__file__).parents[1] / "vectors" / "two-parties.json"


def read() -> dict[str, list[dict[str, Any]]]:
    """Return the shared cases."""
    cases: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
    return cases


def test_the_shared_cases_are_those_of_this_code() -> None:
    """The file is the output of Python today, case by case, and holds enough of each kind."""
    made = {name: list(cases) for name, cases in make_cases().items()}
    assert made == read()
    assert [len(made[name]) for name in ("streams", "surveys", "circuits")] == [24, 52, 40]


@pytest.mark.parametrize("case", read()["circuits"], ids=lambda case: case["configuration"])
def test_a_circuit_is_read_from_the_bytes_of_a_case(case: dict[str, Any]) -> None:
    """The configuration of a case gives its circuit."""
    vdaf = prio3_of(0xFFFF4D51, bytes.fromhex(case["configuration"]))
    assert vdaf.circuit.encode(case["measurement"]) == [int(bit) for bit in case["encoded"]]


def make_cases() -> dict[str, Iterator[dict[str, Any]]]:
    """Return the shared cases, the same at every call."""
    every = itertools.chain(surveys(), list_surveys())
    return {"streams": streams(), "surveys": every, "circuits": circuits()}


def streams() -> Iterator[dict[str, Any]]:
    """Yield messages around the size of a block, with pycryptodome's streams of them."""
    rng = random.Random(1)
    for size in (0, 1, 7, 166, 167, 168, 169, 335, 336, 337, 500, 1600):
        for domain in (1, 0x1F):
            message = rng.randbytes(size)
            stream = TurboSHAKE128.new(domain=domain, data=message).read(400)
            yield {"domain": domain, "message": message.hex(), "stream": stream.hex()}


def surveys() -> Iterator[dict[str, Any]]:
    """Yield surveys of all kinds of question, with answers of one person each; then of lists."""
    rng = random.Random(2)
    for _ in range(40):
        questions, shown = questions_of(rng)
        conditions = tuple(
            ShowIf(one["show_if"]["question"], tuple(one["show_if"]["answers"]))
            if one.get("show_if")
            else None
            for one in shown
        )
        numbers = [q.id for q in questions if isinstance(q, Number)]
        sums = tuple(one for one in numbers if rng.random() < 0.3)
        bins = rng.choice((2, 3, 7, 20))
        others = [q.id for q in questions if q.id not in sums and not isinstance(q, SeveralOf)]
        size = min(len(others), rng.choice((2, 2, 3, 4)))
        cross = (tuple(rng.sample(others, size)),) if size > 1 else ()
        conditions = conditions if any(conditions) else ()
        plain = Encoding(tuple(questions), conditions, (), bins, sums)
        while cross and prod(plain.shape(cross[0])) > MOST_CELLS:
            cross = (cross[0][:-1],) if len(cross[0]) > 2 else ()
        encoding = Encoding(questions, conditions, cross, bins, sums)
        codes, answers = answers_of(rng, questions, conditions)
        measurement = encoding.measurement(answers)
        yield {
            "questions": shown,
            "choices": {"cross": [list(pair) for pair in cross], "bins": bins, "sums": list(sums)},
            "codes": codes,
            "measurement": measurement,
            **split_of(rng, encoding.blocks, measurement),
        }


def list_surveys() -> Iterator[dict[str, Any]]:
    """Yield surveys of votes on pairs of a list, with the pairs and votes of one person each."""
    rng = random.Random(4)
    for _ in range(12):
        items = tuple(f"i{place}" for place in range(rng.randint(2, 30)))
        tie, votes = rng.choice(("", "Alike")), rng.randint(1, min(len(items) // 2, 6))
        before = Choice("c", "?", ("a", "b"))
        vote = PairVote("v", "?", items, votes=votes, tie=tie)
        questions, _ = parts_of((before, vote), ())
        drawn = rng.sample(range(len(items)), 2 * votes)
        pairs = [(drawn[at], drawn[at + 1]) for at in range(0, 2 * votes, 2)]
        codes = [rng.randrange(2), *(rng.randrange(2 + bool(tie)) for _ in pairs)]
        asked = zip(questions, codes, strict=True)
        answers = {one.id: one.labels[code] for one, code in asked}
        encoding = Encoding(questions)
        measurement = encoding.measurement(answers, pairs)
        shown = [
            {"id": one.id, "kind": one.kind, "labels": list(one.labels), "allow_skip": False}
            for one in questions
        ]
        for one, pair in zip(shown[1:], pairs, strict=True):
            one |= {"votes": 0, "pair": list(pair)}
        shown[1] |= {"votes": votes, "listed": len(items)}
        yield {
            "questions": shown,
            "choices": {},
            "codes": codes,
            "measurement": measurement,
            **split_of(rng, encoding.blocks, measurement),
        }


def circuits() -> Iterator[dict[str, Any]]:
    """Yield surveys of all kinds of block."""
    rng = random.Random(3)
    for _ in range(40):
        blocks: list[Block] = []
        measurement: list[Any] = []
        for _ in range(rng.randint(1, 4)):
            block, answer = block_of(rng)
            blocks.append(block)
            measurement.append(answer)
        encoded = prio3_survey(blocks).circuit.encode(measurement)
        yield {
            "blocks": [[type(block).__name__, *parameters(block)] for block in blocks],
            "measurement": measurement,
            "encoded": "".join(map(str, encoded)),
            **split_of(rng, blocks, measurement),
        }


def split_of(rng: random.Random, blocks: Any, measurement: Any) -> dict[str, Any]:
    """Return a task of these blocks, and a report of it by given randomness."""
    vdaf = prio3_survey(blocks)
    terms = {
        "info": rng.randbytes(rng.randint(1, 40)),
        "leader_url": "https://leader.example/",
        "helper_url": f"https://helper{rng.randint(1, 99)}.example/dap",
        "opening": rng.randint(1_700_000_000, 1_900_000_000),
        "duration": rng.randint(1, 40_000_000),
        "min_batch_size": rng.randint(2, 500),
        "terms": rng.randbytes(32),
    }
    task = Task(task_configuration(vdaf=configuration_of(vdaf), **terms))  # type: ignore[arg-type]
    nonce, rand = rng.randbytes(16), rng.randbytes(128)
    seeds = GivenSeeds.of_bytes(nonce, rand)
    split = vdaf.simulate(measurement, context=task.context, seeds=seeds)
    shares = [split.public_share, *split.input_shares]
    return {
        "terms": {k: v.hex() if isinstance(v, bytes) else v for k, v in terms.items()},
        "configuration": configuration_of(vdaf)[1].hex(),
        "task": task.id.hex(),
        "time": task.time,
        "nonce": nonce.hex(),
        "rand": rand.hex(),
        "shares": [[len(share), hashlib.sha256(share).hexdigest()] for share in shares],
    }


def parameters(block: Block) -> list[Any]:
    """Return the numbers that describe a block."""
    names: tuple[str, ...] = type(block).__slots__
    return [getattr(block, name) for name in names]


def block_of(rng: random.Random) -> tuple[Block, Any]:
    """Return a block and an answer to it."""
    kind = rng.randrange(6)
    size = rng.randint(1, 7)
    if kind == 5:
        return matching_of(rng, size)
    if kind == 0:
        return One(size), rng.randrange(size)
    if kind == 1:
        most = rng.choice((None, rng.randint(1, size)))
        chosen = rng.sample(range(size), rng.randint(0, most or size))
        return Some(size, most), [place in chosen for place in range(size)]
    largest = rng.choice((1, 2, 5, 16, 1000, 65536))
    if kind == 2:
        return Whole(largest), rng.randint(0, largest)
    ball = kind == 3
    limit = largest // size if ball else largest
    numbers = [rng.randint(-limit, limit) for _ in range(size)]
    return Vector(size, largest, ball), numbers


def matching_of(rng: random.Random, pairs: int) -> tuple[Block, Any]:
    """Return the block of votes on so many pairs, and votes."""
    ties = rng.random() < 0.5
    block = Matching(2 * pairs + rng.randrange(9), pairs, ties)
    drawn = rng.sample(range(block.items), 2 * pairs)
    decided = rng.randint(0, pairs) if ties else pairs
    return block, [drawn[:decided], drawn[pairs : pairs + decided]]


def questions_of(rng: random.Random) -> tuple[tuple[Question, ...], list[dict[str, Any]]]:
    """Return questions, and the same as the app has them."""
    questions: list[Question] = []
    shown: list[dict[str, Any]] = []
    for place in range(rng.randint(1, 6)):
        name, skip = f"q{place}", rng.random() < 0.5
        kind = rng.randrange(5)
        question: Question
        if kind == 0:
            options = tuple(f"o{i}" for i in range(rng.randint(2, 6)))
            question = Choice(name, "?", options, allow_skip=skip)
        elif kind == 1:
            question = Rating(name, "?", low=1, high=rng.randint(2, 7), allow_skip=skip)
        elif kind == 2:
            step = rng.choice((1, 0.5, 0.1, 3))
            high = round(-2 + step * rng.randint(1, 70), 6)
            question = Number(name, "?", -2, high, "km", step)
        elif kind == 3:
            options = tuple(f"o{i}" for i in range(rng.randint(2, 40)))
            most = rng.choice((None, rng.randint(1, len(options))))
            question = SeveralOf(name, "?", options, most, allow_skip=skip)
        else:
            question = Comparison(name, "?", "a", "b", tie=rng.choice(("", "c")), allow_skip=skip)
        one: dict[str, Any] = {"id": name, "kind": question.kind}
        if isinstance(question, Number):
            one |= {"min": question.low, "max": question.high, "step": question.step}
        else:
            one |= {"labels": list(question.labels), "allow_skip": skip}
            if isinstance(question, SeveralOf):
                one["most"] = question.most
            before = [q for q in questions if not isinstance(q, Number | SeveralOf)]
            if before and skip and rng.random() < 0.6:
                first = rng.choice(before)
                one["show_if"] = {"question": first.id, "answers": [first.labels[0]]}
        questions.append(question)
        shown.append(one)
    return tuple(questions), shown


def answers_of(
    rng: random.Random, questions: tuple[Question, ...], conditions: tuple[ShowIf | None, ...]
) -> tuple[list[int | None], dict[str, Any]]:
    """Return codes of answers and the answers; None for hidden questions."""
    codes: list[int | None] = []
    answers: dict[str, Any] = {}
    for place, question in enumerate(questions):
        condition = conditions[place] if conditions else None
        if condition is not None and answers.get(condition.question) not in condition.answers:
            codes.append(None)
        elif isinstance(question, Number):
            code = rng.randrange(question.answer_count)
            codes.append(code)
            answers[question.id] = round(question.low + code * question.step, 6)
        elif isinstance(question, SeveralOf):
            most = question.most or len(question.options)
            chosen = rng.sample(question.options, rng.randint(0, most))
            skip = question.allow_skip and rng.random() < 0.3
            codes.append(1 << len(question.options) if skip else question.code(chosen))
            if not skip:
                answers[question.id] = chosen
        else:
            code = rng.randrange(len(question.labels) + question.allow_skip)
            codes.append(code)
            if code < len(question.labels):
                answers[question.id] = question.labels[code]
    return codes, answers


def write() -> None:
    """Write the shared file, one case a line."""
    parts = [
        f"{json.dumps(name)}: [\n" + ",\n".join(json.dumps(case) for case in cases) + "\n]"
        for name, cases in make_cases().items()
    ]
    FILE.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


if __name__ == "__main__":
    write()
