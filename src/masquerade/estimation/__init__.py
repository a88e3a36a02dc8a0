"""The one core of all estimates of a survey: figures, intervals, tests.

Whatever is printed of people's answers comes from one likelihood, that of the reports: answers
enter as the *worth* of a report, half a person is added at the far end, and the ratio is cut at a
quantile of chi-squared with one degree of freedom (Owen 1988). It serves answers in clear, masks on
devices, several levels of protection, and noisy sums of two parties alike; the result is never
empty, never outside the range, and holds what is estimated.

Three steps lead to a figure:

1. **Reports** of each level: `Counts` of a question, a `Table` of two questions, noisy `Numbers`,
   `Sums` of two parties.
2. A **Crowd** of one or several levels, with the bound by which levels may differ: `ALIKE`,
   `WITHIN` (15 points, the default) or `OWN`.
3. **Figures** of it: ``crowd.shares()``, ``crowd.mean(scores)``, ``crowd.figures(scores)``,
   `ratios` among those asked, the `difference` of two crowds, the `ratio_difference` of two
   masked groups of one. ``figures.estimates(confidence)``
   gives an `Estimate` for each, ``figures.probabilities(value)`` the p-value of each.

`ahead` says which option is first, or which may be; `quantile` gives medians; `holm`,
`independence` and `levels_alike` are tests; `shown_shares` are shares that a person reads;
`estimate_shares` takes counts of reports to one question in one step.

Examples
--------
>>> from masquerade.mechanisms import RandomizedResponse
>>> mask = RandomizedResponse(2, epsilon=1)
>>> crowd = Crowd.of([Counts.of([30, 10]), Counts.of([50, 40], mask)])
>>> yes = crowd.shares().estimates()[0]
>>> round(yes.value, 2), round(yes.low, 2), round(yes.high, 2)
(0.66, 0.5, 0.82)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from masquerade.lazy import lazy_room

if TYPE_CHECKING:
    from masquerade.estimation.bounded_reports import BoundedReport
    from masquerade.estimation.conditional import ratio_difference, ratios
    from masquerade.estimation.contenders import Ahead, ahead, first_options
    from masquerade.estimation.differences import difference
    from masquerade.estimation.estimate import Estimate, share_table, shown_shares
    from masquerade.estimation.figures import ALIKE, OWN, WITHIN, Crowd, Figures
    from masquerade.estimation.hypotheses import Test, holm, independence, levels_alike
    from masquerade.estimation.plausibility import (
        Plausibility,
        number_plausibility,
        share_plausibility,
    )
    from masquerade.estimation.quantiles import Quantile, quantile
    from masquerade.estimation.ranks import Ranks, RankSums, model_shares, model_strengths
    from masquerade.estimation.reports import Counts, Levelled, Numbers, Reports, Subsets, Table
    from masquerade.estimation.shares import Shares, estimate_shares
    from masquerade.estimation.sums import Sums
else:
    __getattr__, __dir__ = lazy_room(__name__)

__all__ = [
    "ALIKE",
    "OWN",
    "WITHIN",
    "Ahead",
    "BoundedReport",
    "Counts",
    "Crowd",
    "Estimate",
    "Figures",
    "Levelled",
    "Numbers",
    "Plausibility",
    "Quantile",
    "RankSums",
    "Ranks",
    "Reports",
    "Shares",
    "Subsets",
    "Sums",
    "Table",
    "Test",
    "ahead",
    "difference",
    "estimate_shares",
    "first_options",
    "holm",
    "independence",
    "levels_alike",
    "model_shares",
    "model_strengths",
    "number_plausibility",
    "quantile",
    "ratio_difference",
    "ratios",
    "share_plausibility",
    "share_table",
    "shown_shares",
]
