"""The table of everything that a person can read of a survey: promise, simulation, nasty inputs.

A row holds where, over all its cases, the rate is as promised. `promised` is the least rate of each
case, or the most where a rate is of errors; a test fails where chance alone would miss it once in a
million runs of the whole row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scipy.stats import binom
from tests.honesty import (
    compared,
    crowds,
    doubts,
    error_parts,
    kinds,
    languages,
    leaderboards,
    one_by_one,
    regressions,
    released,
    sentences,
    served,
    simulated,
    weighted_kinds,
)

Rates = Callable[[int, int], Mapping[str, float]]
FALSE_ALARM = 1e-6


@dataclass(frozen=True)
class Row:
    """A kind of output, with its promise.

    Attributes
    ----------
    name, promise, nasty : str
        What a reader sees, what is said of it, and the inputs it is tried with.
    outputs : tuple of str
        Public names that give it, with their rooms.
    rates : callable
        From a number of surveys and a seed to the rate of each case.
    promised : float
    errors : bool
        Whether rates are of errors, of which the promise is the most.
    quick : int
        Surveys a case in the quick slice: 1,000 where they are computed at once. The others are
        few, so that all rows take two minutes of one processor: they notice a rate that is far
        off, and the whole in `make test-all` notices the rest.
    each : int
        Statements of one survey that hang together no more than those of two.
    """

    name: str
    promise: str
    nasty: str
    outputs: tuple[str, ...]
    rates: Rates
    promised: float = 0.93
    errors: bool = False
    quick: int = 60
    each: int = 1

    def bound(self, runs: int, cases: int) -> float:
        """Return the rate that chance passes once in a million runs, if the promise holds."""
        alarm, said = FALSE_ALARM / max(cases, 1), runs * self.each
        if self.errors:
            return float(binom.isf(alarm, said, self.promised)) / said
        return float(binom.ppf(alarm, said, self.promised)) / said


def _one_group(runs: int, seed: int) -> dict[str, float]:
    return {
        f"{name}, {privacy}, {n}": simulated.one_group(
            name, privacy, n, runs=runs, seed=seed
        ).coverage
        for name in simulated.ONE_GROUP
        for privacy in simulated.PRIVACY
        for n in (20, 60, 200, 1000, 5000)
    }


def _levels(runs: int, seed: int) -> dict[str, float]:
    return {
        f"{share:g} +- {away:g}, {n}": simulated.levels(
            share, away, n, 0.15, runs=runs, seed=seed
        ).coverage
        for share in (0.5, 0.05)
        for away in (0.0, 0.08, 0.15)
        for n in (60, 200, 1000)
    }


def _firsts(part: str, rates: Callable[[int, int], Mapping[str, simulated.Firsts]]) -> Rates:
    def chosen(runs: int, seed: int) -> dict[str, float]:
        return {name: getattr(one, part) for name, one in rates(runs, seed).items()}

    return chosen


ROWS = (
    Row(
        "labels of results in other languages",
        "each answer of the other language stands beside the figures of its own",
        "all kinds in any order, answers whose translation is another answer, levels, two parties",
        ("results.result_in_language",),
        languages.labels_of_languages,
        promised=1.0,
        quick=2,
    ),
    Row(
        "ranks of a leaderboard",
        "the ranks of all placed items hold together in 95 of 100",
        "10 items met unevenly, 20 to 200 votes each, ties, voters who differ, masks, two parties",
        ("preference.Leaderboard", "preference.leaderboard_page"),
        leaderboards.ranks,
        promised=0.95,
        quick=60,
    ),
    Row(
        "items of a leaderboard that may be first",
        "the best item is among them in 95 of 100",
        "10 items met unevenly, 20 to 200 votes each, ties, voters who differ, masks, two parties",
        ("preference.Leaderboard",),
        leaderboards.firsts,
        promised=0.95,
        quick=60,
    ),
    Row(
        "difference of two strengths of a leaderboard",
        "the 95 % interval holds",
        "10 items met unevenly, 20 to 200 votes each, ties, voters who differ, masks, two parties",
        ("preference.Leaderboard",),
        leaderboards.apart,
        quick=60,
        each=leaderboards.PAIRS,
    ),
    Row(
        "share, mean, score of promoters, share of those asked, ordered pair",
        "the 95 % interval holds",
        "rare, unanimous, all but one, flat, skewed; n 20 to 5,000; masks and two parties",
        (
            *("estimation.Crowd", "estimation.Figures", "estimation.Counts", "estimation.Sums"),
            *("estimation.Reports", "estimation.Estimate", "estimation.ratios", "results.Figure"),
            *("results.QuestionResult", "results.SurveyResult", "results.survey_result"),
            *("results.split_result", "results.result_table", "results.result_bytes"),
            *("results.QuestionSums", "results.estimate_sums"),
        ),
        _one_group,
        quick=300,
    ),
    Row(
        "shares and means from counts",
        "the 95 % interval holds",
        "a rare option, n 20; labelled counts in any order",
        ("estimation.Shares", "estimation.estimate_shares", "estimation.share_table"),
        one_by_one.counted_shares,
    ),
    Row(
        "share of many options through sets",
        "the 95 % interval holds",
        "rare, nobody, everybody; 20 options; n 20 to 1,000",
        ("estimation.Subsets",),
        kinds.shares_of_sets,
        quick=100,
    ),
    Row(
        "mean of a number that may be skipped",
        "the 95 % interval holds the mean of those who gave one",
        "3 % at the far end, both ends, all at one end, flat; a tenth skip; n 20 to 1,000; masks",
        ("estimation.Levelled",),
        kinds.skipped_numbers,
        quick=50,
    ),
    Row(
        "mean rank of an item, masked orders of three",
        "the 95 % interval holds the mean rank of those who answered",
        "even, one far ahead, everybody the same; a tenth skip; n 20 to 1,000",
        ("estimation.Ranks",),
        kinds.masked_ranks,
        quick=100,
    ),
    Row(
        "mean rank of an item, sums of two parties",
        "the 95 % interval holds the mean rank of those who answered",
        "even, one far ahead, everybody the same; a tenth skip; n 20 to 1,000, noise of sd 8",
        ("estimation.RankSums",),
        kinds.summed_ranks,
        quick=100,
    ),
    Row(
        "share, and cell of a table, where each person is asked some of the questions",
        "the 95 % interval holds",
        "one block of two; two questions asked together, 30 % yes; 60 and 300 people at low",
        ("results.simulate_reports", "results.cross_table"),
        kinds.some_questions,
        quick=60,
    ),
    Row(
        "forecast of a question that some are shown",
        "the interval is at most a third wider in 95 of 100",
        "shown to 30 and 60 of 100; 2,000 people at low",
        ("results.simulate_reports",),
        kinds.shown_to_some,
        promised=0.95,
        quick=15,
    ),
    Row(
        "strength of an item by a model",
        "the 95 % interval holds where one set of strengths fits everybody",
        "even, one far ahead; 200 and 1,000 people, orders of three at epsilon 2; a tenth skip",
        ("estimation.model_strengths",),
        kinds.strengths,
        quick=60,
    ),
    Row(
        "share of first choices by a model",
        "within 10 points of the true share where one set of strengths fits everybody",
        "even, one far ahead; 1,000 people, orders of three at epsilon 2; a tenth skip",
        ("estimation.model_shares",),
        kinds.first_choices,
        quick=30,
    ),
    Row(
        "shares that are read",
        "inside their intervals, adding to 1",
        "everybody says the same; strong masks",
        ("estimation.shown_shares",),
        one_by_one.read_shares,
        promised=0.99999,
    ),
    Row(
        "figure over several levels",
        "the 95 % interval holds while levels differ by at most 15 points from all people",
        "levels alike, 8 and 15 points apart; rare",
        ("estimation.WITHIN", "estimation.OWN", "estimation.ALIKE"),
        _levels,
        quick=40,
    ),
    Row(
        "warning that levels differ",
        "said of any question in at most 5 of 100 surveys whose levels are alike",
        "six questions, rare options; n 60 and 300 at three levels",
        ("estimation.Test", "estimation.levels_alike"),
        one_by_one.alike_levels,
        promised=0.055,
        errors=True,
    ),
    Row(
        "mean of a number",
        "the 95 % interval holds (.92 with noise as wide as the range)",
        "3 % at the far end; mass at both ends; noise of sd 3 and 10",
        ("estimation.Numbers", "estimation.BoundedReport"),
        one_by_one.numbers,
        promised=0.92,
    ),
    Row(
        "median",
        "the 95 % interval holds",
        "11 points, n 20",
        ("estimation.Quantile", "estimation.quantile"),
        one_by_one.medians,
    ),
    Row(
        "cell of a cross table, and within its column",
        "the 95 % interval holds",
        "rare cells, both questions masked",
        ("estimation.Table", "results.CrossTable", "results.cross_table"),
        one_by_one.cells,
    ),
    Row(
        "shares of a table by the public face",
        "the 95 % interval holds",
        "a cell of 2 %",
        (),
        one_by_one.table_of_clear_answers,
    ),
    Row(
        "difference of surveys, waves, known groups",
        "the 95 % interval holds; p below .05 in at most 7 of 100 where there is none",
        "0 of 20 against 2 %; sizes 20 to 1,000; clear, masks, two parties",
        (
            *("estimation.difference", "results.Difference", "results.difference"),
            "results.all_differences",
        ),
        simulated.differences,
        quick=1000,
    ),
    Row(
        "difference of surveys at several levels",
        "the 95 % interval holds",
        "levels alike and apart; n 60 each",
        (),
        simulated.level_differences,
        quick=10,
    ),
    Row(
        "difference of groups that masks hide",
        "the 95 % interval holds",
        "a group of a fifth; n 60; both questions masked; three levels",
        (
            *("estimation.ratio_difference", "results.group_difference"),
            *("results.group_comparisons", "results.GroupComparison"),
            "results.split_group_comparisons",
        ),
        simulated.masked_groups,
        quick=20,
    ),
    Row(
        "known difference of two groups on a page",
        "the 95 % interval holds, cut at what those of the groups allow",
        "a group of two fifths; n 60 in clear; both questions masked",
        (),
        compared.groups,
        quick=20,
    ),
    Row(
        "differences that are marked, and changes that are said",
        "any is false in at most 5 of 100 pages and surveys over time",
        "groups and surveys that are alike; all questions of a page; n 60 in clear; masked",
        (),
        compared.marks,
        promised=0.05,
        errors=True,
        quick=20,
    ),
    Row(
        "weighted share and mean",
        "the 95 % interval holds",
        "raked by a margin that 30 of 100 stand for; design weights; n 20 in clear; all masked",
        ("results.Weighting", "results.weighted_result"),
        compared.weighted,
        quick=20,
    ),
    Row(
        "weighted ticks, numbers, promoters, mean ranks, shares of those who answer",
        "the 95 % interval holds",
        "raked to two margins; weights of 1 to 4; 5 % tick; 60, 300, 1,000 in clear and masked",
        (),
        weighted_kinds.coverage,
        quick=20,
    ),
    Row(
        "error by who answered, and error by masks or noise",
        "masks have no part in clear and one wherever there are any; squares add to the whole",
        "all kinds, plain and weighted; half in clear; 1 and 20 people, most say the same",
        (),
        error_parts.parts,
        promised=1.0,
        quick=1,
    ),
    Row(
        "set of options that may be first",
        "holds the first in 95 of 100 surveys",
        "ties of two, flat 4 and 10; masks; two parties",
        ("estimation.Ahead", "estimation.ahead", "estimation.first_options"),
        _firsts("held", simulated.firsts),
        promised=0.935,
        quick=1000,
    ),
    Row(
        "name of the first option",
        "false in at most 5.5 of 100 surveys",
        "ties of two, flat 4 and 10; masks; two parties",
        ("results.sentence",),
        _firsts("false", simulated.firsts),
        promised=0.055,
        errors=True,
        quick=1000,
    ),
    Row(
        "name of the first option over several levels",
        "false in at most 5.5 of 100 surveys",
        "a tie of two, flat 4; levels 5 points apart",
        (),
        _firsts("false", simulated.level_firsts),
        promised=0.055,
        errors=True,
        quick=10,
    ),
    Row(
        "first of several that may be ticked",
        "false names in at most 5.5 of 100 surveys",
        "equal, tied, rare; options that go together",
        (),
        _firsts("false", simulated.ticks),
        promised=0.055,
        errors=True,
        quick=1000,
    ),
    Row(
        "people of a known population",
        "the 95 % interval holds",
        "16 of 20, 60, 95 and 99 of 100 answered; 5 %; masks; two parties",
        (),
        simulated.finite_populations,
        quick=1000,
    ),
    Row(
        "weighted shares",
        "the 95 % interval holds",
        "a group that answers four times as often",
        (),
        simulated.raking,
        quick=1000,
    ),
    Row(
        "test of independence of two answers",
        "false in at most 8 of 100",
        "expected counts below 1; masks",
        ("estimation.independence", "estimation.holm"),
        one_by_one.independent_answers,
        promised=0.08,
        errors=True,
        quick=10,
    ),
    Row(
        "reports that no honest devices send",
        "said of at most one in a thousand honest questions",
        "everybody says the same",
        (
            *("estimation.Plausibility", "estimation.share_plausibility"),
            "estimation.number_plausibility",
        ),
        one_by_one.honest_reports,
        promised=0.001,
        errors=True,
    ),
    Row(
        "notice that some reports of a question cannot be trusted",
        "said of at most one in a thousand questions of honest devices",
        "seven kinds; all alike, any answers, both ends; 20 and 400 people at two levels",
        (),
        doubts.false_notices,
        promised=0.001,
        errors=True,
    ),
    Row(
        "notice that some reports of a question cannot be trusted, where devices do not mask",
        "names the question and no other, with counts that are so, in 98 of 100",
        "seven kinds; 500 people say the same; all or half of them do not mask one answer",
        (),
        doubts.due_notices,
        promised=0.98,
        quick=14,
    ),
    Row(
        "headline of a question",
        "name, interval and set are false in at most 5.5 of 100 surveys",
        "ties, flat 4 and 10, slightly first; n 50 to 1,000; masks and two parties",
        (),
        one_by_one.headlines,
        promised=0.055,
        errors=True,
        quick=30,
    ),
    Row(
        "sentences of pages and reports",
        "false in at most 5.5 of 100 surveys, of each kind of sentence",
        "1, 19, 60, 400 and 5,000 people; waves; two parties; masks at two levels; groups; ties",
        (),
        sentences.false_rates,
        promised=0.055,
        errors=True,
        quick=10,
    ),
    Row(
        "margin that is forecast",
        "the headline's interval is at most a quarter wider in 93 of 100 surveys",
        "three levels, masks, those asked alone, ticks, numbers with noise",
        (),
        one_by_one.forecasts,
        quick=20,
    ),
    Row(
        "people planned for a margin",
        "the share is within the margin in 95 of 100 surveys",
        "shares of 10 and 50 %; strong masks",
        (
            *("selection.Precision", "selection.TwoPartySums", "selection.parse_plan"),
            *("selection.participants_needed", "selection.precision_of", "results.Outlook"),
            "results.outlook",
        ),
        one_by_one.planned_people,
    ),
    Row(
        "coefficient of a regression through masks",
        "the 95 % interval holds (.92 at worst: a rare outcome; 95 % choose one option)",
        "outcome, predictor or both masked; n 300; rare outcome; nearly all choose one option",
        (
            *("analysis.regress", "analysis.Regression", "analysis.Term", "analysis.Effects"),
            *("analysis.Naive", "analysis.Predictions", "analysis.Ratio"),
            *("analysis.survey_regression", "analysis.survey_relation"),
        ),
        regressions.coefficients,
        promised=0.92,
        quick=20,
    ),
    Row(
        "sentence of a regression where there is no relation",
        "told in at most 5 of 100 surveys",
        "four slopes, outcome and a score masked; n 300, epsilon 2",
        ("analysis.Regression",),
        regressions.false_sentences,
        promised=0.055,
        errors=True,
        quick=12,
    ),
    Row(
        "sentence of a regression where there is one",
        "right direction, and the interval in it holds",
        "chosen after looking at all slopes",
        ("analysis.Term",),
        regressions.naming_sentences,
        promised=0.05,
        errors=True,
        quick=20,
    ),
    Row(
        "correlation of masked ratings",
        "the 95 % interval holds",
        "epsilon 1, where it says nothing, to 4; n 300",
        ("analysis.Correlation", "analysis.correlation", "analysis.survey_correlation"),
        regressions.correlations,
        quick=40,
    ),
    Row(
        "correlation, slope and log-odds from tables of two parties",
        "the 95 % interval holds, noise in it",
        "200 people with noise of sd 3, 1,000 with 10; no number where noise hides it",
        ("analysis.PairTables", "analysis.declared_pairs", "analysis.log_linear"),
        regressions.declared_tables,
    ),
    Row(
        "odds of three answers from one table of two parties",
        "the 95 % interval holds (.92 at worst), noise in it",
        "two predictors, three answers; noise from a tenth of a cell to a third",
        ("analysis.declared_odds",),
        regressions.odds_of_three_answers,
        promised=0.92,
        quick=40,
    ),
    Row(
        "share through a classical design",
        "the 95 % interval holds",
        "2 % yes among 60; a triangular table; three cards",
        ("analysis.DesignShares", "analysis.shares"),
        regressions.design_shares,
        quick=20,
    ),
    Row(
        "coefficient beside a second unknown of two groups",
        "the 95 % interval holds",
        "dishonest people, cheaters, an unrelated question of unknown share",
        ("analysis.TwoGroups", "analysis.two_groups"),
        regressions.second_unknowns,
        promised=0.92,
        quick=12,
    ),
    Row(
        "people of a plan for a share or for odds",
        "the difference is missed in at most 1 of 5 surveys, as planned",
        "a forced response; an unrelated question of unknown share",
        (
            *("analysis.SamplePlan", "analysis.share_sample", "analysis.share_power"),
            *("analysis.odds_sample", "analysis.two_group_sample", "analysis.two_group_power"),
        ),
        regressions.planned_samples,
        promised=0.21,
        errors=True,
        quick=40,
    ),
    Row(
        "mean of an object's claims in a release",
        "the 95 % interval holds the mean of the claims made",
        "5 and 20 claims; whole numbers, yes or no, both ends, skewed; list, weights, attributes",
        (
            *("release.Release", "release.release", "release.simulate_release"),
            *("release.summaries", "release.synthesize", "release.report_page"),
        ),
        released.rates_of("mean"),
        quick=12,
    ),
    Row(
        "mean of the source of an object's claims in a release",
        "the 95 % interval holds the mean of what they were drawn from",
        "the same; objects whose claims are all alike",
        (),
        released.rates_of("source"),
        promised=0.92,
        quick=12,
    ),
    Row(
        "quantiles of an object's claims in a release",
        "the interval holds in 95 of 100 or more",
        "the same; five levels each",
        (),
        released.rates_of("quantiles"),
        promised=0.95,
        quick=12,
    ),
    Row(
        "share of an answer in a release",
        "the 95 % interval holds the share of the claims made",
        "the same; every answer of a scale",
        (),
        released.rates_of("shares"),
        quick=12,
    ),
    Row(
        "number of claims in a release that hides it",
        "the 95 % interval holds the number",
        "a list, attributes; 5 and 20 claims",
        (),
        released.rates_of("claims"),
        quick=12,
    ),
    Row(
        "mean posterior of labels",
        "within 2 points and chance of the share that is right, in four of five crowds",
        "100 tasks; 3 answers a task; labels of 2 and 5 %; 4 options; epsilon 2",
        ("truth.Auto",),
        crowds.posteriors,
        promised=0.8,
        quick=8,
    ),
    Row(
        "expected precision and recall of a rare label",
        "hits, and tasks that are missed, are as many as expected, give or take chance and one",
        "100 tasks; labels of 2 and 5 %",
        (),
        crowds.expected_of_rare,
        promised=0.93,
        quick=12,
    ),
    Row(
        "reliability of a worker",
        "the 90 % interval holds in 88 of 100 or more",
        "workers of .2 to 1; 4 options; epsilon 2",
        ("truth.reliability_intervals",),
        crowds.reliabilities,
        promised=0.88,
        quick=12,
    ),
    Row(
        "advice on workers",
        "names anybody in at most 2 of 100 honest crowds, five kinds of advice together",
        "50 answers a worker; labels of 2 and 5 %; epsilon 2",
        ("truth.worker_advice",),
        crowds.accusations,
        promised=0.02,
        errors=True,
        quick=12,
    ),
    Row(
        "remark that claims tell nothing",
        "false in at most 1 of 100 crowds of 5 to 10 answers a task",
        "100 tasks; workers of .2 to 1",
        (),
        crowds.prior_only,
        promised=0.01,
        errors=True,
        quick=12,
    ),
    Row(
        "remark that a label is rare",
        "false in at most 1 of 100 crowds with even labels",
        "100 tasks; 3 answers a task; epsilon 2",
        (),
        crowds.rare_labels,
        promised=0.01,
        errors=True,
        quick=12,
    ),
    Row(
        "labels where tasks stop at a posterior of .98",
        "87 of 100 are right",
        "20 tasks, 10 workers, from nothing on",
        ("truth.Collection", "truth.PosteriorStop"),
        crowds.stopped,
        promised=0.87,
        quick=8,
    ),
    Row(
        "responses day by day of an open survey",
        "each day is there once, in whole tens, and none is after the last day",
        "0 to 3 people an hour; both changes of clocks; half an hour's; the first and last zone",
        (),
        served.response_days,
        promised=0.0,
        errors=True,
        quick=1,
    ),
    Row(
        "progress of long work",
        "never goes back, never beyond its end, never over before the result is there",
        "numbers that fall, repeat and are too large; one step; two pieces of work",
        (),
        served.long_work,
        promised=0.0,
        errors=True,
        quick=20,
    ),
)

#: Public names that print no figure of people of their own.
NO_FIGURE = {
    "results": {
        *("REPORT_FORMATS", "Codebook", "FeatureWeight", "ReportCounts", "SurveyReports"),
        "bibliography",
        *("feature_weights", "methods_text", "notebook", "numeric_claims", "numeric_domain"),
        # the numbers of the result in other forms: tests/results/test_files_to_take_along.py
        *("chart_png", "chart_svg", "question_charts", "report_pdf"),
        *("reports_sav", "result_sav", "result_workbook"),
        *("ReportCounts", "read_codebook", "read_reports", "split_codebook", "write_reports"),
    },
    "selection": {
        *("POLICIES", "LevelOffer", "Pool", "Selection", "next_wave", "predicted_error"),
        *("quotas_by_level", "quotas_of_wave", "read_pool", "select", "worth_by_level"),
    },
    "estimation": set(),
    "release": {
        *("Aim", "Domain", "Errors", "GroupedClaims", "Neighbours", "ReleaseParameters"),
        *("errors_of", "guarantee_json", "guarantee_sentence"),
    },
    "analysis": {"FitOptions", "answer_scores", "survey_variable"},
}
