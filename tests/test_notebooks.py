"""The notebooks in examples/ run from top to bottom, show what they should, and are kept without outputs."""

import json
import re
import time
import warnings
from pathlib import Path

import pytest

pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install ipykernel")
nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed: pip install nbclient")
with warnings.catch_warnings(action="ignore"):  # of libraries about other libraries
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install nbclient")

FOLDER = Path(__file__).parents[1] / "examples/notebooks"
NEEDS = {"own_network": ("torch",), "serving": ("fastapi", "uvicorn"), "table": ("anywidget", "pandas")}
SHOWN = {
    "table": (r"accuracy 9\d\.\d% after [2-5]\.\d of 13 columns", r"held-out rows", r"What is flavanoids\?"),
    "images": (
        r"accuracy (?:8[5-9]|9\d)\.\d% after [2-6]\.\d patches",
        r"seen after \d questions",
        r"Stops at a confidence of",
    ),
    "text": (r"accuracy (?:8[5-9]|9\d)\.\d% after [5-9]\.\d words", r"<strong[^>]*>Words", r"<strong[^>]*>signal: "),
    "own_network": (r"all 16 units: 9\d\.\d%", r"units: (?:8[5-9]|9\d)\.\d%", r"probably yes", r"True True"),
    "serving": (r"What is petal \w+ \(cm\)\?", r"versicolor \(\d+%\).*in truth versicolor", r"with a probability of"),
}


def test_the_notebooks_are_five():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_is_stored_without_outputs(name):
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    nbformat.validate(notebook)
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook["cells"])
    assert notebook["cells"][0]["source"][0].startswith("# ")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of the machinery; the kernel has its own
@pytest.mark.parametrize("name", SHOWN)
def test_a_notebook_runs(name, tmp_path):
    for module in NEEDS.get(name, ()):
        pytest.importorskip(module)
    notebook = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    begin = time.perf_counter()
    nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    print(f"{name}: {time.perf_counter() - begin:.1f} seconds")
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    shown = "\n".join(
        output.get("text") or "\n".join(str(text) for text in output.get("data", {}).values()) for output in outputs
    )
    for expected in SHOWN[name]:
        assert re.search(expected, shown), f"{expected}\n{shown[:3000]}"
    assert len(shown) < 200_000
