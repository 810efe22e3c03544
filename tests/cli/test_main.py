"""The command line as a person uses it."""

import logging
import os
import signal
import subprocess
import sys
import types
from importlib import import_module

import pytest

import infopursuit
from infopursuit.app import cli


def run(*args, **options):
    """``python -m infopursuit`` in a process of its own."""
    command = [sys.executable, "-m", "infopursuit", *args]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=300, check=False, **options
    )


def test_help_shows_the_commands_and_examples():
    done = run("--help")
    assert done.returncode == 0
    assert done.stderr == ""
    for words in ("usage: infopursuit", "demo", "examples:", "--version", "--debug"):
        assert words in done.stdout
    assert max(len(line) for line in done.stdout.splitlines()) <= 80


def test_version():
    done = run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith(f"infopursuit {infopursuit.__version__}, Python ")


def test_the_help_needs_nothing_heavy():
    """The module of a command is imported when it is chosen; the parser itself needs the standard library alone."""
    script = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("alone", sys.argv[1])
module = sys.modules["alone"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print([command.name for command in module.COMMANDS])
print(sorted({"numpy", "torch", "numba", "sklearn", "rich", "infopursuit"} & set(sys.modules)))
"""
    file = sys.modules["infopursuit.app.cli.main"].__file__
    done = subprocess.run([sys.executable, "-c", script, file], capture_output=True, text=True, check=True)
    names = ["demo", "fit", "ask", "explain", "evaluate", "serve", "inspect"]
    assert done.stdout.splitlines() == [str(names), "[]"]


def test_an_unknown_command_is_named_beside_the_known_ones():
    done = run("dance")
    assert done.returncode == 2
    assert "dance" in done.stderr
    assert "demo" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_command_gives_the_help(capsys):
    assert cli.main([]) == 2
    assert "usage: infopursuit" in capsys.readouterr().out


def test_every_command_has_a_help(capsys):
    for command in cli.COMMANDS:
        assert cli.main([command.name, "--help"]) == 0
        assert f"usage: infopursuit {command.name}" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["--examples", "-1"], ["--examples", "many"], ["--seed", "1.5"], ["--nonsense"]])
def test_wrong_options_are_told_about(wrong, capsys):
    assert cli.main(["demo", *wrong]) == 2
    assert wrong[0] in capsys.readouterr().err


@pytest.fixture
def command(monkeypatch):
    """Makes ``infopursuit try`` do what a test wants."""

    class Try(cli.Command):
        """A command without a module of its own."""

        def load(self):
            return self.made

    def install(act):
        Try.made = types.SimpleNamespace(add_arguments=lambda parser: None, run=act)
        commands = (*cli.COMMANDS, Try("try", "try something"))
        monkeypatch.setattr(import_module("infopursuit.app.cli.main"), "COMMANDS", commands)

    return install


def fail_with(error):
    def act(args):
        raise error

    return act


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("size=0 is\n too small"), "infopursuit try: error: size=0 is too small"),
        (
            FileNotFoundError(2, "No such file or directory", "x.csv"),
            "infopursuit try: error: x.csv: No such file or directory",
        ),
        (FileNotFoundError("mnist.npz is not there"), "infopursuit try: error: mnist.npz is not there"),
        (ImportError("pip install infopursuit[plots]"), "infopursuit try: error: pip install infopursuit[plots]"),
        (ValueError(), "infopursuit try: error: ValueError"),
    ],
)
def test_expected_errors_are_one_line(command, capsys, error, line):
    command(fail_with(error))
    assert cli.main(["try"]) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", line + "\n")


@pytest.mark.parametrize("args", [["--debug", "try"], ["try", "--debug"]])
def test_debug_shows_the_traceback(command, capsys, args):
    command(fail_with(ValueError("too small")))
    assert cli.main(args) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_mistake_of_ours_is_not_hidden(command):
    command(fail_with(AttributeError("nobody expected this")))
    with pytest.raises(AttributeError):
        cli.main(["try"])


def test_control_c_is_polite(command, capsys):
    command(fail_with(KeyboardInterrupt()))
    assert cli.main(["try"]) == 130
    assert "stopped" in capsys.readouterr().err


def test_the_exit_code_of_a_command_is_passed_on(command):
    command(lambda args: 7)
    assert cli.main(["try"]) == 7


@pytest.mark.parametrize(
    ("args", "shown"), [(["try"], {"w"}), (["-v", "try"], {"w", "i"}), (["try", "-vv"], {"w", "i", "d"})]
)
def test_logging_goes_to_stderr_and_is_put_back(command, capsys, args, shown):
    logger = logging.getLogger("infopursuit.somewhere")

    def act(args):
        logger.warning("told: w")
        logger.info("told: i")
        logger.debug("told: d")
        return 0

    command(act)
    package = logging.getLogger("infopursuit")
    before = (list(package.handlers), package.level)
    assert cli.main(args) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert {line[-1] for line in err.splitlines()} == shown
    assert (list(package.handlers), package.level) == before


def start_demo(tmp_path):
    """The demo, up to its first line."""
    process = subprocess.Popen(
        [sys.executable, "-m", "infopursuit", "demo", "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert "infopursuit" in process.stdout.readline()
    return process


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
def test_a_reader_that_goes_away_is_no_error(tmp_path):
    process = start_demo(tmp_path)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=300) == 141
    process.stderr.close()


@pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
def test_control_c_in_the_middle_of_work(tmp_path):
    process = start_demo(tmp_path)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "stopped" in err
    assert "Traceback" not in err
