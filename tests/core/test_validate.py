"""`redlane validate` as a process: its input, its output and its exit status."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FORBIDDEN = (
    "asyncio",
    "falcon",
    "http",
    "jsonschema",
    "onnxruntime",
    "redlane.control",
    "redlane.daemon",
    "redlane.state",
    "subprocess",
    "waitress",
)


@dataclass
class Home:
    path: Path

    def policies(self, *policies: dict[str, Any]) -> None:
        self.write("policies/p.json", policies)

    def role(self, name: str, *ids: str) -> None:
        self.write(f"roles/{name}.json", {"name": name, "policies": ids})

    def write(self, name: str, value: object) -> None:
        file = self.path / ".redlane" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(value))

    def run(
        self, *arguments: str | bytes, stdin: bytes = b"", python: tuple[str, ...] = ()
    ) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, *python, "-m", "redlane", "validate", *arguments]
        environment = {"HOME": str(self.path), "PATH": os.environ["PATH"]}
        return subprocess.run(
            command,
            input=stdin,
            capture_output=True,
            env=environment,
            cwd=self.path,
            check=False,
        )

    def verdict(self, *arguments: str | bytes, stdin: bytes = b"") -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run(*arguments, stdin=stdin).stdout)
        return found


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path)
    made.policies(
        {"id": "b", "type": "Simple", "action": "Block", "pattern": "bad"},
        {"id": "x", "type": "Regex", "action": "Block", "pattern": "\\x{FFFD}"},
        {"id": "fail", "type": "Executable", "action": "Allow", "pattern": "/none"},
        {
            "id": "m",
            "type": "Simple",
            "action": "Modify",
            "pattern": "cut",
            "transform": {"type": "Executable", "command": r"printf '\377'"},
        },
    )
    made.role("r", "b", "m")
    made.role("bytes", "x")
    made.role("failing", "fail")
    return made


def test_output_has_the_fields_in_one_object(home: Home) -> None:
    ran = home.run("bad", "-r", "r")
    assert ran.returncode == 1
    assert ran.stderr == b""
    assert json.loads(ran.stdout) == {
        "verdict": "BLOCK",
        "lane": "RED",
        "policy": "b",
        "reason": "policy 'b' blocks this",
        "content": None,
        "role": "r",
        "context": "Shell",
        "modified_by": None,
        "suggestion": None,
        "score": None,
        "details": {},
    }


def test_standard_input_is_content_byte_for_byte(home: Home) -> None:
    assert home.run("-", "-r", "r", stdin=b"a\0bad\n").returncode == 1
    assert home.run("-", "-r", "r", stdin=b"").returncode == 0
    assert home.run("-", "-r", "bytes", "-C", "Network", stdin=b"\xff").returncode == 1


def test_argument_is_content_byte_for_byte(home: Home) -> None:
    assert home.run(b"\xff", "-r", "bytes", "-C", "Network").returncode == 1


def test_content_may_begin_with_a_dash(home: Home) -> None:
    assert home.run("-r", "r", "--", "-bad").returncode == 1


def test_rewritten_content_that_is_no_text_is_shown_with_replacement(
    home: Home,
) -> None:
    found = home.verdict("cut", "-r", "r", "-C", "Network")
    assert (found["verdict"], found["content"]) == ("MODIFY", "�")


def test_failing_allow_checker_blocks(home: Home) -> None:
    found = home.verdict("ls", "-r", "failing")
    assert (found["verdict"], found["policy"]) == ("BLOCK", "fail")


def test_no_role_at_all_is_a_block(home: Home) -> None:
    ran = home.run("ls")
    assert ran.returncode == 1
    assert json.loads(ran.stdout)["role"] is None


def test_default_role_is_taken(home: Home) -> None:
    home.write("settings.json", {"sevsh": {"default_role": "r"}})
    assert home.verdict("bad")["role"] == "r"


def test_unusable_settings_matter_only_without_a_role(home: Home) -> None:
    home.write("settings.json", {"sevsh": {"default_role": 5}})
    assert home.run("ls").returncode == 2
    assert home.run("ls", "-r", "r").returncode == 0


def test_unknown_role_is_a_block(home: Home) -> None:
    assert home.run("ls", "-r", "none").returncode == 1


def test_load_error_of_the_role_is_no_verdict(home: Home) -> None:
    home.role("broken", "missing")
    ran = home.run("ls", "-r", "broken")
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert b"missing" in ran.stderr


def test_load_error_elsewhere_is_a_note(home: Home) -> None:
    home.role("broken", "missing")
    ran = home.run("ls", "-r", "r")
    assert ran.returncode == 0
    assert ran.stderr.startswith(b"redlane: note: ")
    assert ran.stderr.count(b"\n") == 1


def test_nothing_on_disk_is_a_block(tmp_path: Path) -> None:
    assert Home(tmp_path).run("ls", "-r", "r").returncode == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("ls", "-r", "r", "-C", "shell"),
        ("ls", "-r", "r", "-C", ""),
        ("-r", "r"),
        ("ls", "more", "-r", "r"),
        ("{}", "-r", "r", "-C", "Mcp"),
        ('{"server": "s"}', "-r", "r", "-C", "Mcp"),
        ("open", "-r", "r", "-C", "Syscall"),
    ],
)
def test_what_cannot_be_judged_is_one_line(
    home: Home, arguments: tuple[str, ...]
) -> None:
    ran = home.run(*arguments)
    assert (ran.returncode, ran.stdout) == (2, b"")
    assert ran.stderr.startswith(b"redlane: ")
    assert ran.stderr.count(b"\n") == 1


def test_context_all_is_the_most_severe_of_the_text_contexts(home: Home) -> None:
    home.policies(
        {
            "id": "i",
            "type": "Simple",
            "action": "Block",
            "pattern": "bad",
            "context": "Inbound",
        },
        {
            "id": "s",
            "type": "Simple",
            "action": "Allow",
            "pattern": "bad",
            "context": "Shell",
        },
    )
    home.role("r", "i", "s")
    found = home.verdict("bad", "-r", "r", "-C", "All")
    assert (found["verdict"], found["policy"], found["context"]) == (
        "BLOCK",
        "i",
        "All",
    )


def test_script_is_found_from_where_the_command_runs(home: Home) -> None:
    (home.path / "s.sh").write_text("echo bad\n")
    assert home.run("sh s.sh", "-r", "r").returncode == 1


def test_nothing_heavy_is_imported(home: Home) -> None:
    ran = home.run("ls", "-r", "r", python=("-X", "importtime"))
    lines = ran.stderr.decode().splitlines()
    imported = {line.rpartition("|")[2].strip() for line in lines}
    heavy = sorted(
        name
        for name in imported
        for each in FORBIDDEN
        if f"{name}.".startswith(f"{each}.")
    )
    assert heavy == []
