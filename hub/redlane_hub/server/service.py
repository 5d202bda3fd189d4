"""The service as a whole: what `redlane-hub serve` starts, in order."""

import dataclasses
import signal
import socket
from collections.abc import Callable, Mapping, Sequence

from redlane_hub.app import Hub
from redlane_hub.server.sockets import listening_sockets, url_of
from redlane_hub.server.web import WebServer
from redlane_hub.settings import Settings
from redlane_hub.store.migrations import migrate

__all__ = ["serve"]


def serve(
    settings: Settings, environ: Mapping[str, str], announce: Callable[[str], None]
) -> int:
    """Serve until SIGTERM or SIGINT; `announce` gets the line that says where.

    Raises OperatorError for what the operator can mend.
    """
    migrate(settings.database_path)
    listeners = listening_sockets(settings.listen, environ)
    places = [url_of(each) for each in listeners]
    if places[0].startswith("http://"):
        listen = places[0].removeprefix("http://")
        settings = dataclasses.replace(settings, listen=listen)
    return _run(settings, listeners, lambda: announce(_line(places)))


def _line(places: Sequence[str]) -> str:
    return f"redlane-hub: listening on {', '.join(places)}"


def _run(
    settings: Settings, listeners: Sequence[socket.socket], ready: Callable[[], None]
) -> int:
    hub = Hub(settings)
    application = hub.wsgi
    server = WebServer(
        [(each, application) for each in listeners],
        hub.largest_body,
        settings.trusted_proxies,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop())
    hub.start()
    ready()
    server.run()
    hub.stop()
    return 0
