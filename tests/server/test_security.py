"""Who may ask where the operator wants a token to be shown."""

import httpx
import pytest

from infopursuit.app.server.security import VARIABLE, Token, check_exposure, read_token

SECRET = "a-token-of-thirty-two-characters"


@pytest.fixture(scope="module")
def guarded(serving, models):
    with (
        serving({"animals": models["animals"]}, token=Token(SECRET)) as address,
        httpx.Client(base_url=address) as asking,
    ):
        yield asking


@pytest.mark.parametrize(
    "shown",
    [
        {},
        {"authorization": SECRET},
        {"authorization": f"Basic {SECRET}"},
        {"authorization": f"Bearer {SECRET}x"},
        {"authorization": f"Bearer {SECRET[:-1]}"},
        {"authorization": "Bearer"},
        {"authorization": "Bearer \xff\xfe".encode("latin-1")},
        [("authorization", f"Bearer {SECRET}"), ("authorization", f"Bearer {SECRET}")],
    ],
)
def test_without_the_token_nothing_is_told(guarded, shown):
    paths = ("/v1/models", "/v1/models/animals", "/metrics", "/nowhere")
    answers = [guarded.get(path, headers=shown) for path in paths]
    for answer in (*answers, guarded.post("/v1/models/animals/next", headers=shown)):
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.json()["remedy"]
        assert "animals" not in answer.text
        assert SECRET not in answer.text
    assert guarded.get("/healthz", headers=shown).json() == {"status": "ok", "version": None, "models": None}


@pytest.mark.parametrize("word", ["Bearer", "bearer"])
def test_with_the_token_all_is_as_without_one(guarded, word):
    shown = {"authorization": f"{word} {SECRET}"}
    assert guarded.get("/v1/models", headers=shown).json()["models"][0]["name"] == "animals"
    assert guarded.post("/v1/models/animals/next", json={}, headers=shown).json()["question"]
    assert guarded.get("/healthz", headers=shown).json()["models"] == ["animals"]
    assert guarded.get("/nowhere", headers=shown).status_code == 404


@pytest.mark.parametrize("path", ["/", "/docs", "/page/app.js", "/openapi.json"])
def test_the_page_is_free_to_all(guarded, path):
    answer = guarded.get(path)
    assert answer.status_code == 200
    assert SECRET not in answer.text


def test_where_the_token_comes_from(tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{SECRET}\n")
    assert read_token(file, {}) == SECRET
    assert read_token(None, {VARIABLE: SECRET}) == SECRET
    assert read_token(None, {}) is None
    with pytest.raises(ValueError, match="both give a token"):
        read_token(file, {VARIABLE: SECRET})


@pytest.mark.parametrize("wrong", ["", "short", "with spaces in between it", "ä" * 20, "x" * 513, "a\x00" * 20])
def test_tokens_that_do_not_serve(tmp_path, wrong):
    file = tmp_path / "token"
    file.write_text(wrong)
    for found in ((file, {}), (None, {VARIABLE: wrong})):
        with pytest.raises(ValueError, match="the token of") as caught:
            read_token(*found)
        assert "secrets.token_urlsafe" in str(caught.value)
        assert wrong == "" or wrong not in str(caught.value)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_others_are_let_in_only_when_that_was_said(host):
    with pytest.raises(ValueError, match=r"--token-file FILE .* --open"):
        check_exposure(host, has_token=False, open_to_all=False)
    check_exposure(host, has_token=True, open_to_all=False)
    check_exposure(host, has_token=False, open_to_all=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.8.8"])
def test_this_machine_needs_no_token(host):
    check_exposure(host, has_token=False, open_to_all=False)
