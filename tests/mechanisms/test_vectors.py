"""Both halves of the mechanisms, Python's and the device's, report the same from the same words.

The cases are in ``tests/vectors/mechanisms.json``; ``tests/web/vectors.test.mjs`` runs them too.
``python tests/mechanisms/test_vectors.py`` writes them anew.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from masquerade.mechanisms import CategoricalMechanism, parse_mechanism
from masquerade.mechanisms.coins import Words

FILE = Path(__file__).parents[1] / "vectors" / "mechanisms.json"
WORD_VALUES = 1 << 64

MECHANISMS = (
    "randomized-response:options=2,epsilon=1",
    "randomized-response:options=3,epsilon=0.5",
    "randomized-response:options=5,epsilon=0.9375",
    "randomized-response:options=7,epsilon=2",
    "randomized-response:options=5,epsilon=0",
    "randomized-response:options=2,epsilon=0.6793,null=true",
    "randomized-response:options=4,epsilon=1.5,null=true",
    "randomized-response:options=6,epsilon=0.25,null=true",
    "randomized-response:options=2,flip_probability=0.25",
    "randomized-response:options=3,flip_probability=0.3",
    "randomized-response:options=5,flip_probability=0.3,null=true",
    "randomized-response:options=7,flip_probability=0.123456789012345678901",
    "randomized-response:options=2,flip_probability=0",
    "randomized-response:options=2,flip_probability=1",
    "two-layer:options=2,low=0,high=0.5379",
    "two-layer:options=3,low=0.1,high=0.4",
    "two-layer:options=5,low=0.2,high=0.9",
    "two-layer:options=7,low=0,high=1",
    "two-layer:options=3,low=0.3,high=0.3",
)


class GivenWords:
    """A source of the words of one case."""

    def __init__(self, words: list[int]) -> None:
        self.left = words

    def words(self, size: int) -> Words:
        """Return the next `size` words."""
        taken, self.left = self.left[:size], self.left[size:]
        assert len(taken) == size
        return np.array(taken, dtype=np.uint64)


def categorical(text: str) -> CategoricalMechanism:
    """Return the mechanism of a text form."""
    mechanism = parse_mechanism(text)
    assert isinstance(mechanism, CategoricalMechanism)
    return mechanism


def read_cases() -> list[dict[str, Any]]:
    """Return the cases of the shared file."""
    cases: list[dict[str, Any]] = json.loads(FILE.read_text())
    return cases


def run(case: dict[str, Any]) -> tuple[list[int], int]:
    """Return Python's reports for a case and how many words they took."""
    words = [int(word) for word in case["words"]]
    source = GivenWords(words)
    answers = np.array(case["answers"], dtype=np.int32)
    mechanism = categorical(case["mechanism"])
    reports = mechanism.mask(answers, np.zeros_like(answers), source)
    return reports.tolist(), len(words) - len(source.left)


@pytest.mark.parametrize("case", read_cases(), ids=lambda case: case["name"])
def test_the_shared_vectors_hold_in_python(case: dict[str, Any]) -> None:
    """The device form, the reports and the number of words taken are those of the file."""
    assert categorical(case["mechanism"]).device_form() == case["device"]
    assert run(case) == (case["reports"], case["words_used"])


def test_the_shared_vectors_cover_every_boundary() -> None:
    """The file holds what this module makes: no case was lost or edited by hand."""
    assert read_cases() == list(make_cases())


@pytest.mark.parametrize("text", MECHANISMS)
def test_boundary_words_move_as_the_definition_says(text: str) -> None:
    """The first and last word of each run of `other` words move by the same number of symbols."""
    case = next(
        case
        for case in read_cases()
        if case["mechanism"] == text and case["name"].endswith("boundaries")
    )
    device = case["device"]
    symbols, first, total = device["symbols"], int(device["first"]), int(device["total"])
    drawn = int(device["first"]) < int(device["last"])
    words = [int(word) for word in case["words"]]
    other = first + words[0] if drawn else first
    for answer, word, report in zip(case["answers"], words[drawn:], case["reports"], strict=True):
        runs = [range(moved * other, (moved + 1) * other) for moved in range(symbols - 1)]
        shift = next((moved + 1 for moved, run in enumerate(runs) if word % total in run), 0)
        assert report == (answer + shift) % symbols


def make_cases() -> Iterator[dict[str, Any]]:
    """Yield the cases: boundary words, arbitrary words, and rejected words."""
    rng = random.Random(20180819)
    for text in MECHANISMS:
        device = categorical(text).device_form()
        symbols = int(device["symbols"])
        first, last, total = (int(device[key]) for key in ("first", "last", "total"))
        width = last - first + 1
        drawn = first < last

        def case(name: str, answers: list[int], words: list[int], text: str = text) -> Any:
            made: dict[str, Any] = {
                "name": f"{text} {name}",
                "mechanism": text,
                "device": categorical(text).device_form(),
                "answers": answers,
                "words": [str(word) for word in words],
            }
            made["reports"], made["words_used"] = run(made)
            return made

        person = [rng.randrange(width)] if drawn else []
        other = first + person[0] if drawn else first
        edges = {0, total - 1}
        for moved in range(1, symbols):
            edges |= {moved * other - 1, moved * other}
        edges |= {edge + (largest(total) // total) * total for edge in list(edges)}
        words = sorted(edge for edge in edges if 0 <= edge <= largest(total))
        answers = [place % symbols for place in range(len(words))]
        yield case("boundaries", answers, person + words)

        words = [accepted(rng, total) for _ in range(12)]
        answers = [rng.randrange(symbols) for _ in words]
        yield case("arbitrary", answers, ([accepted(rng, width)] if drawn else []) + words)

        # One answer only: with more, Python draws again after the whole batch, a device at once.
        words = []
        for bound in [width, total] if drawn else [total]:
            if largest(bound) < WORD_VALUES - 1:
                words += [largest(bound) + 1, WORD_VALUES - 1]
            words.append(largest(bound))
        yield case("rejections", [symbols - 1], words)

        if drawn:
            for name, word in (("smallest", 0), ("largest", width - 1)):
                words = [word, *(accepted(rng, total) for _ in range(6))]
                answers = [rng.randrange(symbols) for _ in range(6)]
                yield case(f"{name} private number", answers, words)


def largest(bound: int) -> int:
    """Return the largest word that is not rejected."""
    return WORD_VALUES // bound * bound - 1


def accepted(rng: random.Random, bound: int) -> int:
    """Return an arbitrary word that is not rejected."""
    return rng.randrange(largest(bound) + 1)


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(case) for case in make_cases())
    FILE.write_text(f"[\n{lines}\n]\n")
