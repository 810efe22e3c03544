"""Questions in other words: files as people write them, what they change, and what is refused."""

import csv
import io

import numpy as np
import pytest

import infopursuit as ip
from infopursuit.queries.wording import MAX_BYTES, Wording, read_wording, reword

CSV = 'query,sentence,choices\nfur,"Hat es ""Fell"", oder Ähnliches?",no = nein | yes = ja\nwings,Есть крылья?,\n'
WANTED = {
    "fur": Wording('Hat es "Fell", oder Ähnliches?', {"no": "nein", "yes": "ja"}),
    "wings": Wording("Есть крылья?"),
}


def separated_by(separator):
    """The same table as another program writes it."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator).writerows(csv.reader(io.StringIO(CSV)))
    return text.getvalue()


def concepts():
    return ip.queries.concepts(["fur", "wings", "eggs"])


def table():
    return ip.queries.columns(
        np.array([["m", 31], ["f", 54], ["f", 48], ["m", 54]], dtype=object), names=["sex", "age"], numbers="thresholds"
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", CSV.encode()),
        ("a.csv", b"\xef\xbb\xbf" + CSV.encode()),
        ("a.csv", CSV.replace("\n", "\r\n").encode()),
        ("a.csv", separated_by(";").encode()),
        ("a.tsv", separated_by("\t").encode()),
    ],
    ids=["csv", "byte-order mark", "windows", "semicolons", "tabs"],
)  # fmt: skip
def test_files_of_all_kinds_say_the_same(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    assert read_wording(tmp_path / name) == WANTED


def test_words_are_used_everywhere_and_the_others_stay():
    qs = reword(concepts(), WANTED)
    assert qs[0].sentence == 'Hat es "Fell", oder Ähnliches?'
    assert list(qs[0].choices) == ["nein", "ja"]
    assert (qs[2].sentence, tuple(qs[2].choices)) == ("eggs?", ("no", "yes"))
    assert qs.to_answer(0, "JA") == (1,)
    assert qs.say(1, (1,)) == "Есть крылья? yes"
    assert qs.say(2, (0,)) == "eggs: no"
    assert concepts().worded == frozenset()
    assert qs.names == concepts().names


def test_a_column_words_all_its_thresholds_and_a_query_has_the_last_word():
    qs = reword(
        table(), {"age > 50": "Über fünfzig?", "age": "Älter als {}?", "sex": Wording(choices={"f": "weiblich"})}
    )
    assert qs.names == ("sex", "age > 40", "age > 50")
    assert qs.sentences == ("Which sex?", "Älter als 40?", "Über fünfzig?")
    assert tuple(qs[0].choices) == ("weiblich", "m")


def test_words_are_kept_with_a_saved_model_and_read_in_explanations(tmp_path):
    model = ip.models.TableModel([0.5, 0.5], None, [[0.99, 0.5, 0.5], [0.01, 0.5, 0.5]])
    pursuit = ip.generative_pursuit(
        model, reword(concepts(), WANTED), stopping=ip.Confidence(0.05), classes=["Katze", "Vogel"]
    )
    ip.save(pursuit, tmp_path / "model")
    again = ip.load(tmp_path / "model")
    session = again.session()
    assert str(session.question) == 'Hat es "Fell", oder Ähnliches?'
    explanation = session.answer("ja").explanation
    assert 'Hat es "Fell", oder Ähnliches? ja' in str(explanation)
    assert ip.Explanation.from_json(explanation.to_json()) == explanation
    assert explanation == pursuit.run([[1, 0, 0]])[0]
    assert again.queries.worded == {0, 1}


@pytest.mark.parametrize(
    "change", [{"fur": {"sentence": 3, "choices": []}}, {"hair": {"sentence": "x", "choices": []}}]
)
def test_a_damaged_wording_is_refused(tmp_path, change):
    from infopursuit.queries.queryset import from_manifest, to_manifest

    with pytest.raises(ValueError, match=r"wording|tuple"):
        from_manifest({**to_manifest(concepts()), "wording": change})


def test_models_without_words_are_saved_as_before(tmp_path):
    model = ip.models.TableModel([0.5, 0.5], None, [[0.99, 0.5, 0.5], [0.01, 0.5, 0.5]])
    ip.save(ip.generative_pursuit(model, concepts()), tmp_path)
    assert "wording" not in (tmp_path / "manifest.json").read_text()
    assert "worded" not in ip.generative_pursuit(model, concepts()).run([[1, 0, 0]])[0].to_json()


@pytest.mark.parametrize(
    ("wording", "named"),
    [
        ({"furr": "Fell?"}, "'furr', which is not asked about; did you mean 'fur'"),
        ({"WINGS": "Flügel?"}, "did you mean 'wings'"),
        ({"zzz": "?"}, "there are 'fur', 'wings', 'eggs'"),
        ({"fur": Wording("Fell?", {"maybe": "vielleicht"})}, "'maybe', no answer to 'fur'"),
        ({"fur": Wording("Fell?", {"no": "ja", "yes": "ja"})}, "wording .*'fur'"),
    ],
)
def test_names_that_do_not_exist_are_refused_with_near_ones(wording, named):
    with pytest.raises(ValueError, match=named):
        reword(concepts(), wording)


def test_thresholds_that_would_read_alike_are_refused():
    with pytest.raises(ValueError, match=r"wording\['age'\]"):
        reword(table(), {"age": "Alt?"})


def test_answers_about_several_pixels_have_no_names():
    patches = ip.queries.patches((4, 4), size=2)
    assert reword(patches, {patches.names[0]: "Oben links?"})[0].sentence == "Oben links?"
    with pytest.raises(ValueError, match="wording names choices"):
        reword(patches, {patches.names[0]: Wording("Oben links?", {"0000": "leer"})})


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("a.yaml", b"", "ends in '.yaml'"),
        ("a.csv", b"fur,Fell?\n", "expected the columns query, sentence"),
        ("a.csv", b"", "expected the columns"),
        ("a.csv", b"query,sentence\nfur,a\nfur,b\n", "line 3 of .* has 'fur' a second time"),
        ("a.csv", b"query,sentence\n,a\n", "line 2 of .* names no query"),
        ("a.csv", b'query,sentence\nfur,"a\n', "is not CSV"),
        ("a.csv", b"query,choices\nfur,nein|ja\n", r"write them as: no = nein \| yes = ja"),
        ("a.csv", "query,sentence\nfur,Ähnlich\n".encode("latin-1"), "is not UTF-8"),
    ],
)  # fmt: skip
def test_files_that_cannot_be_read_say_where(tmp_path, name, content, named):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=named):
        read_wording(tmp_path / name)


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    with (tmp_path / "a.csv").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ValueError, match="is it a wording file"):
        read_wording(tmp_path / "a.csv")
