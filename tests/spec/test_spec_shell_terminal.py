"""`redlane-sh` on a terminal judges every command that is typed."""

import os
import pty
import select
import subprocess
import time
from pathlib import Path

from spec.bash_twin import run_bash
from spec.redlane_home import REDLANE_SH, Home


def _talk(home: Home, *lines: str) -> tuple[int, str]:
    """Type lines into an interactive wrapper; its exit status and all it printed."""
    master, slave = pty.openpty()
    shell = subprocess.Popen(
        [REDLANE_SH],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**home.environment(), "TERM": "dumb"},
        cwd=home.user,
        start_new_session=True,
    )
    os.close(slave)
    try:
        os.write(master, "".join(f"{line}\n" for line in lines).encode())
        printed = _drain(master)
        return shell.wait(20), printed
    finally:
        shell.kill()
        shell.wait()
        os.close(master)


def _drain(master: int) -> str:
    deadline = time.monotonic() + 30
    printed = b""
    while time.monotonic() < deadline:
        if select.select([master], [], [], 0.2)[0]:
            try:
                data = os.read(master, 65536)
            except OSError:
                break
            if not data:
                break
            printed += data
    return printed.decode(errors="replace")


def test_an_interactive_shell_runs_what_is_allowed(agent: Home) -> None:
    code, printed = _talk(agent, "echo $((40 + 2))-answer", "exit 7")

    assert "42-answer" in printed
    assert code == 7


def test_an_interactive_shell_keeps_its_state(agent: Home) -> None:
    _, printed = _talk(agent, "cd /usr", "word=kept", 'echo "[$word:$PWD]"', "exit")

    assert "[kept:/usr]" in printed


def test_an_interactive_shell_refuses_and_goes_on(agent: Home, canary: Path) -> None:
    code, printed = _talk(
        agent, f"touch {canary}; : forbidden", "echo $((40 + 2))-after", "exit 7"
    )

    assert not canary.exists()
    assert "redlane: " in printed
    assert "42-after" in printed
    assert code == 7


def test_bash_itself_would_have_run_it(agent: Home, canary: Path) -> None:
    run_bash(agent, "-c", f"touch {canary}; : forbidden")

    assert canary.exists()
