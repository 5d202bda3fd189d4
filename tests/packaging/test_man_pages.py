"""The manual pages say what the programs say, and no formatter complains of them."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from distributions import link_dependencies, make_environment
from manual.pages import Edition, Page, program_pages, render
from manual.roff import literal, paragraphs, term

from redlane.model.settings import SETTINGS
from redlane.policies.fields import POLICY, ROLE, TRANSFORM

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "packaging" / "man_pages.py"
EPOCH = 1_700_000_000
PROGRAMS = {"redlane": "redlane.cli.main", "redlane-hub": "redlane_hub.cli.main"}


def write_pages(
    python: str | Path, place: Path, epoch: int | None = EPOCH
) -> "subprocess.CompletedProcess[str]":
    dates = {} if epoch is None else {"SOURCE_DATE_EPOCH": str(epoch)}
    return subprocess.run(
        [sys.executable, str(SCRIPT), str(python), str(place)],
        env={"PATH": os.environ["PATH"], **dates},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("man")
    done = write_pages(sys.executable, place)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return place


def shown(page: Path) -> str:
    """The page as a terminal shows it, without overstriking, a space a break."""
    done = subprocess.run(
        ["groff", "-ww", "-man", "-Tutf8", "-P-cbou", "-rLL=300n", str(page)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return " ".join(done.stdout.replace("\N{HYPHEN}\n", "").split())


needs_groff = pytest.mark.skipif(not shutil.which("groff"), reason="groff is missing")


def parsers(program: str) -> dict[str, argparse.ArgumentParser]:
    """The parser of each page of a program, by the page's name."""
    top = import_module(PROGRAMS[program]).full_parser()
    (commands,) = (
        each for each in top._actions if isinstance(each, argparse._SubParsersAction)
    )
    notes = tomllib.loads((SCRIPT.parent / f"manual/{program}.toml").read_text())
    named = {
        notes["page_names"].get(name, f"{program}-{name}"): each
        for name, each in commands.choices.items()
    }
    return {program: top, **named}


def options(parser: argparse.ArgumentParser) -> set[str]:
    """Every option that its help, or that of a command in it, shows."""
    found: set[str] = set()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                found |= options(each)
        elif action.help != argparse.SUPPRESS:
            found.update(action.option_strings)
    return found


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_command_has_a_page(pages: Path, program: str) -> None:
    wanted = {f"{each}.1" for each in parsers(program)}
    assert not wanted - {each.name for each in pages.iterdir()}


@needs_groff
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_option_is_in_its_page(pages: Path, program: str) -> None:
    for name, parser in parsers(program).items():
        own = options(parser) if name != program else {"--version"}
        text = shown(pages / f"{name}.1")
        assert not [each for each in own if each not in text], name


@needs_groff
@pytest.mark.parametrize(
    ("page", "fields"),
    [
        ("redlane-policies.5", [*POLICY, *TRANSFORM, *ROLE]),
        ("redlane-settings.5", [each.name for each in SETTINGS]),
    ],
)
def test_every_field_of_a_file_is_in_its_page(
    pages: Path, page: str, fields: list[str]
) -> None:
    text = shown(pages / page)
    assert not [each for each in fields if each not in text]


def exit_codes(module: ModuleType) -> set[int]:
    return {getattr(module, name) for name in module.__all__}


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_exit_code_is_in_the_page(pages: Path, program: str) -> None:
    module = import_module(PROGRAMS[program].replace("main", "exit_codes"))
    text = (pages / f"{program}.1").read_text()
    section = text.partition('.SH "EXIT STATUS"')[2].partition(".SH")[0]
    told = set(map(int, re.findall(r"\\fB(\d+)\\fR", section)))
    # 128 stands for itself and the number of a signal.
    assert exit_codes(module) - {128} <= told


ORDER = (
    *("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS", "EXIT STATUS"),
    *("ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"),
)


def test_sections_stand_in_the_usual_order(pages: Path) -> None:
    for page in pages.glob("*.1"):
        headings = re.findall(r'^\.SH "?([A-Z ]+)"?$', page.read_text(), re.MULTILINE)
        assert headings == [each for each in ORDER if each in headings], page.name
        assert {*ORDER} - {*headings} <= {"COMMANDS"}, page.name


def test_every_page_that_is_referred_to_is_there(pages: Path) -> None:
    ours = re.compile(r"\b(redlane[\w-]*)\\f[RP]\((\d)\)|\.BR (redlane\S*) \((\d)\)")
    for page in pages.iterdir():
        for found in ours.findall(page.read_text().replace(r"\-", "-")):
            name, section = [each for each in found if each]
            assert (pages / f"{name}.{section}").exists(), (page.name, name)


LINTERS = {
    "man": ("man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"),
    "groff": ("groff", "-ww", "-man", "-Tutf8"),
    "mandoc": ("mandoc", "-Tlint"),
}


@pytest.mark.parametrize("linter", LINTERS)
def test_formatter_has_nothing_to_say(pages: Path, linter: str) -> None:
    if not shutil.which(linter):
        pytest.skip(f"{linter} is missing")
    for page in sorted(pages.iterdir()):
        done = subprocess.run(
            [*LINTERS[linter], str(page)],
            env={**os.environ, "LC_ALL": "C.UTF-8", "MANROFFSEQ": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stderr + (done.stdout if linter == "mandoc" else "")
        assert (done.returncode, said) == (0, ""), page.name


@pytest.mark.skipif(not shutil.which("lexgrog"), reason="man-db is missing")
def test_every_page_has_a_whatis_entry(pages: Path) -> None:
    for page in pages.iterdir():
        done = subprocess.run(
            ["lexgrog", str(page)], capture_output=True, text=True, check=False
        )
        assert f': "{page.stem} - ' in done.stdout, page.name


def test_two_runs_write_the_same_bytes(pages: Path, tmp_path: Path) -> None:
    assert write_pages(sys.executable, tmp_path).returncode == 0
    for page in pages.iterdir():
        assert (tmp_path / page.name).read_bytes() == page.read_bytes()
        assert "2023-11-14" in page.read_text()
        assert str(ROOT) not in page.read_text()


def test_only_the_program_that_is_installed_has_pages(tmp_path: Path) -> None:
    environment = make_environment(tmp_path / "environment")
    link_dependencies("redlane-hub", tmp_path / "environment" / "others")
    (environment.site / "hub.pth").write_text(f"{ROOT / 'hub'}\n")
    info = environment.site / "redlane_hub-3.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: redlane-hub\nVersion: 3.2\n")
    done = write_pages(environment.scripts / "python", tmp_path / "man")
    assert (done.returncode, done.stderr) == (0, "")
    names = {each.name for each in (tmp_path / "man").iterdir()}
    assert "redlane-hub-serve.1" in names
    assert not [each for each in names if not each.startswith("redlane-hub")]
    assert r"redlane\-hub 3.2" in (tmp_path / "man" / "redlane-hub.1").read_text()


def test_interpreter_without_any_program_is_an_error(tmp_path: Path) -> None:
    environment = make_environment(tmp_path / "environment")
    done = write_pages(environment.scripts / "python", tmp_path / "man")
    assert done.returncode == 1
    assert "has neither redlane nor redlane-hub" in done.stderr


def test_command_takes_no_name_of_a_program() -> None:
    """`redlane hub` is not the program `redlane-hub`."""
    notes = tomllib.loads((SCRIPT.parent / "manual/redlane.toml").read_text())
    leaf = {"description": "", "epilog": "", "arguments": [], "commands": []}
    hub = {**leaf, "name": "hub", "words": "redlane hub", "summary": "a hub"}
    top = {**leaf, "name": "", "words": "redlane", "summary": "x", "commands": [hub]}
    names = [each.name for each in program_pages(top, notes)]
    assert names == ["redlane", "redlane-command-hub"]


def test_wrong_usage_is_told() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("usage: ")


NASTY = (
    ".TH evil 1",
    "'br",
    r"\fBbold\n(.s\*x",
    "a--b -- ---",
    "\"quoted\" and 'quoted' and `x` and ^~",
    "Grüße… “so” \N{RIGHTWARDS ARROW} \U0001f600",
    "%s 100% $1 ${name} {a,b} [x] #",
)


@needs_groff
@pytest.mark.parametrize("text", NASTY, ids=range(len(NASTY)))
def test_any_text_comes_out_as_it_went_in(tmp_path: Path, text: str) -> None:
    lines = (
        *paragraphs(f"{text}\n\n  {text}"),
        *term(literal(text), text),
    )
    page = Page("nasty", 1, "a test", (("DESCRIPTION", lines),))
    source = render(page, Edition("redlane", "1", "2026-01-01"))
    assert source.isascii()
    (tmp_path / "nasty.1").write_text(source)
    # A pair of backticks in prose is markup; in an example it is text.
    plain = re.sub(r"`([^`]+)`", r"\1", text)
    found = shown(tmp_path / "nasty.1")
    assert found.count(plain) >= (2 if plain != text else 4)


def test_long_paragraph_never_becomes_a_request() -> None:
    words = " ".join([".nf", "'sp"] * 200)
    source = "\n".join(paragraphs(words))
    assert not re.search(r"^[.']", source, re.MULTILINE)
