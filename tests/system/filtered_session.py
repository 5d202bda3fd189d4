"""A small supervisor of system calls: it lets every call go on. Run as a program.

    filtered_session.py PROGRAM [name,name,…] COMMAND…

It starts PROGRAM (`redlane-run`) as the real one does, with a filter that asks about
the calls named. REDLANE_TEST_LATE: seconds to wait before it answers. With
REDLANE_TEST_LEAVE it closes instead of sending the `filter`, or leaves instead of
serving the `listener`; `broken` sends a filter that the kernel does not take.
"""

import ctypes
import os
import sys
import threading
import time
from pathlib import Path

from redlane.api import GuardOptions
from redlane.contexts.shell.running.supervisor import Supervisor, end_alike
from redlane.contexts.syscall.launching import Launch, LaunchError
from redlane_context_syscall.filter import program
from redlane_context_syscall.kernel.listener import Listener

_SUBREAPER, _DUMPABLE = 36, 4


def main() -> None:
    """Supervise the command and end as it does."""
    redlane_run, named, *command = sys.argv[1:]
    for option, value in ((_SUBREAPER, 1), (_DUMPABLE, 0)):
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    launcher = Path(redlane_run)
    with Launch(launcher, launcher.with_name("redlane-sh")) as launch:
        words = launch.words(["--socket", "/nowhere/control.sock"], command)
        supervisor = Supervisor(words, follows=launch.has_stopped)
        try:
            _launch(launch, supervisor.agent, named)
        except LaunchError as error:
            sys.stderr.write(f"test: {error}\n")
        supervisor.run()
        supervisor.end_tree()
    end_alike(supervisor.status)


def _launch(launch: Launch, launcher: int, named: str) -> None:
    leaves = os.environ.get("REDLANE_TEST_LEAVE", "")
    if leaves == "filter":
        launch.close()
        return
    protected = frozenset({os.getpid(), launcher})
    names = dict.fromkeys(filter(None, named.split(",")), False)
    code = program(names, protected, GuardOptions())
    if leaves == "broken":
        code = bytes(8)
    listener = Listener(launch.listener(code))
    time.sleep(float(os.environ.get("REDLANE_TEST_LATE", "0")))
    if leaves == "listener":
        os._exit(0)
    threading.Thread(target=_serve, args=(listener,), daemon=True).start()
    launch.go_on()


def _serve(listener: Listener) -> None:
    while (notification := listener.receive()) is not None:
        listener.go_on(notification.id)


if __name__ == "__main__":
    main()
