"""``infopursuit ask`` as people and scripts use it: through a pipe, and through a terminal."""

import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import pytest

import infopursuit as ip
from infopursuit import shipped
from infopursuit.app.cli import main
from infopursuit.app.shipped import read_animals, version

TABLE = read_animals()


def ask_process(*args, said="", **variables):
    """``infopursuit ask`` in a process of its own, with lines from a pipe."""
    command = [sys.executable, "-m", "infopursuit", "ask", *map(str, args)]
    environment = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **variables}
    return subprocess.run(
        command, input=said, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False, env=environment
    )


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def ask(capsys):
    """The same in this process, which is faster."""

    def run(*args, said=""):
        code = main(["ask", *map(str, args)], stdin=io.StringIO(said))
        return Done(code, *capsys.readouterr())

    return run


def answers_of(animal):
    """What a person who thinks of an animal says, question after question, by the same pursuit."""
    session = shipped.load("animals").session()
    row = TABLE.cells[TABLE.animals.index(animal)]
    said = []
    while session.question is not None:
        said.append("yes" if row[session.question.index] >= 0.5 else "no")
        session.answer(said[-1])
    assert session.prediction == animal
    return said


def test_a_game_through_a_pipe():
    done = ask_process("animals", said="\n".join(answers_of("penguin")) + "\n")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "\npenguin (" in done.stdout
    assert "It stopped because the confidence is high enough" in done.stdout
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_json_is_all_that_stdout_has(ask):
    done = ask("animals", "--json", said="\n".join(answers_of("penguin")))
    explanation = ip.Explanation.from_json(done.stdout)
    assert explanation.prediction == "penguin"
    assert explanation.stop_reason == "confidence"
    assert "Question 1" in done.stderr


def test_the_end_of_the_input_ends_it_with_what_is_known(ask):
    done = ask("animals", said="yes\n")
    assert done.returncode == 3
    assert "The input has ended" in done.stdout
    assert "1 question, in order:" in done.stdout
    assert ask("animals", said="").returncode == 3


def test_words_are_understood(ask):
    done = ask("animals", said="b\nwhat\n\nw\nh\nY\nD\nback\nstop\n")
    assert done.returncode == 0
    for words in (
        "there is nothing to take back",
        "'what' is no answer here; say one of: no, yes; or help",
        "An empty line is no answer",
        "It about halves the probability: no has 54 %, yes has 46 %.",
        "Expected information gain: 0.",
        'Second best: "',
        "take the last answer back",
        "Taken back: ",
        "1 question, in order:",
    ):
        assert words in " ".join(done.stdout.split())
    # the one answer that was not taken back
    assert "Result so far" in done.stdout


def test_save_and_resume(ask, tmp_path):
    file, said = tmp_path / "game.json", answers_of("octopus")
    first = ask("animals", "--save", file, said="\n".join([*said[:3], "stop"]))
    assert first.returncode == 0
    kept = json.loads(file.read_text())
    assert [step["answer"] for step in kept["history"]] == said[:3]
    again = ask("animals", "--save", file)
    assert again.returncode == 2
    assert f"--save {file}" in again.stderr
    rest = ask("animals", "--resume", file, said="\n".join(said[3:]))
    assert rest.returncode == 0, rest.stderr
    assert "Continuing after 3 answers" in rest.stdout
    assert "\noctopus (" in rest.stdout
    assert len(json.loads(file.read_text())["history"]) == len(said)


def test_a_file_of_another_model_is_refused(ask, tmp_path, capsys):
    file = tmp_path / "game.json"
    ask("animals", "--save", file, said="yes\n")
    before = file.read_bytes()
    assert main(["ask", "digits", "--resume", str(file)]) == 2
    assert "belongs to another model" in capsys.readouterr().err
    assert file.read_bytes() == before


@pytest.mark.parametrize("content", ["", "[]", '{"format": "other"}', "{" * 100_000])
def test_a_file_that_is_no_session_is_refused(tmp_path, capsys, content):
    file = tmp_path / "game.json"
    file.write_text(content)
    assert main(["ask", "animals", "--resume", str(file)]) == 2
    assert str(file) in capsys.readouterr().err
    assert file.read_text() == content


def test_an_unknown_model_is_told_about(capsys):
    assert main(["ask", "cats"]) == 2
    error = capsys.readouterr().err
    assert "'cats' is not there" in error
    assert "animals, tumours, digits, mnist" in error


def test_choices_by_name_number_and_first_letters(ask, tmp_path):
    rng = np.random.default_rng(0)
    X = np.array([["small", "medium", "large", "middling"][i] for i in rng.integers(4, size=80)], dtype=object)[:, None]
    y = np.where(X[:, 0] == "small", "mouse", np.where(X[:, 0] == "large", "cow", "dog"))
    clf = ip.InformationPursuitClassifier(queries=ip.queries.columns(X), strategy="table").fit(X, y)
    clf.save(tmp_path / "model")
    listed = list(clf.session().question.choices)
    for said in (str(listed.index("small") + 1), "SMALL", "sm"):
        done = ask(tmp_path / "model", said=f"{said}\n")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "certainly mouse (" in done.stdout
    assert "could mean several answers" in ask(tmp_path / "model", said="m\n").stdout
    assert ask(tmp_path / "model", said="s\n").returncode == 0  # "s" is stop, whatever the answers are called


def test_patches_are_answered_as_rows_of_pixels(ask):
    done = ask("digits", said="010\n010/01?/#.1\nw\nb\n000000000\nd\ns\n")
    assert done.returncode == 0, done.stderr
    assert "is no patch; say 3 rows of 3 pixels" in done.stdout
    assert "Taken back: patch at" in done.stdout
    assert "of its" in done.stdout  # the most probable of its many answers
    assert "??????" in done.stdout  # where the patch lies
    assert "2 questions, in order:" in done.stdout


def test_an_impossible_answer_is_said_to_be_so(ask):
    """Neighbouring patches share pixels: dark ones cannot be lit afterwards."""
    session, lines, seen = shipped.load("digits").session(), [], set()
    while not seen & set(variables := session.pursuit.queries.query_variables[session.question.index].tolist()):
        session.answer([0] * 9)
        lines.append("0" * 9)
        seen |= set(variables)
    lines += ["1" * 9, "d", "s"]
    done = ask("digits", said="\n".join(lines))
    assert done.returncode == 0, done.stderr
    assert "Impossible together with the earlier answers" in done.stdout


# ---- a terminal -----------------------------------------------------------------------------------------------------


class Typist:
    """A person at a terminal: reads until some words come, then types."""

    def __init__(self, *args, columns=80):
        # A process that has threads, as this one does, should not fork.
        self.place, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "infopursuit", "ask", *map(str, args)],
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            env={**os.environ, "COLUMNS": str(columns), "TERM": "xterm"},
            start_new_session=True,
        )
        os.close(terminal)
        self.seen, self.at = "", 0

    def wait_for(self, words, seconds=180):
        """Read until some words come after those that were waited for before."""
        end = time.monotonic() + seconds
        while words not in self.seen[self.at :]:
            ready, _, _ = select.select([self.place], [], [], 1)
            if ready:
                try:
                    more = os.read(self.place, 65536)
                except OSError:
                    more = b""
                if not more:
                    break
                self.seen += more.decode("utf-8", "replace")
            assert time.monotonic() < end, self.seen
        assert words in self.seen[self.at :], self.seen
        self.at = self.seen.index(words, self.at) + len(words)

    def type(self, line, words="> "):
        os.write(self.place, line.encode() + b"\n")
        self.wait_for(words)

    def end(self):
        code = self.process.wait(180)
        os.close(self.place)
        return code


PROMPT = "> \x1b[0m"


def test_a_person_at_a_terminal():
    person = Typist("animals")
    person.wait_for(PROMPT)
    for line in answers_of("penguin")[:-1]:
        person.type(line, PROMPT)
    person.type(answers_of("penguin")[-1], "Enter ends")
    assert "\x1b[32mpenguin (" in person.seen
    person.wait_for(PROMPT)
    person.type("b", PROMPT)
    assert "Taken back" in person.seen
    person.type("stop", "Result so far")
    person.wait_for("It has not stopped yet")
    assert person.end() == 0


def test_ctrl_c_keeps_the_file(tmp_path):
    file = tmp_path / "game.json"
    person = Typist("animals", "--save", file, columns=40)
    person.wait_for(PROMPT)
    person.type("yes", PROMPT)
    person.process.send_signal(signal.SIGINT)
    person.wait_for("--resume")
    assert "Traceback" not in person.seen
    assert person.end() == 130
    assert len(json.loads(file.read_text())["history"]) == 1


def test_answers_that_may_be_wrong(ask):
    """It asks for longer, and what is not certain is kept as such; repeating needs an accuracy."""
    plain = ask("animals", "--json", said="probably yes\nno 70 %\nstop\n")
    steps = json.loads(plain.stdout)["steps"]
    assert [step["said"] for step in steps] == ["probably yes (80 %)", "probably no (70 %)"]
    lines = answers_of("elephant")
    sure = ask("animals", "--json", said="\n".join(lines))
    weighed = ask("animals", "--json", "--accuracy", "0.8", said="\n".join([*lines, "stop"]))
    assert sure.returncode == weighed.returncode == 0
    last = [max(json.loads(done.stdout)["steps"][-1]["posterior"]) for done in (sure, weighed)]
    assert last[0] > last[1]
    assert ask("animals", "--max-repeats", "3").returncode == 2


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A saved model that asks for a number first."""
    rng = np.random.default_rng(0)
    X = np.stack([rng.uniform(60, 200, 200).round(), rng.integers(2, size=200)], axis=1)
    asked = ip.queries.columns(X, names=["glucose", "smoker"], units={"glucose": "mg/dl"})
    clf = ip.InformationPursuitClassifier(asked, "table", stopping=ip.MaxQueries(2))
    folder = tmp_path_factory.mktemp("measured") / "model"
    clf.fit(X, np.where(X[:, 0] > 140, "ill", "well")).save(folder)
    return folder


def test_numbers_are_typed(ask, measured, tmp_path):
    file = tmp_path / "s.json"
    done = ask(measured, "--json", "--save", file, said="high\nhelp\n148 mg/dl\ny\n")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stderr.split())
    assert "What is glucose? (a number in mg/dl, 60 to 200 in training)" in said
    assert "'high' is no answer here; say a number in mg/dl" in said
    explanation = ip.Explanation.from_json(done.stdout)
    assert explanation.steps[0].number == 148
    assert explanation.steps[0].said == "148 mg/dl"
    assert "glucose: 148 mg/dl" in done.stderr
    assert json.loads(file.read_text())["history"][0] == {"query": "glucose", "answer": 148.0}
    again = ask(measured, "--json", "--resume", file)
    assert ip.Explanation.from_json(again.stdout) == explanation


def test_what_is_known_is_not_asked(ask):
    first = shipped.load("animals").session().question
    done = ask("animals", "--known", f"{first.name}=yes", "--json", said="stop\n")
    assert done.returncode == 0, done.stderr
    assert [step["query"] for step in json.loads(done.stdout)["known"]] == [first.index]
    assert "Known:" in done.stderr
    assert first.sentence not in done.stderr.split("Question 1")[1]


@pytest.mark.parametrize("known", ["has feathers", "number of wheels=4"])
def test_what_is_no_known_answer_is_refused_by_name(ask, known):
    done = ask("animals", "--known", known)
    assert done.returncode == 2
    assert known.split("=")[0] in done.stderr


def test_a_number_outside_the_range_in_training_is_taken_and_said(ask, tmp_path):
    X = np.random.default_rng(0).uniform(0, 10, size=(200, 2))
    clf = ip.InformationPursuitClassifier(strategy="table", stopping=ip.MaxQueries(2)).fit(X, X[:, 0] > 5)
    clf.save(tmp_path / "m")
    done = ask(tmp_path / "m", said="400\n5\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("outside the range in training") == 1


# ---- a case ---------------------------------------------------------------------------------------------------------


def flat(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    """A saved model of a case: its label has a name, and it asks about a number and two categories."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "glucose": rng.uniform(60, 200, 400).round(1), "sex": rng.choice(["female", "male"], 400),
        "smoker": rng.integers(2, size=400),
    })  # fmt: skip
    y = pd.Series(np.where(table.glucose + 20 * table.smoker > 150, "ill", "well"), name="diagnosis")
    asked = ip.queries.columns(table, units={"glucose": "mg/dl"})
    clf = ip.InformationPursuitClassifier(asked, "table", stopping=ip.Confidence(0.02) | ip.MaxQueries(2)).fit(table, y)
    folder = tmp_path_factory.mktemp("clinic") / "model"
    clf.save(folder)
    return folder


def test_a_case_begins_with_its_title_and_says_the_label(ask, clinic):
    done = ask(clinic, "--lang", "en", said="148\nyes\n")
    assert done.returncode == 0, done.stderr
    assert "diagnosis: ill or well?" in done.stdout
    assert "Think of" not in done.stdout
    assert "\ndiagnosis: ill, " in done.stdout
    assert "Expect" in done.stdout
    assert "bits" not in done.stdout  # only on why
    assert "Think of one of 98 classes." in ask("animals", "--lang", "en").stdout


def test_why_not_known_and_more(ask, clinic):
    lines = ["known", "known sxe=male", "known glucose", "known glucose=high", "known smoker=no", "170", "why not wel"]
    done = ask(clinic, "--lang", "en", "--json", said="\n".join([*lines, "more", "why not well", "back", "stop"]))
    assert done.returncode == 0, done.stderr
    said = flat(done.stderr)
    for words in (
        "Nothing is known yet. known glucose=... adds what is known.",
        "'sxe' is not asked about (did you mean sex?)",
        "write it as known glucose=1",
        "'high' is no value of glucose; say a number in mg/dl",
        "Known: smoker no",
        "'wel' is no class (did you mean well?)",
        "It asks on, until you say stop.",
        "Against well (",
        "It would be well (",
        "Taken back: ",
    ):
        assert words in said, words
    explanation = ip.Explanation.from_json(done.stdout)
    assert [step.name for step in explanation.known] == ["smoker"]
    assert "smoker?" not in said.split("Known: smoker no")[1]


def test_what_becomes_known_later_is_taken_out_of_the_answers(ask, clinic):
    done = ask(clinic, "--json", said="170\nknown glucose=80\nstop\n")
    explanation = ip.Explanation.from_json(done.stdout)
    assert [step.number for step in explanation.known] == [80]
    assert not explanation.steps


@pytest.mark.parametrize(
    ("language", "title", "words"),
    [
        (
            "de",
            "diagnosis: ill oder well?",
            ("Welchen Wert hat glucose?", "eine Zahl in mg/dl", "Ergebnis bis hierher"),
        ),
        ("fr", "diagnosis : ill ou well ?", ("Quelle est la valeur de glucose ?", "Résultat à ce stade")),
        ("es", "diagnosis: ¿ill o well?", ("¿Cuál es el valor de glucose?", "Resultado hasta ahora")),
        ("zh", "ill 还是 well", ("glucose 的数值是多少", "目前的结果")),
    ],
)
def test_other_languages(ask, clinic, language, title, words):
    stop = {"de": "ende", "fr": "fin", "es": "fin", "zh": "结束"}[language]
    done = ask(clinic, "--lang", language, said=f"148,5\n{stop}\n" if language != "zh" else f"148.5\n{stop}\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert title in done.stdout
    for each in words:
        assert each in flat(done.stdout), each


def test_the_language_comes_from_the_environment(ask, clinic):
    assert "Frage 1" in ask_process(clinic, LC_ALL="de_DE.UTF-8").stdout
    assert ask(clinic, "--lang", "xx").returncode == 2


def test_a_report_of_the_case(ask, clinic, tmp_path):
    page = tmp_path / "case.html"
    done = ask(clinic, "--lang", "de", "--html", page, "--name", "Frau M. <1>", said="170\nja\n")
    assert done.returncode == 0, done.stderr
    text = page.read_text(encoding="utf-8")
    for each in ("<h1><bdi>Frau M. &lt;1&gt;</bdi></h1>", "diagnosis: ill, ", "Warum nicht well?", 'lang="de"'):
        assert each in text, each
    assert version(clinic) in text
    assert "Wahrscheinlichkeiten sind" in text  # whether they are calibrated
