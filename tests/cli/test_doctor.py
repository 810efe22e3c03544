"""``infopursuit doctor``: what works, what is missing, and the command that mends it."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import infopursuit
from infopursuit import cli
from infopursuit.cli import doctor

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture
def without(monkeypatch):
    """Makes a package look as if it were not installed, or were of another version."""
    installed = doctor.installed

    def install(name, instead=None):
        def look(package):
            return instead if package == name else installed(package)

        monkeypatch.setattr(doctor, "installed", look)

    return install


def test_the_core_works(capsys):
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"infopursuit {infopursuit.__version__}, Python ")
    assert "BROKEN" not in out
    assert out.rstrip().endswith("The core works.")
    for name in ("numpy", "compiled code", "model animals", "model mnist", "networks"):
        assert f" {name} " in out


def test_json(capsys):
    assert cli.main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["infopursuit"], found["ok"]) == (infopursuit.__version__, True)
    assert {"core", "extra", "data"} <= {check["group"] for check in found["checks"]}
    assert all((check["fix"] is None) == check["ok"] for check in found["checks"])


def test_a_missing_core_package_is_an_error_with_its_command(without, capsys):
    without("scipy")
    assert cli.main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "BROKEN  scipy            not installed" in out
    assert f"{sys.executable} -m pip install scipy" in out.replace("'", "")


@pytest.mark.parametrize("version", ["1.0.0", "99.0"])
def test_a_core_package_outside_its_limits_is_an_error(without, version):
    without("scipy", version)
    check = doctor.core_package("scipy", "<2,>=1.12")
    assert not check.ok
    assert version in check.found
    assert "scipy<2,>=1.12" in check.fix


def test_a_core_package_that_cannot_be_imported_is_an_error(monkeypatch):
    def fail(name):
        raise OSError("libopenblas.so: cannot open shared object file")

    monkeypatch.setattr(doctor, "import_module", fail)
    check = doctor.core_package("scipy", "")
    assert (check.ok, "libopenblas" in check.found, "--force-reinstall" in check.fix) == (False, True, True)


def test_a_missing_extra_is_no_error_and_has_its_command(without, capsys):
    without("torch")
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "missing networks" in out
    assert "adds PyTorch" in out
    assert f"{sys.executable} -m pip install 'torch" in out


def test_a_damaged_model_is_an_error(monkeypatch, tmp_path):
    from infopursuit import shipped

    assert doctor.shipped_model("animals").ok
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    check = doctor.shipped_model("animals")
    assert not check.ok
    assert check.fix == f"git -C {ROOT} checkout -- src/infopursuit/shipped"
    monkeypatch.setattr(doctor, "_source_folder", lambda: tmp_path)
    assert "pip install --force-reinstall" in doctor.shipped_model("animals").fix


def test_a_cache_that_cannot_be_written_is_an_error(monkeypatch, tmp_path):
    assert doctor.compiled_code().ok
    (tmp_path / "file").touch()
    monkeypatch.setattr(doctor, "_compiled_folder", lambda: tmp_path / "file" / "below")
    check = doctor.compiled_code()
    assert (check.ok, "NUMBA_CACHE_DIR" in check.fix) == (False, True)


def test_the_data_folder(tmp_path):
    named = {"INFOPURSUIT_DATA": str(tmp_path)}
    assert doctor.data_folder(named).fix == f"cp mnist.npz fashion_mnist.npz kmnist.npz {tmp_path}"
    for name in doctor.IMAGES:
        (tmp_path / f"{name}.npz").touch()
    assert doctor.data_folder(named).ok
    assert doctor.data_folder({}).fix == "export INFOPURSUIT_DATA=FOLDER"


def test_requirements_are_read_with_their_extras(monkeypatch):
    lines = ["numpy<3,>=1.26", 'ray[data]>=2.20; extra == "cluster"', "torch<3,>=2.2; extra == 'networks'"]
    monkeypatch.setattr(doctor, "_required_lines", lambda: lines)
    assert doctor.requirements() == {
        ("", "numpy"): "<3,>=1.26",
        ("cluster", "ray"): "[data]>=2.20",
        ("networks", "torch"): "<3,>=2.2",
    }


def test_core_and_extras_are_those_of_the_project():
    def name(requirement):
        return requirement.split(">")[0].split("<")[0]

    assert set(doctor.CORE) == {name(each) for each in PROJECT["dependencies"]}
    assert set(PROJECT["optional-dependencies"]) - {"all", "benchmarks", "dev"} <= set(doctor.EXTRAS)


def test_its_help_imports_nothing_heavy():
    script = "import sys; from infopursuit import cli; cli.main(['doctor', '--help']); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.splitlines()[-1]
    assert not [name for name in ("numpy", "numba", "torch", "rich", "sklearn") if f"'{name}'" in loaded]


def test_it_runs_where_the_core_is_missing():
    """Without numpy the program still says what to do."""
    script = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numpy", "numba"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from infopursuit import cli
sys.exit(cli.main(["doctor"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "BROKEN  numpy" in done.stdout
