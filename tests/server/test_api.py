"""The rest of the API: models, inputs, health, metrics, and what every answer says."""

import json
import re
from importlib import resources

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.app.server.security import HEADERS


def test_the_models_are_listed(client, models):
    told = client.get("/v1/models").json()["models"]
    assert [one["name"] for one in told] == list(models)
    by_name = {one["name"]: one for one in told}
    assert by_name["animals"]["classes"] == ["cat", "dog", "hen", "duck", "carp", "bee"]
    assert by_name["animals"]["yes_no"] is True
    sizes = {"shape": [4, 5], "patch": [2, 2], "stride": [1, 1]}
    assert by_name["images"]["image"] == {**sizes, "threshold": None, "levels": 2, "channels": 1}
    assert [by_name[name]["inputs"] for name in ("images", "table", "texts")] == ["images", "rows", "texts"]
    assert by_name["images"]["classes"] == ["0", "1"]


def test_queries_come_in_pages(client, models):
    names, offset = [], 0
    while offset is not None:
        told = client.get("/v1/models/images", params={"offset": offset, "limit": 5}).json()
        assert len(told["queries"]) <= 5
        names += [one["name"] for one in told["queries"]]
        offset = told["next_offset"]
    assert names == list(models["images"].pursuit.queries.names)
    assert client.get("/v1/models/images", params={"offset": 999}).json()["queries"] == []
    assert client.get("/v1/models/images", params={"limit": 10**6}).status_code == 422


@pytest.mark.parametrize(
    ("name", "sent", "as_python"),
    [
        ("images", np.eye(4, 5).tolist(), np.eye(4, 5)),
        ("images", np.eye(4, 5).ravel().tolist(), np.eye(4, 5)),
        ("images", [[None] * 5, *np.eye(3, 5).tolist()], np.vstack([np.full((1, 5), np.nan), np.eye(3, 5)])),
        ("table", [0.4, "red"], [0.4, "red"]),
        ("table", {"colour": "red", "size": 0.4}, [0.4, "red"]),
        ("table", {"size": -2}, [-2, None]),
        ("texts", "the rain fell on the match", "the rain fell on the match"),
        ("animals", [1, 0, None, 0, 1], [1, 0, np.nan, 0, 1]),
        ("animals", {"has fur": "yes", "barks": True}, [1, 1, np.nan, np.nan, np.nan]),
    ],
)
def test_inputs_are_explained(client, models, name, sent, as_python):
    answer = client.post(f"/v1/models/{name}/explain", json={"inputs": [sent] * 6})
    assert answer.status_code == 200, answer.text
    told = answer.json()["explanations"]
    assert len(told) == 6
    X = [as_python] if name in ("texts", "table") else np.array([as_python], dtype=float)
    wanted = models[name].pursuit.run(X)[0]
    assert ip.Explanation.from_json(json.dumps(told[5]["explanation"])).steps == wanted.steps
    assert told[5]["text"] == str(wanted)


def test_a_history_as_a_page_to_keep(client, models):
    history = [{"query": "has fur", "answer": "no"}, {"query": "barks", "answer": None}]
    answer = client.post("/v1/models/animals/report", json={"history": history})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="explanation-animals.html"'
    wanted = ip.report.write(models["animals"].pursuit.session([("has fur", "no"), ("barks", None)]).explanation)
    assert answer.text == wanted
    refused = client.post("/v1/models/animals/report", json={"history": [{"query": "has gills", "answer": "no"}]})
    assert (refused.status_code, refused.json()["field"]) == (422, "history[0].query")


def test_health_and_metrics(client):
    told = client.get("/healthz").json()
    assert (told["status"], told["version"]) == ("ok", ip.__version__)
    client.get("/nowhere/at/all")
    text = client.get("/metrics").text
    assert re.search(r'^infopursuit_requests_total\{method="GET",route="/healthz",status="200"\} \d+\.0$', text, re.M)
    assert re.search(r'^infopursuit_requests_total\{method="GET",route="unmatched",status="404"\} \d+\.0$', text, re.M)
    assert "infopursuit_requests_in_flight 1.0" in text.splitlines()
    assert 'infopursuit_queue_length{model="animals"} 0.0' in text.splitlines()
    counts = [int(n) for n in re.findall(r'seconds_bucket\{le="[^"]+",route="/healthz"\} (\d+)', text)]
    assert counts == sorted(counts)
    assert counts[-1] == int(re.search(r'seconds_count\{route="/healthz"\} (\d+)', text)[1]) >= 1


@pytest.mark.parametrize(
    ("path", "status"), [("/", 200), ("/docs", 200), ("/v1/models", 200), ("/page/app.js", 200), ("/none", 404)]
)
def test_every_answer_has_the_headers(client, path, status):
    answer = client.get(path)
    assert answer.status_code == status
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert not re.search(r"unsafe|https?:|\*", policy)
    assert "access-control-allow-origin" not in answer.headers


def test_the_page_needs_nothing_from_elsewhere():
    folder = resources.files("infopursuit.app.server").joinpath("page")
    files = {file.name: file.read_text() for file in folder.iterdir()}
    assert {"index.html", "docs.html", "app.js", "style.css"} <= set(files)
    for name, text in files.items():
        elsewhere = re.findall(r"https?://(?!www\.w3\.org/2000/svg)|[\"'(]//[a-z0-9-]+\.[a-z]{2,}/", text)
        assert not elsewhere, name
        if name.endswith(".html"):
            assert not re.search(r"<script(?![^>]*src=)|style=|\son\w+=", text), f"{name} has what the policy forbids"
        for imported in re.findall(r'from "\./([\w.]+)"', text):
            assert imported in files, f"{name} imports {imported}"
        for linked in re.findall(r'(?:src|href)="/page/([\w.]+)"', text):
            assert linked in files, f"{name} links {linked}"


def test_no_path_reaches_the_disk(client):
    for path in ("/page/..%2fapp.py", "/page/%2e%2e/app.py", "/v1/models/..%2f..%2fetc", "/page//etc/passwd"):
        answer = client.get(path)
        assert answer.status_code == 404, path
        assert answer.headers["content-type"] == "application/problem+json"


def test_the_description_names_all_routes(client):
    api = client.get("/openapi.json").json()
    verbs = ("", "/next", "/report", "/explain", "/why-not", "/remaining")
    routes = {"/v1/models", *(f"/v1/models/{{name}}{verb}" for verb in verbs)}
    assert set(api["paths"]) == routes | {"/healthz", "/metrics", "/readyz"}
    assert all(told["summary"] for verbs in api["paths"].values() for told in verbs.values())
    answers = api["paths"]["/v1/models/{name}/next"]["post"]["responses"]
    assert {"200", "404", "409", "413", "422", "503", "504"} <= set(answers)


def test_what_comes_back_is_what_the_description_says(client):
    """Nothing more and nothing less than the fields of the schemas."""
    api = client.get("/openapi.json").json()
    problem = api["paths"]["/v1/models/{name}"]["get"]["responses"]["404"]["content"]["application/problem+json"]
    schemas = {**api["components"]["schemas"], "ProblemInfo": problem["schema"]}
    told = client.post("/v1/models/animals/next", json={"history": []}).json()
    found = {
        "NextResponse": told,
        "Question": told["question"],
        "Outlook": told["why"]["answers"][0],
        "Candidate": told["why"]["answers"][0]["then"][0],
        "ModelPage": client.get("/v1/models/animals").json(),
        "ProblemInfo": client.get("/v1/models/none").json(),
        "Health": client.get("/healthz").json(),
        "Ready": client.get("/readyz").json(),
    }
    for name, one in found.items():
        assert set(one) == set(schemas[name]["properties"]), name


def test_files_of_the_page_are_checked_for_news(client):
    first = client.get("/page/style.css")
    assert first.headers["cache-control"] == "no-cache"
    assert first.headers["content-type"].startswith("text/css")
    again = client.get("/page/style.css", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
