"""Past errors, with and without the noise of masks."""

from __future__ import annotations

import numpy as np
import pytest

from masquerade.errors import ParameterError
from masquerade_papers.loki.history import History, VarianceComponents


def crowd(
    people: int, questions: int, *, dense: float = 1.0, seed: int = 0, weighting: str = "plain"
) -> History:
    """Return a history with known components: within .05, between .01, three noise levels."""
    rng = np.random.default_rng(seed)
    bias = rng.normal(0, 0.1, people)
    level = rng.choice([0.1, 0.3, 0.5], people)
    person, question = np.nonzero(rng.random((people, questions)) < dense)
    truth = rng.random(questions)
    report = truth[question] + bias[person] + rng.normal(0, np.sqrt(0.05), person.size)
    noise = level[person] ** 2
    report += rng.normal(0, level[person])
    return History(
        person, question, report, noise, people=people, questions=questions, weighting=weighting
    )


def test_errors_are_reports_less_the_weighted_mean() -> None:
    """Plain weights: the mean of each question; all weights of a question add to 1."""
    history = History([0, 1, 0, 2], [0, 0, 1, 1], [0.1, 0.5, 0.2, 0.6], [0.0] * 4)
    plain = History([0, 1, 0, 2], [0, 0, 1, 1], [0.1, 0.5, 0.2, 0.6], [0.0] * 4, weighting="plain")
    assert plain.estimate[:, 0] == pytest.approx([0.3, 0.4])
    assert history.error[:, 0] == pytest.approx([-0.2, 0.2, -0.2, 0.2])
    assert np.bincount(history.question, history.weight) == pytest.approx([1, 1])


def test_noisy_reports_weigh_less() -> None:
    """A report with ten times the noise moves the estimate less."""
    history = History([0, 1, 2], [0, 0, 0], [0.0, 0.1, 1.0], [0.0, 0.0, 1.0])
    assert history.weight[2] < history.weight[0] == history.weight[1]
    assert history.estimate[0, 0] < np.mean([0.0, 0.1, 1.0])


def test_noise_of_an_error_is_that_of_the_report_less_its_share_in_the_estimate() -> None:
    """V (1 - 2 w) + sum of w**2 V, against 100,000 simulated histories (5 standard errors)."""
    rng = np.random.default_rng(3)
    noise = np.array([0.5, 0.1, 0.02])
    draws = rng.normal(0, np.sqrt(noise), (100_000, 3))
    history = History([0, 1, 2], [0, 0, 0], [0.0, 0.0, 0.0], noise)
    errors = draws - (draws @ history.weight)[:, None]
    assert history.error_noise == pytest.approx(errors.var(axis=0), rel=5 * np.sqrt(2 / 100_000))


@pytest.mark.parametrize("dense", [1.0, 0.3])
@pytest.mark.parametrize("weighting", ["plain", "precision"])
def test_components_come_back_from_noisy_history(dense: float, weighting: str) -> None:
    """Within .05 and between .01 are found to a tenth and a fifth, though masks add more."""
    found = crowd(800, 100, dense=dense, weighting=weighting).variance_components()
    assert found.within == pytest.approx(0.05, rel=0.1)
    assert found.between == pytest.approx(0.01, rel=0.2)


def test_without_the_correction_for_masks_components_are_far_too_large() -> None:
    """The same errors, said to be without noise, look three times as spread."""
    history = crowd(400, 100)
    naive = History(history.person, history.question, history.error, np.zeros(len(history.person)))
    assert naive.variance_components().within > 3 * history.variance_components().within


def test_tendencies_are_shrunk_as_their_formula_says() -> None:
    """One person, four errors, given components: B = 4 / (4 + within / between)."""
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(50), 4)
    question = np.tile(np.arange(4), 50)
    history = History(person, question, rng.random(200), np.zeros(200))
    components = VarianceComponents(within=0.08, between=0.02)
    found = history.biases(components)
    means = history.error[person == 7].mean()
    assert found.bias[7, 0] == pytest.approx(0.5 * means)
    assert found.variance == pytest.approx(np.full(50, 0.01))


def test_people_without_history_have_no_bias_and_full_uncertainty() -> None:
    """Their bias is 0, the unknown part is the whole between-variance; published: the crowd's."""
    history = History([0, 1], [0, 0], [0.2, 0.4], [0.0, 0.0], people=4)
    found = history.biases(VarianceComponents(0.1, 0.03))
    assert found.bias[2:].tolist() == [[0.0], [0.0]]
    assert found.variance[2:] == pytest.approx([0.03, 0.03])
    mean, variance = history.published_errors()
    assert mean[3, 0] == 0
    assert variance[2] == variance[3] == pytest.approx(0.01)


def test_knowing_the_tendencies_predicts_better() -> None:
    """Shrunk biases are closer to the true ones than raw means and than 0."""
    rng = np.random.default_rng(0)
    bias = rng.normal(0, 0.1, 800)
    found = crowd(800, 30).biases()
    history = crowd(800, 30)
    raw = history.published_errors()[0][:, 0]
    shrunk = found.bias[:, 0]
    assert ((shrunk - bias) ** 2).mean() < 0.95 * ((raw - bias) ** 2).mean()
    assert ((shrunk - bias) ** 2).mean() < 0.95 * (bias**2).mean()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"person": [0, 0], "question": [1, 1]}, "row 2: person 0 answered question 1 before"),
        ({"person": [0, -1]}, "negative"),
        ({"report": [0.1, float("nan")]}, "row 2"),
        ({"noise_variance": [0.1, -0.1]}, "row 2"),
        ({"noise_variance": [0.1]}, "rows; give one each"),
        ({"people": 1}, "people is 1"),
        ({"weighting": "best"}, "weighting is 'best'"),
    ],
    ids=str,
)
def test_bad_history_is_an_error_that_says_where(change: dict[str, object], said: str) -> None:
    """Each message names the row or the parameter."""
    given: dict[str, object] = {
        "person": [0, 1],
        "question": [0, 1],
        "report": [0.1, 0.2],
        "noise_variance": [0.1, 0.1],
        **change,
    }
    with pytest.raises(ParameterError, match=said):
        History(**given)  # type: ignore[arg-type]
