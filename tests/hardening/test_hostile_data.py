"""Data files of strangers: read rightly, or refused in one line; in bounded memory and time, and nothing is run."""

import gzip
import io
import json
import os
import resource
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import infopursuit as ip
from benchmarks.datasets.files import read_bytes, read_lines
from infopursuit.app.cli import EXPECTED, main
from infopursuit.app.conversation import resume_session
from infopursuit.app.datasets.examples import read_examples
from infopursuit.estimator import table_files as tables
from infopursuit.estimator.table_files import read_arrays, read_frame
from infopursuit.estimator.tables import read_costs
from infopursuit.pursuit.explanation import Explanation
from infopursuit.queries.wording import read_wording

FEW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def refused(read, *arguments):
    """What the refusal says; anything but a short error of the expected kinds fails."""
    with pytest.raises(EXPECTED) as caught:
        read(*arguments)
    said = str(caught.value)
    assert not isinstance(caught.value, MemoryError | RecursionError), said
    assert 10 < len(said) < 1000, said[:200]
    return said


def attempt(read, *arguments):
    """The result, or None where it was refused as it should be."""
    try:
        return read(*arguments)
    except EXPECTED as error:
        caught = error
    assert not isinstance(caught, MemoryError), caught
    assert 10 < len(str(caught)) < 1000, str(caught)[:200]
    return None


@pytest.fixture(scope="module")
def pursuit():
    model = ip.models.TableModel([0.5, 0.5], None, [[0.9, 0.5], [0.1, 0.5]])
    return ip.generative_pursuit(model, ip.queries.concepts(["a", "b"]), classes=["x", "y"], stopping=ip.MaxQueries(2))


@pytest.fixture
def written(tmp_path):
    """Write bytes to a file of a name, and return it."""

    def write(name, content):
        file = tmp_path / name
        file.write_bytes(content)
        return file

    return write


# ---- tables in text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "columns", "rows"),
    [
        (b"a,b\n1,2\n", ["a", "b"], [[1, 2]]),
        (b"\xef\xbb\xbfa,b\n1,2\n", ["a", "b"], [[1, 2]]),
        (b"a;b\r\n1;2\r\n", ["a", "b"], [[1, 2]]),
        (b"a,b\r1,2\r3,4\r", ["a", "b"], [[1, 2], [3, 4]]),
        (b'"a,x","b ""c"""\n"1\n2",3\n', ["a,x", 'b "c"'], [["1\n2", 3]]),
        (b" a , b\n1,2", ["a", "b"], [[1, 2]]),
        ("größe,☃\nß,é\n".encode(), ["größe", "☃"], [["ß", "é"]]),
        (b"a,b\n1\n2,3\n", ["a", "b"], [[1, None], [2, 3]]),
        (b",b\nr1,2\n", ["Unnamed: 0", "b"], [["r1", 2]]),
        (b"a,b\n", ["a", "b"], []),
    ],
)
def test_tables_as_people_have_them_are_read_rightly(content, columns, rows, written):
    frame = read_frame(written("t.csv", content))
    assert frame.columns == columns
    assert [list(row) for row in frame.rows()] == rows


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no columns in its first line"),
        (b"a,b\n1,2\n3,4,5\n", "a row of 3 cells"),
        (b"a,b\n1,2,3\n4,5,6\n", "more cells than its first line has names"),
        (b'a,b\n"1,2\n3,4\n', "unexpected end of data"),
        (b'"a,b\n1,2\n', "cannot be read as a table"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16; save it as UTF-8"),
        ("a,b\n1,2\n".encode("utf-16-be"), "zero at byte 0"),
        (b"a,b\n1,\x002\n", "zero at byte 6"),
        (b"gr\x81sse,b\n1,2\n", "is not UTF-8"),
        (b"a,a\n1,2\n", "the column 'a' more than once"),
        (b"a, a\n1,2\n", "the column 'a' more than once"),
        (b"PK\x03\x04\x00\x00", "zero at byte 4"),
    ],
)
def test_tables_that_are_none_are_refused(content, said, written):
    file = written("t.csv", content)
    assert said in refused(read_frame, file)
    assert str(file) in refused(read_frame, file)


def test_a_hundred_thousand_columns_are_read_and_a_million_refused(written):
    wide = 100_000
    text = ",".join(f"c{i}" for i in range(wide)) + "\n" + ",".join("1" * wide) + "\n"
    frame = read_frame(written("wide.csv", text.encode()))
    assert frame.shape == (1, wide)
    assert frame.columns[-1] == f"c{wide - 1}"
    text = ",".join(f"c{i}" for i in range(tables.MAX_COLUMNS + 1)) + "\n"
    assert "columns, more than 200,000" in refused(read_frame, written("wider.csv", text.encode()))


def test_a_line_of_a_gigabyte_is_refused_before_it_is_in_memory(tmp_path):
    file = tmp_path / "line.csv.gz"
    with gzip.open(file, "wb", compresslevel=1) as stream:
        stream.write(b"a,b\n")
        for _ in range(80):
            stream.write(b"1" * 2**20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "line of more than 64 MiB" in refused(read_frame, file)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024


def test_what_unpacks_to_more_than_fits_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MAX_BYTES", 2**20)
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 2**19))
    assert file.stat().st_size < 2**20
    for read in (read_frame, read_bytes, lambda path: list(read_lines(path))):
        assert "more than 0.000976562; give a part of it" in refused(read, file)


@pytest.mark.parametrize("cut", [5, 12, -3, -9])
def test_a_packed_table_that_is_damaged(cut, written):
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    for content in (packed[:cut], packed[:cut] + b"\xff\xff" + packed[cut:]):
        file = written("t.csv.gz", content)
        assert attempt(read_frame, file) is None
        assert attempt(read_bytes, file) is None


CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@FEW
@given(st.lists(st.lists(CELL, min_size=2, max_size=2), min_size=1, max_size=5), st.sampled_from(["\n", "\r\n"]))
def test_what_a_spreadsheet_writes_comes_back(tmp_path, rows, end):
    """Any text in cells, written by the rules, is read as it was, without spaces around it."""
    frame = pd.DataFrame(rows, columns=["a", "b"])
    file = tmp_path / "t.csv"
    frame.to_csv(file, index=False, quoting=1, lineterminator=end, encoding="utf-8-sig")
    found = read_frame(file)
    assert found.shape == frame.shape
    for row, written in zip(found.rows(), rows, strict=True):
        for mine, theirs in zip(row, written, strict=True):
            # numbers and what pandas takes for a gap come back as such; texts without spaces around them
            assert mine is None or not isinstance(mine, str) or mine in theirs


@FEW
@pytest.mark.filterwarnings("ignore:.*Windows-1252")
@given(st.binary(max_size=60), st.sampled_from(["t.csv", "t.tsv", "t.csv.gz", "t.parquet"]))
@example(b'"', "t.csv")
@example(b"\r", "t.csv")
@example(b"\xef\xbb\xbf", "t.csv")
@example(b"PAR1" + b"\xff" * 30 + b"PAR1", "t.parquet")
def test_any_bytes_are_a_table_or_refused(tmp_path, content, name):
    file = tmp_path / name
    file.write_bytes(gzip.compress(content) if name.endswith(".gz") and len(content) % 2 else content)
    frame = attempt(read_frame, file)
    if frame is not None:
        assert len(set(frame.columns)) == len(frame.columns)


@FEW
@given(st.text("ab,;\"'\n\r\t 1é\ufeff", max_size=40))
def test_any_signs_of_a_table_are_a_table_or_refused(tmp_path, text):
    file = tmp_path / "t.csv"
    file.write_bytes(text.encode())
    attempt(read_frame, file)


# ---- parquet --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    file = tmp_path_factory.mktemp("parquet") / "t.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3], "b": ["x", "y", None]}), file)
    return file.read_bytes()


def test_a_billion_rows_in_a_few_bytes(tmp_path, monkeypatch):
    """Run-length coding lets a kilobyte stand for a million rows, and for a billion."""
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": np.zeros(2**20, dtype=np.int8)}), file)
    assert file.stat().st_size < 5000
    assert len(read_frame(file)) == 2**20
    monkeypatch.setattr(tables, "MAX_CELLS", 2**19)
    assert "claims 1048576 rows of 1 columns, more than 524,288 cells" in refused(read_frame, file)


@FEW
@given(st.data())
def test_a_parquet_file_with_other_bits(tmp_path, parquet, data):
    content = bytearray(parquet)
    for place in data.draw(st.lists(st.integers(4, len(content) - 1), min_size=1, max_size=4)):
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    file = tmp_path / "t.parquet"
    file.write_bytes(bytes(content))
    attempt(read_frame, file)


def test_a_parquet_file_that_claims_other_rows(tmp_path, parquet, written):
    """The count of rows in the footer, 3 as a zigzag number, becomes another one."""
    footer = parquet.rindex(b"\x16\x06", 0, parquet.index(b"ARROW:schema"))
    for claim in (b"\x16\x08", b"\x16\x7e"):
        file = written("t.parquet", parquet[:footer] + claim + parquet[footer + 2 :])
        attempt(read_frame, file)


# ---- npz ------------------------------------------------------------------------------------------------------------


def npy(shape, descr="<f8", data=b"", version=b"\x01\x00"):
    """An npy file whose header says what we like."""
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H" if version[0] == 1 else "<I", len(header)) + header + data


def npz(**entries):
    """A zip file of these entries."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


Y = npy("(1,)", "<i8", bytes(8))


@pytest.mark.parametrize(
    "x",
    [
        npy("(1000000000, 1000)"),
        npy("(10**12,)"),
        npy("(1000000000000,)"),
        npy("(-1,)"),
        npy("(2,)", "<U100000000", bytes(8)),
        npy("(2,)", "<U1000000000", bytes(8)),
        npy("(1,)", "|O", b"cos\nsystem\n(S'true'\ntR."),
        npy("(1,)", [("a", "|O")], b"x"),
        npy("(3,)", "<f8", bytes(8)),
        npy("(" * 5000),
        npy("__import__('os').abort()"),
        npy("(1,)", "<f8", bytes(8), b"\x09\x00"),
        b"",
        b"\x93NUMPY",
        b"\x80\x04\x95cos\nsystem\n",
    ],
    ids=lambda content: repr(content[10:60]),
)
def test_arrays_that_claim_what_they_are_not(x, written, pursuit):
    file = written("t.npz", npz(x=x, y=Y))
    refused(read_arrays, file, ("x", "y"))
    refused(read_examples, str(file), pursuit)


def test_a_zip_bomb_is_refused_before_it_is_unpacked(written, monkeypatch, pursuit):
    monkeypatch.setattr(tables, "MAX_BYTES", 2**20)
    file = written("t.npz", npz(x=npy("(1000000,)", "<f8", bytes(8_000_000)), y=Y))
    assert file.stat().st_size < 20_000
    assert "give a part of it" in refused(read_arrays, file, ("x", "y"))


def test_a_zip_that_nobody_can_open(written):
    content = bytearray(npz(x=npy("(1,)", "<f8", bytes(8)), y=Y))
    for flag, method in ((1, 8), (0, 99)):  # a password; a way of packing that there is not
        for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            start = content.index(mark)
            content[start + at], content[start + at + 2] = flag, method
        refused(read_arrays, written("t.npz", bytes(content)), ("x", "y"))


@FEW
@given(st.data())
def test_an_npz_file_with_other_bits(tmp_path, data):
    content = bytearray(npz(x=npy("(2,)", "<f8", bytes(16)), y=Y))
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    cut = data.draw(st.integers(0, 9))
    file = tmp_path / "t.npz"
    file.write_bytes(bytes(content)[: len(content) - (cut if cut < 5 else 0)])
    found = attempt(read_arrays, file, ("x", "y"))
    if found is not None:
        assert found["x"].nbytes <= 64


# ---- what is no file ------------------------------------------------------------------------------------------------

READERS = {
    "t.csv": read_frame,
    "t.csv.gz": read_frame,
    "t.parquet": read_frame,
    "t.npz": lambda path: read_arrays(path, ("x",)),
    "t.gz": read_bytes,
    "t.txt": lambda path: list(read_lines(path)),
    "terms.csv": read_costs,
    "wording.csv": read_wording,
}


@pytest.mark.parametrize("name", READERS)
def test_pipes_folders_links_and_devices_are_refused_at_once(name, tmp_path):
    """In another process, for who opens a pipe waits for ever."""
    kinds = {"pipe": os.mkfifo, "folder": os.mkdir, "device": lambda p: os.symlink("/dev/zero", p),
             "loop": lambda p: os.symlink(p, p), "nowhere": lambda p: os.symlink(f"{p}-gone", p)}  # fmt: skip
    for kind, make in kinds.items():
        (tmp_path / kind).mkdir()
        make(str(tmp_path / kind / name))
        refused(READERS[name], tmp_path / kind / name)
    refused(READERS[name], tmp_path / name)


def test_the_command_line_says_it_in_one_line(tmp_path, capsys, pursuit):
    ip.save(pursuit, tmp_path / "model")
    nasty = {
        "a.csv": b"a,a\n1,2\n",
        "b.csv": "a,b\n1,2\n".encode("utf-16"),
        "c.csv": b"",
        "d.npz": npz(x=npy("(1000000000, 1000)"), y=Y),
        "e.parquet": b"PAR1",
    }
    for name, content in nasty.items():
        (tmp_path / name).write_bytes(content)
        for command in (
            ["fit", str(tmp_path / name), "--label", "a", "--out", str(tmp_path / "out")],
            ["explain", str(tmp_path / name), "--model", str(tmp_path / "model"), "--out", str(tmp_path / "out")],
            ["evaluate", str(tmp_path / "model"), str(tmp_path / name)],
        ):
            assert main(command) == 2, command
            said = capsys.readouterr().err
            assert "Traceback" not in said
            assert said.splitlines()[-1].startswith((f"infopursuit {command[0]}", "infopursuit")), said
    assert not (tmp_path / "out").exists()


# ---- terms, wordings, sessions, explanations ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", b"query,cost\na,1e999\n", "expected a number of 0 or more"),
        ("t.csv", b"query,cost\na," + b"9" * 400 + b"\n", "expected a number of 0 or more"),
        ("t.csv", b"\xff\xfea\x00", "is not UTF-8"),
        ("t.csv", b"x" * (8 * 2**20 + 1), "more than 8,388,608"),
        ("t.yaml", b"a: 5\n", "give a .csv file"),
        ("t.csv", b"cost,query\n5\n", "names no query"),
        ("t.csv", b'query,cost\n"a,5\n', "is not CSV"),
        ("t.csv", b"x" * 10**5, "begins with"),
        ("t.csv", b"x" * 10**6, "is not CSV"),
        ("t.csv", b"", "begins with ''"),
    ],
)
def test_terms_that_are_none(name, content, said, written):
    assert said in refused(read_costs, written(name, content))


@FEW
@given(st.text("ab:{}[],&*!?|>-'\"#%@ \n\t=0", max_size=50))
def test_any_signs_are_terms_or_wordings_or_refused(tmp_path, text):
    file = tmp_path / "t.csv"
    for head in ("", "query,cost,requires,group\n", "query,sentence,choices\n"):
        file.write_text(head + text)
        attempt(read_costs, file)
        attempt(read_wording, file)


@pytest.fixture(scope="module")
def told(pursuit):
    return pursuit.run([[1, 0]])[0].to_json()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**30) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(FEW, max_examples=150)
@given(st.data())
def test_an_explanation_with_another_entry_is_refused_or_can_be_told(told, data):
    content = json.loads(told)
    holder = data.draw(st.sampled_from([content, *content["steps"]]))
    holder[data.draw(st.sampled_from(sorted(holder)))] = data.draw(JSON)
    found = attempt(Explanation.from_json, json.dumps(content))
    if found is not None:
        assert isinstance(str(found), str)
        assert 0 <= found.confidence <= 1 + 1e-9


@pytest.mark.parametrize("text", ["", "[" * 100_000, "null", '{"format": 5}', "9" * 5000, '{"format": "' + "x" * 10**6])
def test_explanations_that_are_none(text):
    refused(Explanation.from_json, text)


def test_an_explanation_comes_back(told):
    assert Explanation.from_json(told).to_json() == told


@pytest.mark.parametrize(
    "history",
    [5, [5], [{}], [{"query": "a"}], [{"query": 10**30, "answer": "yes"}], [{"query": "a", "answer": 10**30}],
     [{"query": "a", "answer": {"weights": [[float("inf")]]}}], [{"query": "a", "answer": {"yes": -1}}]],
)  # fmt: skip
def test_sessions_that_are_none(history, tmp_path, pursuit):
    from infopursuit.app.conversation import FORMAT, fingerprint

    file = tmp_path / "session.json"
    file.write_text(json.dumps({"format": FORMAT, "model": fingerprint(pursuit), "history": history}))
    refused(resume_session, pursuit, file)


def test_a_session_that_is_a_pipe(tmp_path, pursuit):
    os.mkfifo(tmp_path / "pipe")
    assert "is no file" in refused(resume_session, pursuit, tmp_path / "pipe")


def test_reading_hostile_files_stays_within_its_memory(tmp_path):
    """All at once in a process that gets little memory: absurd claims must be refused, not tried."""
    (tmp_path / "a.npz").write_bytes(npz(x=npy("(1000000000, 1000)"), y=Y))
    with (tmp_path / "b.csv").open("wb") as stream:
        stream.truncate(4 * 2**30)
    with (tmp_path / "c.csv").open("wb") as stream:
        stream.write(b"a,b\n")
        stream.truncate(4 * 2**30)
    script = """
import sys
from pathlib import Path
from infopursuit.estimator.table_files import import_arrow, read_arrays, read_frame
from infopursuit.estimator.tables import read_costs
from benchmarks.hardening.limits import forget_peak, limit_memory, resident
import_arrow()
limit_memory(2**28)
forget_peak()
before = resident()[0]
folder = Path(sys.argv[1])
readers = {"a.npz": lambda p: read_arrays(p, ("x",)), "b.csv": read_costs, "c.csv": read_frame}
for name, read in readers.items():
    try:
        read(folder / name)
    except ValueError as error:
        print(name, str(error)[:80])
print("grown", (resident()[1] - before) // 2**20)
"""
    command = [sys.executable, "-c", script, str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert [line[0] for line in lines[:-1]] == list("abc"), run.stdout
    assert int(lines[-1].split()[1]) < 128
