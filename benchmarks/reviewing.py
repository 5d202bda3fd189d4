"""How soon a person sees what is held, and how soon a key or a button lets it run.

`redlane review` runs on a terminal of its own, and `redlane review notify` on a message
bus of its own. A command is held: the time until it stands on the screen or is shown as
a notification, then the time from the key or the button to the command's output, each
against its bound. With BENCH_HELD=1000 so many others are held besides; then nothing
new is shown as a notification, which are four at a time.
"""

import fcntl
import json
import os
import pty
import secrets
import select
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from measure import duration, percentile, print_table, ratio
from own_daemon import SCRIPTS, daemon

from redlane.client import Client, ReviewFollower, operations

RUNS = int(os.environ.get("BENCH_RUNS", "20"))
HELD = int(os.environ.get("BENCH_HELD", "0"))
OF_A_SESSION = 63
SHOWN_WITHIN, RUN_WITHIN = 0.2, 0.1
SERVER = (
    Path(__file__).resolve().parent.parent / "tests" / "spec" / "notification_server.py"
)
POLICY = {"id": "held", "type": "Simple", "action": "Flag", "pattern": "please"}
SETTINGS = {"review": {"timeout_seconds": 600}}
SIZE = struct.pack("HHHH", 40, 120, 0, 0)


@contextmanager
def screen(environment: Mapping[str, str]) -> Iterator[int]:
    """`redlane review` on a terminal."""
    pid, master = pty.fork()
    if not pid:
        fcntl.ioctl(0, termios.TIOCSWINSZ, SIZE)
        os.execve(
            SCRIPTS / "redlane",
            ["redlane", "review"],
            {**environment, "TERM": "xterm", "LC_ALL": "C.UTF-8"},
        )
    try:
        read_until(master, b"held")
        yield master
    finally:
        os.close(master)
        os.waitpid(pid, 0)


def read_until(terminal: int, *texts: bytes) -> None:
    """Read what is drawn, until one of these is among it."""
    seen = b""
    while not any(each in seen for each in texts):
        if not select.select([terminal], [], [], 30)[0]:
            sys.exit(f"{texts[0]!r} was not drawn: {seen[-500:]!r}")
        seen += os.read(terminal, 65536)


def once(environment: Mapping[str, str], terminal: int) -> list[float]:
    """The seconds until one command is seen, and from the key until it has run."""
    word = secrets.token_hex(16)
    command = [SCRIPTS / "redlane-sh", "-c", f"echo please {word}"]
    os.write(terminal, b"G")
    start = time.perf_counter()
    shell = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    # Of a line that was there in part only the rest is drawn.
    read_until(terminal, *(word[at : at + 5].encode() for at in range(27)))
    seen = time.perf_counter()
    # What was not drawn yet is not allowed: the key is pressed until it counts.
    keys = b"Ga"
    while not select.select([shell.stdout], [], [], 0.005)[0]:
        os.write(terminal, keys)
        keys = b"a"
    ran = time.perf_counter()
    shell.communicate()
    return [seen - start, ran - seen]


@contextmanager
def others(environment: Mapping[str, str]) -> Iterator[None]:
    """What is held besides, in sessions of its own."""
    place = Path(environment["HOME"], ".redlane", "run", "control.sock")
    client = Client(place)
    head = b"POST /api/analyze HTTP/1.1\r\nContent-Type: application/json\r\n"
    with ExitStack() as stack:
        for number in range(HELD):
            if number % OF_A_SESSION == 0:
                await_held(client, number)
                root = stack.enter_context(subprocess.Popen(("sleep", "infinity")))
                stack.callback(root.kill)
                session = client.send(operations.open_session(root_pid=root.pid))["id"]
            asked = {"content": f"please {number}", "context": "Shell"}
            body = json.dumps({**asked, "session": session}).encode()
            asks = stack.enter_context(socket.socket(socket.AF_UNIX))
            asks.connect(os.fspath(place))
            asks.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await_held(client, HELD)
        yield


def await_held(client: Client, number: int) -> None:
    """Wait until so many are held; at once they would be too many to be judged."""
    for held in client.follow(ReviewFollower()):
        if len(held["reviews"]) >= number:
            return


@contextmanager
def desktop(environment: Mapping[str, str]) -> Iterator["subprocess.Popen[str]"]:
    """Somebody who shows notifications, and `redlane review notify`."""
    words = ("dbus-daemon", "--session", "--nofork", "--print-address")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    quiet = {"stderr": subprocess.DEVNULL}
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, **quiet) as bus:
        address = bus.stdout.readline().strip()
        env = {**environment, "DBUS_SESSION_BUS_ADDRESS": address}
        with subprocess.Popen((sys.executable, SERVER), env=env, **pipes) as shows:
            shows.stdout.readline()
            notify = (SCRIPTS / "redlane", "review", "notify")
            with subprocess.Popen(notify, env=env, **quiet) as notifies:
                yield shows
                for process in (notifies, shows, bus):
                    process.terminate()


def once_on(
    environment: Mapping[str, str], shows: "subprocess.Popen[str]"
) -> list[float]:
    """The seconds until one command is shown, and from the button until it has run."""
    command = [SCRIPTS / "redlane-sh", "-c", "echo please"]
    start = time.perf_counter()
    shell = subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    shown = {}
    while "buttons" not in shown:
        shown = json.loads(shows.stdout.readline())
    seen = time.perf_counter()
    button = shown["buttons"][shown["buttons"].index("Allow") - 1]
    shows.stdin.write(f"press {shown['number']} {button}\n")
    shows.stdin.flush()
    shell.communicate()
    return [seen - start, time.perf_counter() - seen]


def by_notifications(environment: Mapping[str, str]) -> list[list[float]]:
    """The seconds of each on the desktop."""
    with desktop(environment) as shows:
        once_on(environment, shows)  # finds who shows them
        return [once_on(environment, shows) for _ in range(RUNS)]


def main() -> None:
    """Print the middle and the worst of each, as shares of their bounds."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        with (
            daemon(home, [POLICY], SETTINGS) as environment,
            others(environment),
            screen(environment) as terminal,
        ):
            taken = [once(environment, terminal) for _ in range(RUNS)]
            notified = [] if HELD else by_notifications(environment)
    names = ("seen", "run by a key", "notified", "run by a button")
    bounds = (SHOWN_WITHIN, RUN_WITHIN) * 2
    every = (*zip(*taken, strict=True), *zip(*notified, strict=True))
    rows = [
        (
            *(step, duration(percentile(times, 50)), duration(max(times))),
            *(duration(bound), ratio(max(times), bound)),
        )
        for step, bound, times in zip(names, bounds, every, strict=False)
    ]
    print_table(("step", "p50", "worst", "bound", "of the bound"), rows)


if __name__ == "__main__":
    main()
