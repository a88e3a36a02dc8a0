"""Alternatives ranked with intervals, decision curves, groups of voters and the page about them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from masquerade import Comparisons
from masquerade.errors import ParameterError
from masquerade.preference import (
    MadeUpVoters,
    MenuChoices,
    SocialPreference,
    decision_curve,
    find_voter_groups,
    fit_menus,
    fit_rankings,
    preference_page,
    rank_alternatives,
)
from masquerade.preference.masked_choices import MaskedChoices
from masquerade.preference.mechanisms.choice_response import ChoiceResponse

ALTERNATIVES = {"cheap": [1.0, 0.0], "cosy": [3.0, 2.0], "dear": [5.0, 0.0], "same": [3.0, 2.0]}


def learned(
    mechanism: str = "none", *, seed: int = 0, groups: int = 1, drawn: bool = False
) -> SocialPreference:
    """Return weights of price and comfort, of 60 voters with 10 choices."""
    rng = np.random.default_rng(seed)
    n = 600
    apart = np.column_stack([rng.uniform(-5, 5, n), rng.uniform(-2, 2, n)])
    won = apart @ [-0.4, 0.9] + rng.normal(size=n) > 0
    chosen = np.where(won[:, None], apart, -apart)
    table = Comparisons.from_frame(
        {"voter": np.arange(n) // 10, "price": chosen[:, 0], "comfort": chosen[:, 1]},
        ranges={"price": (0, 5), "comfort": (0, 2)},
    )
    if mechanism == "none":
        return SocialPreference.learn(table, mechanism=f"none:groups={groups}")
    if drawn:
        return SocialPreference.learn(table, mechanism=mechanism, epsilon=1, public_menus=True)
    return SocialPreference.simulate(table, rng, mechanism=mechanism, epsilon=1)


def test_a_ranking_says_what_is_sure_and_what_is_not() -> None:
    """Order, intervals around 0 on average, ranks, and probabilities that add to 1 both ways."""
    ranking = rank_alternatives(learned(), ALTERNATIVES)
    assert ranking.to_pandas()["alternative"].tolist() == list(ranking.names)
    assert ranking.to_dict()["names"] == list(ranking.names)
    assert ranking.names[:2] == ("cosy", "same")
    assert ranking.names[-1] == "dear"
    assert abs(ranking.utility.mean()) < 1e-9
    assert (ranking.low < ranking.utility).all()
    np.testing.assert_allclose(ranking.beats + ranking.beats.T, 1)
    assert ranking.beats[0, 1] == 0.5  # alike: nothing tells them apart
    assert (ranking.best_rank.tolist(), ranking.worst_rank.tolist()) == ([1, 1, 3, 4], [2, 2, 3, 4])
    assert ranking.chosen is not None
    assert ranking.chosen[0, 3] > 0.9
    assert ranking.to_arrow().column_names[:3] == ["rank", "alternative", "utility"]


def test_probabilities_that_one_beats_another_are_right() -> None:
    """200 crowds: where it is said to be .6 to .99, the order is true as often, within .1."""
    said, true = [], []
    pair = {"one": [1.0, 1.0], "two": [0.0, 0.75]}  # truly -.4 + .225 apart
    for seed in range(200):
        ranking = rank_alternatives(learned("choice-response", seed=seed), pair)
        said.append(ranking.beats[0, 1])
        true.append(ranking.names[0] == "two")
    said_array, true_array = np.array(said), np.array(true)
    some = (said_array > 0.6) & (said_array < 0.99)
    assert some.sum() > 50
    assert true_array[some].mean() >= said_array[some].mean() - 0.1


def test_a_decision_curve_falls_as_the_first_gets_dearer() -> None:
    """Over the public range, within its band, half where the two are equally liked."""
    curve = decision_curve(learned(), [1.0, 1.0], [2.5, 1.0], "price")
    assert (curve.values[0], curve.values[-1]) == (0, 5)
    assert (np.diff(curve.chosen) < 0).all()
    assert ((curve.low <= curve.chosen) & (curve.chosen <= curve.high)).all()
    assert curve.chosen[20] == pytest.approx(0.5, abs=1e-9)


def test_a_direction_has_no_shares_of_choices() -> None:
    """Its length means nothing: rankings have none, curves are refused."""
    direction = learned("linear-knorm")
    assert rank_alternatives(direction, ALTERNATIVES).chosen is None
    with pytest.raises(ParameterError, match="says nothing of shares"):
        decision_curve(direction, [1.0, 1.0], [2.0, 1.0], "price")
    with pytest.raises(ParameterError, match="public range"):
        decision_curve(direction, [1.0, 1.0], [2.0, 1.0], "colour")
    with pytest.raises(ParameterError, match="give alternatives"):
        rank_alternatives(direction)
    with pytest.raises(ParameterError, match="number of alternatives"):
        rank_alternatives(direction, {"one": [1.0, 1.0]})


@pytest.mark.parametrize(("groups", "epsilon"), [(1, None), (2, None), (2, 2.0), (3, 3.0)])
def test_groups_of_voters_are_found_also_under_masks(groups: int, epsilon: float | None) -> None:
    """200 voters with 20 choices: as many groups as there are, their shares, their weights."""
    rng = np.random.default_rng(groups)
    centres = np.array([[1.0, 1, 0, 0], [-1, 1, 0, 1], [0, -1, 1, -1]])[:groups]
    own = rng.integers(0, groups, 200)
    table = MadeUpVoters(centres[own], centres.mean(axis=0)).choose(rng, 20)
    contrast = 1.0 if epsilon is None else float(np.tanh(epsilon / 2))
    signs = np.where(rng.random(len(table)) < (1 + contrast) / 2, 1, -1)
    every = np.ones(len(table))
    choices = MaskedChoices(table.scaled() * signs[:, None], every, contrast * every)
    found = find_voter_groups(choices, table.voter, most=4)
    assert len(found.shares) == groups
    np.testing.assert_allclose(found.shares, np.sort(np.bincount(own) / 200)[::-1], atol=0.05)
    for centre in centres:
        assert np.abs(found.weights - centre).max(axis=1).min() < 0.45


def test_groups_come_with_the_release_and_cost_nothing_more() -> None:
    """The guarantee is that of the masks; estimators without a likelihood refuse groups."""
    rng = np.random.default_rng(0)
    table = MadeUpVoters(rng.normal(size=(40, 3)), np.zeros(3)).choose(rng, 8)
    one, several = (ChoiceResponse(1, groups=many).simulate(table, rng) for many in (1, 3))
    assert one.guarantee.epsilon == several.guarantee.epsilon
    assert sum(several.details["groups"]["shares"]) == pytest.approx(1)
    with pytest.raises(ParameterError, match="estimator=likelihood alone"):
        ChoiceResponse(1, groups=2, estimator="linear").simulate(table, rng)


def test_the_page_holds_the_promise_the_ranking_and_asks_nothing_of_anybody() -> None:
    """Names are escaped, every figure is read out, no script and no address."""
    names = {"<b>cheap</b>": [1.0, 0.0], "cosy": [3.0, 2.0], "dear": [5.0, 0.0]}
    page = preference_page(learned("choice-response:groups=2", drawn=True), alternatives=names)
    for part in ("Protects each choice", "Ranking", "Who beats whom", "What would change"):
        assert part in page
    assert "<b>cheap</b>" not in page
    assert "&lt;b&gt;cheap&lt;/b&gt;" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<svg") == page.count('role="img"')
    assert all(re.findall(r'role="img" aria-label="([^"]*)"', page))
    assert "Groups of voters" in page


def test_a_page_without_privacy_warns() -> None:
    """Weights alone, for there is nothing to rank; the promise is a warning."""
    page = preference_page(learned())
    assert 'class="warning"' in page
    assert "Who beats whom" not in page
    assert "What counts" in page


def test_rankings_and_menus_become_preferences() -> None:
    """Items rank themselves; menus without a mask give weights with errors."""
    strengths = fit_rankings([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]], prior=1.0)
    ranked = rank_alternatives(SocialPreference.of_strengths(strengths, voters=3, records=3))
    assert ranked.names[0] == "a"
    menus = MenuChoices.from_frame(
        {
            "voter": np.repeat(np.arange(30), 3),
            "choice": np.repeat(np.arange(30), 3),
            "chosen": [1, 0, 0] * 30,
            "price": [1.0, 2.0, 3.0] * 30,
        },
        ranges={"price": (0, 10)},
    )
    fitted = fit_menus(menus)
    assert fitted.weights[0] < 0
    assert fitted.guarantee.status == "none"
    assert fitted.standard_errors is not None
