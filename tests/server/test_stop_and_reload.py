"""The real process under load: told to stop, or given new models, it leaves no request without its answer."""

import json
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from serving_process import Crowd, ask, process

import infopursuit as ip
from infopursuit.app.server.registry import Reloader, load_folder, version_of
from infopursuit.saving.files import MANIFEST

NEXT = "/v1/models/zoo/next"
FACTS = ("has fur", "barks", "has feathers", "swims", "is kept by people")


def histories():
    """Histories with uncertain answers, all of them different, so that every one is computed."""
    found = []
    for k in range(3000):
        p = round(0.5 + k / 10_000, 4)
        likely = {"yes": p, "no": round(1 - p, 4)}
        found.append({"history": [{"query": FACTS[k % 5], "answer": likely}]})
    return found


def save_zoo(models, folder, share):
    """A model with one number of its own, so that each one saved answers otherwise."""
    pursuit = models["animals"].pursuit
    model = ip.models.TableModel([1 / 6] * 6, None, facts(share))
    ip.save(
        ip.generative_pursuit(model, pursuit.queries, classes=pursuit.classes, stopping=ip.Confidence(0.001)), folder
    )


def facts(share):
    """How probable each of five facts is in each of six classes."""
    found = [[0.05 if k % (c + 2) else 0.95 for k in range(5)] for c in range(6)]
    found[0][0] = share
    return found


def test_a_stop_leaves_no_request_without_its_answer(models, tmp_path):
    """Not those of a crowd, nor one whose body is half here, nor one whose head is half here."""
    save_zoo(models, tmp_path / "zoo", 0.5)
    with process(tmp_path / "zoo", "--log", "json") as server:
        crowd = Crowd(server.port, 8, NEXT, histories())
        half = [half_sent(server.port, cut) for cut in (-5, 30)]
        while len(crowd.answers) < 100:
            time.sleep(0.01)
        server.popen.send_signal(signal.SIGTERM)
        server.wait_for('"stopping"')
        wait_until_refused(server.port)
        for line, rest in half:
            line.sendall(rest)
            answer = b"".join(iter(lambda line=line: line.recv(65536), b""))
            line.close()
            assert answer.startswith(b"HTTP/1.1 200")
            assert b"connection: close" in answer.lower()
        assert server.ended() == 0
        for thread in crowd.threads:
            thread.join(30)
        assert crowd.failed == []
        assert crowd.refused == 8  # everybody was told that the connection ends, and the next one was not taken
        assert {answer[0] for answer in crowd.answers} == {200}
        assert sum(answer[1].get("connection") == "close" for answer in crowd.answers) == 8
        told = [json.loads(line) for line in server.lines]
        assert sum(one.get("route") == "/v1/models/{name}/next" for one in told) == len(crowd.answers) + 2
        assert [one["event"] for one in told if one["event"] != "request"] == ["stopping", "stopped"]


def wait_until_refused(port):
    """Wait until a server takes no connections any more."""
    for _ in range(1000):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except ConnectionError:
            return
        time.sleep(0.02)
    pytest.fail("the server still takes connections")


def half_sent(port, cut):
    """A connection on which a part of a request was sent, and the rest of it."""
    head = f"POST {NEXT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 15\r\n\r\n"
    whole = f"{head}{json.dumps({'history': []})}".encode()
    line = socket.create_connection(("127.0.0.1", port), timeout=30)
    line.sendall(whole[:cut])
    return line, whole[cut:]


def test_a_model_is_replaced_without_a_failed_request(models, tmp_path):
    folder = tmp_path / "zoo"
    save_zoo(models, folder, 0.1)
    with process(folder, "--reload", "--log", "json") as server:
        crowd = Crowd(server.port, 4, NEXT, histories())
        for k in range(1, 4):
            save_zoo(models, folder, 0.1 + 0.2 * k)
            server.wait_for('"event": "reloaded"', k)
            n = len(crowd.answers)
            while len(crowd.answers) < n + 50:
                time.sleep(0.01)
        manifest = (folder / MANIFEST).read_bytes()
        (folder / MANIFEST).write_bytes(manifest[:-100])  # cut off, as by a copy that was stopped
        server.wait_for('"event": "refused"')
        crowd.stop()
        assert crowd.failed == []
        assert crowd.refused == 0
        assert {answer[0] for answer in crowd.answers} == {200}
        answers = {}  # by version and history what was said to it
        for _, headers, content, sent in crowd.answers:
            answers.setdefault(headers["x-model-version"], {}).setdefault(sent, set()).add(content)
        assert len(answers) == 4
        assert all(len(said) == 1 for one in answers.values() for said in one.values())
        changes = [json.loads(line) for line in server.lines if re.search('"(reloaded|refused)"', line)]
        assert [one["event"] for one in changes] == ["reloaded"] * 3 + ["refused"]
        assert {one["version"] for one in changes[:3]} | {changes[0]["before"]} == set(answers)
        assert changes[3]["kept"] == changes[2]["version"]
        assert "JSON" in changes[3]["reason"]
        told = json.loads(ask(server.port, "GET", "/v1/models/zoo")[2])
        assert told["version"] == changes[2]["version"]
        # a session that began with the old model goes on with one that does not know its question
        fewer = ip.queries.concepts(["has fur", "swims", "sings"])
        model = ip.models.TableModel([1 / 6] * 6, None, [row[:3] for row in facts(0.4)])
        ip.save(ip.generative_pursuit(model, fewer, classes=models["animals"].pursuit.classes), folder)
        server.wait_for('"event": "reloaded"', 4)
        status, _, content = ask(server.port, "POST", NEXT, {"history": [{"query": "barks", "answer": "yes"}]})
        told = json.loads(content)
        assert (status, told["field"], told["value"]) == (422, "history[0].query", "barks")
        assert "no query of this name in its version" in told["title"]
        assert "start again" in told["remedy"]
        assert ask(server.port, "POST", NEXT, {"history": [{"query": "sings", "answer": "no"}]})[0] == 200
        server.popen.send_signal(signal.SIGHUP)
        server.wait_for('"event": "unchanged"')


def test_it_looks_only_when_told(models, tmp_path, serving):
    """Without --reload nothing is read until a signal comes."""
    folder = tmp_path / "zoo"
    save_zoo(models, folder, 0.1)
    offered = {"zoo": load_folder("zoo", folder)}
    reloader = Reloader(offered, always=False)
    with serving(offered, reloader=reloader) as address, httpx.Client(base_url=address, timeout=30) as client:

        def version():
            return client.post(NEXT, json={}).headers["x-model-version"]

        before = version()
        save_zoo(models, folder, 0.3)
        time.sleep(1.5)  # longer than a look takes that must not happen
        assert version() == before
        reloader.trigger()
        for _ in range(200):
            if version() != before:
                break
            client.get("/healthz")  # the call came from another thread; a request wakes the loop
            time.sleep(0.05)
        assert version() == version_of(folder) != before


def test_the_version_is_that_of_the_model_while_others_are_saved(models, tmp_path):
    folder = tmp_path / "zoo"
    posterior_of = {}
    for share in (0.1, 0.3):
        save_zoo(models, folder, share)
        posterior_of[version_of(folder)] = posterior(ip.load(folder))
    assert len(posterior_of) == 2

    def save_alternately():
        for share in (0.1, 0.3) * 20:
            save_zoo(models, folder, share)

    with ThreadPoolExecutor() as pool:
        saving = pool.submit(save_alternately)
        while not saving.done():
            offer = load_folder("zoo", folder)
            assert posterior(offer.pursuit) == posterior_of[offer.version]
        saving.result()


def posterior(pursuit):
    return pursuit.session([("has fur", "yes")]).posterior.tolist()
