"""An origin on the loopback interface that listens to everybody and answers nobody.

A request that reaches it has been judged on its way, or was not: more is not needed.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["origin"]

_SECONDS = 5.0
_BYTES = 65536


@contextmanager
def origin() -> Iterator[int]:
    """Its port, for as long as the block lasts."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        thread = threading.Thread(target=_hang_up_all, args=(listening,), daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _hang_up_all(listening: socket.socket) -> None:
    """Hear what each has to say first: a proxy that is not heard tries again."""
    with suppress(OSError):  # nobody listens any more
        while True:
            connection, _ = listening.accept()
            with connection, suppress(OSError):
                connection.settimeout(_SECONDS)
                connection.recv(_BYTES)
