"""What the README and the manual show is true: examples load, and commands run."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from redlane.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "examples" / "plugin" / "README.md",
]
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: Path
    number: int
    kind: str
    text: str


def blocks(kind: str) -> list[Block]:
    return [
        Block(page, number, kind, match[2])
        for page in PAGES
        for number, match in enumerate(BLOCK.finditer(page.read_text("utf-8")), 1)
        if match[1] == kind
    ]


def name(block: Block) -> str:
    return f"{block.page.name}-{block.number}"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {"HOME": str(tmp_path), "PATH": path, "LC_ALL": "C.UTF-8"}


def check(environment: dict[str, str]) -> dict[str, list[dict[str, str]]]:
    done = subprocess.run(
        ["redlane", "config", "check", "--json"],
        env=environment,
        capture_output=True,
        check=False,
    )
    found: dict[str, list[dict[str, str]]] = json.loads(done.stdout)
    return found


def write(environment: dict[str, str], place: str, text: str) -> None:
    path = Path(environment["HOME"], ".redlane", place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("block", blocks("json policy"), ids=name)
def test_policy_of_the_manual_loads(block: Block, environment: dict[str, str]) -> None:
    write(environment, "settings.json", '{"tls": {"intercept": true}}')
    write(environment, "policies/manual.json", block.text)
    found = check(environment)
    assert (found["errors"], found["warnings"]) == ([], [])


def test_roles_of_the_manual_load(environment: dict[str, str]) -> None:
    subprocess.run(["redlane", "init"], env=environment, check=True)
    for block in blocks("json policy"):
        write(environment, f"policies/{name(block)}.json", block.text)
    for block in blocks("json role"):
        write(environment, f"roles/{name(block)}.json", block.text)
    assert check(environment)["errors"] == []


@pytest.mark.parametrize("block", blocks("json settings"), ids=name)
def test_settings_of_the_manual_load(block: Block, environment: dict[str, str]) -> None:
    subprocess.run(
        ["redlane", "init"], env=environment, check=True, capture_output=True
    )
    write(environment, "settings.json", block.text)
    assert check(environment)["errors"] == []


@pytest.mark.parametrize("block", blocks("console"), ids=name)
def test_console_session_of_the_manual_is_real(
    block: Block, environment: dict[str, str]
) -> None:
    """Run every `$ ` line in a fresh home and compare what it prints, line by line."""
    shown = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    for step in shown:
        command, _, expected = step.partition("\n")
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=environment["HOME"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.stdout == expected, command


@pytest.mark.parametrize("block", blocks("python plugin"), ids=name)
def test_plugin_of_the_manual_works(block: Block, tmp_path: Path) -> None:
    (tmp_path / "redlane_match_words.py").write_text(block.text, encoding="utf-8")
    info = tmp_path / "redlane_match_words-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Name: redlane-match-words\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[redlane]\nwords = redlane_match_words\n")
    home = tmp_path / "home"
    environment = {"HOME": str(home), "PYTHONPATH": str(tmp_path)}
    policy = {"id": "p", "type": "Words", "least": 3, "action": "Block"}
    write(environment, "policies/p.json", json.dumps(policy))
    write(environment, "roles/r.json", json.dumps({"name": "r", "policies": ["p"]}))
    for content, status in {"one two": 0, "one two three": 1}.items():
        done = subprocess.run(
            [sys.executable, "-m", "redlane", "validate", content, "-r", "r"],
            env=environment,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (status, b""), content


LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = LINK.findall(page.read_text("utf-8"))
    assert not [link for link in links if not (page.parent / link).exists()]


def test_every_make_target_that_is_named_exists() -> None:
    makefiles = [ROOT / "Makefile", ROOT / "examples" / "plugin" / "Makefile"]
    targets = {
        target
        for each in makefiles
        for target in re.findall(r"^([a-z-]+):", each.read_text("utf-8"), re.MULTILINE)
    }
    named = {
        target
        for page in [*PAGES, ROOT / "CONTRIBUTING.md"]
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text("utf-8"))
    }
    assert named <= targets


def test_every_command_is_in_the_manual() -> None:
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    assert not [each.name for each in COMMANDS if f"redlane {each.name}" not in text]
