"""The server may be stopped from anywhere, at any time, as often as one likes."""

import os

from hub_web import BODY_BYTES, Recorder

from redlane_hub.server.sockets import bound_sockets
from redlane_hub.server.web import WebServer


def test_stop_after_the_end_disturbs_nothing() -> None:
    """The number of what would wake the loop is another file's by then."""
    listeners = bound_sockets("127.0.0.1:0")
    server = WebServer([(each, Recorder()) for each in listeners], BODY_BYTES)
    server.stop()
    server.run()
    next_files = [os.pipe() for _ in range(8)]
    try:
        server.stop()
        for reading, _ in next_files:
            os.set_blocking(reading, False)
        written = [reading for reading, _ in next_files if is_readable(reading)]
    finally:
        for each in next_files:
            os.close(each[0])
            os.close(each[1])
    assert not written


def is_readable(descriptor: int) -> bool:
    try:
        return bool(os.read(descriptor, 1))
    except BlockingIOError:
        return False
