"""The page about a leaderboard: guarantee, possible ranks, pairs and models, without scripts."""

from __future__ import annotations

from html import escape

from masquerade.plots.page import interval_figure, numbers_list, page
from masquerade.preference.leaderboard import Leaderboard
from masquerade.preference.standings import Standing, elo

_MOST_IN_MATRIX = 10

_STYLE = """
.axis{stroke:var(--line);stroke-width:1}.bar{stroke:var(--one);stroke-width:3}
.dot{fill:var(--one)}.wide{overflow-x:auto}th,td{vertical-align:middle}
.drawn{width:32%;min-width:7rem}.sure{font-weight:700}
@media (max-width:40rem){.far{display:none}table{font-size:.85rem}td,th{padding-right:.5rem}}
"""


def leaderboard_page(board: Leaderboard, *, title: str = "Leaderboard") -> str:
    """Return a page about a leaderboard, as HTML text that asks nothing of anybody else.

    Examples
    --------
    >>> votes = {"model_a": ["x", "y", "x", "z"], "model_b": ["y", "z", "z", "x"],
    ...          "winner": ["model_a", "tie", "model_b", "model_b"]}
    >>> leaderboard_page(Leaderboard.fit(votes)).startswith("<!doctype html>")
    True
    """
    parts = (_promise(board), _numbers(board), _ranks(board), _matrix(board), _models(board))
    return page(title, *parts, style=_STYLE)


def _promise(board: Leaderboard) -> str:
    kind = "promise" if board.guarantee.status == "proven" else "warning"
    given = "".join(f"<li>{escape(each)}</li>" for each in board.guarantee.assumptions)
    taken = f"<p>It takes for granted:</p><ul>{given}</ul>" if given else ""
    return (
        f'<section class="{kind}"><h3>What is promised</h3><p>{escape(board.statement)}</p>'
        f"{taken}</section>"
    )


def _numbers(board: Leaderboard) -> str:
    figures = {
        "Items": f"{len(board.standings):,}",
        "Votes": f"{board.votes:,.6g}",
        "Ties": f"{board.ties:,.6g}",
        "Voters": f"{board.voters:,}" if board.voters else "not known",
        "Model": board.model,
    }
    notes = "".join(f"<p>{escape(note.capitalize())}.</p>" for note in board.notes)
    return numbers_list(figures) + notes


def _ranks(board: Leaderboard) -> str:
    some = [one for one in board.standings if one.strength is not None]
    if not some:
        return "<h2>Ranks</h2><p>No votes link any two items both ways.</p>" + _rest(board)
    placed = [one for one in some if one.placed] or some
    worst = max(one.rank_high for one in placed)
    # Placed items by strength: the dot is at an item's place by estimate.
    order = sorted((one for one in some if one.placed), key=lambda one: -(one.strength or 0.0))
    place = {one.item: number for number, one in enumerate(order, start=1)}
    rows = "".join(_line(one, place[one.item], worst) for one in some if one.placed)
    first = ", ".join(board.first)
    said = f"<p>May be first: {escape(first)}.</p>" if first else ""
    table = (
        "<div class='wide'><table><thead><tr><th>Item</th><th class='number'>Rank</th>"
        "<th class='drawn'>Ranks that are possible</th><th class='number'>Rating</th>"
        f"<th class='number far'>Interval</th><th class='number far'>Won, tied, lost</th></tr>"
        f"</thead>{rows}</table></div>"
    )
    return (
        f"<h2>Ranks</h2>{said}{table if rows else ''}<p class='soft'>The ranks of all items hold "
        "together in 95 of 100 leaderboards; 1 is the best, and a dot is the place by estimate. "
        "Ratings have a mean of 1000, and 400 points are odds of ten to one.</p>" + _rest(board)
    )


def _line(one: Standing, place: int, worst: int) -> str:
    said = f"{one.item}: rank {one.rank_low} to {one.rank_high}"
    figure = interval_figure(said, place, one.rank_low, one.rank_high, span=(1, max(worst, 2)))
    same = one.rank_low == one.rank_high
    ranks = f"{one.rank_low}" if same else f"{one.rank_low}–{one.rank_high}"
    low, high = (elo(end or 0.0) for end in (one.low, one.high))
    return (
        f"<tr><td>{escape(one.item)}</td><td class='number'>{ranks}</td>"
        f"<td class='drawn'>{figure}</td><td class='number'>{one.rating:.0f}</td>"
        f"<td class='number far'>{low:.0f} to {high:.0f}</td>"
        f"<td class='number far'>{_record(one)}</td></tr>"
    )


def _record(one: Standing) -> str:
    """Return how often an item won, tied and lost."""
    if one.wins is None:
        return "protected"
    return f"{one.wins:g}, {one.ties:g}, {one.losses:g}"


def _rest(board: Leaderboard) -> str:
    rest = [one for one in board.standings if not one.placed]
    if not rest:
        return ""
    rows = "".join(
        f"<tr><td>{escape(one.item)}</td><td>{escape(one.note)}</td>"
        f"<td class='number'>{_record(one)}</td></tr>"
        for one in rest
    )
    return (
        "<h2>Not placed</h2><table><thead><tr><th>Item</th><th>Why</th>"
        f"<th class='number'>Won, tied, lost</th></tr></thead>{rows}</table>"
    )


def _matrix(board: Leaderboard) -> str:
    names = [one.item for one in board.standings if one.strength is not None][:_MOST_IN_MATRIX]
    if len(names) < 2:
        return ""
    heads = "".join(f"<th class='number'>{place}</th>" for place in range(1, len(names) + 1))
    rows = ""
    for place, row in enumerate(names, start=1):
        cells = "".join(_chance(board, row, column) for column in names)
        rows += f"<tr><td>{place}. {escape(row)}</td>{cells}</tr>"
    return (
        "<h2>Who wins against whom</h2><div class='wide'><table><thead><tr><th>Row wins against "
        f"column</th>{heads}</tr></thead>{rows}</table></div><p class='soft'>Share of votes that "
        "the row is expected to win; bold where it is decided which of the two is better.</p>"
    )


def _chance(board: Leaderboard, row: str, column: str) -> str:
    if row == column:
        return "<td class='number soft'>–</td>"
    duel = board.decide(row, column)
    sure = " sure" if duel.decided else ""
    return f"<td class='number{sure}'>{duel.wins:.0%}</td>"


def _models(board: Leaderboard) -> str:
    if not board.log_likelihoods:
        return ""
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td class='number'>{value:.2f}</td></tr>"
        for name, value in board.log_likelihoods.items()
    )
    effects = "".join(
        f"<tr><td>{escape(one.name)}</td><td class='number'>{one.estimate:.3g}</td>"
        f"<td class='number'>{one.low:.3g} to {one.high:.3g}</td></tr>"
        for one in (*board.effects, *([board.tie] if board.tie else []))
    )
    more = f"<table><tr><th>Effect</th><th>Estimate</th><th>Interval</th></tr>{effects}</table>"
    return (
        "<h2>Models</h2><table><tr><th>Model of ties</th><th class='number'>Log-likelihood</th>"
        f"</tr>{rows}</table>{more if effects else ''}"
    )
