"""`generative_pursuit`: the paper's pursuit on a generative model, and the choice of its belief."""

from __future__ import annotations

from typing import Any

from infopursuit.pursuit.information import MutualInformation
from infopursuit.pursuit.loop import Pursuit
from infopursuit.pursuit.stopping import Confidence, Rule
from infopursuit.queries.queryset import QuerySet
from infopursuit.strategies.generative.exact import Exact
from infopursuit.support.checks import instance
from infopursuit.support.lazy import lazy_name

_MODULES = {
    "Pruned": "pruned",
    "SMC": "particles",
    "Langevin": "particles",
}
BELIEFS = {"exact": "Exact", "pruned": "Pruned", "smc": "SMC", "langevin": "Langevin"}
"""The names by which a belief is chosen; the classes of all but the first are its settings, with ``build``."""


def generative_pursuit(
    model: Any,
    queries: QuerySet,
    belief: Any = "auto",
    stopping: Rule | None = None,
    patience: int = 0,
    seed: int = 0,
    *,
    exact_gains: bool | None = None,
    n_states: int = 1024,
    n_screened: int = 64,
    memory_limit: int = 2**29,
    **parts: Any,
) -> Pursuit[Any]:
    """Build the paper's pursuit on a generative model: mutual information under its posterior.

    Parameters
    ----------
    model : FiniteModel or VAE
        A model of the variables that the queries reveal.
    queries : QuerySet
        What may be asked.
    belief : str or settings, default "auto"
        "auto" is "exact" for a finite model, which may also have "pruned" (many states, yes/no
        variables: not exact, but many times faster), and "smc" for a VAE, which may also have
        "langevin"; or settings such as ``ip.strategies.SMC(n_draws=4000)``.
    stopping : Rule, optional
        When to stop; by default ``ip.Confidence()``.
    patience : int, default 0
        A rule must hold at one more than this many checks in a row.
    seed : int, default 0
        Of what is drawn.
    exact_gains, n_states, n_screened
        See `MutualInformation`.
    memory_limit : int
        Bytes that the tables of one step may take.
    **parts
        The other parameters of `Pursuit`.

    Returns
    -------
    Pursuit

    Examples
    --------
    >>> import infopursuit as ip
    >>> queries = ip.queries.concepts(["has wings", "is red"])
    >>> model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    >>> ip.generative_pursuit(model, queries).run([[1, 0]]).queries[0, 0].item()
    0
    """
    if not hasattr(model, "beliefs"):
        raise TypeError(f"model is {type(model).__name__}; expected a model such as ip.models.TableModel")
    instance(queries, "queries", QuerySet, "a query set such as ip.queries.concepts(...)")
    if queries.variables != model.variables:
        raise ValueError(
            f"queries reveal {len(queries.variables)} variables with {queries.variables.n_slots} values, but the "
            f"model has {len(model.variables)} with {model.variables.n_slots}; fit the model on queries.observe(X)"
        )

    seed = int(seed)
    return Pursuit(
        queries,
        build_belief(model, queries, belief, seed, noisy=parts.get("noise") is not None),
        MutualInformation(exact_gains, n_states, n_screened, seed, memory_limit),
        Confidence() if stopping is None else stopping,
        patience,
        seed=seed,
        memory_limit=int(memory_limit),
        **parts,
    )


def build_belief(model: Any, queries: QuerySet, belief: Any = "auto", seed: int = 0, *, noisy: bool = False) -> Any:
    """Build the belief about a model: ``model.beliefs`` names those that suit it, the default first.

    Parameters
    ----------
    model : FiniteModel or VAE
    queries : QuerySet
    belief : str or settings, default "auto"
        "auto", one of the names, or settings such as ``ip.strategies.SMC(n_draws=4000)``.
    seed : int, default 0
    noisy : bool, default False
        Whether answers may be wrong.
    """
    names = model.beliefs
    name = names[0] if belief is None or (isinstance(belief, str) and belief == "auto") else belief
    if not isinstance(name, str):
        name = getattr(belief, "kind", type(belief).__name__)
    if name not in names:
        settings = ", or settings such as ip.strategies.SMC(n_draws=4000)" if "smc" in names else ""
        raise ValueError(
            f"belief={belief!r} does not suit a {type(model).__name__}; use {' or '.join(map(repr, names))}{settings}"
        )

    if name == "exact":
        return Exact(model, queries)

    settings_class = settings_of(name)
    settings = belief if isinstance(belief, settings_class) else settings_class()
    return settings.build(model, queries, seed, noisy=noisy)


def settings_of(name: str) -> Any:
    """The class of the settings of a belief, which is imported when it is first used."""
    return lazy_name("infopursuit.strategies.generative", _MODULES, BELIEFS[name])
