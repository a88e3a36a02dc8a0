"""The page of a draft's languages: texts side by side, files out and in, gaps counted."""

from __future__ import annotations

from tests.server.conftest import Site

from masquerade.server.db.tables import FIRST_TEAM


def test_a_draft_is_translated_on_its_page(site: Site) -> None:
    """A language is added, filled in, exported, imported and taken out; opening freezes it."""
    page = site.owner.post("/surveys/new", data={"template": "pick"})
    token = page.url.path.split("/")[2]
    base = f"/surveys/{token}/languages"
    assert "Add a language" in site.owner.get(base).text
    page = site.owner.post(f"{base}/list", data={"first": "en", "add": "de"})
    assert page.status_code == 200
    assert "texts are missing" in page.text
    page = site.owner.post(base, data={"de title": "Titel auf Deutsch", "de nothing": "x"})
    assert "Titel auf Deutsch" in page.text
    drafts = site.services.drafts
    spoken = drafts.draft(token, team=FIRST_TEAM).document.languages
    assert spoken.texts == {"de": {"title": "Titel auf Deutsch"}}
    table = site.owner.get(f"{base}.csv")
    assert table.text.startswith("\ufeffaddress,en,de")
    catalogue = site.owner.get(f"{base}/de.po").text.replace(
        'msgstr "Titel auf Deutsch"', 'msgstr "Anderer Titel"'
    )
    page = site.owner.post(f"{base}/file", files={"file": ("de.po", catalogue.encode())})
    assert "Anderer Titel" in page.text
    wrong = site.owner.post(f"{base}/file", files={"file": ("de.po", b"\xff")})
    assert wrong.status_code == 422
    assert "no text in UTF-8" in wrong.text
    assert site.owner.get(f"{base}/fr.po").status_code == 404
    bad = site.owner.post(f"{base}/list", data={"add": "Klingon!"})
    assert "Klingon!" in bad.text
    drafts.change(token, {"title": "Another title"}, team=FIRST_TEAM, version=_version(site, token))
    spoken = drafts.draft(token, team=FIRST_TEAM).document.languages
    assert spoken.texts["de"]["title"] == "Anderer Titel"
    site.owner.post(f"{base}/list", data={"remove": "de"})
    assert drafts.draft(token, team=FIRST_TEAM).document.languages.languages[:1] == ["en"]
    assert "de" not in drafts.draft(token, team=FIRST_TEAM).document.languages.texts


def test_a_form_with_a_field_for_each_text_is_read(site: Site) -> None:
    """A survey of a thousand texts is translated on one page, however the form is sent."""
    page = site.owner.post("/surveys/new", data={"template": "pick"})
    base = f"/surveys/{page.url.path.split('/')[2]}/languages"
    site.owner.post(f"{base}/list", data={"first": "en", "add": "de"})
    many = {f"de nothing{n}": "x" for n in range(1_200)}
    csrf = site.owner.headers.pop("X-CSRF-Token")
    sent = site.owner.post(base, data={"csrf": csrf, "de title": "Titel", **many})
    assert sent.status_code == 200
    assert "Titel" in sent.text


def _version(site: Site, token: str) -> int:
    return site.services.drafts.draft(token, team=FIRST_TEAM).version
