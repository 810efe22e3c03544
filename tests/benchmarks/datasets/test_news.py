"""HuffPost headlines: how they are cleaned, merged, split, and read from both kinds of file."""

import csv
import gzip
import json

import numpy as np
import pytest

from benchmarks import datasets
from benchmarks.datasets.news import MERGED, TOPICS, clean_headline

HEADER = ("headline", "short_description", "category", "date", "source", "split_how", "in_balanced900")
CATEGORIES = (*MERGED, "IMPACT", "WORLDPOST")
COUNTS = """32739 POLITICS, 17827 WELLNESS, 16058 ENTERTAINMENT, 9887 TRAVEL, 9649 STYLE & BEAUTY, 8677 PARENTING,
6694 HEALTHY LIVING, 6314 QUEER VOICES, 6226 FOOD & DRINK, 5937 BUSINESS, 4195 HOME & LIVING, 3955 PARENTS, 2254 STYLE,
2096 TASTE"""
V2 = {category: int(count) for count, category in (part.split(maxsplit=1) for part in COUNTS.split(","))}
"""Published counts of version 2."""


def articles(n=160):
    """(headline, description, category); some headlines occur again in another spelling or category."""
    rows = [
        (f"Story Number {i // 2 if i % 20 == 1 else i} Of It!", f"About {i}.", CATEGORIES[i % 16]) for i in range(n)
    ]
    rows.append(("story number 4 of it", "", "TRAVEL"))
    return rows


def write_csv(folder, rows, balanced=lambda i: "1", name="huffpost.csv.gz", header=HEADER):
    opener = gzip.open if name.endswith(".gz") else open
    with opener(folder / name, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        for i, (headline, description, category) in enumerate(rows):
            writer.writerow([headline, description, category, "", "v3-recent", "exact", balanced(i)])
    return folder / name


def write_json(folder, rows, name="News_Category_Dataset_v3.json"):
    lines = [
        json.dumps({"link": "", "headline": headline, "category": category, "short_description": text, "date": ""})
        for headline, text, category in rows
    ]
    content = ("\n".join(lines) + "\n").encode()
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder / name


def same(one, other):
    for key in ("x_train", "y_train", "groups_train", "x_test", "y_test", "groups_test"):
        np.testing.assert_array_equal(getattr(one, key), getattr(other, key))


@pytest.mark.parametrize("csv_name", ["huffpost.csv.gz", "huffpost.csv"])
@pytest.mark.parametrize("json_name", ["News_Category_Dataset_v2.json", "News_Category_Dataset_v3.json.gz"])
def test_both_formats_give_the_same_texts(folder, csv_name, json_name):
    path = write_csv(folder, articles(), name=csv_name)
    from_csv = datasets.huffpost()
    path.unlink()
    write_json(folder, articles(), json_name)
    from_json = datasets.huffpost()
    same(from_csv, from_json)
    assert csv_name in from_csv.description
    assert json_name in from_json.description
    assert from_csv.x_train.dtype == object
    assert repr(from_csv).startswith(f"<huffpost: {len(from_csv.x_train)} texts to learn from")


def test_the_official_file_comes_first(folder):
    write_csv(folder, articles(100))
    write_json(folder, articles(150))
    assert "v3.json" in datasets.huffpost().description


def test_categories_are_merged_and_the_others_left_out(folder):
    rows = [(f"{category} {i}", "", category) for category in CATEGORIES for i in range(10)]
    write_csv(folder, rows)
    data = datasets.huffpost()
    assert data.class_names == TOPICS
    found = {}
    for x, y in ((data.x_train, data.y_train), (data.x_test, data.y_test)):
        for text, label in zip(x, y, strict=True):
            found.setdefault(text.rsplit(" ", 1)[0], set()).add(TOPICS[label])
    assert found["parents"] == found["parenting"] == {"Parenting"}
    assert found["style"] == found["style beauty"] == {"Style & Beauty"}
    assert found["taste"] == {"Food & Drink"}
    assert found["healthy living"] == found["wellness"] == {"Wellness"}
    assert "impact" not in found
    assert len(found) == 14


def test_the_mergers_are_those_of_the_paper():
    """The paper ends up with 132,508 articles; with these mergers the published counts come to it."""
    assert set(V2) == set(MERGED)
    assert sum(V2.values()) == 132_508


def test_only_the_balanced_part_of_the_csv_is_read(folder):
    write_csv(folder, articles(), balanced=lambda i: "1" if i % 3 else "0")
    data = datasets.huffpost()
    kept = {clean_headline(row[0]) for i, row in enumerate(articles()) if i % 3 and row[2] in MERGED}
    assert set(data.x_train) | set(data.x_test) == kept


def test_the_same_headline_is_never_on_both_sides(folder):
    write_json(folder, articles())
    data = datasets.huffpost()
    for part in (data, *datasets.folds(data, 5)):
        assert not set(part.x_train) & set(part.x_test)
    texts, groups = np.concatenate([data.x_train, data.x_test]), np.concatenate([data.groups_train, data.groups_test])
    assert len(set(texts)) < len(texts)
    assert len(set(zip(texts, groups, strict=True))) == len(set(texts)) == len(set(groups.tolist()))


def test_extended_headlines_from_the_official_file_only(folder):
    write_json(folder, articles())
    data = datasets.load("huffpost", extended=True)
    assert "story number 0 of it about 0" in {*data.x_train, *data.x_test}
    (folder / "News_Category_Dataset_v3.json").unlink()
    write_csv(folder, articles())
    with pytest.raises(ValueError, match="gives away which piece a row came from"):
        datasets.huffpost(extended=True)


@pytest.mark.parametrize(
    ("printed", "tokens"),
    [
        ("Don't Can't Won't Shouldn’t Ain't", "do n't ca n't wo n't should n’t ai n't"),
        ("We’ll, I'm, they've; she'd -- you're", "we ’ll , i 'm , they 've ; she 'd -- you 're"),
        ("O'Reilly's 'Big' Day: Win-Win?", "o'reilly 's ' big ' day : win - win ?"),
        ("$10,000 & 50% Off (PHOTOS)", "$ 10,000 & 50 % off ( photos )"),
        ("You Cannot Gotta Gonna", "you can not got ta gon na"),
        ("The U.S. In 2.0", "the u.s. in 2.0"),
    ],
)
def test_how_a_headline_was_printed_leaves_no_mark(printed, tokens):
    assert clean_headline(printed) == clean_headline(tokens)
    assert not set(clean_headline(printed)) & set("'’-&$%()?.,:;")


def test_headlines_with_nothing_in_them_are_left_out(folder):
    write_json(folder, [*articles(), ("", "", "TRAVEL"), ("?!", "", "TRAVEL")])
    data = datasets.huffpost()
    assert all(data.x_train)
    assert all(data.x_test)


def test_a_missing_file_says_what_to_do(folder):
    with pytest.raises(FileNotFoundError) as caught:
        datasets.huffpost()
    for words in ("huffpost.csv.gz", str(folder), "News_Category_Dataset_v3.json", "https://", "INFOPURSUIT_DATA"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{not json\n", "line 3 of .* is not an article"),
        (b'{"headline": "x"}\n', r"line 3 of .*\(KeyError: 'category'\)"),
        (b"[1, 2]\n", "line 3 of .* is not an article"),
        (b'{"headline": 7, "category": "TRAVEL"}\n', "line 3 of .* not a text"),
        (b"\xff\xfe\n", "not a text in UTF-8"),
    ],
)
def test_bad_json_is_refused_by_line(folder, line, message):
    path = write_json(folder, articles())
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], line, *lines[2:]]))
    with pytest.raises(ValueError, match=message) as caught:
        datasets.huffpost()
    assert str(path) in str(caught.value)


def test_bad_csv_is_refused_by_name(folder):
    path = write_csv(folder, articles(), header=("title", *HEADER[1:6], "balanced"))
    with pytest.raises(ValueError, match="no column 'headline' and no 'in_balanced900'; found title") as caught:
        datasets.huffpost()
    assert str(path) in str(caught.value)
    write_csv(folder, articles(), balanced=lambda i: "yes")
    with pytest.raises(ValueError, match=r"line 2 of .* in_balanced900 is not 0 or 1"):
        datasets.huffpost()
    whole = write_csv(folder, articles()).read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="not a whole gzip file"):
        datasets.huffpost()
    path.write_bytes(gzip.compress(gzip.decompress(whole)[:-9]))  # ends inside the last row
    with pytest.raises(ValueError, match="wrong number of fields"):
        datasets.huffpost()
    path.write_bytes(gzip.compress(b",".join(map(str.encode, HEADER)) + b'\n"a" b,,TRAVEL,,,,1\n'))
    with pytest.raises(ValueError, match=r"line 2 of .* is not CSV"):
        datasets.huffpost()
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(ValueError, match="no column 'headline'"):
        datasets.huffpost()
    write_csv(folder, [("A", "", "IMPACT")] * 20)
    with pytest.raises(ValueError, match="0 headlines in the ten classes"):
        datasets.huffpost()


@pytest.mark.data
def test_the_real_file(real_data):
    path = real_data("huffpost.csv.gz")
    data = datasets.load("huffpost")
    counts = np.bincount(np.concatenate([data.y_train, data.y_test]))
    assert len(counts) == 10
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["in_balanced900"] == "1" and row["category"] in MERGED]
    assert counts.sum() == len(rows) == 12_531
    assert not set(data.x_train) & set(data.x_test)
    shares = [np.bincount(y) / len(y) for y in (data.y_train, data.y_test)]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.001)
    letters = set().union(*data.x_train, *data.x_test)
    assert not {letter for letter in letters if not letter.isalnum()} - {" "}
    assert not {letter for letter in letters if letter.lower() != letter}


@pytest.mark.data
def test_spelling_does_not_tell_the_pieces_of_the_real_file_apart(real_data):
    """The tokeniser that two thirds of the rows went through leaves marks, which are gone after cleaning."""
    with gzip.open(real_data("huffpost.csv.gz"), "rt", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["in_balanced900"] == "1"]
    marks = {"n't", "n’t", "'re", "gon", "wo", "nt", "ll", "ve"}
    for clean, marked in ((str.lower, True), (clean_headline, False)):
        for is_cut in (True, False):
            texts = [clean(row["headline"]).split() for row in rows if (row["source"] == "v2-900perclass") == is_cut]
            assert (sum(bool(marks & set(text)) for text in texts) > 0.02 * len(texts)) == (marked and is_cut)
            if not marked:
                assert not any(marks & set(text) for text in texts)
