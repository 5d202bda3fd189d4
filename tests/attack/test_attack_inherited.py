"""A connection that was open before the session does not pass into it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from spec.redlane_home import REDLANE, Home
from system.conftest import daemon, home  # noqa: F401  # fixtures

from redlane.wire.sockets import connect_socket

ASK = """
import os, sys
number = int(sys.argv[1])
try:
    os.write(number, b"GET /api/status HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n")
    print(os.read(number, 100))
except OSError as error:
    print(error.strerror)
"""


@pytest.mark.parametrize("name", ["control.sock", "shell.sock"])
@pytest.mark.parametrize("long", [False, True])
def test_agent_inherits_no_connection_to_the_daemon(
    daemon: Home,  # noqa: F811  # the fixture
    tmp_path: Path,
    name: str,
    *,
    long: bool,
) -> None:
    home = daemon  # noqa: F811
    if long:
        home = Home(tmp_path)
        home.env["REDLANE_SOCKET"] = str(tmp_path / ("x" * 100) / "control.sock")
        Path(home.env["REDLANE_SOCKET"]).parent.mkdir(mode=0o700)
        home.start()
    socket = Path(home.env.get("REDLANE_SOCKET", home.control.socket))
    reading, writing = os.pipe()
    with connect_socket(socket.with_name(name), 10) as connection:
        number = connection.fileno()
        done = subprocess.run(
            [REDLANE, "run", "--", sys.executable, "-c", ASK, str(number)],
            env=home.environment(),
            pass_fds=[number, writing],
            capture_output=True,
            text=True,
            check=False,
        )
    os.close(reading)
    os.close(writing)
    if long:
        home.run("stop")
    assert done.stdout == "Bad file descriptor\n", done
