"""`redlane mcp import`: files of clients, as a user has them, and back again."""

import json
import os
import shutil
import stat
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from mcp_configurations import CONFIGURATIONS, PROGRAM, Configuration
from spec.redlane_home import REDLANE, Home

Done = subprocess.CompletedProcess[bytes]


@dataclass
class Lab:
    """A home with the configurations of clients, and a project in it."""

    home: Path
    more: dict[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.home / "project"

    def write(self, sample: Configuration) -> Path:
        path = self.home / sample.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(sample.before)
        return path

    def run(self, *options: str, code: int = 0) -> Done:
        done = subprocess.run(
            [REDLANE, "mcp", "import", *options],
            cwd=self.project,
            env={"HOME": str(self.home), "PATH": os.defpath, **self.more},
            capture_output=True,
            check=False,
        )
        assert done.returncode == code, done
        return done

    def files(self) -> dict[str, bytes]:
        """Every file, but for what Redlane keeps."""
        return {
            str(each.relative_to(self.home)): each.read_bytes()
            for each in self.home.rglob("*")
            if each.is_file() and ".redlane" not in each.parts
        }


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    (tmp_path / "project").mkdir()
    return Lab(tmp_path)


def after(sample: Configuration) -> bytes:
    """What becomes of it where Redlane lies elsewhere."""
    return sample.after.replace(PROGRAM.encode(), os.fsencode(REDLANE))


@pytest.fixture
def full(lab: Lab) -> Lab:
    for sample in CONFIGURATIONS.values():
        lab.write(sample)
    return lab


def test_every_client_goes_through_redlane_and_comes_back(full: Lab) -> None:
    before = full.files()
    first = full.run()
    imported = full.files()

    assert imported == {each.path: after(each) for each in CONFIGURATIONS.values()}
    assert first.stdout.count(b"goes through Redlane now") == 12
    full.run()
    assert full.files() == imported

    full.run("--undo")
    assert full.files() == before
    assert b"nothing to undo" in full.run("--undo").stderr


def test_a_dry_run_writes_nothing_and_shows_what_would_change(full: Lab) -> None:
    before = full.files()
    done = full.run("--dry-run")

    assert full.files() == before
    assert not (full.home / ".redlane").exists()
    assert f'+command = "{REDLANE}" # any'.replace(" #", "          #").encode() in (
        done.stdout
    )
    full.run()
    imported = full.files()
    shown = full.run("--undo", "--dry-run").stdout
    assert b'-command = "' in shown
    assert full.files() == imported


def test_json_tells_every_server(full: Lab) -> None:
    told = json.loads(full.run("--json", "--client", "gemini").stdout)

    (file,) = told["files"]
    assert (file["client"], file["changed"], file["error"]) == ("gemini", True, None)
    assert Path(file["copy"]).is_file()
    states = {each["place"][-1]: each["state"] for each in file["servers"]}
    assert states == {"python": "wrapped", "http": "left", "sse": "left"}


def test_chosen_clients_and_files_alone_are_changed(full: Lab) -> None:
    before = full.files()
    full.run("--client", "cursor")
    full.run("--file", str(full.home / ".gemini" / "settings.json"))
    now = full.files()
    changed = {name for name in now if now[name] != before[name]}
    assert changed == {".cursor/mcp.json", ".gemini/settings.json"}

    full.run("--undo", "--client", "gemini")
    full.run("--undo", "--file", str(full.home / ".cursor" / "mcp.json"))
    assert full.files() == before


def test_files_are_found_by_the_clients_variables(lab: Lab) -> None:
    places = {
        "CLAUDE_CONFIG_DIR": (
            "claude/.claude.json",
            '{"mcpServers":{"a":{"command":"a"}}}',
        ),
        "CODEX_HOME": ("codex/config.toml", '[mcp_servers.a]\ncommand = "a"\n'),
        "XDG_CONFIG_HOME": (
            "x/opencode/opencode.json",
            '{"mcp":{"a":{"command":["a"]}}}',
        ),
    }
    for variable, (name, text) in places.items():
        path = lab.home / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        lab.more[variable] = str(lab.home / Path(name).parts[0])

    assert lab.run().stdout.count(b"goes through Redlane now") == 3


def test_what_is_shared_names_redlane_and_no_path(lab: Lab) -> None:
    sample = CONFIGURATIONS["claude-project"]
    path = lab.write(sample)
    lab.more["PATH"] = f"{Path(REDLANE).parent}:{os.defpath}"
    lab.run()

    assert path.read_bytes() == sample.after.replace(PROGRAM.encode(), b"redlane")


def test_a_malformed_file_is_one_line_and_the_others_are_done(full: Lab) -> None:
    broken = full.home / ".cursor" / "mcp.json"
    broken.write_text('{\n"mcpServers": {')
    done = full.run(code=1)

    told = [line for line in done.stderr.splitlines() if b"nothing was changed" in line]
    assert len(told) == 1
    assert b".cursor/mcp.json: line 2: " in told[0]
    assert broken.read_text() == '{\n"mcpServers": {'
    for sample in CONFIGURATIONS.values():
        if sample.client != "cursor":
            assert full.files()[sample.path] == after(sample)


def test_links_modes_and_names_of_users_stay(lab: Lab) -> None:
    path = lab.write(CONFIGURATIONS["codex"])
    dotfiles = lab.home / "dotfiles"
    dotfiles.mkdir()
    real = dotfiles / "codex.toml"
    path.rename(real)
    path.symlink_to(real)
    real.chmod(0o600)

    lab.run()
    assert path.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert real.read_bytes() == after(CONFIGURATIONS["codex"])
    lab.run("--undo")
    assert path.is_symlink()
    assert real.read_bytes() == CONFIGURATIONS["codex"].before


def test_copies_are_the_users_alone(full: Lab) -> None:
    full.run()
    kept = full.home / ".redlane" / "mcp-import"

    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    copies = [each for each in kept.rglob("*") if each.is_file()]
    assert {stat.S_IMODE(each.stat().st_mode) for each in copies} == {0o600}


def test_records_that_others_can_change_are_not_believed(full: Lab) -> None:
    full.run()
    imported = full.files()
    (full.home / ".redlane" / "mcp-import").chmod(0o777)

    assert b"can be changed by others" in full.run("--undo", code=2).stderr
    assert full.files() == imported


def edit(path: Path, change: str, **value: object) -> None:
    document = json.loads(path.read_bytes())
    getattr(document["mcpServers"], change)(value)
    path.write_text(json.dumps(document))


def test_what_changed_since_stays_and_only_our_edits_are_undone(
    lab: Lab,
) -> None:
    path = lab.write(CONFIGURATIONS["claude-project"])
    lab.run()
    edit(path, "update", second={"command": "b"})
    lab.run()
    edit(path, "update", third={"command": "c"})
    lab.run("--undo")

    shared = json.loads(CONFIGURATIONS["claude-project"].before)["mcpServers"]
    more = {"second": {"command": "b"}, "third": {"command": "c"}}
    assert json.loads(path.read_bytes()) == {"mcpServers": {**shared, **more}}
    assert b"nothing to undo" in lab.run("--undo").stderr


def test_a_server_that_goes_another_way_through_redlane_stops_it(
    lab: Lab,
) -> None:
    path = lab.write(CONFIGURATIONS["claude-project"])
    lab.run()
    since = path.read_bytes().replace(b'"--name","shared"', b'"--name","other"')
    path.write_bytes(since)

    done = lab.run("--undo", code=1)
    assert b"'shared' goes through Redlane was changed since" in done.stderr
    assert path.read_bytes() == since
    copy = done.stderr.decode().partition("as it was, it is ")[2].partition(")")[0]
    assert Path(copy).read_bytes() == CONFIGURATIONS["claude-project"].before


def test_a_file_that_is_gone_is_told_and_its_copy_stays(lab: Lab) -> None:
    path = lab.write(CONFIGURATIONS["codex"])
    lab.run()
    path.unlink()

    assert b"is not there any more" in lab.run("--undo", code=1).stderr
    path.write_bytes(after(CONFIGURATIONS["codex"]))
    lab.run("--undo")
    assert path.read_bytes() == CONFIGURATIONS["codex"].before


def test_a_spoilt_copy_is_not_written(lab: Lab) -> None:
    path = lab.write(CONFIGURATIONS["codex"])
    lab.run()
    (copy,) = (lab.home / ".redlane" / "mcp-import").rglob("copy")
    copy.write_bytes(b"[mcp_servers.evil]\n")
    lab.run("--undo")

    assert path.read_bytes() == CONFIGURATIONS["codex"].before


def test_an_import_that_did_not_get_to_write_is_undone(lab: Lab) -> None:
    path = lab.write(CONFIGURATIONS["codex"])
    lab.run()
    path.write_bytes(CONFIGURATIONS["codex"].before)
    lab.run("--undo")

    assert path.read_bytes() == CONFIGURATIONS["codex"].before
    assert b"nothing to undo" in lab.run("--undo").stderr


def test_a_file_that_is_not_there_or_nobodys_is_wrong_usage(
    lab: Lab,
) -> None:
    assert (
        b"there is no"
        in lab.run("--file", "gone.toml", "--client", "codex", code=2).stderr
    )
    (lab.project / "mine.json").write_text("{}")
    assert b"--client" in lab.run("--file", "mine.json", code=2).stderr


def test_no_session_takes_its_servers_out_of_redlanes_hands(shared: Home) -> None:
    path = shared.user / ".mcp.json"
    path.write_bytes(CONFIGURATIONS["claude-project"].before)
    imported = shared.run("mcp", "import", "--file", str(path))
    assert imported.code == 0
    text = path.read_bytes()

    words = ("run", "--role", "other", "--", REDLANE, "mcp", "import", "--undo")
    refused = shared.run(*words)
    assert refused.code != 0
    assert "is refused inside a session" in refused.err
    assert path.read_bytes() == text
    assert shared.run("mcp", "import", "--undo").code == 0


def test_what_is_written_works(shared: Home, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    server = {"command": shutil.which("sh"), "args": ["-c", "echo $0 $1 >&2", "a", "b"]}
    path.write_text(json.dumps({"mcpServers": {"x": server}}))
    assert shared.run("mcp", "import", "--file", str(path)).code == 0

    entry: dict[str, Any] = json.loads(path.read_bytes())["mcpServers"]["x"]
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        env=shared.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"a b\n")


def test_a_server_may_be_called_as_a_verb_is(lab: Lab, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "import"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "the server $*" >&2\n')
    program.chmod(0o755)
    done = subprocess.run(
        [REDLANE, "mcp", "--", "import", "--undo"],
        env={"HOME": str(lab.home), "PATH": f"{program.parent}:{os.defpath}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, b"the server --undo\n")
