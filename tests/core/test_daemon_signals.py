"""A signal that comes while the daemon starts ends it in order, whoever takes it."""

import subprocess
import sys

STARTS = """
import os, signal, threading
from redlane.daemon.signals import handle_signals, signals_held_back

threading.Thread(target=threading.Event().wait, daemon=True).start()
told = []
with signals_held_back():
    os.kill(os.getpid(), signal.SIGTERM)
    handle_signals(told.append, stop="stop", reload="reload")
print(told)
"""
FAILS = """
import os, signal, threading
from redlane.daemon.signals import signals_held_back

threading.Thread(target=threading.Event().wait, daemon=True).start()
with signals_held_back():
    os.kill(os.getpid(), signal.SIGTERM)
    raise OSError("no socket")
"""


def ran(program: str) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, "-c", program]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_signal_waits_for_who_handles_it() -> None:
    done = ran(STARTS)
    assert (done.returncode, done.stdout) == (0, "['stop']\n"), done.stderr


def test_signal_ends_what_could_not_start() -> None:
    assert ran(FAILS).returncode == -15
