"""``infopursuit serve`` as an operator uses it."""

import re
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

import infopursuit as ip
from infopursuit.app import cli
from infopursuit.app.server.registry import load_models


@pytest.fixture
def folder(models, tmp_path):
    """A folder with two saved models."""
    for name in ("animals", "images"):
        ip.save(models[name].pursuit, tmp_path / "models" / name)
    return tmp_path / "models"


def test_it_says_where_it_is_and_answers_until_interrupted(folder):
    command = [sys.executable, "-m", "infopursuit", "serve", f"zoo={folder / 'animals'}", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline().strip() == "models: zoo"
            address = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())[0]
            with httpx.Client(base_url=address, timeout=60) as client:
                assert client.get("/healthz").json()["models"] == ["zoo"]
                while client.get("/readyz").status_code == 503:
                    time.sleep(0.05)
                assert client.post("/v1/models/zoo/next", json={}).json()["question"]
                assert client.get("/healthz", headers={"host": "elsewhere.example"}).status_code == 421
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()


def test_models_are_named_by_their_folders(folder):
    assert list(load_models([], folder)) == ["animals", "images"]
    assert list(load_models([str(folder / "images"), f"zoo={folder / 'animals'}"])) == ["images", "zoo"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["nowhere"], "nowhere"),
        (["a b={folder}/animals"], "not a valid model name"),
        (["x={folder}/animals", "x={folder}/images"], "two models are called 'x'"),
        (["x={folder}"], "without a saved model"),
        (["--models-dir", "{folder}/animals"], "no subfolder"),
        (["--models-dir", "{folder}/none"], "not a folder"),
        (["{folder}/animals", "--host", "no.such.host.invalid", "--open"], "or --host"),
        (["{folder}/animals", "--host", "0.0.0.0"], "--token-file"),
        (["{folder}/animals", "--token-file", "{folder}/none"], "No such file"),
        (["{folder}/animals", "--port", "{taken}"], "another --port"),
    ],
)
def test_mistakes_are_told_in_one_line(folder, wrong, words, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        given = [part.format(folder=folder, taken=other.getsockname()[1]) for part in wrong]
        assert cli.main(["serve", *given]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert len(told.strip().splitlines()) == 1


@pytest.mark.parametrize("wrong", [["--port", "70000"], ["--timeout", "0"], ["--max-body", "-1"]])
def test_wrong_options(wrong, capsys):
    assert cli.main(["serve", *wrong]) == 2
    assert wrong[0] in capsys.readouterr().err
