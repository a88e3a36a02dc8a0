"""Both halves of the mechanisms, Python's and the device's, report the same from the same words.

The cases are in ``tests/vectors/``: ``mechanisms.json`` (categories) and ``lattice.json``
(mechanisms on a lattice); noise by itself is in ``test_noise_vectors.py``.
``tests/web/vectors.test.mjs`` runs them too. ``python tests/mechanisms/test_vectors.py`` writes
them anew.

A device draws for one answer after the other. Python draws the same from the same words when it is
given one answer at a time; given many, it takes the words in another order.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mechanisms.given_words import WORD_VALUES, GivenWords, RecordedWords, read_cases, write

from masquerade.exact.coins import WordSource
from masquerade.mechanisms import BitwiseResponse, CategoricalMechanism, parse_mechanism
from masquerade.mechanisms.discrete_gaussian import DiscreteGaussian
from masquerade.mechanisms.discrete_laplace import DiscreteLaplace
from masquerade.mechanisms.lattice import LatticeMechanism
from masquerade.mechanisms.quantised_response import QuantisedResponse

FOLDER = Path(__file__).parents[1] / "vectors"
FILE = FOLDER / "mechanisms.json"
LATTICE_FILE = FOLDER / "lattice.json"
DRAWN_FILE = FOLDER / "sets.json"

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

SETS = (
    "bitwise-response:options=2,epsilon=1",
    "bitwise-response:options=5,most=2,epsilon=1.5",
    "bitwise-response:options=4,most=4,epsilon=2,null=true",
    "bitwise-response:options=7,most=1,epsilon=0.6793,null=true",
    "bitwise-response:options=31,epsilon=9.5,null=true",
    "bitwise-response:options=52,most=3,epsilon=0.123456789012345678901",
    "bitwise-response:options=3,epsilon=0",
    "bitwise-response:options=3,most=2,epsilon=inf,null=true",
)

DRAWN_SETS = (
    "subset-selection:options=5,size=2,epsilon=0.5",
    "subset-selection:options=9,size=2,epsilon=1",
    "subset-selection:options=19,size=5,epsilon=1,null=true",
    "subset-selection:options=20,size=2,epsilon=2",
    "subset-selection:options=50,size=3,epsilon=1.375732",
    "subset-selection:options=100,size=13,epsilon=0.619239",
    "subset-selection:options=3,size=1,epsilon=0",
    "subset-selection:options=3,size=2,epsilon=120",
    "masked-order:items=2,size=2,epsilon=1",
    "masked-order:items=5,size=2,epsilon=0.679266",
    "masked-order:items=5,top=3,size=2,epsilon=0.5,null=true",
    "masked-order:items=10,top=3,size=3,epsilon=1.936896,null=true",
    "masked-order:items=12,size=3,epsilon=2",
    "masked-order:items=3,size=3,epsilon=0",
    "masked-order:items=4,top=1,size=3,epsilon=inf",
)

ON_A_LATTICE: tuple[LatticeMechanism, ...] = (
    DiscreteGaussian(1, 5, sigma=3),
    DiscreteGaussian(1, 5, sigma=12),
    DiscreteGaussian(0, 1, "0.1", sigma="0.25"),
    DiscreteGaussian(-100, 100, 5, sigma=Fraction(400, 3)),
    DiscreteGaussian(0, 1, sigma=Fraction(1, 1000)),
    DiscreteGaussian(0, 4294967295, sigma=1 << 40),
    DiscreteLaplace(1, 5, epsilon=1),
    DiscreteLaplace(1, 5, epsilon=1, null=True),
    DiscreteLaplace(1, 5, epsilon="0.5", null=True, fill="uniform"),
    DiscreteLaplace(1, 5, epsilon="0.5", null=True, fill=1),
    DiscreteLaplace(0, 1, "0.1", epsilon="2.5", null=True, fill="uniform"),
    DiscreteLaplace(0, 100, 10, epsilon=3, null=True, fill=100),
    DiscreteLaplace(0, 1, epsilon=20, null=True, fill="uniform"),
    DiscreteLaplace(-100, 100, epsilon="0.123456789012345678901"),
    DiscreteLaplace(0, 4294967295, epsilon="0.01", null=True, fill="uniform"),
    QuantisedResponse(1, 5, epsilon=1, levels=3),
    QuantisedResponse(1, 5, epsilon=1, levels=4, null=True),
    QuantisedResponse(1, 5, epsilon=1, levels=5, null=True),
    QuantisedResponse(0, 1, epsilon="0.5", levels=2, null=True),
    QuantisedResponse(-100, 100, epsilon=2, levels=5, null=True),
    QuantisedResponse(-100, 100, epsilon=2, levels=7),
    QuantisedResponse(0, 1, "0.1", epsilon=4, levels=9, null=True),
    QuantisedResponse(0, 4294967295, epsilon=8, levels=65536, null=True),
)


def categorical(text: str) -> CategoricalMechanism:
    """Return the mechanism for categories that `text` describes."""
    mechanism = parse_mechanism(text)
    assert isinstance(mechanism, CategoricalMechanism)
    return mechanism


def masked_text(text: str) -> CategoricalMechanism | BitwiseResponse:
    """Return the mechanism for categories, or for sets of them, that `text` describes."""
    mechanism = parse_mechanism(text)
    return mechanism if isinstance(mechanism, BitwiseResponse) else categorical(text)


def run(case: dict[str, Any]) -> tuple[list[int], int]:
    """Return Python's reports for a case and how many words they took."""
    words = [int(word) for word in case["words"]]
    source = GivenWords(words)
    mechanism = masked_text(case["mechanism"])
    sets = isinstance(mechanism, BitwiseResponse)
    answers: Any = np.array(case["answers"], dtype=np.int64 if sets else np.int32)
    reports: Any = mechanism.mask(answers, np.zeros_like(answers), source)
    return reports.tolist(), len(words) - len(source.left)


@pytest.mark.parametrize("case", read_cases(FILE), ids=lambda case: case["name"])
def test_the_shared_vectors_hold_in_python(case: dict[str, Any]) -> None:
    """The device form, the reports and the number of words taken are those of the file."""
    assert masked_text(case["mechanism"]).device_form() == case["device"]
    assert run(case) == (case["reports"], case["words_used"])


def test_the_shared_vectors_cover_every_boundary() -> None:
    """The file holds the output of this module: no case was lost or edited by hand."""
    assert read_cases(FILE) == list(make_cases())


@pytest.mark.parametrize("text", MECHANISMS)
def test_boundary_words_move_as_the_definition_says(text: str) -> None:
    """The first and last word of each run of `other` words move by the same number of symbols."""
    case = next(
        case
        for case in read_cases(FILE)
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
        words = rejected_words([width, total] if drawn else [total])
        yield case("rejections", [symbols - 1], words)

        if drawn:
            for name, word in (("smallest", 0), ("largest", width - 1)):
                words = [word, *(accepted(rng, total) for _ in range(6))]
                answers = [rng.randrange(symbols) for _ in range(6)]
                yield case(f"{name} private number", answers, words)
    yield from make_set_cases(rng)


def make_set_cases(rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield cases of sets of options: arbitrary words, and those at the edges of a flip."""
    for text in SETS:
        mechanism = parse_mechanism(text)
        assert isinstance(mechanism, BitwiseResponse)
        other, total = mechanism.bit.grid
        most = mechanism.most or mechanism.options
        sets = [sum(1 << place for place in rng.sample(range(mechanism.options), most))]
        sets += [0, 1 << mechanism.options - 1]
        answers = [*sets, *([1 << mechanism.options] if mechanism.null else [])]
        edges = [edge for edge in (0, other - 1, other, total - 1) if edge >= 0]
        size = len(answers) * mechanism.bits
        for name, words in (
            ("arbitrary", [accepted(rng, total) for _ in range(size)]),
            ("boundaries", [edges[place % len(edges)] for place in range(size)]),
        ):
            case: dict[str, Any] = {
                "name": f"{text} {name}",
                "mechanism": text,
                "device": mechanism.device_form(),
                "answers": answers,
                "words": [str(word) for word in words],
            }
            case["reports"], case["words_used"] = run(case)
            yield case


def make_drawn_cases() -> Iterator[dict[str, Any]]:
    """Yield cases of masks that draw a set, each answer masked by itself."""
    rng = random.Random(20180820)
    for text in DRAWN_SETS:
        mechanism = parse_mechanism(text).as_device
        assert mechanism is not None
        codes = sorted({0, 1, mechanism.codes // 2, mechanism.codes - 1})
        for name, answers in (("every kind of answer", codes), ("again", [*codes[::-1], *codes])):
            for round_ in range(2):
                source = RecordedWords((), lambda: rng.getrandbits(64))
                reports = [mechanism.mask_for_one([code], source)[0] for code in answers]
                yield {
                    "name": f"{text} {name} {round_ + 1}",
                    "mechanism": text,
                    "device": mechanism.device_form(),
                    "answers": answers,
                    "words": [str(word) for word in source.taken],
                    "reports": reports,
                    "words_used": len(source.taken),
                }


@pytest.mark.parametrize("case", read_cases(DRAWN_FILE), ids=lambda case: case["name"])
def test_the_shared_vectors_of_drawn_sets_hold_in_python(case: dict[str, Any]) -> None:
    """The device form, the reports and the number of words taken are those of the file."""
    mechanism = parse_mechanism(case["mechanism"]).as_device
    assert mechanism is not None
    assert mechanism.device_form() == case["device"]
    source = GivenWords([int(word) for word in case["words"]])
    reports = [mechanism.mask_for_one([code], source)[0] for code in case["answers"]]
    assert reports == case["reports"]
    assert len(case["words"]) - len(source.left) == case["words_used"]


def test_the_shared_vectors_of_drawn_sets_are_all_there() -> None:
    """The file holds the output of this module: no case was lost or edited by hand."""
    assert read_cases(DRAWN_FILE) == list(make_drawn_cases())


def mask_each(mechanism: LatticeMechanism, answers: list[int], source: WordSource) -> list[int]:
    """Return Python's report for each answer, each masked by itself."""
    person = np.zeros(1, dtype=np.int32)
    return [
        int(mechanism.mask(np.array([answer], dtype=np.int64), person, source)[0])
        for answer in answers
    ]


@pytest.mark.parametrize("case", read_cases(LATTICE_FILE), ids=lambda case: case["name"])
def test_the_shared_lattice_vectors_hold_in_python(case: dict[str, Any]) -> None:
    """The device form, the reports and the number of words taken are those of the file."""
    (mechanism,) = (one for one in ON_A_LATTICE if str(one) == case["mechanism"])
    assert mechanism.device_form() == case["device"]
    source = GivenWords([int(word) for word in case["words"]])
    assert mask_each(mechanism, case["answers"], source) == case["reports"]
    assert len(case["words"]) - len(source.left) == case["words_used"]


def test_the_shared_lattice_vectors_cover_every_boundary() -> None:
    """The file holds the output of this module: no case was lost or edited by hand."""
    assert read_cases(LATTICE_FILE) == list(make_lattice_cases())


@pytest.mark.parametrize("mechanism", ON_A_LATTICE, ids=str)
def test_what_is_drawn_for_one_answer_is_the_same_for_every_answer(
    mechanism: LatticeMechanism,
) -> None:
    """From the same words, every answer takes equally many, "no answer" like the others."""
    rng = random.Random(11)
    words = [rng.getrandbits(64) for _ in range(500)]
    taken = set()
    for answer in codes_of(mechanism):
        source = GivenWords(words)
        mask_each(mechanism, [answer], source)
        taken.add(len(words) - len(source.left))
    assert len(taken) == 1


def make_lattice_cases() -> Iterator[dict[str, Any]]:
    """Yield the cases on a lattice: arbitrary words, chosen noise, boundary and rejected words."""
    rng = random.Random(20180818)

    def arbitrary() -> int:
        return rng.getrandbits(64)

    for mechanism in ON_A_LATTICE:
        codes = codes_of(mechanism)

        def case(
            name: str,
            answers: list[int],
            chosen: Iterable[int] = (),
            mechanism: LatticeMechanism = mechanism,
        ) -> dict[str, Any]:
            source = RecordedWords(chosen, arbitrary)
            reports = mask_each(mechanism, answers, source)
            return {
                "name": f"{mechanism} {name}",
                "mechanism": str(mechanism),
                "device": mechanism.device_form(),
                "answers": answers,
                "words": [str(word) for word in source.taken],
                "reports": reports,
                "words_used": len(source.taken),
            }

        yield case("every kind of answer", codes)
        yield case("again", [*codes[::-1], *codes])
        if isinstance(mechanism, QuantisedResponse):
            words = list(rounding_words(mechanism, codes))
            yield case("boundaries", [code for code, _, _ in words], chain_words(words))
            bounds = (mechanism.lattice.points - 1, mechanism.grid[1])
            yield case("rejections", codes[-1:], rejected_words(bounds))
        elif isinstance(mechanism, DiscreteLaplace) and mechanism.fill == "uniform":
            points = mechanism.lattice.points
            for fill in (0, points - 1):
                yield case(f"filled in with {fill}", codes[-1:], [fill])
            yield case("rejections", codes[-1:], rejected_words([points]))


def codes_of(mechanism: LatticeMechanism) -> list[int]:
    """Return the ends of the lattice, values beside them and in the middle, "no answer"."""
    points = mechanism.lattice.points
    codes = {0, 1, points // 3, points // 2, points - 2, points - 1}
    return sorted(codes | ({points} if mechanism.null else set()))


def rounding_words(
    mechanism: QuantisedResponse, codes: list[int]
) -> Iterator[tuple[int, int, int]]:
    """Yield answers with words at the ends of rounding up, and of each run of the response."""
    steps = mechanism.lattice.points - 1
    other, total = mechanism.grid
    last = mechanism.symbols - 1
    runs = sorted({0, other - 1, other, last * other - 1, last * other, total - 1})
    for code in codes:
        rest = code * (mechanism.levels - 1) % steps
        for drawn in sorted({0, max(rest - 1, 0), rest, steps - 1}):
            yield code, drawn, total - 1
        for word in runs:
            yield code, rest, word


def chain_words(drawn: Iterable[tuple[int, int, int]]) -> list[int]:
    """Return the words alone, in the order in which they are drawn."""
    return [word for _, *words in drawn for word in words]


def rejected_words(bounds: Iterable[int]) -> list[int]:
    """Return for each bound the words rejected at the ends, then the last that is accepted."""
    words = []
    for bound in bounds:
        if largest(bound) < WORD_VALUES - 1:
            words += [largest(bound) + 1, WORD_VALUES - 1]
        words.append(largest(bound))
    return words


def largest(bound: int) -> int:
    """Return the largest word that is not rejected."""
    return WORD_VALUES // bound * bound - 1


def accepted(rng: random.Random, bound: int) -> int:
    """Return an arbitrary word that is not rejected."""
    return rng.randrange(largest(bound) + 1)


if __name__ == "__main__":
    write(FILE, make_cases())
    write(LATTICE_FILE, make_lattice_cases())
    write(DRAWN_FILE, make_drawn_cases())
