"""Real releases: randomness, budgets, names of engines, local noise, files and the page."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pa_parquet
import pytest

from masquerade.accounting import Caps, Ledger, MemoryStorage
from masquerade.answers import Claims
from masquerade.errors import (
    InsecureRandomness,
    InsufficientBudget,
    ParameterError,
)
from masquerade.exact import Micro, SimulatedCoins
from masquerade.release import (
    ENGINES,
    STATUSES,
    Engine,
    GroupedClaims,
    Histogram,
    fit_density,
    guarantee_sentence,
    ise,
    parse_engine,
    report_page,
    simulate,
    synthesize,
    usefulness,
)
from masquerade.release.usefulness import expected_uses

Grouped = Callable[..., GroupedClaims]
TABLE = {
    "task": ["a"] * 7 + ["b"] * 3,
    "worker": [*"tuvwxyz", *"tuv"],
    "value": [4, 5, 5, 5.5, 6, 5, 4.5, 1, 2, 1],
}


def ledger(epsilon: int = 3) -> Ledger:
    """Return an empty ledger with a cap on everybody's epsilon, and no delta."""
    caps = Caps(Micro(epsilon * 1_000_000), Fraction(0))
    return Ledger(MemoryStorage(), clock=lambda: "2026-03-14", caps=caps)


def engine_of(name: str) -> Engine:
    """Return an engine for `TABLE` by its name."""
    return parse_engine(name, epsilon=2, domain=(0, 10))


@pytest.mark.parametrize("name", [engine.name for engine in ENGINES])
def test_every_engine_completes_and_says_what_became_of_each_object(name: str) -> None:
    """With the operating system's randomness, on a table, with statuses that have a meaning."""
    told: list[tuple[int, int]] = []
    release = synthesize(
        TABLE,
        engine=engine_of(name),
        samples=12,
        progress=lambda done, total: told.append((done, total)),
    )
    assert all(0 < done <= total <= 2 for done, total in told)
    assert release.engine == name
    assert release.objects.to_pylist() == ["a", "b"]
    assert set(release.status) <= set(STATUSES)
    assert release.offset[-1] == len(release.points)
    assert np.isfinite(release.points).all()
    assert np.isfinite(ise(fit_density(TABLE), release).relative).all()
    assert "<svg" in report_page(release) or len(release.points) == 0


@pytest.mark.parametrize("name", [engine.name for engine in ENGINES])
def test_simulations_repeat_bit_for_bit_and_releases_do_not(name: str) -> None:
    """The same generator state gives the same release; the operating system never does."""
    engine = engine_of(name)
    first, second = (simulate(TABLE, np.random.default_rng(1), engine=engine) for _ in "ab")
    assert first.points.tolist() == second.points.tolist()
    if name == "hist":
        real = [synthesize(TABLE, engine=engine).points.tolist() for _ in "ab"]
        assert real[0] != real[1]


def test_a_seed_never_reaches_a_real_release() -> None:
    """Simulated coins, and generators, are refused."""
    for odd in (SimulatedCoins(np.random.default_rng(0)), np.random.default_rng(0)):
        with pytest.raises(InsecureRandomness):
            synthesize(TABLE, engine=engine_of("hist"), coins=odd)  # type: ignore[arg-type]


def test_everybody_is_charged_for_their_objects_before_anything_is_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At the level of claims a user pays epsilon an object; a second release of the name too."""
    book = ledger(10)
    seen: list[float] = []

    drawn = Histogram.draw

    def watch(*given: Any) -> Any:
        seen.append(book.balance("t").spent_epsilon)
        return drawn(*given)

    monkeypatch.setattr(Histogram, "draw", watch)
    for _ in range(2):
        synthesize(TABLE, engine="hist", epsilon=2, domain=(0, 10), ledger=book, name="r")
    assert seen == [4_000_000, 8_000_000]
    assert book.balance("z").spent_epsilon == 4_000_000
    assert book.verify() > 0


def test_users_pay_by_the_cap() -> None:
    """At the level of users each object costs epsilon / cap, whatever is left out."""
    book = ledger()
    synthesize(TABLE, engine="hist2", epsilon=3, cap=2, domain=(0, 10), ledger=book)
    assert book.balance("t").spent_epsilon == 3_000_000
    assert book.balance("z").spent_epsilon == 1_500_000
    one = ledger()
    release = synthesize(
        TABLE, engine="hist", unit="user", epsilon=3, cap=1, domain=(0, 10), ledger=one
    )
    assert one.balance("t").spent_epsilon == 3_000_000
    assert release.guarantee.answers == 1
    assert "about one object" in guarantee_sentence(release.guarantee)


def test_all_or_nobody_is_charged() -> None:
    """If one user has too little left, nothing is drawn and nobody has paid."""
    book = ledger()
    with pytest.raises(InsufficientBudget):
        synthesize(TABLE, engine="hist", epsilon=2, domain=(0, 10), ledger=book)
    for person in "tuvwxyz":
        balance = book.balance(person)
        assert (balance.spent_epsilon, balance.reserved_epsilon) == (0, 0)
    synthesize(TABLE, engine="hist", epsilon="1.5", domain=(0, 10), ledger=book)
    assert book.balance("t").residual_epsilon == Micro(0)


def test_the_sentence_names_unit_epsilon_and_what_is_public() -> None:
    """At the level of claims it also says that a user's claims add up."""
    claim = guarantee_sentence(engine_of("hist").guarantee())
    for words in ("a single claim", "epsilon = 2", "0 to 10", "number of claims", "add up"):
        assert words in claim
    user = guarantee_sentence(engine_of("hist2").guarantee())
    for words in ("Protected is a user", "at most 10 objects", "number of claims"):
        assert words in user


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"engine": "histogram", "epsilon": 1}, "hist, hist2"),
        ({"engine": "hist"}, "needs epsilon"),
        ({"engine": "hist", "epsilon": 1}, "public domain"),
        ({"engine": "hist2", "epsilon": 1, "domain": (0, 1), "unit": "claim"}, "leak"),
        ({"engine": engine_of("hist"), "epsilon": 1}, "its own"),
        ({"engine": engine_of("hist"), "samples": 0}, "samples"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(words: dict[str, Any], said: str) -> None:
    """A parameter that is missing or not the engine's is named before anything is drawn."""
    with pytest.raises(ParameterError, match=said):
        synthesize(TABLE, **words)


@pytest.mark.parametrize(
    "text",
    [
        "hist:epsilon=1/3,unit=user,cap=3,bins=20,bandwidth=0.5",
        "hist2:epsilon=2,unit=user,high_agreement=0.9",
        "pooled:epsilon=1",
    ],
)
def test_the_text_form_of_an_engine_and_reading_it_are_inverse(text: str) -> None:
    """Every parameter that is not left at its default is in the text, and comes back from it."""
    engine = parse_engine(text, domain=(0, 10))
    assert str(engine) == text
    assert parse_engine(str(engine), domain=(0, 10)) == engine


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hist:epsilon=1,bins=x", "bins is 'x'"),
        ("hist:delta=0.1", "no parameter 'delta'"),
        ("hist:epsilon=1,epsilon=2", "twice"),
        ("hist:domain=5", "no parameter 'domain'"),
    ],
)
def test_texts_that_describe_no_engine_are_refused(text: str, reason: str) -> None:
    """A key that is unknown, doubled or no number is named."""
    with pytest.raises(ParameterError, match=reason):
        parse_engine(text, domain=(0, 1))
    with pytest.raises(ParameterError, match="given twice"):
        parse_engine("hist:epsilon=1", epsilon=2, domain=(0, 1))


def test_a_nameless_release_is_not_charged() -> None:
    """The ledger needs a name."""
    with pytest.raises(ParameterError, match="name"):
        synthesize(TABLE, engine=engine_of("hist"), ledger=ledger(), name="")


def test_files_can_be_read_as_claims(tmp_path: Path) -> None:
    """The points are a table of claims; densities are another; the codebook explains both."""
    release = synthesize(TABLE, engine=engine_of("hist"), samples=5)
    for name in ("out.csv", "out.csv.gz", "out.parquet"):
        release.write(tmp_path / name)
        claims = Claims.read(tmp_path / name, kind="numeric")
        assert (claims.n_tasks, claims.n_workers, len(claims)) == (2, 5, 10)
    columns = pa_parquet.read_table(tmp_path / "out.parquet").column_names
    book = release.codebook()
    assert list(book["columns"]) == columns
    assert book["rows"] == 10
    assert book["guarantee"]["unit"] == "claim"
    assert "outside_domain" not in str(book)
    weights = release.density_table().to_pydict()
    assert math.isclose(
        sum(w for t, w in zip(weights["task"], weights["weight"], strict=True) if t == "a"), 1
    )
    assert len(release.points_of("b")) == 5


class Page(HTMLParser):
    """What a page asks for, and whether its elements close."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [str(v) for k, v in attrs if k in ("src", "href", "action")]


def test_the_page_has_no_scripts_and_escapes_names() -> None:
    """Names of objects are text, whatever they hold, and nothing is fetched from anywhere."""
    nasty = '<script>alert("x")</script>'
    table = TABLE | {"task": [nasty] * 7 + ["b"] * 3}
    release = synthesize(table, engine=engine_of("hist"))
    for reference in (None, fit_density(table)):
        text = report_page(release, reference=reference, title=nasty)
        page = Page()
        page.feed(text)
        assert "script" not in page.tags
        assert page.addresses == []
        assert page.tags.count("figure") == 2
        assert "&lt;script&gt;" in text
        assert guarantee_sentence(release.guarantee).replace("'", "&#x27;") in text


def test_only_the_collector_s_page_shows_the_claims() -> None:
    """Without a reference the page is a function of the release; with one it warns."""
    release = synthesize(TABLE, engine=engine_of("hist"))
    public = report_page(release)
    assert "For the collector only" not in public
    assert "before: the claims" not in public
    private = report_page(release, reference=fit_density(TABLE), show=["b"])
    assert "For the collector only" in private
    assert private.count("<figure>") == 1
    with pytest.raises(ParameterError, match="no object"):
        report_page(release, show=["z"])
    other = fit_density({"task": ["q"], "worker": ["x"], "value": [1.0]})
    with pytest.raises(ParameterError, match="other objects"):
        report_page(release, reference=other)
    with pytest.raises(ParameterError, match="other objects"):
        ise(other, release)


def test_a_page_says_what_a_release_is_good_for_from_public_numbers_alone() -> None:
    """The table is the same to the byte for other claims, other coins and exact counts of them."""
    tables = []
    for shift in (0.0, 1.0):
        moved = TABLE | {"value": [min(value + shift, 9.0) for value in TABLE["value"]]}
        text = report_page(synthesize(moved, engine=engine_of("claims")))
        tables.append(text.split("What is it good for")[1].split("What became")[0])
    assert tables[0] == tables[1]
    assert tables[0].count("<tr>") == 11


def test_where_taking_part_is_private_the_expected_number_says_what_it_is_good_for() -> None:
    """The codebook and the page name the number that was given, never how many claims there are."""
    pages = []
    for left_out in (0, 2):
        rows = slice(0, len(TABLE["task"]) - left_out)
        table = {name: column[rows] for name, column in TABLE.items()}
        released = synthesize(
            table, engine="claims:expected=5", epsilon=1, domain=(0, 10), objects=["a", "b"]
        )
        assert "typical_claims" not in released.parameters
        pages.append(report_page(released).split("What is it good for")[1].split("What became")[0])
    assert pages[0] == pages[1]
    assert "with 5 claims an object" in pages[0]


@pytest.mark.parametrize("claims", [1, 5, 1000])
def test_uses_are_finite_and_grow_with_epsilon(
    claims: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The made-up claims first, then three engines at three epsilons, none better than no noise.

    More claims than are made up are taken for as many as are, here 20.
    """
    monkeypatch.setattr(usefulness, "MOST_CLAIMS", 20)
    uses = expected_uses(claims, 2.0)
    assert [(use.engine, use.epsilon) for use in uses[1:4]] == [
        ("claims", 1.0),
        ("source", 1.0),
        ("hist", 1.0),
    ]
    numbers = [[use.mean_error, use.median_error, use.correlation, use.spread] for use in uses]
    assert np.isfinite(numbers).all()
    little, plenty = expected_uses(claims, 0.02), expected_uses(claims, 500.0)
    assert plenty[4].mean_error < little[4].mean_error
    assert len(expected_uses(claims, 1024.0)) == 7


def test_unprotected_pages_warn() -> None:
    """A release without a guarantee stands in a warning, not in a promise."""
    seed = np.random.default_rng(0)
    page = report_page(simulate(TABLE, seed, engine=engine_of("hist")))
    assert 'class="warning"' in page
    assert 'class="promise"' not in page


def test_a_user_level_cap_leaves_objects_without_claims_empty(grouped: Grouped) -> None:
    """An object that loses all claims to the cap releases nothing and spends nothing."""
    claims = grouped([[1.0], [2.0], [3.0]])
    engine = Histogram(epsilon=1, domain=(0, 10), unit="user", cap=1)
    release = simulate(claims, np.random.default_rng(0), engine=engine)
    assert release.statuses == {"empty": 2, "ok": 1}
    errors = ise(fit_density(claims, bandwidth=1.0), release)
    assert sorted(errors.relative.tolist())[1:] == [1, 1] or errors.empty.sum() == 2


def test_the_log_names_the_engine_and_nothing_of_the_claims(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One line, the same whatever and however many the claims are."""
    lines = []
    for people in (6, 40):
        claims = {
            "task": ["a"] * people,
            "worker": [f"u{n}" for n in range(people)],
            "value": [5.0] * people,
        }
        caplog.clear()
        with caplog.at_level(logging.DEBUG, logger="masquerade.release"):
            synthesize(claims, epsilon=1, domain=(0, 10), samples=7)
        lines.append([record.getMessage() for record in caplog.records])
    assert lines[0] == lines[1] == ["claims: 7 points of each object drawn"]
