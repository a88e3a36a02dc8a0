"""A participant's secret as nine words that can be read out and written down.

A word is 16 bits as consonant, vowel, consonant, vowel, consonant (proquints, Wilkerson 2009).
Eight words are the secret, the ninth is the first 16 bits of its SHA-256, which finds slips of the
pen: a word that is changed goes unnoticed with probability 1 in 65,536. The other half is
``recovery.js``; both run the same test vectors.
"""

from __future__ import annotations

import hashlib
import re

from masquerade.errors import ParameterError

#: How many words stand for a secret.
WORD_COUNT = 9

_CONSONANTS = "bdfghjklmnprstvz"
_VOWELS = "aiou"
_WORD = re.compile(f"[{_CONSONANTS}][{_VOWELS}][{_CONSONANTS}][{_VOWELS}][{_CONSONANTS}]")
_SECRET = re.compile(r"[0-9a-f]{32}")


def words_of(secret: str) -> tuple[str, ...]:
    """Return the nine words of a secret.

    Parameters
    ----------
    secret : str
        128 bits as 32 hexadecimal digits in lower case.

    Raises
    ------
    ParameterError
        The secret has another form.

    Examples
    --------
    >>> words_of("0" * 32)[-1]
    'gital'
    """
    if not _SECRET.fullmatch(secret):
        raise ParameterError("the secret is not 32 hexadecimal digits in lower case.")
    digits = secret + _check(secret)
    return tuple(_word(int(digits[at : at + 4], 16)) for at in range(0, len(digits), 4))


def secret_of(words: str) -> str:
    """Return the secret that words stand for; the inverse of `words_of`.

    Parameters
    ----------
    words : str
        Nine words, in capitals or not, with spaces, commas or hyphens between them.

    Raises
    ------
    ParameterError
        A word is none of ours, there are not nine, or they do not belong together. The message
        names a word that is none of ours, and nothing else of what was given.
    """
    given = [word for word in re.split(r"[\s,.;·-]+", words.lower()) if word]
    for place, word in enumerate(given, start=1):
        if not _WORD.fullmatch(word):
            raise ParameterError(f"word {place} is {word!r}, which is none of our words.")
    if len(given) != WORD_COUNT:
        raise ParameterError(f"these are {len(given)} words, expected {WORD_COUNT}.")
    *digits, check = (f"{_bits(word):04x}" for word in given)
    secret = "".join(digits)
    if _check(secret) != check:
        raise ParameterError(
            "these words do not belong together; one is mistyped, or they are in another order."
        )
    return secret


def _check(secret: str) -> str:
    return hashlib.sha256(bytes.fromhex(secret)).hexdigest()[:4]


def _word(bits: int) -> str:
    return "".join(
        (
            _CONSONANTS[bits >> 12],
            _VOWELS[bits >> 10 & 3],
            _CONSONANTS[bits >> 6 & 15],
            _VOWELS[bits >> 4 & 3],
            _CONSONANTS[bits & 15],
        )
    )


def _bits(word: str) -> int:
    consonants = [_CONSONANTS.index(word[place]) for place in (0, 2, 4)]
    vowels = [_VOWELS.index(word[place]) for place in (1, 3)]
    return (
        consonants[0] << 12 | vowels[0] << 10 | consonants[1] << 6 | vowels[1] << 4 | consonants[2]
    )
