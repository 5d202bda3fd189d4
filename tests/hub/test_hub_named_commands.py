"""The hub's pages, mails and messages name commands that are there."""

import re
from pathlib import Path

import pytest

import redlane_hub
from redlane.cli.main import main as redlane
from redlane_hub.cli.main import main as redlane_hub_main

SOURCES = Path(redlane_hub.__file__).parent
NAMED = re.compile(r"\b(redlane(?:-hub)?) ((?:hub )?[a-z][a-z-]+)\b")
PROGRAMS = {"redlane": redlane, "redlane-hub": redlane_hub_main}


def named() -> list[tuple[str, str]]:
    """Every command that stands somewhere in the hub's files."""
    texts = (
        path.read_text("utf-8")
        for path in sorted(SOURCES.rglob("*"))
        if path.suffix in {".py", ".html", ".txt"}
    )
    return sorted({found for text in texts for found in NAMED.findall(text)})


def test_pages_name_commands_of_both_programs() -> None:
    assert {("redlane", "hub pull"), ("redlane", "hub login")} <= {*named()}
    assert ("redlane-hub", "approve") in named()


@pytest.mark.parametrize(("program", "words"), named())
def test_command_that_is_named_has_a_help(
    program: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert PROGRAMS[program]([*words.split(), "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: {program} {words}")
