"""Wheel and sdist: they are built, are small, hold what is not Python too, and work in an environment of their own."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import infopursuit

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[1]
PACKAGE = Path(infopursuit.__file__).parent
MAX_WHEEL_MB = 5


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=300, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(sdist, wheel) as ``python -m build`` makes them: the wheel comes from the sdist. Without the network."""
    pytest.importorskip("build")
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return next(folder.glob("*.tar.gz")), next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def program(built, tmp_path_factory):
    """``infopursuit`` of the wheel in a new environment. Dependencies are those of this one: their folder is on the
    path, but its .pth files are not read, so that this checkout is not there."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=False)
    variables = {"base": str(place), "platbase": str(place)}
    site, scripts = (Path(sysconfig.get_path(name, "venv", variables)) for name in ("purelib", "scripts"))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = next(scripts.glob("python*"))
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "-q", built[1])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def call(*arguments, name="infopursuit"):
        return run(scripts / name, *arguments, cwd=place, env=environment)

    return call


def test_the_version_is_in_the_names(built):
    assert [file.name for file in built] == [
        f"infopursuit-{infopursuit.__version__}.tar.gz",
        f"infopursuit-{infopursuit.__version__}-py3-none-any.whl",
    ]


def test_the_wheel_is_small_and_holds_every_file_of_the_package(built):
    assert built[1].stat().st_size < MAX_WHEEL_MB * 1e6
    held = set(zipfile.ZipFile(built[1]).namelist())
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    assert {f"infopursuit/{path.relative_to(PACKAGE).as_posix()}" for path in files} <= held
    needed_files = (
        "app/server/page/index.html",
        "presentation/report/templates/page.html.jinja",
        "app/shipped/animals.csv",
    )
    for needed in (*needed_files, "py.typed"):
        assert f"infopursuit/{needed}" in held


def test_the_sdist_holds_tests_and_documents(built):
    with tarfile.open(built[0]) as archive:
        held = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "tests/test_release.py"} <= held
    assert not [name for name in held if name.startswith((".git/", ".venv/", "site/", "benchmarks/weights/"))]


def test_the_wheel_is_what_is_imported(program):
    script = "import infopursuit; print(infopursuit.__version__, infopursuit.__file__)"
    version, file = program("-c", script, name="python").split()
    assert version == infopursuit.__version__
    assert not Path(file).is_relative_to(ROOT)


def test_the_program_runs(program):
    assert "usage: infopursuit" in program("--help")
    assert "extras: " in program("--version"), "the wheel's metadata has its extras"
