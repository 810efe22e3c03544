"""``infopursuit doctor``: versions, extras, data folder, shipped models, cache; and what mends each thing missing."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from pathlib import Path

from infopursuit import __version__

EXAMPLES = ("infopursuit doctor", "infopursuit doctor --json")
BROKEN = 1
"""The exit code where something in the core does not work."""

CORE = ("numpy", "scipy", "scikit-learn", "safetensors", "numba", "rich", "cachetools", "narwhals")
MODULES = {"scikit-learn": "sklearn"}
"""Names of modules that differ from the name of their package."""
EXTRAS = {
    "tables": "reading CSV and Parquet files; wording and costs in YAML files",
    "server": "`infopursuit serve`: the HTTP API and its page",
    "report": "HTML reports: `explain --html`, `Trace.to_html`",
    "plots": "figures",
    "text": "word stems in `queries.words`",
    "networks": "PyTorch: autoencoders, sampling, amortised networks",
    "notebook": "the widget of a session in Jupyter",
    "cluster": "Ray: jobs on many machines",
}
"""What each extra of `pyproject.toml` adds, for users; extras without a line are for developers."""
VARIABLE, IMAGES = "INFOPURSUIT_DATA", ("mnist", "fashion_mnist", "kmnist")
"""The folder of data for experiments, and the files that they look for in it."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. A check of the group "core" that fails is an error; others are optional."""

    group: str
    name: str
    ok: bool
    found: str
    adds: str = ""
    fix: str | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of ``doctor``."""
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(args: argparse.Namespace) -> int:
    """Look, print; 0 where the core works, else 1."""
    checks = list(examine())
    works = all(check.ok for check in checks if check.group == "core")
    if args.json:
        told = {**_versions(), "ok": works, "checks": [asdict(check) for check in checks]}
        print(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        print(in_words(checks))
    return 0 if works else BROKEN


def examine() -> Iterator[Check]:
    """Everything that is looked at, the core first."""
    required = requirements()
    yield from (core_package(name, required.get(("", name), "")) for name in CORE)
    yield from (shipped_model(name) for name in _shipped_names())
    yield compiled_code()
    yield from (extra(name, required) for name in EXTRAS if any(key == name for key, _ in required))
    yield data_folder()


# ---- the core -------------------------------------------------------------------------------------------------------


def core_package(name: str, limits: str) -> Check:
    """Whether a package of the core is there, new enough, and can be imported."""
    found = installed(name)
    if found is None or not within(found, limits):
        told = "not installed" if found is None else f"{found}, not {limits}"
        return Check("core", name, False, told, fix=_pip(f"{name}{limits}"))

    def act() -> str:
        import_module(MODULES.get(name, name))
        return found

    return _attempt(name, act, _pip("--force-reinstall", f"{name}{limits}"))


def shipped_model(name: str) -> Check:
    """Whether a shipped model can be read."""

    def read() -> str:
        from infopursuit import shipped

        shipped.read_samples() if name == "mnist" else shipped.load(name)  # mnist whole would compile loops first
        return "readable"

    checkout = _source_folder()
    if (checkout / "pyproject.toml").is_file():
        fix = shlex.join(["git", "-C", str(checkout), "checkout", "--", "src/infopursuit/shipped"])
    else:
        fix = _pip("--force-reinstall", "--no-deps", f"infopursuit=={__version__}")
    return _attempt(f"model {name}", read, fix)


def compiled_code() -> Check:
    """Whether compiled loops can be kept for the next process."""

    def probe() -> str:
        folder = _compiled_folder()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return f"{folder} is writable"

    return _attempt("compiled code", probe, "export NUMBA_CACHE_DIR=$HOME/.cache/numba")


def _compiled_folder() -> Path:
    """Return the folder that keeps compiled loops."""
    from infopursuit.beliefs.pruned import compiled

    where = compiled(_nothing).stats.cache_path
    if where is None:
        raise OSError("no folder for it can be written to; each start compiles it anew")

    return Path(where)


def _nothing() -> None:
    """Never compiled: only where it would be kept is asked."""


def _attempt(name: str, act: Callable[[], str], fix: str) -> Check:
    try:
        return Check("core", name, True, act())
    except Exception as error:  # whatever is wrong is what is told
        return Check("core", name, False, _one_line(error), fix=fix)


def _shipped_names() -> tuple[str, ...]:
    try:
        from infopursuit import shipped

        return shipped.names()
    except Exception:  # a package of the core is missing, and has been told
        return ()


# ---- extras and data ------------------------------------------------------------------------------------------------


def extra(name: str, required: dict[tuple[str, str], str]) -> Check:
    """Whether the packages of an extra are installed, and what they would add."""
    found, missing = [], []
    for (key, package), limits in required.items():
        if key == name:
            version = installed(package)
            if version is not None and within(version, limits):
                found.append(f"{package} {version}")
            else:
                missing.append(f"{package}{limits}")
    told = ", ".join([*found, *(f"{package} missing" for package in missing)])
    return Check("extra", name, not missing, told, EXTRAS[name], _pip(*missing) if missing else None)


def data_folder(environment: Mapping[str, str] = os.environ) -> Check:
    """The folder of image data sets, which the experiments outside the package need and nothing else does."""
    adds = "MNIST, Fashion-MNIST and KMNIST, for the experiments of benchmarks/"
    named = environment.get(VARIABLE)
    if not named:
        return Check("data", VARIABLE, False, "not set", adds, f"export {VARIABLE}=FOLDER")
    folder = Path(named).expanduser()
    missing = [f"{name}.npz" for name in IMAGES if not (folder / f"{name}.npz").is_file()]
    told = f"{folder} has no {', '.join(missing)}" if missing else str(folder)
    return Check(
        "data", VARIABLE, not missing, told, adds, shlex.join(["cp", *missing, str(folder)]) if missing else None
    )


def requirements() -> dict[tuple[str, str], str]:
    """What the installed package says it needs: limits of (extra or "", package); nothing from a bare checkout.

    >>> ("", "numpy") in requirements() or not requirements()
    True
    """
    found = {}
    for line in _required_lines():
        parts = re.match(r"([\w.-]+)([^;]*)(?:;.*extra == ['\"](\w+)['\"])?", line)
        if parts is not None:
            found[parts[3] or "", parts[1]] = parts[2].strip()  # such as "[data]>=2.20"
    return found


def _required_lines() -> list[str]:
    """Return the requirements as they stand in the metadata of the installed package."""
    try:
        return metadata.requires("infopursuit") or []
    except metadata.PackageNotFoundError:
        return []


def installed(package: str) -> str | None:
    """The version of a package, None where it is not installed; importing it might take seconds."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def within(version: str, limits: str) -> bool:
    """Whether a version is within limits such as ``>=1.26,<3``; only numbers are compared.

    >>> within("2.1.0+cpu", "<3,>=2.1"), within("3.0.0", ">=2,<3")
    (True, False)
    """
    signs = re.findall(r"(>=|<)\s*([\d.]+)", limits)
    return all((_numbers(version) >= _numbers(limit)) == (sign == ">=") for sign, limit in signs)


# ---- words ----------------------------------------------------------------------------------------------------------


def in_words(checks: list[Check]) -> str:
    """The checks as lines, then the commands that mend what is missing."""
    known = _versions()
    lines = [f"infopursuit {known['infopursuit']}, Python {known['python']}, {known['platform']}"]
    titles = {"core": "Core", "extra": "Extras, all optional", "data": "Data, optional"}
    for group, title in titles.items():
        some = [check for check in checks if check.group == group]
        if some:
            lines += ["", title]
        for check in some:
            mark = "ok" if check.ok else "BROKEN" if group == "core" else "missing"
            lines.append(f"  {mark:<7} {check.name:<16} {check.found}")
            if check.adds and not check.ok:
                lines.append(f"{'adds ':>32}{check.adds}" if group == "extra" else f"{'':>27}{check.adds}")
    broken = [check for check in checks if not check.ok and check.group == "core"]
    optional = [check for check in checks if not check.ok and check.group != "core"]
    for title, some in (("To mend the core:", broken), ("To add what is missing:", optional)):
        if some:
            lines += ["", title, *(f"  {check.fix}" for check in some)]
    lines += ["", f"{len(broken)} things in the core are broken." if broken else "The core works."]
    return "\n".join(lines)


def _versions() -> dict[str, str]:
    return {"infopursuit": __version__, "python": platform.python_version(), "platform": platform.platform()}


def _source_folder() -> Path:
    return Path(__file__).parents[3]


def _pip(*words: str) -> str:
    return shlex.join([sys.executable, "-m", "pip", "install", *words])


def _numbers(version: str) -> tuple[int, ...]:
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in numbers[0].split(".")) if numbers else ()


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
