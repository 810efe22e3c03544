"""The real command, with one and with several workers: they answer alike, and stop without losing a request."""

import json
import re
import signal
import socket

import pytest
from serving_process import ask, process

import infopursuit as ip
from infopursuit.app import cli
from infopursuit.app.server.limits import Limits
from infopursuit.app.server.settings import VARIABLE, Settings, app_from_environment

NEXT = "/v1/models/zoo/next"
HISTORIES = [{"history": [{"query": "barks", "answer": {"yes": k / 40, "no": 1 - k / 40}}]} for k in range(1, 40)]
TOKEN = "a-token-of-thirty-two-characters"


@pytest.fixture
def zoo(models, tmp_path):
    """A folder with a saved model."""
    ip.save(models["animals"].pursuit, tmp_path / "zoo")
    return tmp_path / "zoo"


@pytest.mark.parametrize("n_workers", [1, 2])
def test_workers_answer_alike_and_count_together(zoo, n_workers):
    with process(zoo, "--workers", n_workers) as server:
        responses = [ask(server.port, "POST", NEXT, body) for body in HISTORIES * 2]
        assert {status for status, _, _ in responses} == {200}
        contents = [content for _, _, content in responses]
        assert contents[: len(HISTORIES)] == contents[len(HISTORIES) :]

        text = ask(server.port, "GET", "/metrics")[2].decode()
        count = re.search(r'requests_total\{method="POST",route="[^"]*/next",status="200"\} ([\d.]+)', text)
        assert float(count[1]) == len(responses)

        server.popen.send_signal(signal.SIGINT)
        assert server.ended() == 0
        assert server.lines == []


def test_workers_need_the_token_and_keep_the_limits(zoo, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    options = ("--workers", "2", "--token-file", tmp_path / "token", "--max-body", "100")
    with process(zoo, *options) as server:
        assert ask(server.port, "POST", NEXT, {})[0] == 401
        authorization = {"authorization": f"Bearer {TOKEN}"}
        assert ask(server.port, "POST", NEXT, {}, authorization)[0] == 200
        assert ask(server.port, "POST", NEXT, {"later": ["a" * 200]}, authorization)[0] == 413
        assert ask(server.port, "GET", "/healthz", headers={"host": "elsewhere.example"})[0] == 421


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_stop_answers_the_request_under_way(zoo, n_workers):
    body = json.dumps({"history": []}).encode()
    head = f"POST {NEXT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    with process(zoo, "--workers", n_workers) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as line:
            line.sendall(f"{head}\r\nexpect: 100-continue\r\n\r\n".encode())
            assert line.recv(1000).startswith(b"HTTP/1.1 100")  # the request is under way
            server.popen.send_signal(signal.SIGTERM)
            line.sendall(body)
            response = b"".join(iter(lambda: line.recv(65536), b""))
        assert response.startswith(b"HTTP/1.1 200")
        assert server.ended() == 0


def test_settings_reach_a_worker_as_text(zoo):
    settings = Settings(
        models=(f"zoo={zoo}",), allowed_origins=("https://example.org",), limits=Limits(max_history=7, timeout=2.5)
    )
    assert Settings.from_json(settings.to_json()) == settings


def test_a_factory_serves_the_models_of_its_settings(zoo):
    settings = Settings(models=(str(zoo / "nowhere"),))
    with pytest.raises(ValueError, match="nowhere"):
        app_from_environment({VARIABLE: settings.to_json()})


def test_uploads_need_one_process(zoo, capsys):
    assert cli.main(["serve", str(zoo), "--workers", "2", "--allow-fit"]) == 2
    assert "--allow-fit" in capsys.readouterr().err
