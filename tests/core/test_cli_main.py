"""The frame of the command line: one line for each failure, one import a command."""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redlane.cli import exit_codes
from redlane.cli import main as frame
from redlane.cli.main import COMMANDS, full_parser, main
from redlane.cli.output import single_line

SCRIPT = Path(sys.executable).with_name("redlane")
Output = pytest.CaptureFixture[str]

USAGE = {
    "nothing": ([], "which command?"),
    "unknown": (["valdate"], "there is no command 'valdate'"),
    "near": (["confg"], "did you mean 'config'?"),
    "option": (["--colour"], "unrecognized arguments: --colour"),
    "group-alone": (["config"], "COMMAND"),
    "unknown-in-group": (["config", "chek"], "invalid choice: 'chek'"),
    "unknown-option": (["config", "check", "--xml"], "--xml"),
    "abbreviated": (["config", "check", "--js"], "--js"),
    "missing-argument": (["completion"], "shell"),
    "line-break": (["con\nfig"], "there is no command"),
}


@pytest.mark.parametrize(("arguments", "says"), USAGE.values(), ids=USAGE)
def test_wrong_usage_is_one_line_and_exit_2(
    arguments: list[str], says: str, capsys: Output
) -> None:
    assert main(arguments) == exit_codes.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("redlane: ")
    assert says in err
    assert err.count("\n") == 1
    assert "--help" in err


def test_help_lists_every_command_and_imports_none(tmp_path: Path) -> None:
    program = (
        "import sys; from redlane.cli.main import main; main(['--help']); "
        "print([n for n in sys.modules if n in "
        "('redlane.cli.config', 'pluggy', 're2', 'json.decoder', 'shtab')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    listed = {line.split()[0] for line in done.stdout.splitlines() if line.strip()}
    assert {each.name for each in COMMANDS if frame._installed(each)} <= listed
    assert "redlane.cli.config" not in done.stdout.splitlines()[-1]
    assert "pluggy" not in done.stdout.splitlines()[-1]


def _leaves(parser: Any, name: str = "redlane") -> dict[str, Any]:
    found = {name: parser}
    for action in parser._actions:
        if hasattr(action, "choices") and isinstance(action.choices, dict):
            for word, inner in action.choices.items():
                found |= _leaves(inner, f"{name} {word}")
    return found


PARSERS = _leaves(full_parser())


@pytest.mark.parametrize("name", PARSERS)
def test_every_command_has_a_help(name: str, capsys: Output) -> None:
    assert main([*name.split()[1:], "--help"]) == exit_codes.OK
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: {name}")


@pytest.mark.parametrize(
    "words", [[], ["config"], ["config", "check"], ["completion"]], ids=" ".join
)
def test_help_has_examples(words: list[str], capsys: Output) -> None:
    assert main([*words, "--help"]) == exit_codes.OK
    assert "examples:\n  redlane " in capsys.readouterr().out


def test_the_version_is_printed(capsys: Output) -> None:
    assert main(["--version"]) == exit_codes.OK
    assert capsys.readouterr().out.startswith("redlane ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_the_commands(shell: str, capsys: Output) -> None:
    assert main(["completion", shell]) == exit_codes.OK
    script = capsys.readouterr().out
    for word in ("config", "check", "list-builtins", "completion"):
        assert word in script


def test_bash_accepts_the_completion_script(capsys: Output) -> None:
    main(["completion", "bash"])
    script = capsys.readouterr().out

    subprocess.run(["bash", "-n"], input=script, text=True, check=True)


def _script(*arguments: str, home: Path, stdout: Any) -> tuple[int, str]:
    done = subprocess.run(
        [SCRIPT, *arguments],
        env={"HOME": str(home), "PATH": os.environ["PATH"]},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        result = _script("config", "schema", "policies", home=tmp_path, stdout=pipe)

    assert result == (exit_codes.BROKEN_PIPE, "")


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        code, err = _script("--version", home=tmp_path, stdout=full)

    assert code == exit_codes.USAGE
    assert err.startswith("redlane: ")
    assert err.count("\n") == 1


def test_closed_streams_are_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"{SCRIPT}" --version >&- 2>&-'],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        check=False,
    )

    assert done.returncode == exit_codes.OK


LINES = {
    "plain": ("a b", "a b"),
    "line-break": ("a\nb", "a\\nb"),
    "escape": ("\x1b[1m", "\\x1b[1m"),
    "surrogate": ("\udcff", "\\udcff"),
    "bidi": ("\u202e", "\\u202e"),
    "letters": ("é 東京", "é 東京"),
}


@pytest.mark.parametrize(("text", "shown"), LINES.values(), ids=LINES)
def test_a_line_stays_a_line(text: str, shown: str) -> None:
    assert single_line(text) == shown


def leaves(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Every command that does something, groups left out."""
    groups = [
        each for each in parser._actions if isinstance(each, argparse._SubParsersAction)
    ]
    if not groups:
        yield parser
    for group in groups:
        for command in group.choices.values():
            yield from leaves(command)


def test_every_command_shows_examples_in_its_help() -> None:
    bare = [
        command.prog
        for command in leaves(full_parser())
        if "examples:" not in command.format_help()
    ]
    assert bare == []
