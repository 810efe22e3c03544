"""Several processes on one port: they answer alike, count together, are replaced, reload and stop together."""

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from serving_process import Crowd, ask, process
from test_stop_and_reload import NEXT, histories, save_zoo

from infopursuit.app import cli
from infopursuit.saving.files import MANIFEST

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="children are found in /proc")


@pytest.fixture
def zoo(models, tmp_path):
    save_zoo(models, tmp_path / "zoo", 0.5)
    return tmp_path / "zoo"


def workers(server):
    """The processes that listen, without the tracker of multiprocessing."""
    children = (Path(f"/proc/{server.popen.pid}/task") / str(server.popen.pid) / "children").read_text().split()
    return {int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()}


def gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_for(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_two_processes_answer_count_reload_and_are_replaced(models, zoo):
    with process(zoo, "--workers", "2", "--log", "json") as server:
        first = workers(server)
        assert len(first) == 2
        sent = histories()[:40]
        bodies = sent * 2
        answers = [ask(server.port, "POST", NEXT, body) for body in bodies]  # each on a connection of its own
        assert {answer[0] for answer in answers} == {200}
        assert [answer[2] for answer in answers[:40]] == [answer[2] for answer in answers[40:]]
        for _ in range(3):  # whoever is asked knows what all have done
            text = ask(server.port, "GET", "/metrics")[2].decode()
            found = re.search(
                r'requests_total\{method="POST",route="/v1/models/\{name\}/next",status="200"\} ([\d.]+)', text
            )
            assert float(found[1]) == len(bodies)
            assert re.search(r"^infopursuit_requests_in_flight [12]\.0$", text, re.M)  # this request
        save_zoo(models, zoo, 0.3)
        server.popen.send_signal(signal.SIGHUP)
        server.wait_for('"event": "reloaded"', 2)
        killed = min(first)
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: gone(killed))
        while killed in workers(server) or len(workers(server)) < 2:  # the other one goes on alone
            assert ask(server.port, "POST", NEXT, {"history": []})[0] == 200
        assert [json.loads(line)["exit_code"] for line in server.lines if '"replaced"' in line] == [-9]
        os.kill(max(first), signal.SIGKILL)
        wait_for(lambda: gone(max(first)))
        assert ask(server.port, "POST", NEXT, {"history": []})[0] == 200  # by the replacement of the first one
        wait_for(lambda: ask(server.port, "GET", "/readyz")[0] == 200)  # the second replacement, once it has loaded
        wait_for(lambda: len(workers(server)) == 2)
        last = workers(server)
        server.popen.send_signal(signal.SIGTERM)
        assert server.ended() == 0
        wait_for(lambda: all(map(gone, last)))


def test_processes_end_with_their_supervisor(zoo):
    with process(zoo, "--workers", "2") as server:
        both = workers(server)
        server.popen.kill()
        wait_for(lambda: all(map(gone, both)))


def test_a_stop_of_two_leaves_no_request_without_its_answer(zoo):
    with process(zoo, "--workers", "2") as server:
        crowd = Crowd(server.port, 4, NEXT, histories())
        wait_for(lambda: len(crowd.answers) > 50)
        server.popen.send_signal(signal.SIGINT)
        assert server.ended() == 130
        for thread in crowd.threads:
            thread.join(30)
        assert crowd.failed == []
        assert {answer[0] for answer in crowd.answers} == {200}
        assert [line.strip() for line in server.lines if line.strip()] == ["infopursuit: stopped"]


def test_a_reload_of_two_leaves_no_request_without_its_answer(models, zoo):
    """While a crowd asks: three new models in turn, and a folder that is damaged."""
    with process(zoo, "--workers", "2", "--log", "json") as server:
        crowd = Crowd(server.port, 6, NEXT, histories())
        for k in range(1, 4):
            save_zoo(models, zoo, 0.5 + 0.1 * k)
            server.popen.send_signal(signal.SIGHUP)
            server.wait_for('"event": "reloaded"', 2 * k)
            n = len(crowd.answers)
            wait_for(lambda n=n: len(crowd.answers) > n + 50)
        (zoo / MANIFEST).write_bytes((zoo / MANIFEST).read_bytes()[:-100])
        server.popen.send_signal(signal.SIGHUP)
        server.wait_for('"event": "refused"', 2)
        crowd.stop()
        assert (crowd.failed, crowd.refused) == ([], 0)
        assert {answer[0] for answer in crowd.answers} == {200}
        answers = {}  # by version and history what both have said to it
        for _, headers, content, sent in crowd.answers:
            answers.setdefault((headers["x-model-version"], sent), set()).add(content)
        assert len({version for version, _ in answers}) == 4
        assert all(len(said) == 1 for said in answers.values())


def test_uploads_need_one_process(zoo, capsys):
    assert cli.main(["serve", str(zoo), "--workers", "2", "--allow-fit"]) == 2
    assert "--allow-fit" in capsys.readouterr().err
