"""The shell wrapper's question is read as it was sent; another form is none."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from redlane.wire.shell_frames import ShellFrame, ShellFrameError, read_frame


def read(sent: bytes) -> ShellFrame:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(sent)
        ours.shutdown(socket.SHUT_WR)
        return read_frame(theirs, 5)


@pytest.mark.parametrize(
    "kind", [b"REDLANE 1", b"REDLANE PREVIEW 1", b"REDLANE AS-IT-IS 1"]
)
@pytest.mark.parametrize("process", [None, 1, 4194304, 9999999999])
def test_question_may_name_a_process(process: int | None, kind: bytes) -> None:
    last = b"" if process is None else b" %d" % process

    frame = read(kind + b" 4 3 2" + last + b"\n/dirx=1ls")

    is_preview, as_it_is = b"PREVIEW" in kind, b"AS-IT-IS" in kind
    assert frame == ShellFrame(b"/dir", b"x=1", b"ls", is_preview, process, as_it_is)


def test_process_may_come_in_pieces() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, ThreadPoolExecutor(1) as side:
        reading = side.submit(read_frame, theirs, 20)
        for byte in b"REDLANE 1 0 0 2 4321\nls":
            ours.sendall(bytes([byte]))
        assert reading.result() == ShellFrame(b"", b"", b"ls", process=4321)


MALFORMED = {
    "no process": b"REDLANE 1 0 0 2 \nls",
    "process 0": b"REDLANE 1 0 0 2 0\nls",
    "leading zero": b"REDLANE 1 0 0 2 07\nls",
    "negative": b"REDLANE 1 0 0 2 -7\nls",
    "sign": b"REDLANE 1 0 0 2 +7\nls",
    "too long": b"REDLANE 1 0 0 2 10000000000\nls",
    "word": b"REDLANE 1 0 0 2 self\nls",
    "two": b"REDLANE 1 0 0 2 7 8\nls",
    "two spaces": b"REDLANE 1 0 0 2  7\nls",
    "tab": b"REDLANE 1 0 0 2\t7\nls",
    "space behind": b"REDLANE 1 0 0 2 7 \nls",
    "carriage return": b"REDLANE 1 0 0 2 7\r\nls",
    "other digits": "REDLANE 1 0 0 2 \u0667\nls".encode(),
    "instead of a length": b"REDLANE 1 0 0\nls",
    "preview behind": b"REDLANE 1 0 0 2 7 PREVIEW\nls",
    "two kinds": b"REDLANE PREVIEW AS-IT-IS 1 0 0 2\nls",
    "less than it says": b"REDLANE 1 0 0 3 7\nls",
    "more than it says": b"REDLANE 1 0 0 1 7\nls",
}


@pytest.mark.parametrize("sent", MALFORMED.values(), ids=MALFORMED)
def test_other_form_is_no_question(sent: bytes) -> None:
    with pytest.raises(ShellFrameError):
        read(sent)
