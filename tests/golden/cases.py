"""Small pursuits of every kind whose traces are committed: `python tests/golden/cases.py` writes them anew.

A case gives a trace. What is kept of it: queries, answers, lengths, reasons to the letter; gains, posteriors and their
standard errors as numbers, which a test compares to `TOLERANCE` (float32 kernels: `ROUGH`).
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from drawn import hybrid_pursuit, network_belief, network_pursuit

import infopursuit as ip
from infopursuit.models import EmpiricalModel, Flip
from infopursuit.pursuit.noise import NoisyAnnotator
from infopursuit.strategies import SMC, Langevin
from infopursuit.strategies.amortized.querier import acquisition_for
from quadrature import mixed, pixels
from worlds import world_of

FILE = Path(__file__).parent / "traces.json"
TOLERANCE, ROUGH = 1e-9, 2e-5
SEED = 7
DTYPE = "float64"


def world(kind, rules, n=10, unknown=0.15, patience=0, **options):
    """Some inputs of a random world, some of whose values are missing."""
    small, rng = world_of(SEED, kind=kind)
    values = small.inputs(rng, n, unknown=unknown)
    return small.pursuit(rules, patience, **options).run_values(values)


def marks(n=240, n_variables=12):
    """Yes/no answers of examples of three classes."""
    rng = np.random.default_rng(SEED)
    labels = rng.integers(3, size=n)
    likely = rng.beta(0.6, 0.6, size=(3, n_variables))
    return (rng.random((n, n_variables)) < likely[labels]).astype(np.int64), labels


def examples(**options):
    """Some examples, pursued with the others as the model."""
    values, labels = marks()
    model = EmpiricalModel(values[12:], labels[12:], Flip((0.1, 0.5)), n_classes=3, dtype=DTYPE)
    queries = ip.queries.concepts([f"mark {a}" for a in range(values.shape[1])])
    return ip.generative_pursuit(model, queries, **{"stopping": ip.Confidence(0.05), **options}), values[:12]


def small_images(**options):
    """Images of 6 x 6 pixels, in patches of 3 x 3."""
    values, labels = marks(400, 36)
    model = EmpiricalModel(values[10:], labels[10:], Flip((0.05, 0.3)), n_classes=3, dtype=DTYPE)
    queries = ip.queries.patches((6, 6), size=3)
    return ip.generative_pursuit(model, queries, **{"stopping": ip.Confidence(0.01), **options}), values[:10]


def subsampled():
    pursuit, values = small_images(exact_gains=False, n_states=96, n_screened=5)
    return pursuit.run_values(values)


def pruned():
    pursuit, values = small_images(belief="pruned")
    return pursuit.run_values(values)


def sampled(settings, known, n=5, **options):
    stopping = options.pop("stopping", ip.Confidence(0.1) | ip.MaxQueries(4))
    return known.pursuit(settings, stopping, **options).run_values(known.inputs(n, seed=SEED, unknown=0.1))


def noisy():
    pursuit, values = examples(noise=ip.AnswerNoise(0.85), stopping=ip.Confidence(0.1))
    return pursuit.run_values(values)


def asked_again():
    pursuit, values = examples(noise=ip.AnswerNoise(0.8, max_repeats=2), stopping=ip.MaxQueries(9))
    annotator = NoisyAnnotator(pursuit.queries, ip.AnswerNoise(0.8), seed=SEED)
    return pursuit.run_values(values, annotator=annotator)


def priced():
    names = [f"mark {a}" for a in range(12)]
    costs = ip.Costs([1.0, 2.0, 0.5, 1.0, 0.0, 3.0, 1.0, 1.0, 2.5, 1.0, 1.0, 0.25])
    constraints = ip.Constraints({names[2]: [(names[0], ["yes"])], names[7]: [(names[4], None)]}, [names[9]])
    pursuit, values = examples(costs=costs, constraints=constraints, stopping=ip.Confidence(0.02) | ip.MaxCost(6.5))
    return pursuit.run_values(values)


def soft_answers():
    pursuit, values = examples(noise=ip.AnswerNoise(1.0), stopping=ip.Confidence(0.05))
    found = []
    for i, row in enumerate(values[:4]):
        session = pursuit.session()
        while session.question is not None and len(session.history) < 8:
            said = "yes" if row[session.question.index] else "no"
            session.answer(said, confidence=0.6 + 0.1 * ((i + len(session.history)) % 5))
        found.append(session.explanation)
    return found


def tempered():
    pursuit, values = examples()
    return replace(pursuit, calibrator=ip.TemperatureScaling(2.0)).run_values(values)


def known_beforehand():
    pursuit, values = examples()
    return pursuit.run_values(values, known=["mark 3", "mark 8"])


def hybrid(**parts):
    pursuit, table = hybrid_pursuit(SEED, **{"stopping": ip.Confidence(0.05) | ip.MaxQueries(4), **parts})
    return pursuit.run(table)


def hybrid_priced():
    return hybrid(costs=ip.Costs([1.0, 3.0, 1.0, 0.5, 2.0]), stopping=ip.MaxCost(4.0), patience=1)


def hybrid_known():
    pursuit, table = hybrid_pursuit(SEED, stopping=ip.Confidence(0.3))
    return pursuit.run(table, known=["x2"])


def amortized(unit, **parts):
    generative, values = examples()
    parts = {"stopping": ip.Confidence(0.02) | ip.MaxQueries(6), **parts}
    return network_pursuit(generative.queries, SEED, unit, **parts).run_values(values)


def pooled(unit="score", reweight=False, network_asks=False, **parts):
    generative, values = examples()
    other = network_belief(generative.queries, SEED, unit)
    belief = ip.strategies.OpinionPool(generative.belief, other, (0.8, 0.3), reweight=reweight)
    acquisition = acquisition_for(other) if network_asks else generative.acquisition
    pool = replace(generative, belief=belief, acquisition=acquisition, **parts)
    return pool.run_values(values)


def two_networks():
    generative, values = examples()
    members = [network_belief(generative.queries, seed, "nats") for seed in (SEED, SEED + 1)]
    belief = ip.strategies.LogPool(*members, (0.6, 0.6))
    rule = ip.InformationGain(0.2) | ip.MaxQueries(5)
    return ip.Pursuit(generative.queries, belief, acquisition_for(members[0]), rule).run_values(values)


LONG = [("confidence", 0.02, None), ("max_queries", 5)]
CASES = {
    "exact yes_no": lambda: world("yes_no", LONG),
    "exact patches": lambda: world("patches", LONG),
    "exact thresholds": lambda: world("thresholds", LONG),
    "exact categorical": lambda: world("categorical", LONG),
    "exact mixed": lambda: world("mixed", LONG),
    "gain rule": lambda: world("mixed", [("information_gain", 0.02, 1), ("confidence", 0.05, None)]),
    "patience": lambda: world("yes_no", [("confidence", 0.2, 2), ("information_gain", 0.01, None)], patience=1),
    "skips": lambda: world("categorical", LONG, unknown=0.6, patience=1),
    "subsampled": subsampled,
    "pruned": pruned,
    "smc": lambda: sampled(SMC(n_draws=60, min_ess=30, n_own=16, n_moves=2), mixed(1, seed=4)),
    "smc patches": lambda: sampled(SMC(n_draws=80, min_ess=10, n_own=24, n_moves=3), pixels()),
    "langevin": lambda: sampled(Langevin(n_chains=16, n_steps=4, burn_in=6), mixed(1, seed=4), n=3),
    "noise": noisy,
    "asked again": asked_again,
    "costs and constraints": priced,
    "soft answers": soft_answers,
    "temperature scaling": tempered,
    "known beforehand": known_beforehand,
    "hybrid": hybrid,
    "hybrid, two steps": lambda: hybrid(acquisition=ip.strategies.LookAhead(depth=2)),
    "hybrid, costs and patience": hybrid_priced,
    "hybrid, known beforehand": hybrid_known,
    "amortised, scores": lambda: amortized("score"),
    "amortised, gains": lambda: amortized("nats", stopping=ip.InformationGain(0.2) | ip.MaxQueries(6)),
    "pool": pooled,
    "pool, reweighted": lambda: pooled(reweight=True),
    "pool, the network asks": lambda: pooled("nats", network_asks=True),
    "pool of two networks": two_networks,
}
GENERATIVE_FLOAT32 = {"pruned", "smc", "smc patches", "langevin"}
FLOAT32 = GENERATIVE_FLOAT32 | {name for name in CASES if name.startswith(("hybrid", "amortised", "pool"))}


def written(trace):
    """A trace, or explanations of sessions, as JSON data."""
    if isinstance(trace, list):
        return {
            "queries": [[step.query for step in one.steps] for one in trace],
            "answers": [[step.said for step in one.steps] for one in trace],
            "gains": [[step.gain for step in one.steps] for one in trace],
            "posteriors": [[one.prior, *(step.posterior for step in one.steps)] for one in trace],
            "reason": [one.stop_reason for one in trace],
        }
    return {
        "queries": trace.queries.tolist(),
        "answers": trace.answers.tolist(),
        "length": trace.length.tolist(),
        "settled_at": trace.settled_at.tolist(),
        "reason": [str(reason) for reason in trace.stop_reason],
        "runners_up": trace.runners_up.tolist(),
        "gains": trace.gains.tolist(),
        "gain_errors": trace.gain_errors.tolist(),
        "posteriors": trace.posteriors.tolist(),
        "posterior_errors": trace.posterior_errors.tolist(),
        "log_evidence": trace.log_evidence.tolist(),
    }


def rounded(data):
    if isinstance(data, float):
        return float(f"{data:.12g}")
    if isinstance(data, (list, tuple)):
        return [rounded(each) for each in data]
    return {name: rounded(each) for name, each in data.items()} if isinstance(data, dict) else data


if __name__ == "__main__":
    found = {name: rounded(written(make())) for name, make in CASES.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(data, separators=(',', ':'))}" for name, data in found.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    for name, data in found.items():
        print(name, sum(map(len, data["queries"])), set(data["reason"]))
