"""Sizes of responses: whole kibibytes, the same for all contents."""

from __future__ import annotations

import json

import pytest

from masquerade.server.http.bodies import encoded, padded, spare

KIBIBYTE = 1024
NAME = len(',"padding":""')


def sized(length: int) -> dict[str, str]:
    """Return an object of so many bytes, encoded."""
    return {"a": "x" * (length - len('{"a":""}'))}


def test_a_body_fills_the_fewest_kibibytes_that_hold_it() -> None:
    """Bodies of 8 to 3000 bytes, one by one: whole kibibytes, none too many, still JSON."""
    for length in range(8, 3001):
        body = padded(sized(length)).body
        assert len(encoded(sized(length))) == length
        assert len(body) == -(-(length + NAME) // KIBIBYTE) * KIBIBYTE
        assert json.loads(bytes(body))["a"] == sized(length)["a"]


@pytest.mark.parametrize("less", range(2, 10))
def test_values_a_few_bytes_apart_have_one_size_everywhere(less: int) -> None:
    """A value 2 to 9 bytes shorter than the longest changes no size, also across a kibibyte."""
    for length in range(2 * KIBIBYTE - 40, 2 * KIBIBYTE + 20):
        longest, shorter = padded(sized(length)), padded(sized(length - less), room=less)
        least = padded(sized(length - less), least=length)
        assert len(longest.body) == len(shorter.body) == len(least.body)


def test_a_value_has_the_room_of_the_longest() -> None:
    """Bytes that a value lacks are those of its JSON, quotes included; never below 0."""
    assert spare("medium", len('"medium"')) == 0
    assert spare("low", len('"medium"')) == 3
    assert spare("é", 10) == 6
    assert spare("a longer one", 3) == 0
