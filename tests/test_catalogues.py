"""The texts of the app and the gettext catalogues agree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "locale" / "participants.pot"
TRANSLATIONS = sorted((ROOT / "locale").glob("*/LC_MESSAGES/participants.po"))


def test_modules_are_in_step_with_the_catalogues() -> None:
    """Each language's module is as `make catalogues` writes it."""
    check = [sys.executable, str(ROOT / "tools" / "catalogues.py"), "--check"]
    result = subprocess.run(check, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("path", TRANSLATIONS, ids=lambda path: path.parts[-3])
def test_a_translation_says_everything_once(path: Path) -> None:
    """A translation has the messages of the source, in as many forms as its language counts."""
    with SOURCE.open("rb") as source, path.open("rb") as translation:
        texts, translated = read_po(source), read_po(translation, locale=path.parts[-3])
    assert [text.context for text in translated] == [text.context for text in texts]
    assert [text.id for text in translated][1:] == [text.id for text in texts][1:]
    for text in translated:
        if text.pluralizable:
            assert isinstance(text.string, tuple | list)
            assert len(text.string) == translated.num_plurals
            assert all(text.string)
        elif text.id:
            assert text.string
            assert not text.fuzzy
