"""Every page for surveyors, in German and in English: a text that is alike in both is a fault."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
from tests.patience import wait_until
from tests.server.conftest import Site
from tests.server.filled import fill

from masquerade.results import simulate_reports
from masquerade.server.db.tables import FIRST_TEAM
from masquerade.server.surveys.document import Document, changed
from masquerade.surveys import (
    Choice,
    DateQuestion,
    Number,
    PromoterScore,
    Question,
    Ranking,
    Rating,
    SeveralOf,
)
from masquerade.surveys.languages import LANGUAGE_NAMES
from masquerade.surveys.survey import Survey

GERMAN, ENGLISH = {"Accept-Language": "de"}, {"Accept-Language": "en"}
QUESTIONS: tuple[Question, ...] = (
    Choice("krank", "Krank gearbeitet?", ("Ja", "Nein")),
    Choice("ort", "Wohin?", ("Büro", "Straße", "Küche")),
    Rating("laune", "Wie geht es?", 1, 5),
    Number("dauer", "Wie lange?", 0, 40, "Stunden"),
    SeveralOf("womit", "Womit?", ("Rad", "Bus", "Zug")),
    PromoterScore("nps", "Weitersagen?"),
    Ranking("folge", "Was zuerst?", ("Rot", "Grün", "Blau")),
    DateQuestion("tag", "Wann?", ("2026-05-01", "2026-05-02")),
)
#: Text that is alike in both languages, as it is a name, a sign, or nobody's language.
ALIKE = re.compile(
    r"Masquerade|Deutsch|English|E-Mail|Webhooks?|Text|Team|Name|Token|Tokens|API-Tokens|Logo|Format"
    r"|Codes?|Passkeys?|Login|QR|CSV|JSON|JSON Lines|PDF|Excel|SPSS|Parquet|SVG|PNG|Jupyter|BibTeX"
    r"|Notebook|Budget|Panel|Link|Status|Details|OpenID|Option|Element|Median|p|ε|δ|ρ"
    # Where a page offers its other language; addresses; names of rights and events in programs.
    r"|auf Deutsch|in English|https?://\S+|[a-z]+[:.][a-z_]+|[a-z]{2}|My team|[Oo]wner"
    # An example of a table, which is read by its words.
    r"|question,answer,share .*"
)
#: Words of English that no German text has.
STOPWORDS = re.compile(
    r"\b(?:the|of|and|is|are|for|with|to|this|that|not|no|from|by|or|at|be|it|on|has|have|one|which"
    r"|you|your|their|they|people|each|between|there)\b"
)


class Reader(HTMLParser):
    """The texts of a page, and of the attributes that people hear or see."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._unread = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the attributes of an element."""
        given = dict(attrs)
        # Code is nobody's language; what is for a publication or a program stays in English.
        if tag in ("script", "style", "code", "pre") or self._unread:
            self._unread += tag not in ("meta", "link", "br", "input", "img", "hr")
            return
        if given.get("id") == "methods-text":
            self._unread = 1
        self.texts += [
            given[one] or ""
            for one in ("aria-label", "title", "placeholder", "alt", "data-label")
            if one in given
        ]

    def handle_endtag(self, tag: str) -> None:
        """Leave an element whose text is not read."""
        self._unread -= bool(self._unread)

    def handle_data(self, data: str) -> None:
        """Note a text."""
        if not self._unread:
            self.texts.append(data)


def read(html: str) -> set[str]:
    """Return the texts with words in a page."""
    texts = (" ".join(one.split()) for one in Reader(html).texts)
    return {one for one in texts if re.search("[A-Za-z]{2}", one)}


def own_words() -> set[str]:
    """Return the texts of the survey, which are in no language of the page."""
    found = {"Arbeit", "Arbeit (Kopie)", "Warum wir fragen.", "Probe", *LANGUAGE_NAMES.values()}
    for one in QUESTIONS:
        found |= {one.text, *one.labels, str(getattr(one, "unit", ""))}
        found |= set(getattr(one, "items", ())) | {one.id}
    return found


def unsaid(german: str, english: str) -> list[str]:
    """Return the texts of a German page that are English, as they are alike in both or say."""
    own = "|".join(map(re.escape, sorted(own_words(), key=len, reverse=True)))
    alike = re.compile(rf"(?:{own}|{ALIKE.pattern}|[^A-Za-z]+)+")
    left = read(english)
    return sorted(
        one
        for one in read(german)
        if not alike.fullmatch(one)
        and (one in left or STOPWORDS.search(re.sub(own, "", one, flags=re.IGNORECASE)))
    )


def closed_survey(site: Site, seed: int, shift: float) -> str:
    """Return the token of a closed survey with 600 people who differ by their first answer."""
    rng = np.random.default_rng(seed)
    ill = rng.random(600) < 0.4
    answers = {
        "krank": np.where(ill, "Ja", "Nein").tolist(),
        "ort": rng.choice(["Büro", "Straße", "Küche"], 600, p=[0.8, 0.1, 0.1]).tolist(),
        "laune": np.where(ill, 1, 4 + shift).astype(int).tolist(),
        "dauer": rng.integers(0, 41, 600).tolist(),
        "womit": [["Rad"] if one else ["Bus", "Zug"] for one in ill],
        "nps": rng.integers(0, 11, 600).tolist(),
        "folge": [["Rot", "Grün", "Blau"] if one else ["Grün", "Blau", "Rot"] for one in ill],
        "tag": rng.choice(["2026-05-01", "2026-05-02"], 600).tolist(),
    }
    survey = Survey.at_levels(
        title="Arbeit",
        description="Warum wir fragen.",
        questions=QUESTIONS,
        levels=("medium", "low"),
    )
    levels = ["medium", "low"] * 300
    record = site.services.surveys.open_survey(survey)
    fill(site.services, record, simulate_reports(survey, answers, rng, levels=levels))
    site.services.surveys.close(site.services.surveys.record(record.token))
    return record.token


def drafted(site: Site) -> str:
    """Return the token of a draft with every kind of question, and faults."""
    asked = [{**one.to_json(), "id": f"q{place}"} for place, one in enumerate(QUESTIONS)]
    given = {
        "questions": [*asked, {**asked[0], "text": ""}],
        "plan": {"people": 40, "prices": {"medium": 10}},
        "levels": ["high", "medium"],
        "languages": {"languages": ["de", "fr"], "texts": {"fr": {"title": "Probe"}}},
    }
    document = changed(Document(title="Arbeit"), given)
    return str(site.services.drafts.create(document, team=FIRST_TEAM)[0].token)


def test_no_page_for_surveyors_holds_english(site: Site) -> None:
    """Each page of a German surveyor, and each refusal on it, differs from the English one."""
    ended, draft = closed_survey(site, 1, 0.0), drafted(site)
    again = site.owner.post(f"/surveys/{ended}/copy", headers=GERMAN).url.path.split("/")[2]
    site.services.over_time.link(repeat := closed_survey(site, 2, 1.0), ended)
    live = site.services.surveys.open_survey(
        Survey.at_levels(title="Arbeit", questions=QUESTIONS, levels=("medium", "low"))
    ).token
    shown = f"/surveys/{repeat}"
    pages = [
        *("/surveys", "/surveys/new", "/surveys/new?people=900&questions=9&exact=5"),
        *(f"/surveys/{draft}/{step}" for step in ("edit", "languages", "audience", "review")),
        *(f"/surveys/{again}/review", f"/surveys/{live}", f"/surveys/{live}/invitations"),
        *(shown, f"{shown}?by=krank", f"{shown}?by=nichts", f"{shown}/over-time"),
        f"{shown}/relations?outcome=laune&predictor=krank",
        f"{shown}/relations?outcome=krank&predictor=krank",
        f"{shown}/relations?outcome=nichts&predictor=krank",
        *("/account", "/account/codes", "/audit?check=1", "/leaderboard", "/team", "/tokens"),
        *("/webhooks", "/join/nichts", f"/surveys/{live}/codes", "/surveys/nichts"),
    ]
    compared = f"{shown}?by=krank"
    wait_until("nothing is compared", lambda: 'id="working"' not in site.owner.get(compared).text)
    faults = []
    for path in pages:
        german = site.owner.get(path, headers=GERMAN).text
        assert '<html lang="de">' in german, path
        for one in unsaid(german, site.owner.get(path, headers=ENGLISH).text):
            faults.append(f"{path.replace(repeat, 'closed')}: {one}")
    assert not faults, "\n".join(faults)


def test_a_published_page_speaks_german_where_the_browser_does(site: Site) -> None:
    """The page for everybody, and its embedded form, are German for German browsers alone."""
    token = closed_survey(site, 3, 0.0)
    site.services.surveys.publish(site.services.surveys.record(token))
    for path in (f"/r/{token}", f"/r/{token}/embed"):
        site.visitor.cookies.set("language", "de")
        english = site.visitor.get(path, headers=ENGLISH).text
        german = site.visitor.get(path, headers=GERMAN)
        assert '<html lang="en">' in english
        assert '<html lang="de">' in german.text
        assert german.headers["vary"] == "Accept-Language"
        assert unsaid(german.text, english) == []
