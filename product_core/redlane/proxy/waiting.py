"""How much waits behind a hook, or until a server is reached.

mitmproxy keeps what comes for a stream that is not ready for it, without end.
"""

from collections import deque
from weakref import WeakKeyDictionary, WeakSet

from mitmproxy.connection import Client
from mitmproxy.proxy import events
from mitmproxy.proxy.layer import Layer
from mitmproxy.proxy.layers.http._events import RequestData, ResponseData

__all__ = ["count_waiting", "held_bytes"]

_OF_CLIENTS: WeakKeyDictionary[Client, WeakSet[Layer]] = WeakKeyDictionary()


class _Queue(deque[events.Event]):
    """The events that wait, and how many bytes of each side are among them."""

    def __init__(self) -> None:
        super().__init__()
        self.from_client = self.from_server = 0

    def append(self, event: events.Event) -> None:
        super().append(event)
        self._count(event, 1)

    def popleft(self) -> events.Event:
        event = super().popleft()
        self._count(event, -1)
        return event

    def _count(self, event: events.Event, sign: int) -> None:
        if isinstance(event, RequestData):
            self.from_client += sign * len(event.data)
        elif isinstance(event, ResponseData):
            self.from_server += sign * len(event.data)
        elif isinstance(event, events.DataReceived):
            if isinstance(event.connection, Client):
                self.from_client += sign * len(event.data)
            else:
                self.from_server += sign * len(event.data)


def count_waiting(layer: Layer) -> None:
    """Count what waits in a new layer."""
    layer._paused_event_queue = _Queue()  # noqa: SLF001  # mitmproxy has no seam
    _OF_CLIENTS.setdefault(layer.context.client, WeakSet()).add(layer)


def held_bytes(client: Client, *, from_client: bool) -> int:
    """How many bytes wait that this client, or the servers it uses, have sent."""
    found = 0
    for layer in _OF_CLIENTS.get(client, ()):
        queue = layer._paused_event_queue  # noqa: SLF001  # as above
        if isinstance(queue, _Queue):
            found += queue.from_client if from_client else queue.from_server
    return found
