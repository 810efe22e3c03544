"""The command line: ``infopursuit COMMAND``."""

from infopursuit.app.cli.main import COMMANDS, EXPECTED, Command, build_parser, main

__all__ = ["COMMANDS", "EXPECTED", "Command", "build_parser", "main"]
