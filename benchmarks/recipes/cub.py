"""Birds: 312 yes/no attributes of 200 species, answers drawn from the published percentages (Section 5 of the paper).

Because answers are drawn independently, a pursuit with naive Bayes that knows the percentages knows the true law of
the answers. What one that has to learn them from 30 images of each species falls short of it is the price of learning.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks import datasets
from benchmarks.baselines import decision_tree, hold_out, row_of
from benchmarks.black_box import NetworkSettings, black_box
from benchmarks.choose_stopping import told
from benchmarks.datasets.birds import Birds
from benchmarks.experiment import Experiment
from benchmarks.log_joint import log_joint
from benchmarks.pages import quoted
from benchmarks.paired import paired
from benchmarks.recipes.shrinkage import RANKS, Shrinkage, drawn_towards, expected
from benchmarks.recipes.walks import RULES, Walks, walk
from infopursuit import plots, queries
from infopursuit.evaluation.measures import Point, Row, counted
from infopursuit.models.empirical import Flip
from infopursuit.models.learning import Learner, empirical, latent_classes, naive_bayes
from infopursuit.models.sample import Sample
from infopursuit.models.table import TableModel
from infopursuit.pursuit.stopping import Confidence, MaxQueries
from infopursuit.queries import QuerySet
from infopursuit.strategies.generative.build import generative_pursuit
from infopursuit.support.types import IntArray

HELD_OUT = 0.2
"""Share of the training images on which everything is chosen: 6 of the 30 of a species."""
MOST, SUREST = 60, 1e-3
"""Questions after which a pursuit ends, and the doubt at which it ends before."""
EPSILONS = {
    "confidence": tuple(np.geomspace(0.8, 2 * SUREST, 28).round(4).tolist()),
    "gain": tuple(np.geomspace(0.2, SUREST, 28).round(4).tolist()),
}
COST = 0.01
"""Accuracy that the stopping rule may cost, to be shorter, of what pursuits to the end have on held-out images."""
PAPER_EPSILON = 0.007
LENGTHS = tuple(range(5, 55, 5))
"""Mean lengths at which pursuits are compared."""
SLOW_INPUTS = 150
"""Test images for the model that takes long."""
MORE_INPUTS, MORE_IMAGES = 1000, (30, 60, 120, 300, 600, 1200)
"""Test images, and images of each species to learn from, of the table that says what more of them would bring."""
NETWORK = NetworkSettings(widths=(512,), epochs=40, patience=8)

MANY_IMAGES = 1200
"""Images of each species, 40 times what there are, with which the number of images is no longer what limits it."""

TRUE, LEARNT, NAIVE = "true percentages", "learnt", "learnt, naive Bayes"
MANY = f"learnt from {MANY_IMAGES:,} a species"


@dataclass(frozen=True)
class Answers:
    """Answers and labels: of the training images, of those that are learnt from and held out, of the test images."""

    query_set: QuerySet
    data: Birds
    train: IntArray
    labels: IntArray
    learn: IntArray
    choose: IntArray
    test: IntArray
    test_labels: IntArray

    def sample(self, rows: Any = slice(None)) -> Sample:
        """Some training images."""
        variables, n_classes = self.query_set.variables, self.data.n_classes
        return Sample.of(variables, self.train[rows], self.labels[rows], n_classes=n_classes)

    @property
    def true_model(self) -> TableModel:
        """Naive Bayes with the percentages that answers were drawn from."""
        return TableModel(self.sample().class_prior, None, self.data.class_percentages / 100)


def cub(experiment: Experiment) -> dict[str, Any]:
    """The table, the curves and their differences."""
    answers = _read(experiment)
    data = answers.data
    experiment.say(data.description)
    chosen = experiment.part("learners", [RANKS, HELD_OUT], lambda: _choose_learner(answers))
    experiment.say(f"lowest loss on held-out answers: {chosen['shrinkage']}, {chosen['naive']}, {chosen['flip']}")
    stopping = experiment.part("stopping", [chosen, MOST, COST], lambda: _choose_rule(experiment, answers, chosen))
    experiment.say(f"stop by {stopping['rule']}, epsilon {stopping['epsilon']:.3g}")
    main = experiment.part(
        "pursuits", [chosen, stopping, LENGTHS, MANY_IMAGES], lambda: _pursue(experiment, answers, chosen, stopping)
    )
    more = experiment.part(
        "more images", [chosen, MORE_IMAGES], lambda: _more_images(experiment, answers, chosen, stopping)
    )
    slow = experiment.part("empirical", [chosen, stopping], lambda: _empirical(experiment, answers, chosen, stopping))
    others = experiment.part("baselines", NETWORK, lambda: _baselines(experiment, answers))
    rows = [*main["rows"], *slow["rows"], *others, *(asdict(row) for row in _paper())]
    tables = {
        f"Chosen on {len(answers.choose):,} held-out training images: nats that an image's answers cost": chosen[
            "table"
        ],
        "Right, %, at equal mean length, and the difference in points": main["table"],
        f"What more images of each species would bring ({more['n_inputs']:,} test images, right in %)": more["table"],
    }
    result = {
        "data": {
            "name": data.name,
            "simulated": data.simulated,
            "description": data.description,
            "n_train": len(answers.train),
            "n_test": len(answers.test),
            "n_classes": data.n_classes,
            "n_queries": len(answers.query_set),
        },
        "chosen": {**chosen, "stopping": stopping},
        "rows": rows,
        "differences": [*main["differences"], *slow["differences"]],
        "curves": main["curves"],
        "tables": tables,
        "figures": [*_curve_figure(experiment, main["curves"]), *_examples(experiment, answers, chosen, stopping)],
    }
    return experiment.finish(result)


# ---- data and choices, on training images alone ---------------------------------------------------------------------


def _read(experiment: Experiment) -> Answers:
    data = datasets.cub(answers="simulated", seed=experiment.seed)
    query_set = queries.concepts(data.feature_names or ())
    test = np.arange(len(data.x_test))
    if experiment.n_inputs is not None:  # test images are sorted by species, so that the first ones would not do
        test = np.sort(np.random.default_rng((experiment.seed, 1)).permutation(test)[: experiment.n_inputs])
    labels = np.asarray(data.y_train, dtype=np.int64)
    learn, choose = hold_out(labels, HELD_OUT, experiment.seed)
    values, test_labels = query_set.observe(data.x_test[test]), np.asarray(data.y_test, dtype=np.int64)[test]
    return Answers(query_set, data, query_set.observe(data.x_train), labels, learn, choose, values, test_labels)


def _choose_learner(answers: Answers) -> dict[str, Any]:
    """The settings of each learner with the lowest loss on the answers about held-out images, given the species."""
    sample = answers.sample(answers.learn)
    values, labels = answers.train[answers.choose], answers.labels[answers.choose]

    def best(options: dict[Any, Learner]) -> Any:
        losses = {key: _loss(learner.fit(sample), values, labels) for key, learner in options.items()}
        for key, learner in options.items():
            table.append({"model": _told(learner), "nats": round(losses[key], 3)})
        return min(losses, key=lambda key: losses[key])

    table: list[dict[str, Any]] = [
        {"model": "the true percentages", "nats": round(_loss(answers.true_model, values, labels), 3)}
    ]
    naive = best({smoothing: naive_bayes(smoothing) for smoothing in (0.5, 1.0, 2.0, 4.0, 8.0)})
    shrinkage = best({rank: Shrinkage(rank) for rank in RANKS if rank < len(answers.query_set)})
    best({2: latent_classes(2)})
    flip = best({rate: empirical(Flip((rate,))) for rate in (0.5, 0.7, 0.9, 0.97)})
    return {"naive": naive, "shrinkage": shrinkage, "flip": flip, "table": table}


def _told(learner: Any) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in vars(learner).items())
    return f"{type(learner).__name__}({settings})"


def _loss(model: Any, values: IntArray, labels: IntArray) -> float:
    """Mean of -log p(answers | species), in nats an image."""
    joint = log_joint(model, values) - np.log(model.class_prior)
    return float(-joint[np.arange(len(labels)), labels].mean())


def _choose_rule(experiment: Experiment, answers: Answers, chosen: dict[str, Any]) -> dict[str, Any]:
    """The rule that gets more right at the same lengths, and the epsilon that costs `COST` of all it could get."""
    model = Shrinkage(chosen["shrinkage"]).fit(answers.sample(answers.learn))
    walks = _walk(experiment, model, answers, answers.train[answers.choose], answers.labels[answers.choose])
    lengths = [length for length in LENGTHS if length < walks.length.mean()]
    score = {rule: np.mean([walks.right_at(rule, length).mean() for length in lengths]) for rule in RULES}
    rule = max(RULES, key=lambda rule: score[rule])
    whole = walks.point(rule, 0.0).accuracy
    epsilons = np.geomspace(1.0, SUREST, 200)
    epsilon = next(e for e in epsilons if walks.point(rule, e).accuracy >= whole - COST)
    return {
        "rule": rule,
        "epsilon": float(epsilon),
        "held_out": asdict(walks.point(rule, epsilon)),
        "mean_accuracy_by_rule": {rule: float(score[rule]) for rule in RULES},
    }


# ---- pursuits of the test images ------------------------------------------------------------------------------------


def _walk(experiment: Experiment, model: TableModel, answers: Answers, values: IntArray, labels: IntArray) -> Walks:
    stopping = Confidence(SUREST) | MaxQueries(MOST)
    pursuit = generative_pursuit(model, answers.query_set, stopping=stopping, seed=experiment.seed)
    return walk(pursuit, values, labels, MOST, progress=experiment.progress)


def _pursue(
    experiment: Experiment, answers: Answers, chosen: dict[str, Any], stopping: dict[str, Any]
) -> dict[str, Any]:
    """Pursuits with the learnt and with the true percentages: rows, curves, and differences at equal length."""
    sample, rule, epsilon = answers.sample(), stopping["rule"], stopping["epsilon"]
    models = {
        LEARNT: Shrinkage(chosen["shrinkage"]).fit(sample),
        NAIVE: naive_bayes(chosen["naive"]).fit(sample),
        MANY: _learnt_from(experiment, answers, chosen, MANY_IMAGES),
        TRUE: answers.true_model,
    }
    walks, rows = {}, []
    for name, model in models.items():
        assert isinstance(model, TableModel)
        begin = time.perf_counter()
        walks[name] = _walk(experiment, model, answers, answers.test, answers.test_labels)
        seconds = time.perf_counter() - begin
        point = walks[name].point(rule, epsilon)
        experiment.say(f"{name}: {told(point)}")
        note = f"stops by {rule}, epsilon {epsilon:.3g}"
        rows.append(row_of(f"Information Pursuit, {name}", point, seconds=seconds, note=note))
    paper = walks[LEARNT].point("gain", PAPER_EPSILON)
    note = f"stops by gain, epsilon {PAPER_EPSILON:g}, or after {MOST} questions"
    rows.insert(1, row_of("Information Pursuit, learnt, the paper's rule", paper, note=note))
    for name in (LEARNT, MANY, TRUE):
        right = log_joint(models[name], answers.test).argmax(axis=1) == answers.test_labels
        rows.append(counted(f"MAP using Q, {name}", right))
    differences, table = [], []
    own = walks[LEARNT].point(rule, epsilon).length
    lengths = [length for length in LENGTHS if length < min(each.length.mean() for each in walks.values())]
    for length in [own, *lengths]:
        right = {name: each.right_at(rule, length) for name, each in walks.items()}
        share = {f"{name}": round(100 * float(each.mean()), 2) for name, each in right.items()}
        intervals = {}
        for ours, theirs in ((LEARNT, NAIVE), (LEARNT, TRUE), (MANY, TRUE)):
            difference = paired(f"{ours} - {theirs}, {length:.3g} questions", right[ours], right[theirs])
            told_as = f"{100 * difference.mean:+.2f} ({100 * difference.low:+.2f} to {100 * difference.high:+.2f})"
            intervals[f"{ours} - {theirs}"] = told_as
            if length == own:
                differences.append(difference)
        table.append({"questions": round(length, 2), **share, **intervals})
    curves = {name: [each.point(rule, e) for e in EPSILONS[rule]] for name, each in walks.items()}
    return {
        "rows": [asdict(row) for row in rows],
        "differences": [asdict(difference) for difference in differences],
        "table": table,
        "curves": {name: [asdict(point) for point in points] for name, points in curves.items()},
    }


def _more_images(
    experiment: Experiment, answers: Answers, chosen: dict[str, Any], stopping: dict[str, Any]
) -> dict[str, Any]:
    """The same learner on ever more images, their answers drawn anew: is it the learning that is short of images?"""
    some = _some(experiment, answers, MORE_INPUTS)
    values, labels, rule = answers.test[some], answers.test_labels[some], stopping["rule"]
    true = _walk(experiment, answers.true_model, answers, values, labels)
    lengths = [length for length in (20, 30, 40) if length < true.length.mean()]
    table = []
    for n in MORE_IMAGES:
        model = _learnt_from(experiment, answers, chosen, n)
        walks = _walk(experiment, model, answers, values, labels)
        whole = float((log_joint(model, values).argmax(axis=1) == labels).mean())
        row = {f"{length} questions": walks.right_at(rule, length).mean() for length in lengths}
        table.append({"images of each species": f"{n:,}", **_percent({**row, "all questions": whole})})
        experiment.say(f"{n} images of each species: {100 * whole:.2f} % with all answers")
    row = {f"{length} questions": true.right_at(rule, length).mean() for length in lengths}
    whole = float((log_joint(answers.true_model, values).argmax(axis=1) == labels).mean())
    table.append({"images of each species": "true percentages", **_percent({**row, "all questions": whole})})
    return {"n_inputs": len(some), "table": table}


def _learnt_from(experiment: Experiment, answers: Answers, chosen: dict[str, Any], n: int) -> TableModel:
    """What is learnt from n images of each species, their answers drawn anew."""
    percentages = answers.data.class_percentages / 100
    # of answers that are independent only their number counts
    yes = np.random.default_rng((experiment.seed, 3, n)).binomial(n, percentages).astype(np.float64)
    total = np.full_like(yes, n)
    frequencies = drawn_towards(yes, total, expected(yes, total, chosen["shrinkage"]))
    return TableModel(np.full(len(yes), 1 / len(yes)), None, frequencies)


def _percent(shares: dict[str, Any]) -> dict[str, float]:
    return {name: round(100 * float(share), 2) for name, share in shares.items()}


def _some(experiment: Experiment, answers: Answers, n: int) -> IntArray:
    """Some of the test images, of all species."""
    order = np.random.default_rng((experiment.seed, 2)).permutation(len(answers.test))
    return np.sort(order[:n])


def _empirical(
    experiment: Experiment, answers: Answers, chosen: dict[str, Any], stopping: dict[str, Any]
) -> dict[str, Any]:
    """Pursuits with every training image as a latent state, on some of the test images, stopped where they are as long
    on average as those with the learnt percentages."""
    some, rule, name = _some(experiment, answers, SLOW_INPUTS), stopping["rule"], "every image a state"
    values, labels = answers.test[some], answers.test_labels[some]
    model = empirical(Flip((chosen["flip"],))).fit(answers.sample())
    pursuit = generative_pursuit(model, answers.query_set, stopping=Confidence(SUREST) | MaxQueries(MOST))
    begin = time.perf_counter()
    walks = walk(pursuit, values, labels, MOST, progress=experiment.progress)
    seconds = time.perf_counter() - begin
    ours = _walk(experiment, Shrinkage(chosen["shrinkage"]).fit(answers.sample()), answers, values, labels)
    length = min(ours.point(rule, stopping["epsilon"]).length, float(walks.length.mean()))
    point = walks.point(rule, walks.epsilons_for(rule, length)[0])
    experiment.say(f"{name}: {told(point)}")
    note = f"flips {chosen['flip']:g}; stops where it is as long as the first row on these images"
    row = row_of(f"Information Pursuit, {name}", point, seconds=seconds, note=note)
    what = f"{name} - {LEARNT}, {length:.3g} questions"
    difference = paired(what, walks.right_at(rule, length), ours.right_at(rule, length))
    return {"rows": [asdict(row)], "differences": [asdict(difference)]}


# ---- what it is compared with, and pictures -------------------------------------------------------------------------


def _baselines(experiment: Experiment, answers: Answers) -> list[dict[str, Any]]:
    given = (answers.query_set, answers.train, answers.labels, answers.test, answers.test_labels)
    tree = decision_tree(*given, seed=experiment.seed)
    box = black_box(*given, settings=NETWORK, progress=experiment.progress, say=experiment.say)
    note = f"{tree.details['questions']:.2f} questions on a path, depth {tree.details['depth']}"
    chosen = f"{box.details['chosen']}, the better on held-out images; {box.details['other']['name']}: "
    chosen += f"{100 * box.details['other']['accuracy']:.2f} %"
    return [asdict(row_of("decision tree on Q", tree, note=note)), asdict(row_of(box.name, box, note=chosen))]


def _paper() -> list[Row]:
    note = "as the paper has it: answers of a network about real images, not comparable"
    return [
        quoted("Information Pursuit (paper)", 0.7673, 14.7, note),
        quoted("decision tree (paper)", 0.6880, note=note),
        quoted("MAP using Q (paper)", 0.7680, note=note),
        quoted("black box using Q (paper)", 0.7630, note=note),
        quoted("black box on images (paper)", 0.8270, note=note),
    ]


def _curve_figure(experiment: Experiment, curves: dict[str, Any]) -> list[dict[str, str]]:
    named = {name: [Point(**point) for point in points] for name, points in curves.items()}
    axes = plots.trade_off(named, title="CUB, simulated answers")
    about = "Accuracy against questions on CUB with simulated answers"
    return [experiment.figure(axes, f"{experiment.name}.png", about)]


def _examples(
    experiment: Experiment, answers: Answers, chosen: dict[str, Any], stopping: dict[str, Any]
) -> list[dict[str, str]]:
    """Two pursuits as the paper draws them: the first test images that are classified rightly and wrongly."""
    names = np.array([name.split(".", 1)[-1].replace("_", " ") for name in answers.data.class_names])
    model = Shrinkage(chosen["shrinkage"]).fit(answers.sample())
    some = _some(experiment, answers, 40)
    rule = Confidence(min(stopping["epsilon"], 0.5)) | MaxQueries(MOST)
    pursuit = generative_pursuit(model, answers.query_set, stopping=rule, classes=names)
    trace, truth = pursuit.run_values(answers.test[some]), names[answers.test_labels[some]]
    figures = []
    for word, wanted in (("right", True), ("wrong", False)):
        found = np.flatnonzero((trace.predictions == truth) == wanted)
        if not len(found):
            continue
        i = int(found[0])
        axes = plots.heatmap(trace[i], truth=truth[i])
        about = f"A pursuit that is {word}: {truth[i]}, simulated answers"
        figures.append(experiment.figure(axes, f"{experiment.name}-{word}.png", about, bbox_inches="tight"))
    return figures
