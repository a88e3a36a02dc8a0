"""Code written for crowd-kit runs unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from masquerade.errors import ParameterError, SchemaError, UnknownLabel
from masquerade.mechanisms import RandomizedResponse
from masquerade.truth import WeightedVote, crowd_kit
from masquerade.truth.crowd_kit import (
    GLAD,
    HRRASA,
    KOS,
    MACE,
    MMSR,
    RASA,
    ROVER,
    BinaryRelevance,
    GoldMajorityVote,
    MajorityVote,
    OneCoinDawidSkene,
    TextHRRASA,
    TextRASA,
    Wawa,
    ZeroBasedSkill,
)
from masquerade.truth.crowd_kit import DawidSkene as Model

pandas = pytest.importorskip("pandas")

ROWS = [(2, "b", "y"), (1, "a", "x"), (1, "b", "x"), (1, "c", "y"), (2, "a", "y"), (2, "c", "y")]


@pytest.fixture
def frame() -> object:
    """Return a frame as crowd-kit takes it."""
    return pandas.DataFrame(ROWS, columns=["task", "worker", "label"])


def test_labels_and_probabilities_have_crowd_kits_form(frame: object) -> None:
    """Constructor arguments, fit_predict, fit_predict_proba and attributes are crowd-kit's."""
    model = Model(n_iter=10, tol=1e-4)
    labels = model.fit_predict(frame)
    assert labels.name == "agg_label"
    assert labels.index.name == "task"
    assert labels.to_dict() == {1: "x", 2: "y"}
    assert model.labels_.equals(labels)
    probabilities = model.fit_predict_proba(frame)
    assert probabilities.index.tolist() == [1, 2]
    assert probabilities.columns.tolist() == ["x", "y"]
    assert probabilities.columns.name == "label"
    assert probabilities.sum(axis=1).to_numpy() == pytest.approx([1, 1])
    assert model.probas_.to_numpy() == pytest.approx(probabilities.to_numpy())
    assert model.priors_.index.name == "label"
    assert model.priors_.sum() == pytest.approx(1)
    assert model.errors_.index.names == ["worker", "label"]
    assert model.errors_.loc["a"].sum().to_numpy() == pytest.approx([1, 1])
    assert len(model.loss_history_) == model.iterations_


def test_skills_abilities_and_difficulties(frame: object) -> None:
    """Skills are by worker, GLAD's parameters by worker and by task."""
    assert MajorityVote().fit(frame).skills_.to_dict() == {"a": 1, "b": 1, "c": 0.5}
    assert OneCoinDawidSkene().fit(frame).skills_.name == "skill"
    glad = GLAD(n_iter=3).fit(frame)
    assert glad.alphas_.index.tolist() == ["a", "b", "c"]
    assert glad.betas_.index.tolist() == [1, 2]


def test_what_is_not_learnt_is_no_attribute(frame: object) -> None:
    """An attribute of another method is missing, as Python expects."""
    fit = MajorityVote().fit(frame)
    for name in ("priors_", "errors_", "alphas_", "loss_history_", "knowing_"):
        assert not hasattr(fit, name)


def test_true_labels_are_gold(frame: object) -> None:
    """Dawid-Skene takes crowd-kit's series of true labels."""
    gold = pandas.Series(["y"], index=pandas.Index([1], name="task"))
    assert Model().fit_predict(frame, gold)[1] == "y"
    assert Model().fit_predict(frame, gold=gold)[1] == "y"


def test_gold_must_be_an_option(frame: object) -> None:
    """A gold label that nobody could give is refused, with the task."""
    with pytest.raises(UnknownLabel, match="task 1"):
        Model().fit(frame, gold={1: "z"})


def test_weights_may_be_given(frame: object) -> None:
    """A worker without a weight is an error, or gets the default."""
    with pytest.raises(ParameterError, match="worker 'b'"):
        WeightedVote(weights={"c": 5.0}).fit(frame)
    heavy = WeightedVote(weights={"c": 5.0}, default_weight=1.0).fit_predict(frame)
    assert heavy.to_dict() == {1: "y", 2: "y"}
    agreed = WeightedVote().fit(frame)
    assert (
        agreed.reliability_["weight"].to_pylist() == agreed.reliability_["reliability"].to_pylist()
    )


#: Five workers on five tasks; w1 to w5 agree with the majority on .6, .8, 1, .4 and .8 of theirs.
FIVE = {
    "t1": {"w1": "n", "w2": "y", "w4": "y", "w5": "n"},
    "t2": {"w1": "y", "w2": "y", "w3": "y", "w4": "n", "w5": "n"},
    "t3": {"w1": "y", "w2": "n", "w3": "n", "w4": "y", "w5": "n"},
    "t4": {"w1": "y", "w2": "y", "w3": "y", "w4": "y", "w5": "y"},
    "t5": {"w1": "y", "w2": "n", "w3": "n", "w4": "n", "w5": "n"},
}
SKILLS = {"w1": 0.6, "w2": 0.8, "w3": 1.0, "w4": 0.4, "w5": 0.8}
VOTES = [MajorityVote, Wawa, ZeroBasedSkill, KOS, MMSR, Model, OneCoinDawidSkene, GLAD, MACE]


@pytest.fixture
def five() -> Any:
    """Return claims as a frame, a worker after the other."""
    rows = [
        (task, worker, said[worker])
        for worker in SKILLS
        for task, said in FIVE.items()
        if worker in said
    ]
    return pandas.DataFrame(rows, columns=["task", "worker", "label"])


@pytest.mark.parametrize("method", [MajorityVote, Wawa, ZeroBasedSkill])
def test_agreement_is_with_the_labels(method: Any, five: Any) -> None:
    """Where ties go to the first label, skills are shares of agreement with the labels."""
    fit = method(ties="first")
    labels = fit.fit_predict(five)
    assert labels.to_dict() == {"t1": "n", "t2": "y", "t3": "n", "t4": "y", "t5": "n"}
    assert fit.skills_.to_dict() == pytest.approx(SKILLS)
    assert labels is fit.labels_
    assert fit.fit_predict_proba(five) is fit.probas_


def test_skills_label_other_claims(five: Any) -> None:
    """What was learnt of workers weighs their votes on other tasks, and stays."""
    fit = Wawa(ties="first").fit(five)
    other = pandas.DataFrame(
        [("u1", "w3", "y"), ("u1", "w4", "n"), ("u1", "w1", "n")],
        columns=["task", "worker", "label"],
    )
    assert fit.predict_proba(other).loc["u1"].to_dict() == pytest.approx({"n": 0.5, "y": 0.5})
    assert fit.predict(other[:2]).to_dict() == {"u1": "y"}
    assert fit.skills_.to_dict() == pytest.approx(SKILLS)


def test_votes_weigh_what_skills_say(five: Any) -> None:
    """Given skills are weights; who lacks one is an error, is left out, or has the default."""
    heavy = pandas.Series({**SKILLS, "w1": 9.0})
    assert MajorityVote().fit_predict(five, skills=heavy)["t5"] == "y"
    some = heavy.drop("w4")
    with pytest.raises(ValueError, match="worker 'w4'"):
        MajorityVote().fit(five, skills=some)
    left_out = MajorityVote(on_missing_skill="ignore").fit(five, skills=some)
    assert "w4" not in left_out.skills_.index
    much = MajorityVote(on_missing_skill="value", default_skill=99)
    assert much.fit_predict(five, skills=some)["t2"] == "n"
    with pytest.raises(ValueError, match="5 tasks, such as 't1'"):
        MajorityVote(on_missing_skill="ignore").fit(five, skills=heavy[:0])
    with pytest.raises(ParameterError, match="default_skill goes with"):
        MajorityVote(default_skill=1)


def test_gold_skills_are_of_known_tasks(five: Any) -> None:
    """Fit learns skills alone; a task may have two truths; known tasks are voted on too."""
    gold = pandas.Series({"t1": "y", "t2": "y"})
    fit = GoldMajorityVote().fit(five, gold)
    assert fit.skills_.to_dict() == {"w1": 0.5, "w2": 1, "w3": 1, "w4": 0.5, "w5": 0}
    assert fit.predict_proba(five).loc["t1"].to_dict() == pytest.approx({"n": 0.25, "y": 0.75})
    both = pandas.Series(["y", "n"], index=["t1", "t1"])
    assert GoldMajorityVote().fit(five, both).skills_.to_dict() == {
        "w1": 1,
        "w2": 1,
        "w4": 1,
        "w5": 1,
    }


def test_scores_of_mmsr_are_shares_of_log_odds(five: Any) -> None:
    """Scores of a task add up to 1, and one of them is negative where liars agree."""
    fit = MMSR()
    scores = fit.fit_predict_score(five)
    assert scores.sum(axis=1).to_numpy() == pytest.approx(np.ones(5))
    assert fit.skills_["w1"] < 0 < fit.skills_["w3"]
    assert fit.predict_score(five).loc["t5", "y"] < 0


@pytest.mark.parametrize("kind", VOTES)
def test_iterations_come_first_and_may_be_none(kind: Any, five: Any) -> None:
    """`n_iter` is the first parameter where crowd-kit has it first; with 0 there are labels too."""
    if kind in (MajorityVote, Wawa):
        assert "n_iter" not in kind().get_params()
        return
    first = kind(n_iter=0) if kind is MACE else kind(0)
    assert first.n_iter == first.get_params()["n_iter"] == 0
    assert sorted(first.fit_predict(five).index) == sorted(FIVE)
    again = kind(**first.get_params())
    assert again.get_params() == first.get_params()
    assert first.set_params(n_iter=7).max_iterations == 7


def test_the_first_steps_are_dawid_and_skenes(five: Any) -> None:
    """Before the first iteration: shares of votes, their mean, and their confusions."""
    fit = Model(0, smoothing=0).fit(five)
    assert fit.probas_["n"].to_list() == pytest.approx([0.5, 0.4, 0.6, 0.0, 0.8])
    assert fit.priors_.to_dict() == pytest.approx({"n": 0.46, "y": 0.54})
    # w1 said n to t1 alone, whose truth is n by half: .5 of 2.3
    assert fit.errors_.loc[("w1", "n"), "n"] == pytest.approx(0.5 / 2.3)
    one = Model(1, smoothing=0).fit(five)
    assert one.probas_.loc["t1", "n"] == pytest.approx(0.35, abs=0.005)
    assert one.errors_.loc[("w3", "n"), "n"] == pytest.approx(0.87, abs=0.005)


def known(counts: dict[str, dict[tuple[str, str], float]]) -> Any:
    """Return what is known of workers, from counts by (label, truth)."""
    index = pandas.MultiIndex.from_product([SKILLS, ["y", "n"]], names=["worker", "label"])
    table = pandas.DataFrame(0.0, index=index, columns=["n", "y"])
    for worker, cells in counts.items():
        for (label, truth), count in cells.items():
            table.loc[(worker, label), truth] = count
    return table


def test_what_is_known_of_workers_is_added_or_assigned(five: Any) -> None:
    """Counts move the first confusions and so the labels; assigned ones are these."""
    said_y_where_n = known({w: {("y", "n"): 99.0} for w in ("w1", "w2", "w3")})
    said_y_where_n.loc[(["w4", "w5"], "n"), "n"] = 99.0
    fit = Model(10, 0, "addition").fit(five, initial_error=said_y_where_n)
    assert fit.labels_["t2"] == "n"
    assert Model(10, 0).fit(five, initial_error=said_y_where_n).labels_["t2"] == "y"
    even = known({w: dict.fromkeys([(a, b) for a in "yn" for b in "yn"], 0.5) for w in SKILLS})
    assigned = Model(0, 0, "assign").fit(five, initial_error=even)
    pandas.testing.assert_frame_equal(assigned.errors_, even)


def test_what_is_known_of_workers_is_checked(five: Any) -> None:
    """Probabilities that do not add up, missing workers, another index or a mask are refused."""
    model = Model(10, 0, "assign")
    with pytest.raises(ParameterError, match=r"should be 1\.0"):
        model.fit(five, initial_error=known({}))
    with pytest.raises(ParameterError, match="lacks 4 workers, such as 'w2'"):
        model.fit(five, initial_error=known({})[:2])
    with pytest.raises(ParameterError, match=r"expected \['worker', 'label'\]"):
        model.fit(five, initial_error=known({}).reset_index())
    with pytest.raises(ParameterError, match="takes no mechanism"):
        model.fit(five, initial_error=known({}), mechanism=RandomizedResponse(2, epsilon=1))
    with pytest.raises(ParameterError, match="initial_error_strategy is 'add'"):
        Model(10, 0, "add")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", VOTES)
def test_a_table_without_rows_has_empty_results(kind: Any) -> None:
    """As crowd-kit, which gives empty labels; missing columns are an error all the same."""
    empty = pandas.DataFrame([], columns=["task", "worker", "label"])
    labels = kind().fit_predict(empty)
    assert len(labels) == 0
    assert labels.name == "agg_label"
    with pytest.raises(SchemaError):
        kind().fit(pandas.DataFrame([], columns=["task", "worker"]))


def test_several_labels_a_task(five: Any) -> None:
    """Lists of labels come as a series of lists; a table without rows gives none."""
    table = pandas.DataFrame(
        [("a", "x", ["p", "q"]), ("a", "y", ["p"]), ("a", "z", ["p", "r"])],
        columns=["task", "worker", "label"],
    )
    for base in (MajorityVote(), Model(), Wawa(), GLAD()):
        fit = BinaryRelevance(base)
        assert fit.fit_predict(table).to_dict() == {"a": ["p"]}
        assert list(fit.aggregators_) == ["p", "q", "r"]
        assert fit.get_params() == {"method": base} or fit.base_aggregator is base
    assert len(BinaryRelevance().fit_predict(table[:0])) == 0


def test_texts_and_vectors() -> None:
    """Tokens are voted on; outputs come with their vectors; encoders take one text."""
    table = pandas.DataFrame(
        [("s", "x", "a b c d"), ("s", "y", "b z d e"), ("s", "z", "b c d e f")],
        columns=["task", "worker", "text"],
    )
    rover = ROVER(tokenizer=str.split, detokenizer=" ".join)
    assert rover.fit_predict(table).to_dict() == {"s": "b c d e"}
    assert rover.texts_.name == "agg_text"

    def encoder(text: str) -> Any:
        return np.array([len(text), text.count("b"), text.count("e")], dtype=float)

    outputs = table.rename(columns={"text": "output"})
    outputs["embedding"] = outputs["output"].apply(encoder)
    truth = pandas.Series({"s": encoder("b c d e")})
    for kind, of_text in ((RASA, TextRASA), (HRRASA, TextHRRASA)):
        fit = kind(100, 0)
        found = fit.fit_predict(outputs, truth)
        assert found.loc["s", "output"] == "b z d e"
        assert found.loc["s", "embedding"].tolist() == encoder("b z d e").tolist()
        assert fit.skills_.idxmax() == "y"
        assert of_text(encoder=encoder).fit_predict(table).name == "agg_text"
        assert len(kind(n_iter=0).fit_predict(outputs)) == 1


def test_mace_has_one_method() -> None:
    """Plain expectation-maximization of MACE is not here, and the error says so."""
    with pytest.raises(ParameterError, match="method is 'em', expected 'vb'"):
        MACE(method="em")


def test_the_names_are_crowd_kits() -> None:
    """All names of crowd-kit's methods but segmentation and comparisons are here."""
    assert set(crowd_kit.__all__) == {
        "BinaryRelevance",
        "DawidSkene",
        "GLAD",
        "GoldMajorityVote",
        "HRRASA",
        "KOS",
        "MACE",
        "MMSR",
        "MajorityVote",
        "OneCoinDawidSkene",
        "RASA",
        "ROVER",
        "TextHRRASA",
        "TextRASA",
        "Wawa",
        "ZeroBasedSkill",
    }
