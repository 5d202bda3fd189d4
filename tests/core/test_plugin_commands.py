"""Commands of plugins: found by name, one imported at a time, and never one of ours."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from redlane.cli.main import COMMANDS, full_parser, main
from redlane.plugin_commands import command_reports
from redlane.plugin_points import PluginReport

GOOD = """
import sys
from redlane.api import CommandGroup, hookimpl

def register(parser):
    parser.add_argument("word")
    parser.set_defaults(run=run)

def run(arguments):
    print("said", arguments.word)
    return 7

@hookimpl
def redlane_commands():
    return [CommandGroup("sample", "say a 100% of a word", register)]
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution on the path whose module has a command."""
    monkeypatch.syspath_prepend(tmp_path)

    def _install(module: str, source: str = GOOD, *, name: str = "sample") -> None:
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(
            f"[redlane.commands]\n{name} = {module}\n"
        )

    yield _install
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def report(name: str = "sample") -> PluginReport:
    built_in = {each.name for each in COMMANDS}
    return next(each for each in command_reports(built_in) if each.name == name)


def test_command_of_a_plugin_runs_with_its_own_status(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("aa_sample")
    assert main(["sample", "hello"]) == 7
    assert capsys.readouterr().out == "said hello\n"
    assert main(["sample"]) == 2
    assert main(["sample", "--help"]) == 0
    assert "100% of a word" in capsys.readouterr().out
    assert report().commands == ("sample",)


def test_help_and_completion_have_it(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("aa_sample")
    assert main(["--help"]) == 0
    assert re.search("^ +sample +from aa_sample", capsys.readouterr().out, re.MULTILINE)
    assert "aa_sample" not in sys.modules
    assert main(["completion", "bash"]) == 0
    assert "sample" in capsys.readouterr().out
    assert "sample" not in full_parser().format_help()


def test_no_plugin_is_imported_for_another_command(
    install: Install, tmp_path: Path
) -> None:
    install("aa_sample")
    install("bb_other", GOOD.replace('"sample"', '"other"'), name="other")
    program = (
        "import sys; from redlane.cli.main import main; main(sys.argv[1:]); "
        "print(*sorted({'aa_sample', 'bb_other'} & set(sys.modules)))"
    )
    for words, imported in {
        ("validate", "x", "-r", "r"): "",
        ("config", "check"): "",
        ("sample", "x"): "aa_sample",
    }.items():
        done = subprocess.run(
            [sys.executable, "-c", program, *words],
            env={"HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.splitlines()[-1:] == [imported], words


def test_name_of_a_built_in_command_stays_ours(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("aa_taken", GOOD.replace('"sample"', '"plugins"'), name="plugins")
    assert main(["plugins", "list"]) == 0
    shown = capsys.readouterr().out
    assert "plugins: error: Redlane has a command of that name" in shown
    assert main(["completion", "zsh"]) == 0


def test_two_plugins_for_one_command_are_told_and_neither_runs(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("aa_first")
    install("bb_second")
    assert main(["sample", "x"]) == 2
    assert "offered twice, by aa_first and by bb_second" in capsys.readouterr().err
    assert "offered twice" in (report().error or "")


BROKEN = {
    "raises": ("raise OSError('no\\nlicence')", "OSError: no licence"),
    "leaves": ("raise SystemExit(0)", "SystemExit: 0"),
    "has no hook": ("", "no one command"),
    "has another name": (GOOD.replace('"sample"', '"other"'), "no one command"),
    "offers what is none": (GOOD.replace("CommandGroup(", "("), "is no CommandGroup"),
    "has no summary": (GOOD.replace('"say a 100% of a word"', "None"), "no summary"),
    "has no register": (GOOD.replace(", register)", ", 3)"), "no function"),
    "wants another version": (f"redlane_api = '9.0'\n{GOOD}", "plugin API 9.0"),
}


@pytest.mark.parametrize(("source", "told"), BROKEN.values(), ids=BROKEN)
def test_broken_command_is_told_in_one_line(
    install: Install, capsys: pytest.CaptureFixture[str], source: str, told: str
) -> None:
    install("aa_broken", source)
    assert main(["sample", "x"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
    assert told in (report().error or "")
    assert main(["completion", "bash"]) == 0


def test_command_whose_parser_cannot_be_made_is_told(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("aa_broken", GOOD.replace("parser.add_argument", "parser.no_such_thing"))
    assert main(["sample", "x"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "AttributeError" in line
    assert main(["completion", "bash"]) == 0


@pytest.mark.parametrize("name", ["Sample", "-x", "a b", "é"])
def test_name_that_is_none_is_no_command(install: Install, name: str) -> None:
    install("aa_odd", name=name)
    assert main(["--help"]) == 0
    assert main([name, "x"]) == 2
