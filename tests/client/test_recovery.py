"""The recovery words: the same vectors as tests/web/recovery.test.mjs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masquerade.client.identity import WORD_COUNT, Identity, origin_of, secret_of, words_of
from masquerade.errors import ParameterError

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors" / "recovery.json").read_text()
)


@pytest.mark.parametrize("case", VECTORS["words"], ids=lambda case: case["secret"])
def test_a_secret_has_its_nine_words(case: dict[str, Any]) -> None:
    """The words are those of the vectors, and they lead back to the secret."""
    assert list(words_of(case["secret"])) == case["words"]
    assert secret_of(" ".join(case["words"])) == case["secret"]


def test_capitals_and_separators_do_not_matter() -> None:
    """However the words are written down, they are read."""
    for case in VECTORS["read"]:
        assert secret_of(case["text"]) == case["secret"]


def test_a_slip_is_refused_in_words() -> None:
    """Each fault has its own message, and only a word that is none of ours is repeated."""
    messages = {"count": "words, expected 9", "check": "belong together", "word": "none of our"}
    for case in VECTORS["refused"]:
        with pytest.raises(ParameterError, match=messages[case["fault"]]):
            secret_of(case["text"])


def test_what_is_no_secret_has_no_words() -> None:
    """Only 32 hexadecimal digits in lower case are a secret, and no message repeats another."""
    for text in ("", "0" * 31, "0" * 33, "A" * 32, "0" * 32 + "\n", "ww" + "0" * 32):
        with pytest.raises(ParameterError, match="32 hexadecimal digits") as refused:
            words_of(text)
        assert not text or text not in str(refused.value)


@given(st.binary(min_size=16, max_size=16))
def test_prop_words_and_secrets_are_one_to_one(secret: bytes) -> None:
    """Every secret has nine words of five letters that lead back to it."""
    words = words_of(secret.hex())
    assert len(words) == WORD_COUNT
    assert all(len(word) == 5 for word in words)
    assert secret_of(" ".join(words)) in (secret.hex(), f"w{secret.hex()}")
    assert secret_of(" ".join(words_of(f"w{secret.hex()}"))) == f"w{secret.hex()}"


@given(st.binary(min_size=16, max_size=16), st.integers(0, 7), st.integers(1, 2**16 - 1))
def test_prop_a_wrong_word_is_found_but_for_the_check(
    secret: bytes, place: int, change: int
) -> None:
    """Words of another secret pass only where both have the same check."""
    words = list(words_of(secret.hex()))
    other = bytearray(secret)
    other[2 * place] ^= change >> 8
    other[2 * place + 1] ^= change & 255
    words[place] = words_of(other.hex())[place]
    if words_of(other.hex())[-1] == words[-1]:
        assert secret_of(" ".join(words)) == other.hex()
        return
    with pytest.raises(ParameterError, match="belong together"):
        secret_of(" ".join(words))


@pytest.mark.parametrize("case", VECTORS["sent"], ids=lambda case: case["origin"])
def test_a_server_sees_what_is_made_for_its_address(case: dict[str, Any]) -> None:
    """The device's half sends the same; from a secret of before too."""
    assert Identity(case["secret"]).secret_at(case["origin"]) == case["sent"]


@given(st.binary(min_size=16, max_size=16))
def test_prop_what_one_server_sees_opens_no_account_at_another(secret: bytes) -> None:
    """Neither as it is, nor as the secret behind it: a slip of the person gives nothing away."""
    mine = Identity("w" + secret.hex())
    honest, other = "https://a.example", "https://b.example"
    stolen = mine.secret_at(other)
    assert stolen != mine.secret_at(honest)
    for guess in (stolen, f"w{stolen}"):
        assert Identity(guess).secret_at(honest) != mine.secret_at(honest)
    assert secret.hex() not in (stolen, mine.secret_at(honest))


def test_one_address_has_one_form() -> None:
    """However an address is written, its origin is that of browsers."""
    written = ("https://a.example", "https://A.EXAMPLE:443/", "https://a.example/s/5a?x#y")
    assert {origin_of(one) for one in written} == {"https://a.example"}
    assert origin_of("https://b\u00fccher.example:8443") == "https://xn--bcher-kva.example:8443"
    assert origin_of("http://127.0.0.1:80") == "http://127.0.0.1"
