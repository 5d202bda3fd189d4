"""Tokens are in the desktop's keyring where it is open, and else in a file of 0600."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from core.children import is_gone, wait_until

PROGRAMS = ("dbus-run-session", "gnome-keyring-daemon", "secret-tool")
missing = [each for each in PROGRAMS if shutil.which(each) is None]
pytestmark = pytest.mark.skipif(
    bool(missing), reason=f"not installed: {', '.join(missing)}"
)
HUB = "https://hub.example.org"
TOKEN = "secret.tökèn"
OPENED = "printf pw | gnome-keyring-daemon --unlock --components=secrets >&2; "
START = f"""
import json, sys
from pathlib import Path
from redlane.hubclient import Login
from redlane.hubclient.logins import Logins
HUB, TOKEN = {HUB!r}, {TOKEN!r}
logins = Logins(Path("logins"))
def keep():
    logins.keep(HUB, Login(TOKEN, "ada@example.org", False, False))
def tell(*values):
    print(json.dumps(values))
"""


@dataclass(frozen=True)
class Desktop:
    """A session's bus, with directories of its own."""

    directory: Path

    def run(self, program: str, *, is_opened: bool) -> list[object]:
        """What a program tells that uses tokens, while the keyring is open or not."""
        script = f'{OPENED if is_opened else ""}exec "$0" -c "$1"'
        words = ("sh", "-c", script, sys.executable, START + program)
        done = subprocess.run(
            ["dbus-run-session", "--", *words],
            cwd=self.directory,
            env=self.environment,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told: list[object] = json.loads(done.stdout)
        return told

    @property
    def environment(self) -> dict[str, str]:
        home = str(self.directory)
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": home,
            "XDG_RUNTIME_DIR": home,
            "XDG_DATA_HOME": f"{home}/data",
        }

    def files(self) -> list[Path]:
        return list((self.directory / "logins").iterdir())

    def left(self) -> list[int]:
        """Its processes that still run: a daemon ends soon after its bus."""
        mark = f"XDG_RUNTIME_DIR={self.directory}".encode()
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if mark in (each / "environ").read_bytes().split(b"\0"):
                    found.append(int(each.name))
        return [each for each in found if not is_gone(each)]


@pytest.fixture
def desktop() -> Iterator[Desktop]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        made = Desktop(Path(directory))
        try:
            yield made
            wait_until(lambda: not made.left())
        finally:
            for each in made.left():
                os.kill(each, signal.SIGKILL)


def test_token_is_in_the_open_keyring_and_in_no_file(desktop: Desktop) -> None:
    told = desktop.run("keep(); tell(logins.token(HUB))", is_opened=True)
    assert told == [TOKEN]
    (file,) = desktop.files()
    assert json.loads(file.read_bytes())["token"] is None
    assert not [
        each
        for each in desktop.directory.rglob("*")
        if each.is_file() and b"secret.t" in each.read_bytes()
    ]


def test_forgotten_token_is_gone_from_the_keyring(desktop: Desktop) -> None:
    program = """
from redlane.hubclient.keyring import kept_token
keep()
tell(kept_token(HUB), logins.forget(HUB), kept_token(HUB), logins.token(HUB))
"""
    assert desktop.run(program, is_opened=True) == [TOKEN, True, None, None]
    assert desktop.files() == []


def test_token_is_in_a_file_where_the_keyring_is_not_open(desktop: Desktop) -> None:
    told = desktop.run("keep(); tell(logins.token(HUB))", is_opened=False)
    assert told == [TOKEN]
    (file,) = desktop.files()
    assert json.loads(file.read_bytes())["token"] == TOKEN
    assert file.stat().st_mode & 0o777 == 0o600
