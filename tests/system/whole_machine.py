"""A machine of its own for the system-wide mode: a mount namespace, and real users.

/etc, /run, /var/log and /var/lib are the namespace's own, so that the daemon's fixed
places are free; nothing of it is seen outside. The daemon runs as the package runs it:
as a user of its own, with three capabilities.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spec.control_client import Control, peer_pid
from spec.redlane_home import REDLANE, Ran, wait_for
from system.process_tree import Actor

__all__ = [
    "ADMIN",
    "ALICE",
    "BOB",
    "DAEMON",
    "NAMELESS",
    "Machine",
    "User",
    "guarded",
    "machine",
    "starter",
]

ACTOR = Path(__file__).with_name("process_tree.py")
SCRIPTS = Path(sys.executable).parent
_SETUP = """\
set -e
mount -t tmpfs -o mode=0755 redlane /mnt
mkdir /mnt/upper /mnt/work
mount -t overlay overlay -o lowerdir=/etc,upperdir=/mnt/upper,workdir=/mnt/work /etc
mount -t tmpfs -o mode=0755 run /run
mount -t tmpfs -o mode=0755 log /var/log
mount -t tmpfs -o mode=0755 lib /var/lib
mkdir -p /etc/redlane/policies /etc/redlane/roles
echo ready
exec sleep infinity
"""


class User:
    """A user by number; `groups` are those of each process of theirs."""

    def __init__(self, uid: int, groups: tuple[int, ...] = ()) -> None:
        """The primary group has the user's number."""
        self.uid = uid
        self.groups = groups


DAEMON = User(61000)
ALICE = User(61001)
BOB = User(61002)
ADMIN = User(61003, (61000,))
NAMELESS = User(61999)
_NAMES = {"redlane": DAEMON, "alice": ALICE, "bob": BOB, "carol": ADMIN}


class Machine:
    """The namespace, by the process that keeps it."""

    def __init__(self, keeper: int, base: Path) -> None:
        """Users get their homes below `base`."""
        self.keeper = keeper
        self.root = Path(f"/proc/{keeper}/root")
        self.home = base
        for name, user in _NAMES.items():
            self._add(name, user)
        for place in ("run/redlane", "var/log/redlane", "var/lib/redlane"):
            self.path(place).mkdir(mode=0o755)
            os.chown(self.path(place), DAEMON.uid, DAEMON.uid)
        self.path("var/log/redlane").chmod(0o750)
        self.path("var/lib/redlane").chmod(0o711)

    def _add(self, name: str, user: User) -> None:
        home = self.home / name
        home.mkdir(mode=0o700)
        os.chown(home, user.uid, user.uid)
        with self.path("etc/passwd").open("a") as file:
            file.write(f"{name}:x:{user.uid}:{user.uid}::{home}:/bin/bash\n")
        with self.path("etc/group").open("a") as file:
            file.write(f"{name}:x:{user.uid}:\n")

    def path(self, place: str) -> Path:
        """A file of the machine, as it is reached from outside."""
        return self.root / place

    def home_of(self, user: User) -> Path:
        """The home directory of a user who has a name."""
        return self.home / next(n for n, each in _NAMES.items() if each is user)

    @property
    def control(self) -> Control:
        """The control API, asked by root from outside of the namespace."""
        return Control(self.path("run/redlane/control.sock"))

    def write(self, name: str, data: object) -> None:
        """Write a JSON file below /etc/redlane."""
        file = self.path(f"etc/redlane/{name}")
        file.write_text(json.dumps(data))
        file.chmod(0o644)

    def words(self, user: User | None) -> list[str]:
        """The beginning of a command in the namespace, run as `user` or root."""
        words = ["nsenter", f"--mount=/proc/{self.keeper}/ns/mnt", "--"]
        if user is None:
            return words
        groups = ",".join(map(str, user.groups))
        given = [f"--groups={groups}"] if groups else ["--clear-groups"]
        ids = [f"--reuid={user.uid}", f"--regid={user.uid}"]
        return [*words, "setpriv", *ids, *given, "--"]

    def environment(
        self, user: User | None, env: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """HOME and PATH of a user, and nothing of who runs the tests."""
        named = user in _NAMES.values() and user is not None
        home = self.home_of(user) if named and user else Path("/nowhere")
        path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        return {"HOME": str(home), "PATH": path, "LANG": "C.UTF-8", **(env or {})}

    def run(
        self,
        user: User | None,
        *command: str | Path,
        program: str | Path = REDLANE,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Ran:
        """Run a command of a user's to its end."""
        done = subprocess.run(
            [*self.words(user), program, *command],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            text=True,
            env=self.environment(user, env),
            cwd=cwd or "/",
            timeout=60,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def spawn(self, user: User | None, *words: str | Path) -> "subprocess.Popen[str]":
        """Start a command of a user's; the caller ends it."""
        return subprocess.Popen(
            [*self.words(user), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment(user),
            cwd="/",
            start_new_session=True,
        )

    @contextmanager
    def actor(self, user: User | None) -> Iterator["Person"]:
        """A process of a user's that does as it is told."""
        process = self.spawn(user, sys.executable, ACTOR)
        try:
            yield Person(process)
        finally:
            process.kill()
            process.communicate()

    def start(self) -> None:
        """Start the daemon as the package does: not root, with three capabilities."""
        # Sockets of a killed daemon bear the name that another machine's listens on,
        # which are told apart by no name.
        for name in ("control.sock", "shell.sock"):
            self.path(f"run/redlane/{name}").unlink(missing_ok=True)
        caps = "+kill,+setuid,+setgid"
        words = self.words(DAEMON)[:-1]
        words += [f"--inh-caps={caps}", f"--ambient-caps={caps}", "--no-new-privs"]
        done = subprocess.run(
            [*words, "--", REDLANE, "start", "--system"],
            capture_output=True,
            text=True,
            env=self.environment(None),
            cwd="/",
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def stop(self) -> None:
        """Stop the daemon, if it runs."""
        socket = self.path("run/redlane/control.sock")
        pid = peer_pid(socket)
        if pid is not None:
            os.kill(pid, 15)
            wait_for(lambda: peer_pid(socket) is None)


class Person(Actor):
    """An actor that asks the machine's daemon."""

    def api(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and document of one request of this process."""
        return self.api_from("self", method, path, body)

    def api_from(
        self, where: str, method: str, path: str, body: object = None
    ) -> tuple[int, Any]:
        """The same from a child, or an orphan."""
        text = "" if body is None else json.dumps(body)
        status, answer = self.call(
            where, "/run/redlane/control.sock", method, path, text
        )
        try:
            return status, json.loads(answer) if answer else None
        except ValueError:  # the metrics are no JSON
            return status, answer

    def analyze(self, content: str, **more: object) -> dict[str, Any]:
        """The verdict on a shell command."""
        body = {"content": content, "context": "Shell", "hold": False, **more}
        status, answer = self.api("POST", "/api/analyze", body)
        assert status == 200, answer
        found: dict[str, Any] = answer
        return found

    def open_session(self, **body: object) -> str:
        """A session without processes; its id."""
        status, answer = self.api("POST", "/api/sessions", body)
        assert status == 201, answer
        return str(answer["id"])


def guarded(agent: Person, **body: object) -> str:
    """Open a session whose root is this process; its id."""
    return agent.open_session(root_pid=agent.pid, **body)


@contextmanager
def machine(base: Path) -> Iterator[Machine]:
    """A machine with nothing in it but users; it is gone in the end."""
    base.chmod(0o755)
    keeper = subprocess.Popen(
        ["unshare", "--mount", "--propagation=private", "sh", "-c", _SETUP],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert keeper.stdout is not None
        assert keeper.stdout.readline() == "ready\n"
        made = Machine(keeper.pid, base)
        try:
            yield made
        finally:
            made.stop()
    finally:
        keeper.kill()
        keeper.communicate()


def starter(whole: Machine) -> None:
    """Write the machine's policies, and three roles that have them all."""
    words = {"no-rm": "rm -rf", "ask": "please", "secret": "hunter2"}
    policies = [
        {
            "id": name,
            "type": "Simple",
            "action": "Flag" if name == "ask" else "Block",
            "pattern": pattern,
        }
        for name, pattern in words.items()
    ]
    roles = ("guard", "open", "closed")
    whole.write("policies/policies.json", policies)
    whole.write("roles/roles.json", [{"name": e, "policies": [*words]} for e in roles])
    settings = {
        "sevsh": {"default_role": "guard"},
        "system": {"user_roles": ["open", "absent"]},
        "review": {"timeout_seconds": 20},
    }
    whole.write("settings.json", settings)
