"""What the hub's pages show is true: their commands run, and their tables are whole.

A block of kind `console hub` runs line by line, in one directory and with one set of
variables for a page. In what it shows, `…` stands for anything. A command that serves
goes on until the page is read, and 127.0.0.1:8080 is the address that it got.
"""

import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hub_process import hub_environment

from redlane_hub.cli.main import COMMANDS
from redlane_hub.http.shield import LIMITS
from redlane_hub.settings import Settings, load_settings

DOCS = Path(__file__).parents[2] / "docs"
HUB, API = DOCS / "hub.md", DOCS / "hub-api.md"
CLIENT, WALK = DOCS / "hub-client.md", DOCS / "sharing.md"
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN_ADDRESS = "127.0.0.1:8080"
LISTENING = re.compile(r"listening on http://(\S+)")
NEEDED = ("curl", "jq", "openssl")

missing = [name for name in NEEDED if shutil.which(name) is None]


class Reader:
    """Somebody who types what a page shows, into a directory of their own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.address = "127.0.0.1:0"
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self.environment = hub_environment({"listen": self.address}) | {
            "PATH": path,
            "HOME": str(directory),
            "LC_ALL": "C.UTF-8",
        }
        self.served: list[subprocess.Popen[str]] = []

    def type(self, command: str, expected: str) -> None:
        command = command.replace(SHOWN_ADDRESS, self.address)
        if "serve" in command.split("#")[0].split():
            shown = self.serve(command, expected.count("\n"))
        elif "--serve" in command:
            listen = f"{command} --listen {self.address}"
            shown = self.serve(listen, expected.count("\n"))
        else:
            shown = self.run(command)
        assert fits(shown.replace(self.address, SHOWN_ADDRESS), expected), (
            f"{command}\n{shown}"
        )

    def run(self, command: str) -> str:
        """Run it as one more line in the same shell: variables stay."""
        script = f"set -a; . ./.kept 2>/dev/null\n{command}\ndeclare -px > .kept"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        )
        return done.stdout

    def serve(self, command: str, lines: int) -> str:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.served.append(process)
        assert process.stdout is not None
        shown = "".join(process.stdout.readline() for _ in range(lines))
        (self.address,) = LISTENING.findall(shown)
        return shown

    def leave(self) -> None:
        for process in self.served:
            process.terminate()
            process.wait(30)
            assert process.stdout is not None
            process.stdout.close()


def fits(shown: str, expected: str) -> bool:
    """Whether that is what the page shows; a last line need not end."""
    pattern = ".*".join(map(re.escape, expected.rstrip("\n").split("…")))
    return re.fullmatch(pattern, shown.rstrip("\n")) is not None


@pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
@pytest.mark.parametrize("page", [HUB, API, CLIENT, WALK], ids=lambda page: page.name)
def test_what_the_page_shows_is_what_happens(page: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    try:
        for match in BLOCK.finditer(page.read_text("utf-8")):
            kind, text = match.groups()
            if kind == "json policy":
                (tmp_path / "policy.json").write_text(text, encoding="utf-8")
            if kind == "python hub":
                (tmp_path / "example.py").write_text(text, encoding="utf-8")
            if kind == "console hub":
                for step in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                    command, _, expected = step.partition("\n")
                    reader.type(command, expected)
    finally:
        reader.leave()


def test_every_command_of_the_hub_is_in_the_manual() -> None:
    text = HUB.read_text("utf-8")
    assert not [
        each.name for each in COMMANDS if f"`redlane-hub {each.name}" not in text
    ]


def test_every_setting_of_the_hub_is_in_the_manual_as_it_is() -> None:
    text = HUB.read_text("utf-8")
    rows = [row_of(field) for field in dataclasses.fields(Settings)]
    assert not [row for row in rows if f"{row}\n" not in text]


def row_of(field: "dataclasses.Field[object]") -> str:
    value = int(field.default) if isinstance(field.default, bool) else field.default
    default = "" if value in ("", ()) else f"`{value}`"
    return f"| `{field.name}` | {default} | {field.metadata['help']} |"


def test_the_sample_of_a_configuration_loads(tmp_path: Path) -> None:
    (sample,) = (m[2] for m in BLOCK.finditer(HUB.read_text("utf-8")) if "toml" in m[1])
    path = tmp_path / "hub.toml"
    path.write_text(sample, encoding="utf-8")
    found = load_settings({}, {}, path)
    assert found.workers == tomllib.loads(sample)["workers"]


def test_every_rate_limit_is_in_the_manual() -> None:
    text = HUB.read_text("utf-8")
    named = [
        f"| `{method} {path}` | {limit.burst} |"
        for (method, path), limit in LIMITS.items()
        if path.startswith("/api/")
    ]
    assert not [row for row in named if row not in text]
