"""Who is left over from a session is known as such by the next daemon as well."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spec.redlane_home import Home, wait_for
from system.process_tree import actor

SUPERVISED = """\
import json, os, signal, sys, time
sys.path.insert(0, {tests!r})
import process_tree
reaper, place, socket = os.getppid(), {place!r}, {socket!r}
process_tree._do(["reap"])
process_tree._do(["name", "redlane-run"])
body = json.dumps({{"root_pid": os.getpid(), "reaper_pid": reaper}})
opened = process_tree.request(socket, "POST", "/api/sessions", body)
if os.fork() == 0:
    os.setsid()
    while os.getppid() != reaper or not os.path.exists(place + "/ask"):
        time.sleep(0.01)
    answer = process_tree.request(socket, "GET", "/api/reviews", "")
    open(place + "/new", "w").write(json.dumps(answer))
    os.rename(place + "/new", place + "/answer")
    os._exit(0)
open(place + "/new", "w").write(json.dumps(opened))
os.rename(place + "/new", place + "/opened")
signal.pause()
"""


@contextmanager
def session_below_a_reaper(home: Home, place: Path) -> Iterator[int]:
    """The supervisor of a session, below a reaper that has no known name."""
    program = SUPERVISED.format(
        tests=str(Path(__file__).parent),
        place=str(place),
        socket=str(home.dir / "run" / "control.sock"),
    )
    with actor() as reaper:
        reaper.ask("reap")
        supervisor = reaper.ask("run", program)
        wait_for((place / "opened").exists)
        status, answer = json.loads((place / "opened").read_text())
        assert status == 201, answer
        yield supervisor


def test_orphans_have_no_rights_after_a_restart(daemon: Home, tmp_path: Path) -> None:
    """Killing its supervisor when another daemon runs gives an agent nothing."""
    with session_below_a_reaper(daemon, tmp_path) as supervisor:
        os.kill(daemon.control.get("/api/status").json["pid"], signal.SIGKILL)
        wait_for(lambda: daemon.run("start").code == 0)
        os.kill(supervisor, signal.SIGKILL)
        (tmp_path / "ask").touch()
        wait_for((tmp_path / "answer").exists)
        status, answer = json.loads((tmp_path / "answer").read_text())
        assert (status, "left over from session" in answer) == (403, True), answer
