"""Lists of addresses as people paste them."""

from __future__ import annotations

import pytest

from masquerade.errors import ParameterError
from masquerade.server.mail.address_list import in_few_words, merged, read_addresses, rows_of


@pytest.mark.parametrize(
    ("text", "found", "again"),
    [
        ("a@example.org", ["a@example.org"], 0),
        ("\ufeffa@example.org\r\nb@example.org\r\n", ["a@example.org", "b@example.org"], 0),
        (
            "name,mail\nAda,a@example.org\n\nBob,b@example.org",
            ["a@example.org", "b@example.org"],
            0,
        ),
        ('"Lovelace, Ada" <a@example.org>; B@EXAMPLE.ORG', ["a@example.org", "B@example.org"], 0),
        ("a@example.org a@example.org\nA@example.ORG", ["a@example.org"], 2),
        ("o'neil+x@sub.example.co.uk", ["o'neil+x@sub.example.co.uk"], 0),
    ],
)
def test_lists_are_read_as_people_have_them(text: str, found: list[str], again: int) -> None:
    """Lines, commas, names, heads of files, and the same address written twice."""
    assert read_addresses(text) == (found, again)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a@example.org\nnobody", 2),
        ("a@example.org\nb@example", 2),
        ("a@@example.org", 1),
        ("é@example.org", 1),
        ("a@example.org\n<>", 2),
        ("a@exa..mple.org", 1),
        ("a@example.org\na@b@example.org", 2),
    ],
)
def test_what_is_no_address_is_named_with_its_line(text: str, line: int) -> None:
    """Nothing is left out in silence."""
    with pytest.raises(ParameterError, match=f"line {line}:"):
        read_addresses(text)


def test_no_address_and_too_many_are_refused() -> None:
    """An empty list, and one of 10,001."""
    with pytest.raises(ParameterError, match="0 addresses"):
        read_addresses(" \n")
    with pytest.raises(ParameterError, match="10001 addresses"):
        read_addresses("\n".join(f"a{n}@example.org" for n in range(10_001)))


def test_a_list_comes_back_with_a_link_in_each_row() -> None:
    """With every separator of columns, and with line breaks and quotes in cells."""
    text = 'name;note\r\n"A ""x""";"two\nlines"\r\n\r\nB;\r\n'
    assert rows_of(text) == 2
    joined = merged(text, ["l1", "l2"])
    assert joined == 'name;note;link\r\n"A ""x""";"two\nlines";l1\r\nB;;l2\r\n'
    for empty in ("", "name\n"):
        with pytest.raises(ParameterError):
            rows_of(empty)


@pytest.mark.parametrize(
    "words",
    [
        "550 5.1.1 <Ann.Lee@example.org>: Recipient address rejected: User unknown",
        "550 5.1.1 ann.lee@example.org... User unknown",
        "550 No such user here: ANN.LEE",
        '550 "ann.lee" is not known',
        "550 5.7.1 <bounce+ann.lee=example.org@list.example>: refused",
        "550 see https://mail.example/why?to=ann.lee%40example.org",
        "450 4.2.0 <ann.lee@example.org>\n come again",
        "x" * 190 + " ann.lee@example.org",
    ],
)
def test_words_of_a_mail_server_name_nobody(words: str) -> None:
    """Neither the address nor what stands before its @ is left, however a mail server quotes it."""
    told = in_few_words(words, address="ann.lee@example.org").lower()
    assert "ann" not in told
    assert "@" not in told
    assert told[:3] == words[:3].lower()


def test_words_that_name_nobody_stay() -> None:
    """What says why a message was refused is left as it is."""
    words = "550 5.1.1 nobody of this name here"
    assert in_few_words(words, address="ann@example.org") == words
