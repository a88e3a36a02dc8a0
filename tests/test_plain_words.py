"""People read plain words: symbols and terms of the method stand under "Method" alone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

ROOT = Path(__file__).parents[1]
CATALOGUES = (
    ROOT / "locale" / "participants.pot",
    *sorted((ROOT / "locale").glob("*/LC_MESSAGES/participants.po")),
)
FORBIDDEN = re.compile(
    r"[εδρσ]|%-points?|\b(epsilon|delta|rho|sigma|eb|ivw|intervals?|variance|lifetime privacy|"
    r"respondents?|Gaussian|randomi[sz]ed response|caps?)\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\{[^}]*\}")


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda path: path.parts[-3])
def test_no_word_of_the_method_stands_outside_of_it(path: Path) -> None:
    """Of every text of the app, but a context that begins with "method." may be exact."""
    found = []
    with path.open("rb") as file:
        for message in read_po(file):
            context = str(message.context or "")
            if not message.id or context.startswith("method."):
                continue
            texts = [message.id, message.string]
            for text in texts:
                for one in text if isinstance(text, list | tuple) else [text]:
                    words = FORBIDDEN.search(_PLACEHOLDER.sub("", str(one or "")))
                    if words:
                        found.append(f"{context}: {words[0]!r} in {one!r}")
    assert not found, "\n".join(found)


def test_a_word_of_the_method_is_noticed() -> None:
    """The test above finds its words, and leaves other words alone."""
    assert all(map(FORBIDDEN.search, ("ε 2", "± 4 %-points", "a 95 % interval", "your cap")))
    assert not any(map(FORBIDDEN.search, ("capital", "debt", "4 of 100", "landscape")))


def test_sentences_can_be_read_at_fourteen() -> None:
    """No sentence has more than 34 words, and the average is below 14."""
    lengths = []
    with CATALOGUES[0].open("rb") as file:
        for message in read_po(file):
            context = str(message.context or "")
            if not message.id or context.startswith("method."):
                continue
            text = message.id if isinstance(message.id, str) else message.id[0]
            for sentence in re.split(r"(?<=[.:;?!])\s+", text):
                lengths.append((len(sentence.split()), context, sentence))
    longest = max(lengths)
    assert longest[0] <= 34, longest
    full = [length for length, _, sentence in lengths if sentence.endswith((".", ":", "?", "!"))]
    assert sum(full) / len(full) < 14
