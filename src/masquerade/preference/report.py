"""The page about a preference: guarantee, ranking, weights and figures, HTML without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from masquerade.exact.arrays import Floats
from masquerade.plots.page import interval_figure, numbers_list, page
from masquerade.preference.alternatives import (
    AlternativeRanking,
    DecisionCurve,
    decision_curve,
    rank_alternatives,
    share_of_choices,
)
from masquerade.preference.learn import Alternative, SocialPreference

_MOST_IN_MATRIX = 10
_MOST_CURVES = 6

_STYLE = """
.numbers dd{font-size:1.2rem}text{fill:var(--soft);font-size:11px}
.axis{stroke:var(--line);stroke-width:1}.bar{stroke:var(--one);stroke-width:3}
.dot{fill:var(--one)}.band{fill:var(--one);opacity:.18}
.curve{fill:none;stroke:var(--one);stroke-width:2.5}
.wide{overflow-x:auto}.wide td:first-child{min-width:8rem}th,td{vertical-align:middle}
.number{white-space:nowrap}.drawn{width:40%;min-width:9rem}.sure{font-weight:700}
@media (max-width:40rem){.far{display:none}.drawn{width:38%;min-width:5rem}table{font-size:.85rem}
td,th{padding-right:.5rem}.rows td:nth-child(2){overflow-wrap:anywhere;min-width:5rem}}
"""


def preference_page(
    learned: SocialPreference,
    *,
    alternatives: Mapping[str, Alternative] | None = None,
    title: str = "What the crowd prefers",
) -> str:
    """Return a page about a preference, as HTML text that asks nothing of anybody else.

    Everything on it is computed from the release and public numbers, so it costs no privacy.

    Parameters
    ----------
    alternatives : mapping of name to alternative, optional
        To rank, two or more. Named items rank themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from masquerade.preference import SocialPreference, made_up_voters
    >>> rng = np.random.default_rng(1)
    >>> choices = made_up_voters(rng, voters=50, features=2).choose(rng, records=5)
    >>> page = preference_page(SocialPreference.learn(choices, mechanism="none"))
    >>> page.startswith("<!doctype html>")
    True
    """
    # Without standard errors no order and no curve is drawn: they would look certain.
    known = learned.covariance is not None
    ranked = ""
    if known and (alternatives is not None or learned.named_items):
        ranking = rank_alternatives(learned, alternatives)
        ranked = _ranking(ranking) + _matrix(ranking) + _curves(learned, alternatives, ranking)
    weights = "" if learned.named_items and ranked else _weights(learned)
    parts = (
        _promise(learned),
        _numbers(learned),
        ranked,
        weights,
        _groups(learned),
        _meaning(learned),
    )
    return page(title, *parts, style=_STYLE)


def _promise(learned: SocialPreference) -> str:
    promise = learned.guarantee
    kind = "promise" if promise.status == "proven" else "warning"
    given = "".join(f"<li>{escape(each)}</li>" for each in promise.assumptions)
    taken = f"<p>It takes for granted:</p><ul>{given}</ul>" if given else ""
    return (
        f'<section class="{kind}"><h3>What is promised</h3>'
        f"<p>{escape(learned.release.statement)}</p>{taken}</section>"
    )


def _numbers(learned: SocialPreference) -> str:
    figures = {
        "Mechanism": learned.release.mechanism,
        "Voters": f"{learned.voters:,}",
        "Choices": "not published" if learned.records is None else f"{learned.records:,}",
        "Items" if learned.named_items else "Features": f"{len(learned.features):,}",
    }
    remark = learned.release.details.get("remark")
    said = f'<p class="warning">{escape(str(remark).capitalize())}.</p>' if remark else ""
    return numbers_list(figures) + said


def _ranking(ranking: AlternativeRanking) -> str:
    span = (float(ranking.low.min()), float(ranking.high.max()))
    rows = []
    for place, name in enumerate(ranking.names):
        value, low, high = (float(x[place]) for x in (ranking.utility, ranking.low, ranking.high))
        first, last = int(ranking.best_rank[place]), int(ranking.worst_rank[place])
        said = f"{name}: {value:.2f}, {low:.2f} to {high:.2f}"
        nexts = (
            _percent(float(ranking.beats[place, place + 1]))
            if place + 1 < len(ranking.names)
            else ""
        )
        rows.append(
            f"<tr><td class='number'>{place + 1}</td><td>{escape(name)}</td>"
            f"<td class='drawn'>{interval_figure(said, value, low, high, span=span)}</td>"
            f"<td class='number far'>{value:.2f}</td><td class='number far'>{low:.2f} to {high:.2f}"
            f"</td><td class='number'>{first if first == last else f'{first}–{last}'}</td>"
            f"<td class='number'>{nexts}</td></tr>"
        )
    heads = (
        "<tr><th class='number'>#</th><th>Alternative</th><th class='drawn'>Utility, 95 % interval"
        "</th><th class='number far'>Utility</th><th class='number far'>Interval</th>"
        "<th class='number'>Ranks</th><th class='number'>Beats<br>next</th></tr>"
    )
    return (
        f"<h2>Ranking</h2><table class='rows'><thead>{heads}</thead>{''.join(rows)}</table>"
        '<p class="soft">Utilities are measured from the mean of all alternatives. “Ranks” '
        "are those it may have, for all alternatives together at 95 %; “beats next” is the "
        "probability that it is truly preferred to the next, 50 % where nothing is known.</p>"
    )


def _matrix(ranking: AlternativeRanking) -> str:
    many = min(len(ranking.names), _MOST_IN_MATRIX)
    heads = "".join(f"<th class='number'>{place + 1}</th>" for place in range(many))
    rows = "".join(
        f"<tr><td>{row + 1}. {escape(ranking.names[row])}</td>"
        + "".join(_beats(ranking, row, column) for column in range(many))
        + "</tr>"
        for row in range(many)
    )
    first = f" (the first {many})" if many < len(ranking.names) else ""
    return (
        f"<h2>Who beats whom{first}</h2><div class='wide'><table><thead><tr><th>Row beats column"
        f"</th>{heads}</tr></thead>{rows}</table></div><p class='soft'>Probability that the row is "
        "truly preferred to the column by the whole crowd; bold from 97.5 %.</p>"
    )


def _percent(chance: float) -> str:
    """Return a probability for a table, never 0 or 100 %."""
    if chance > 0.995:
        return "&gt;99%"
    return "&lt;1%" if chance < 0.005 else f"{chance:.0%}"


def _beats(ranking: AlternativeRanking, row: int, column: int) -> str:
    if row == column:
        return "<td class='number soft'>–</td>"
    chance = float(ranking.beats[row, column])
    sure = " sure" if max(chance, 1 - chance) >= 0.975 else ""
    return f"<td class='number{sure}'>{_percent(chance)}</td>"


def _curves(
    learned: SocialPreference,
    alternatives: Mapping[str, Alternative] | None,
    ranking: AlternativeRanking,
) -> str:
    if alternatives is None or share_of_choices(learned, np.zeros(1)) is None:
        return ""
    best, second = ranking.names[:2]
    drawn = []
    for feature in [each for each in learned.features if each.declared][:_MOST_CURVES]:
        curve = decision_curve(learned, alternatives[best], alternatives[second], feature.name)
        ends = f"{curve.chosen[0]:.0%} at {curve.values[0]:g}, {curve.chosen[-1]:.0%} at"
        said = f"Share that takes {best} by its {feature.name}: {ends} {curve.values[-1]:g}"
        drawn.append(
            f"<figure><h3>{escape(feature.name)} of {escape(best)}</h3>{curve_figure(said, curve)}"
            f'<figcaption class="soft">{escape(said)}</figcaption></figure>'
        )
    if not drawn:
        return ""
    return (
        f"<h2>What would change the decision</h2><p>The share of choices that take {escape(best)} "
        f"rather than {escape(second)}, if one feature of {escape(best)} were another.</p>"
        f"<div class='figures'>{''.join(drawn)}</div>"
    )


def _weights(learned: SocialPreference) -> str:
    errors = learned.standard_errors
    # In the public width of each feature, so that features are on one scale.
    width = np.array([each.high - each.low if each.declared else 1.0 for each in learned.features])
    values = learned.weights * width
    reach = 1.96 * (learned.noise_sd if errors is None else errors) * width
    span = (float((values - reach).min()), float((values + reach).max()))
    rows = "".join(
        f"<tr><td>{escape(each.name)}</td><td class='drawn'>"
        + interval_figure(
            f"{each.name}: {value:.3g}, {value - off:.3g} to {value + off:.3g}",
            *(float(value), float(value - off), float(value + off)),
            span=span,
        )
        + f"</td><td class='number'>{weight:.3g}</td>"
        f"<td class='number far'>{weight - off / wide:.3g} to {weight + off / wide:.3g}</td></tr>"
        for each, value, off, weight, wide in zip(
            learned.features, values, reach, learned.weights, width, strict=True
        )
    )
    what = "noise alone" if errors is None else "95 % interval"
    heads = (
        f"<tr><th>Feature</th><th class='drawn'>Over its range, {what}</th>"
        "<th class='number'>Weight of 1</th><th class='number far'>Interval</th></tr>"
    )
    return f"<h2>What counts</h2><table><thead>{heads}</thead>{rows}</table>"


def _groups(learned: SocialPreference) -> str:
    groups: Mapping[str, Any] | None = learned.release.details.get("groups")
    if not groups:
        return ""
    shares, names = groups["shares"], [each.name for each in learned.features]
    scores = ", ".join(f"{score:.4f}" for score in groups["held_out"])
    tried = (
        f"<p class='soft'>Mean log-probability of held-out choices with 1, 2, … groups: {scores}. "
        "A group more is told apart only where it foretells them better by more than a standard "
        "error.</p>"
    )
    if len(shares) == 1:
        return f"<h2>Groups of voters</h2><p>One: held-out choices show no more.</p>{tried}"
    heads = "".join(f"<th class='number'>{share:.0%} of voters</th>" for share in shares)
    rows = "".join(_row(name, column) for name, column in _columns(names, groups["weights"]))
    return (
        "<h2>Groups of voters</h2><div class='wide'><table><thead><tr><th>Over its range</th>"
        f"{heads}</tr></thead>{rows}</table></div>{tried}"
    )


def _columns(
    names: Sequence[str], weights: Sequence[Sequence[float]]
) -> Iterable[tuple[str, tuple[float, ...]]]:
    return zip(names, zip(*weights, strict=True), strict=True)


def _row(name: str, values: Sequence[float]) -> str:
    cells = "".join(f"<td class='number'>{value:.3g}</td>" for value in values)
    return f"<tr><td>{escape(name)}</td>{cells}</tr>"


def _meaning(learned: SocialPreference) -> str:
    if learned.covariance is None:
        text = (
            "Intervals hold the privacy noise alone; what other voters would change is not known."
        )
    else:
        text = (
            "Intervals hold the privacy noise, what other voters would have changed, and what a "
            "ridge may have taken. Where one sum is masked, how voters differ is private: voters "
            "who differ much make intervals too narrow."
        )
    if learned.release.direction_only:
        text += " Only the direction of the weights is known: together they have length 1."
    return f"<h2>What the intervals mean</h2><p>{text}</p>"


_WIDTH, _HEIGHT, _LEFT, _FOOT = 320.0, 190.0, 34.0, 22.0


def curve_figure(title: str, curve: DecisionCurve) -> str:
    """Return a decision curve with its band: shares from 0 to 100 % over a feature's range.

    `title`: read out in place of the figure.
    """
    low, high = float(curve.values[0]), float(curve.values[-1])
    x = _LEFT + (_WIDTH - _LEFT - 8) * (curve.values - low) / max(high - low, 1e-300)
    band = [*_points(x, curve.high), *_points(x[::-1], curve.low[::-1])]
    lines = "".join(
        f'<path class="axis" d="M{_LEFT:g} {_up(share):.1f}H{_WIDTH - 8:g}"/>'
        f'<text x="{_LEFT - 4:g}" y="{_up(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>'
        for share in (0.0, 0.5, 1.0)
    )
    labels = "".join(
        f'<text x="{at:g}" y="{_HEIGHT - 6:g}" text-anchor="{anchor}">{value:g}</text>'
        for at, anchor, value in ((_LEFT, "start", low), (_WIDTH - 8, "end", high))
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" '
        f'aria-label="{escape(title, quote=True)}">{lines}{labels}'
        f'<polygon class="band" points="{" ".join(band)}"/>'
        f'<polyline class="curve" points="{" ".join(_points(x, curve.chosen))}"/></svg>'
    )


def _up(share: float) -> float:
    return 8 + (_HEIGHT - _FOOT - 8) * (1 - share)


def _points(x: Floats, shares: Floats) -> list[str]:
    return [
        f"{at:.1f},{_up(float(share)):.1f}"
        for at, share in zip(x, np.clip(shares, 0, 1), strict=True)
    ]
