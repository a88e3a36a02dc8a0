"""Both halves of the noise, Python's and the device's, draw the same from the same words.

The cases are in ``tests/vectors/noise.json``; ``tests/web/vectors.test.mjs`` runs them too.
``python tests/mechanisms/test_noise_vectors.py`` writes them anew.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.mechanisms.given_words import WORD_VALUES, GivenWords, RecordedWords, read_cases, write

from masquerade.exact.coins import WordSource
from masquerade.exact.noise import discrete_gaussian, discrete_laplace

NOISE_FILE = Path(__file__).parents[1] / "vectors" / "noise.json"

NOISE = {"discrete-laplace": discrete_laplace, "discrete-gaussian": discrete_gaussian}

SCALES = (
    "1",
    "2",
    "3",
    "1/2",
    "5/3",
    "7/2",
    "22/7",
    "40/3",
    "1/1000",
    "1/18446744073709551615",
    "1000003/999",
    "1000000007",
    "281474976710656",
    "281474976710655/7",
)

VARIANCES = (
    "1",
    "9",
    "36",
    "144",
    "1/2",
    "2/7",
    "16/9",
    "1/1000",
    "1/18446744073709551615",
    "1000003/999",
    "31415926535897/10000000000000",
    "1500000000",
    "1700000000",
    "1000000000001",
    "123456789123456789/5",
    "1208925819614629174706175",
    "79228162514264337593543950335",
)


def draw_noise(case: dict[str, Any], source: WordSource) -> list[str]:
    """Return Python's draws for a case, each drawn by itself."""
    numerator, denominator = case["fraction"]
    fraction = Fraction(int(numerator), int(denominator))
    draw = NOISE[case["noise"]]
    return [str(draw(source, fraction, 1)[0]) for _ in range(case["count"])]


@pytest.mark.parametrize("case", read_cases(NOISE_FILE), ids=lambda case: case["name"])
def test_the_shared_noise_holds_in_python(case: dict[str, Any]) -> None:
    """The draws and the number of words taken are those of the file."""
    source = GivenWords([int(word) for word in case["words"]])
    assert draw_noise(case, source) == case["draws"]
    assert source.left == []


def test_the_shared_noise_covers_every_boundary() -> None:
    """The file holds the output of this module: no case was lost or edited by hand."""
    assert read_cases(NOISE_FILE) == list(make_noise_cases())


def make_noise_cases() -> Iterator[dict[str, Any]]:
    """Yield the cases of noise: arbitrary words, words at the ends, and chosen draws."""
    rng = random.Random(20200602)

    def arbitrary() -> int:
        return rng.getrandbits(64)

    def at_the_ends() -> int:
        ends = (0, 1, WORD_VALUES // 2 - 1, WORD_VALUES // 2, WORD_VALUES - 2, WORD_VALUES - 1)
        return rng.choice(ends) if rng.random() < 0.5 else arbitrary()

    def case(
        name: str,
        noise: str,
        fraction: Fraction,
        *,
        chosen: Iterable[int] = (),
        count: int = 1,
        draw: Callable[[], int] = arbitrary,
    ) -> dict[str, Any]:
        made: dict[str, Any] = {
            "name": f"{noise} {fraction} {name}",
            "noise": noise,
            "fraction": [str(fraction.numerator), str(fraction.denominator)],
            "count": count,
        }
        source = RecordedWords(chosen, draw)
        made["draws"] = draw_noise(made, source)
        made["words"] = [str(word) for word in source.taken]
        return made

    for noise, texts in (("discrete-laplace", SCALES), ("discrete-gaussian", VARIANCES)):
        for text in texts:
            yield case("arbitrary", noise, Fraction(text), count=8)
            yield case("ends", noise, Fraction(text), count=4, draw=at_the_ends)

    for scale in (1, 3, 1 << 48):
        for x in sorted({0, 1, -1, scale - 1, -scale, 40 * scale + 1}):
            chosen = laplace_words(x, scale)
            yield case(f"chosen {x}", "discrete-laplace", Fraction(scale), chosen=chosen)
        # 0 with the sign minus is drawn again.
        chosen = [*laplace_words(0, scale)[:-1], 0, *laplace_words(2, scale)]
        yield case("minus 0", "discrete-laplace", Fraction(scale), chosen=chosen)

    # Where the proposal is as large as 64 bits allow, and one larger.
    variance = 1_500_000_000
    scale = math.isqrt(variance) + 1
    last = ((1 << 31) - variance) // scale
    for x in (0, last, -last, last + 1, -last - 1):
        chosen = laplace_words(x, scale)
        yield case(f"proposed {x}", "discrete-gaussian", Fraction(variance), chosen=chosen)

    # Words that equal the digits of the probability, exp(-variance / (2 scale**2)) at the draw 0.
    # It has two digits, and each draw with probability x / k at most two more bits.
    scale = 1 << 40
    variance = scale**2 - 1
    for name, words in digit_words(Fraction(variance, 2 * scale**2)):
        chosen = [*laplace_words(0, scale), *words]
        yield case(name, "discrete-gaussian", Fraction(variance), chosen=chosen)


def laplace_words(x: int, scale: int) -> list[int]:
    """Return words from which discrete Laplace noise of a whole scale is `x`."""
    turns, remainder = divmod(abs(x), scale)
    kept = scale - 1  # not below the remainder, so that it is kept
    return [remainder, kept, *[0, 1] * turns, 1, int(x >= 0)]


def digit_words(x: Fraction) -> Iterator[tuple[str, list[int]]]:
    """Yield words at and beside the digits of x, and of x / 2 after a draw that succeeds."""

    def digits(share: Fraction) -> tuple[int, int]:
        first, second = divmod(int(share * WORD_VALUES**2), WORD_VALUES)
        assert Fraction(first * WORD_VALUES + second, WORD_VALUES**2) == share
        return first, second

    (first, second), (half, last) = digits(x), digits(x / 2)
    yield "first digit missed", [first + 1]
    yield "both digits equal", [first, second]
    yield "second digit missed", [first, second + 1]
    yield "then both digits equal", [first, second - 1, half, last]
    yield "then second digit won", [first - 1, half, last - 1]


if __name__ == "__main__":
    write(NOISE_FILE, make_noise_cases())
