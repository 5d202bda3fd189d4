"""The frame of the hub's command line: one line a failure, one import a command."""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_operator import operate
from hub_process import HUB, hub_environment

from redlane_hub import __version__
from redlane_hub.cli import main as frame
from redlane_hub.cli.main import COMMANDS, full_parser, main
from redlane_hub.cli.options import SECRET_SETTINGS
from redlane_hub.cli.output import single_line

Output = pytest.CaptureFixture[str]

USAGE = {
    "nothing": ([], "which command?"),
    "unknown": (["aprove"], "did you mean 'approve'?"),
    "unlike-any": (["xyzzy"], "there is no command 'xyzzy'"),
    "option": (["--colour"], "unrecognized arguments: --colour"),
    "unknown-option": (["accounts", "--xml"], "--xml"),
    "abbreviated": (["accounts", "--js"], "--js"),
    "missing-argument": (["approve"], "EMAIL"),
    "unknown-shell": (["completion", "csh"], "invalid choice: 'csh'"),
    "line-break": (["app\nrove"], "there is no command"),
    "contradiction": (["restore", "--check", "--force", "x"], "--force"),
    "json-and-serve": (["demo", "--json", "--serve"], "--json"),
    "secret-as-option": (["serve", "--secret", "x"], "unrecognized arguments"),
}


@pytest.mark.parametrize(("arguments", "says"), USAGE.values(), ids=USAGE)
def test_wrong_usage_is_one_line_and_exit_2(
    arguments: list[str], says: str, capsys: Output
) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("redlane-hub: ")
    assert says in err
    assert err.count("\n") == 1


REFUSED = {
    "approve": ["approve", "ada@example.org"],
    "recognise": ["recognise", "ada@example.org"],
    "accounts": ["accounts"],
    "keys": ["keys"],
    "rotate-secret": ["rotate-secret", "--yes"],
    "backup": ["backup", "copy.db"],
    "migrate-check": ["migrate", "--check"],
    "restore": ["restore", "copy.db"],
    "restore-check": ["restore", "--check", "copy.db"],
}


@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED)
def test_a_missing_database_is_refused_and_none_is_made(
    arguments: list[str], tmp_path: Path
) -> None:
    done = operate(*arguments, directory=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("redlane-hub: ")
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


UNUSABLE = {
    "text": b"this is no database\n" * 100,
    "empty": b"",
    "torn": b"SQLite format 3\0" + bytes(84),
}
ON_A_DATABASE = {
    "accounts": ["accounts"],
    "approve": ["approve", "a@b"],
    "backup": ["backup", "copy.db"],
}


@pytest.mark.parametrize("arguments", ON_A_DATABASE.values(), ids=ON_A_DATABASE)
@pytest.mark.parametrize("content", UNUSABLE.values(), ids=UNUSABLE)
def test_a_file_that_is_no_database_of_a_hub_is_refused_in_one_line(
    arguments: list[str], content: bytes, tmp_path: Path
) -> None:
    tmp_path.joinpath("hub.db").write_bytes(content)
    done = operate(*arguments, directory=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("redlane-hub: hub.db: ")
    assert done.stderr.count("\n") == 1
    assert not tmp_path.joinpath("copy.db").exists()


def test_the_help_lists_every_command_and_imports_none() -> None:
    program = (
        "import sys; from redlane_hub.cli.main import main; main(['--help']); "
        "print([n for n in sys.modules if n in ('redlane_hub.cli.accounts', 'falcon', "
        "'sqlite3', 'sqlite_utils', 'nacl', 'shtab', 'tomllib')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not [
        each.name for each in COMMANDS if f"\n    {each.name}" not in done.stdout
    ]
    assert done.stdout.endswith("[]\n")


LIGHT = ["approve", "recognise", "accounts", "settings"]


@pytest.mark.parametrize("name", LIGHT)
def test_an_everyday_command_starts_without_the_web_framework(name: str) -> None:
    program = (
        f"import sys; from redlane_hub.cli.main import main; main(['{name}', '--help'])"
        "; print([n for n in ('falcon', 'sqlite_utils', 'nacl', 'jinja2', 'waitress', "
        "'jsonschema', 'shtab') if n in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in full_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from action.choices.items()


def test_every_command_is_in_the_table_once_and_has_examples() -> None:
    found = dict(parsers())
    assert list(found) == [each.name for each in COMMANDS]
    assert not [name for name, each in found.items() if not each.epilog]
    assert not [name for name, each in found.items() if not each.description]


def test_every_option_has_a_help_text() -> None:
    assert not [
        (name, action.dest)
        for name, parser in parsers()
        for action in parser._actions
        if not action.help
    ]


def test_no_secret_is_an_option() -> None:
    options = {
        option for _, each in parsers() for option in each._option_string_actions
    }
    assert not {f"--{name.replace('_', '-')}" for name in SECRET_SETTINGS} & options


def test_the_version_is_printed() -> None:
    done = operate("--version")
    assert (done.returncode, done.stdout) == (0, f"redlane-hub {__version__}\n")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_knows_every_command(shell: str) -> None:
    done = operate("completion", shell)
    assert done.returncode == 0
    assert not [each.name for each in COMMANDS if each.name not in done.stdout]


def test_a_completion_script_is_one_that_bash_takes(tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(operate("completion", "bash").stdout, encoding="utf-8")
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0


def test_what_nobody_foresaw_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    entry = frame.CommandEntry("accounts", "not_there", "")
    monkeypatch.setattr(frame, "COMMANDS", (entry,))
    assert main(["accounts"]) == 1
    assert capsys.readouterr().err.startswith("redlane-hub: internal error: ")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{HUB} completion bash | head -1; exit ${{PIPESTATUS[0]}}"],
        cwd=tmp_path,
        env=hub_environment({}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode in {0, 141}


def test_a_closed_standard_output_is_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{HUB} settings >&-; {HUB} settings >/dev/full"],
        cwd=tmp_path,
        env=hub_environment({}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr


def test_text_from_strangers_stays_one_line() -> None:
    assert single_line("a\x1b[2Jb\nc\u202ed") == "a\\x1b[2Jb\\nc\\u202ed"
