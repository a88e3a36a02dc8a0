"""Pages and blocks: the questions of one screen, and the refusals of its text."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import pytest

from masquerade.errors import ParameterError
from masquerade.server.surveys.document import read_document
from masquerade.server.surveys.document_survey import survey_or_issues
from masquerade.surveys import Choice, Combined, Layout, Page, ShowIf
from masquerade.surveys.blocks import ConsentBlock, ImageBlock, TextBlock, check_image, plain
from masquerade.surveys.survey import Survey

FIRST = Choice("a", "Do you commute?", ("Yes", "No"))
SECOND = Choice("b", "By train?", ("Yes", "No"), allow_skip=True)
THIRD = Choice("c", "Do you walk?", ("Yes", "No"), allow_skip=True)
QUESTIONS = (FIRST, SECOND, THIRD)


def png(*chunks: tuple[bytes, bytes]) -> str:
    """Return a picture of one point as a data address, with further chunks."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)), *chunks]
    parts += [(b"IDAT", zlib.compress(b"\0\0")), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in parts
    )
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


LAYOUT = Layout(
    (
        Page((TextBlock("We ask about **work**."), ConsentBlock("I agree."))),
        Page(("a", ImageBlock("map", "A map"), "b"), "Your way", shuffle=True),
        Page(("c",), moves=True),
    ),
    order=("a",),
    images={"map": png()},
    thanks="Thank you.",
    return_address="https://example.org/back",
)


def survey(layout: Layout, **fields: Any) -> Survey:
    """Return a survey of three questions with a layout."""
    return Survey.at_levels(
        title="T", questions=QUESTIONS, levels=("high",), layout=layout, **fields
    )


def test_a_layout_survives_its_text() -> None:
    """Pages, orders, images and the end are in the text that is hashed, and are read from it."""
    made = survey(LAYOUT)
    again = Survey.from_text(made.text())
    assert again == made
    assert again.layout == LAYOUT
    assert hash(again) == hash(made)
    bare = survey(Layout())
    assert bare.content_hash() != made.content_hash()
    assert not {"pages", "order", "images", "thanks", "return_address"} & set(bare.to_json())


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        (Layout((Page(("a", "b")),)), "each question once"),
        (Layout((Page(("b", "a", "c")),)), "each question once"),
        (Layout((Page(("a", "b", "c", ImageBlock("x", "A map"))),)), "not there"),
        (Layout((Page(("a", ConsentBlock("Yes?")), moves=True), Page(("b", "c")))), "consent"),
        (Layout(order=("d",)), "order names"),
        (Layout(return_address="http://example.org"), "return address"),
        (Layout(return_address="javascript:alert(1)"), "return address"),
        (Layout(thanks="x" * 5001), "shorten"),
        (Layout(images={"map": "data:image/svg+xml;base64,PHN2Zz4="}), "no PNG"),
        (Layout((Page(("a", "b", "c"), show_if=ShowIf("a", ("Yes",))),)), "no question before it"),
    ],
)
def test_layouts_that_do_not_fit(layout: Layout, says: str) -> None:
    """A question that a page cannot hold is refused with a reason."""
    with pytest.raises(ParameterError, match=says):
        survey(layout)


def test_pages_in_random_order_come_after_what_they_depend_on() -> None:
    """For every draw of a device, the question that decides stands before those that it decides."""
    shown = (None, ShowIf("a", ("Yes",)), None)
    both = Layout((Page(("a",), moves=True), Page(("b",), moves=True), Page(("c",))))
    with pytest.raises(ParameterError, match="both are in random order"):
        survey(both, conditions=shown)
    between = Layout((Page(("a",), moves=True), Page(("b",)), Page(("c",), moves=True)))
    with pytest.raises(ParameterError, match="may come after it"):
        survey(between, conditions=shown)
    survey(Layout((Page(("a",)), Page(("b",), moves=True), Page(("c",), moves=True))))


@pytest.mark.parametrize("chunk", [b"tEXt", b"eXIf", b"iTXt", b"tIME"])
def test_images_with_data_about_their_making_are_refused(chunk: bytes) -> None:
    """An image says nothing of camera, place or author."""
    check_image("map", png())
    with pytest.raises(ParameterError, match="where or how it was made"):
        check_image("map", png((chunk, b"Author\0Somebody")))
    jpeg = b"\xff\xd8\xff\xe0\0\x10JFIF" + b"\0" * 10
    said = jpeg + b"\xff\xe1\0\x08Exif\0\0" + b"\xff\xda\0\0"
    data = "data:image/jpeg;base64," + base64.b64encode(said).decode()
    with pytest.raises(ParameterError, match="where or how it was made"):
        check_image("map", data)


def test_marks_of_a_text() -> None:
    """A terminal shows a text without its marks."""
    assert plain("**Read** *this*:\n- [page](https://x.org)\n- 2 * 3 * 4") == (
        "Read this:\n- page (https://x.org)\n- 2 * 3 * 4"
    )


def opened(**fields: Any) -> tuple[Survey | None, list[tuple[str, str]]]:
    """Return the survey that a document opens as."""
    document = {
        "title": "T",
        "levels": ["high"],
        "questions": [question.to_json() for question in QUESTIONS],
        **fields,
    }
    return survey_or_issues(read_document(document), allow_clear=False, today="2030-01-01")


def page(*items: Any, **more: Any) -> dict[str, Any]:
    """Return a page as a document has it."""
    return {"heading": "", "shuffle": False, "items": list(items), **more}


def test_a_pages_condition_and_an_early_end_are_those_of_its_questions() -> None:
    """A condition over a page is one over each of its questions, as the device reads them."""
    yes = {"question": "a", "answers": ["Yes"]}
    made, issues = opened(
        pages=[page("a", ends=yes), page("b", show_if={"all": [yes]}), page("c")],
    )
    assert made is None
    assert issues[0][0] == "/questions/1/show_if"
    assert "Nobody can ever be shown" in issues[0][1]
    no = {"question": "a", "answers": ["No"]}
    made, issues = opened(pages=[page("a", ends=no), page("b", show_if=yes), page("c")])
    assert issues == []
    assert made is not None
    over = Combined("none", (ShowIf("a", ("No",)),))
    assert made.conditions == (None, Combined("all", (ShowIf("a", ("Yes",)), over)), over)
    assert made.layout.pages[2].show_if == over
    assert Survey.from_text(made.text()) == made


def test_too_large_conditions_are_refused_where_they_are_written() -> None:
    """Eight parts on three levels are enough for one condition."""
    leaf = {"question": "a", "answers": ["Yes"]}
    for condition, says in (
        ({"any": [leaf] * 9}, "at most 8"),
        ({"any": [{"all": [{"any": [leaf]}]}]}, "at most 3"),
    ):
        questions = [question.to_json() for question in QUESTIONS]
        questions[1]["show_if"] = condition
        _, issues = opened(questions=questions)
        assert [pointer for pointer, _ in issues] == ["/questions/1/show_if"]
        assert says in issues[0][1]


def test_every_wrong_block_is_named_where_it_stands() -> None:
    """A fault of a block has the pointer of its field."""
    _, issues = opened(pages=[page("a", {"block": "text", "text": " "}), page("b"), page("c")])
    assert [pointer for pointer, _ in issues] == ["/pages/0/items/1/text"]
    _, issues = opened(pages=[page("a", {"block": "html", "text": "<b>"}), page("b", "c")])
    assert "expected one of text, consent, image" in issues[0][1]


def test_older_surveys_keep_their_hash() -> None:
    """A survey without pages has no new field in its text."""
    fields = json.loads(survey(Layout()).text())
    assert set(fields) == {
        "title",
        "description",
        "template",
        "topic",
        "reveal",
        "questions",
        "levels",
    }
