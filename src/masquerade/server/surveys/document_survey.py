"""The survey that a document opens as, whose hash freezes it, or every issue of the document.

An issue says what is missing or wrong, and in which field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from masquerade.aggregate.noise import TWO_PARTIES
from masquerade.errors import MasqueradeError, ParameterError
from masquerade.mechanisms.privacy_level import CLEAR
from masquerade.mechanisms.registry import parse_mask
from masquerade.server.surveys.document import Document, Issue, read_document
from masquerade.server.surveys.ways import (
    origin_issues,
    panel_issues,
    ticket_issues,
)
from masquerade.surveys.characters import skeleton, wrong_texts
from masquerade.surveys.condition_tree import Condition, Conditions
from masquerade.surveys.conditions import check_conditions, questions_from_json
from masquerade.surveys.languages import Languages, path_of, texts_of
from masquerade.surveys.look import Look
from masquerade.surveys.offered_levels import ALL_LEVELS, OfferedLevel
from masquerade.surveys.pages import Layout
from masquerade.surveys.pair_votes import parts_of
from masquerade.surveys.question import Question
from masquerade.surveys.reach import Reach, TicketTerms
from masquerade.surveys.survey import (
    MOST_DESCRIPTION,
    MOST_TITLE,
    Survey,
    default_reveal,
)
from masquerade.surveys.two_parties import TwoParties


def _survey(document: Document, questions: tuple[Question, ...], conditions: Conditions) -> Survey:
    """Return the survey that a document opens as; raise where it is not finished."""
    whole = document.to_json()
    written, conditions = Layout.written(whole, questions, conditions)
    layout = written.spread(questions)
    spoken = _languages(document, questions, layout)
    questions, conditions = parts_of(questions, conditions)
    fields: dict[str, Any] = {
        "title": document.title.strip(),
        "description": document.description.strip(),
        "template": document.template,
        "questions": questions,
        "topic": document.topic,
        # An untouched choice follows the topic, also where the topic is changed later.
        "reveal": document.reveal or default_reveal(document.topic),
        "conditions": conditions,
        "estimator": document.estimator,
        "look": Look.from_json(document.look.model_dump()),
        "layout": layout,
        "asked": document.asked,
        "together": tuple(map(tuple, document.together)) if document.asked else (),
        "languages": spoken,
        "reach": _reach(document),
    }
    if document.trust == TWO_PARTIES:
        terms = document.two_parties
        if not terms.helper:
            raise ParameterError(
                "no second party is chosen yet; choose a helper, or add one.", field="two_parties"
            )
        return Survey(
            **fields,
            levels=(OfferedLevel(TWO_PARTIES, ()),),
            two_parties=TwoParties.of(
                helper=terms.helper,
                operator=terms.operator.strip(),
                fingerprint=terms.fingerprint,
                rho=terms.rho,
                minimum=terms.minimum,
                bins=terms.bins,
                cross=tuple(tuple(table) for table in terms.cross),
                sums=tuple(terms.sums),
            ),
        )
    if isinstance(document.levels, dict):
        levels = tuple(
            OfferedLevel(name, tuple(map(parse_mask, masks)))
            for name, masks in document.levels.items()
        )
        return Survey(**fields, levels=levels)
    return Survey.at_levels(
        **fields,
        levels=document.levels,
        masking=document.masking,
        rating_mask=document.rating_mask,
    )


def _languages(
    document: Document, questions: Sequence[Question], layout: Layout
) -> Languages | None:
    """Return the languages as the survey has them: translations of its texts alone.

    `questions`: as they are written; `layout`: as the survey has it, with their parts.
    """
    spoken = document.languages
    if not spoken.languages:
        return None
    known = texts_of(document.to_json())
    # Where each text of the survey is written: a question may be asked as several.
    sources = {
        path_of("questions", part.id, *place.split("/")): path_of(
            "questions", one.id, *one.place_of(place, text).split("/")
        )
        for one in questions
        for part in one.parts()
        for place, text in part.texts().items()
    }
    for number, page in enumerate(layout.pages):
        written = document.pages[number]["items"]
        blocks = [place for place, one in enumerate(written) if not isinstance(one, str)]
        spread = [place for place, one in enumerate(page.items) if not isinstance(one, str)]
        for before, after in zip(blocks, spread, strict=True):
            for field in page.blocks[spread.index(after)].texts():
                source = path_of("pages", number, "items", before, field)
                sources[path_of("pages", number, "items", after, field)] = source
    own = [one for one in known if not one.startswith("questions/") and "/items/" not in one]
    sources |= dict(zip(own, own, strict=True))
    texts = {}
    for code in spoken.languages[1:]:
        given = spoken.texts.get(code, {})
        texts[code] = {
            address: given[source].strip()
            for address, source in sources.items()
            if source in known and given.get(source, "").strip()
        }
    return Languages.from_json({"languages": spoken.languages, "texts": texts})


def _reach(document: Document) -> Reach:
    tickets = document.tickets
    terms = None
    if tickets.phases:
        day = tickets.answers_from if tickets.phases > 1 else None
        terms = TicketTerms(tickets.key, tickets.wave, day, tickets.watched)
    asked_by, contact = document.asked_by.strip(), document.contact.strip()
    return Reach(asked_by, contact, document.consent.strip(), terms)


def document_of(survey: Survey, *, listed: bool) -> Document:
    """Return the document of a survey that was opened without one."""
    data = survey.to_json()
    document = {
        **{name: data[name] for name in ("title", "description", "template", "topic")},
        "reveal": survey.reveal,
        "estimator": survey.estimator,
        "listed": listed,
        "questions": data["questions"],
        "look": data.get("look", {}),
        **survey.layout.to_json(),
        **({} if survey.asked is None else {"asked": survey.asked}),
        "together": [list(ids) for ids in survey.together],
        **({"languages": data["languages"]} if survey.languages is not None else {}),
        "asked_by": survey.reach.asked_by,
        "contact": survey.reach.contact,
        "consent": survey.reach.consent,
    }
    if terms := survey.reach.invitations:
        phases = 1 if terms.answers_from is None else 2
        document["tickets"] = {**terms.to_json(), "phases": phases}
    if survey.two_parties is None:
        document["levels"] = data["levels"]
    else:
        document |= {"trust": survey.trust, "two_parties": data["two_parties"]}
    return read_document(document)


def survey_or_issues(
    document: Document, *, allow_clear: bool, today: str, utc_today: str | None = None
) -> tuple[Survey | None, list[Issue]]:
    """Return the survey that a document opens as, or None with the issues that keep it closed.

    `today` is of the server's time zone, `utc_today` of UTC where that is another day.
    """
    questions, conditions, issues = _read_questions(document.questions)
    if not document.title.strip():
        issues.append(("/title", "Give the survey a title."))
    issues += [
        (f"/{name}", f"This has {len(text.strip()):,} characters; shorten it to {most:,}.")
        for name, text, most in (
            ("title", document.title, MOST_TITLE),
            ("description", document.description, MOST_DESCRIPTION),
        )
        if len(text.strip()) > most
    ]
    issues += wrong_texts(document.to_json())
    issues += _look_alikes(document.questions)
    if not document.questions:
        issues.append(("/questions", "Add a question."))
    split = document.trust == TWO_PARTIES
    if not document.levels and not split:
        issues.append(("/levels", "Offer at least one level."))
    # A list names the usual levels; a mapping describes its own, whose names are free.
    if isinstance(document.levels, list) and not split:
        unknown = [name for name in document.levels if name not in (*ALL_LEVELS, CLEAR)]
        issues += [
            ("/levels", f"There is no level {name!r}; there are {', '.join(ALL_LEVELS)}.")
            for name in unknown
        ]
    if CLEAR in document.levels and not split and not allow_clear:
        issues.append(("/levels", "This server does not let anybody send answers as they are."))
    if document.plan.closes is not None and document.plan.closes < today:
        issues.append(("/plan/closes", "This day is over."))
    issues += _plan_issues(document)
    issues += ticket_issues(document.tickets, today=utc_today or today, closes=document.plan.closes)
    issues += panel_issues(document.panel, codes=document.plan.reward == "codes")
    issues += origin_issues(document.origins)
    if document.tickets.phases and document.listed:
        issues.append(("/listed", "People need a ticket, so it cannot be listed for everybody."))
    if issues:
        return None, issues
    try:
        return _survey(document, questions, conditions), []
    except (MasqueradeError, ValueError) as error:
        return None, [_issue(error, document.questions)]


#: Names of a line of a list, by the list's field.
_LINES = {"options": "option", "items": "item", "rows": "row"}


def _look_alikes(questions: Sequence[dict[str, Any]]) -> list[Issue]:
    """Return lines of a list that nobody can tell from another one of their question."""
    issues = []
    for place, question in enumerate(questions):
        for name, lines in question.items():
            seen: dict[str, str] = {}
            for number, line in enumerate(lines if isinstance(lines, list) else []):
                if isinstance(line, str) and line and seen.setdefault(skeleton(line), line) != line:
                    pointer = f"/questions/{place}/{name}/{number}"
                    called = _LINES.get(name, "line")
                    issues.append((pointer, f"This {called} looks like another one; change one."))
    return issues


def _plan_issues(document: Document) -> list[Issue]:
    plan = document.plan
    offered = [TWO_PARTIES] if document.trust == TWO_PARTIES else list(document.levels)
    issues = [
        (f"/plan/{name}/{level}", "The survey does not offer this level.")
        for name in ("shares", "prices")
        for level in getattr(plan, name)
        if level not in offered
    ]
    if plan.shares and not any(plan.shares.values()):
        issues.append(("/plan/shares", "At least one level needs people."))
    return issues


def _read_questions(
    data: Sequence[dict[str, Any]],
) -> tuple[tuple[Question, ...], Conditions, list[Issue]]:
    """Return the questions that can be read, their conditions, and the issues of the others."""
    issues: list[Issue] = []
    questions: list[Question] = []
    conditions: list[Condition | None] = []
    for index, one in enumerate(data):
        try:
            # One by one, so that each wrong question is an issue of its own.
            [question], condition = questions_from_json([one])
        except ParameterError as error:
            field = "" if error.field is None else f"/{error.field}"
            issues.append((f"/questions/{index}{field}", _sentence(error)))
            continue
        if question.id in (other.id for other in questions):
            issues.append((f"/questions/{index}/id", "Another question has this name."))
        questions.append(question)
        conditions += condition or (None,)
    rules = tuple(conditions) if any(conditions) else ()
    # Conditions refer to other questions, so they are checked once each question reads by itself.
    if not issues:
        try:
            shown: Conditions
            parts, shown = parts_of(questions, rules)
            check_conditions(parts, shown)
        except ParameterError as error:
            issues.append(_issue(error, data))
    return tuple(questions), rules, issues


def _issue(error: Exception, questions: Sequence[dict[str, Any]]) -> Issue:
    """Return an error as the issue of a field of a document."""
    field = str(getattr(error, "field", None) or "")
    name = getattr(error, "question", None)
    index = next((i for i, data in enumerate(questions) if data.get("id") == name), None)
    if name is not None and index is not None:
        return f"/questions/{index}" + (f"/{field}" if field else ""), _sentence(error)
    known = field.partition("/")[0] in Document.model_fields
    return f"/{field}" if known else "", _sentence(error)


def _sentence(error: Exception) -> str:
    """Return a message without the name of the question beside which it stands."""
    text = str(error)
    if (name := getattr(error, "question", None)) is not None:
        text = text.removeprefix(f"question {name!r}").removeprefix(":").lstrip()
    # It stands at its field, which has another name on the page than in the file.
    field = str(getattr(error, "field", None) or "").partition("/")[0]
    for called in (field, field.removesuffix("s")):
        if called and text.startswith((f"{called} is ", f"{called} has ")):
            text = f"this {text.removeprefix(called).lstrip()}"
    return text[:1].upper() + text[1:]
