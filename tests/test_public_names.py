"""The names that outside code relies on, their docstrings, and the examples in them."""

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import infopursuit as ip

PUBLIC = {
    "infopursuit": """
        LATER NOT_APPLICABLE Amortized AnswerNoise Confidence Constraints Costs Explanation Hybrid
        ImpossibleAnswer InformationGain InformationPursuitClassifier MaxCost MaxQueries ModelFormatError
        NoisyAnnotator Pursuit QuerierTraining QueryFrequencies Session SoftAnswer StrategyTree
        TemperatureScaling Trace Trunk case datasets distill fit_table
        generative_pursuit history_classifier jobs load models notebook plots pool
        pursuit queries query_frequencies report save shipped strategies strategy_tree testing
    """,
    "infopursuit.strategies": """
        SMC Exact FixedOrder Langevin LangevinBelief LogPool LookAhead MutualInformation NetworkBelief
        NetworkGain NetworkQuerier OpinionPool ParticleBelief Particles Pruned PrunedBelief RandomOrder
        SMCBelief Strategy entropy mutual_information
    """,
    "infopursuit.pursuit": "Acquisition Belief Budget Capabilities Estimate Histories",
    "infopursuit.app.jobs": "Engine Explained explain",
    "infopursuit.queries": """Columns Concepts Functions Groups Patches QuerySet Recipe Union Words columns concepts
        from_spec functions groups guess patches union words""",
    "infopursuit.models": """
        VAE AggregateVAE Blur ConvArchitecture EmpiricalModel FiniteModel Flip Learner MLPArchitecture
        RandomAffine Sample SoftVAE TableModel Training aggregate empirical latent_classes naive_bayes
        soften train vae
    """,
    "infopursuit.evaluation.inspection": """Branch QueryFrequencies StrategyTree TreeNode query_frequencies
        strategy_tree""",
    "infopursuit.presentation.plots": """asked_by_class calibration heatmap image_trace save
        strategy_tree text_trace trade_off""",
    "infopursuit.testing": "check_acquisition check_belief check_model check_queries check_strategy",
}
TRIVIAL = ("n_scales", "to_spec", "from_spec", "dtype", "fit", "candidates", "holds", "rules", "build")
OPTIONAL = {
    *("captum", "fastapi", "matplotlib", "narwhals", "pandas", "polars", "pooch", "prometheus_client", "pyarrow"),
    *("pydantic", "ray", "snowballstemmer", "starlette", "torch", "uvicorn"),
}


def modules():
    """Every module of the package; those that need something that is not installed are left out."""
    for found in pkgutil.walk_packages(ip.__path__, "infopursuit."):
        if found.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            if (error.name or "").split(".")[0] not in OPTIONAL:
                raise
    yield ip


def sorted_names(names):
    """As ruff sorts them: what is written in capitals comes first."""
    return sorted(names, key=lambda name: (not name.isupper(), name))


MODULES = sorted(modules(), key=lambda module: module.__name__)


@pytest.mark.parametrize("name", PUBLIC)
def test_the_public_names(name):
    """A name that is added or taken away here is added or taken away for everybody."""
    module = importlib.import_module(name)
    assert module.__all__ == PUBLIC[name].split()
    assert module.__all__ == sorted_names(module.__all__)
    for public in module.__all__:
        assert hasattr(module, public)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_object_has_a_docstring(name):
    module = importlib.import_module(name)
    assert (module.__doc__ or "").strip()
    for public in module.__all__:
        thing = getattr(module, public)
        assert (thing.__doc__ or "").strip(), public
        if not inspect.isclass(thing):
            continue
        for method, member in vars(thing).items():
            if not method.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                inherited = inspect.getdoc(getattr(thing, method)) or ""
                trivial = method in TRIVIAL
                assert inherited.strip() or trivial, f"{public}.{method}"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_module_says_what_it_holds(module):
    assert (module.__doc__ or "").strip() or not Path(module.__file__).stat().st_size
    if hasattr(module, "__all__"):
        assert module.__all__ == sorted_names(module.__all__)
        assert not [name for name in module.__all__ if not hasattr(module, name)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_the_examples_in_docstrings_run(module):
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


def test_public_names_are_lazy():
    """Each is found where the table says, and is what its module has."""
    assert sorted_names([*ip.MODULES, *ip.NAMES]) == ip.__all__
    assert set(ip.__all__) <= set(dir(ip))
    for name, module in ip.NAMES.items():
        assert getattr(ip, name) is getattr(importlib.import_module(f"infopursuit.{module}"), name)
    with pytest.raises(AttributeError, match="no_such_name"):
        ip.no_such_name  # noqa: B018


def test_there_are_examples():
    """Else the test above would pass by finding none."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    counts = {module.__name__: sum(bool(test.examples) for test in finder.find(module)) for module in MODULES}
    assert sum(counts.values()) >= 15
    assert counts["infopursuit.estimator.classifier"] >= 1


def test_the_version_is_told():
    assert ip.__version__.count(".") == 2
