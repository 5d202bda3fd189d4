"""The pages of answer links: served while the settings say so (`review.webhook`)."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from redlane.answering import AnswerLinks, AnswerServer, create_answer_app
from redlane.daemon.loopback import address_text, listen_at
from redlane.membership.tcp_sockets import Client
from redlane.model.settings import Review as ReviewSettings
from redlane.state.reviews import Reviews

__all__ = ["Answering"]

_PORTS = {"http": 80, "https": 443}

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Serving:
    """What listens: as the settings call it, and where it really is."""

    setting: str
    host: str
    port: int
    server: AnswerServer


class Answering:
    """The listener and the links that lead to it; safe for several threads.

    Where it cannot listen there are no links, and `problem` says why: what is held can
    be decided elsewhere.
    """

    def __init__(
        self,
        reviews: Reviews,
        settings: Callable[[], ReviewSettings],
        is_outside: Callable[[Client, Client], bool],
    ) -> None:
        """Nothing listens before `refresh`; only who `is_outside` is answered.

        That one tells it of a client by its address, and by that of its server.
        """
        self._settings = settings
        self._lock = threading.Lock()
        self._serving: _Serving | None = None
        self.links = AnswerLinks(reviews, self._base)
        self._is_outside = is_outside
        self._app = create_answer_app(
            self.links, reviews, self._may_answer, self._password
        )
        self.problem = ""

    def refresh(self) -> None:
        """Listen where the settings say now."""
        webhook = self._settings().webhook
        wanted = None if webhook is None else webhook.answer_listen
        with self._lock:
            if self._serving is not None and self._serving.setting == wanted:
                return
            self._close()
            if wanted is None:
                self.links.forget()
            self.problem = "" if wanted is None else self._listen(wanted)
        if self.problem:
            _log.error("%s", self.problem)

    def stop(self) -> None:
        """Listen no longer."""
        with self._lock:
            self._close()

    def own(self) -> tuple[tuple[str, int], ...]:
        """Hosts and ports that lead here: nothing of a session is to go there."""
        serving, webhook = self._serving, self._settings().webhook
        if serving is None:
            return ()
        here = (serving.host, serving.port)
        url = None if webhook is None else webhook.answer_url
        return (here,) if url is None else (here, _place_of(url))

    def _may_answer(self, client: Client) -> bool:
        serving = self._serving
        if serving is None:
            return False
        return self._is_outside(client, (serving.host, serving.port))

    def _password(self) -> str:
        webhook = self._settings().webhook
        return "" if webhook is None else webhook.answer_password or ""

    def _base(self) -> str | None:
        """What links begin with; None: there are none."""
        serving, webhook = self._serving, self._settings().webhook
        if serving is None or webhook is None or webhook.answer_listen is None:
            return None
        if webhook.answer_url is not None:
            return webhook.answer_url.rstrip("/")
        return f"http://{address_text(serving.host, serving.port)}"

    def _listen(self, address: str) -> str:
        """Serve there; why that cannot be, or ""."""
        try:
            listener = listen_at(address)
        except OSError as error:
            return (
                f"review.webhook.answer_listen: nothing can listen at {address} "
                f"({error.strerror}), so messages have no link to answer"
            )
        host, port = listener.getsockname()[:2]
        server = AnswerServer(self._app, listener)
        server.start()
        self._serving = _Serving(address, host, port, server)
        return ""

    def _close(self) -> None:
        serving, self._serving = self._serving, None
        if serving is not None:
            serving.server.stop()


def _place_of(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    here = "127.0.0.1" if host == "localhost" else host
    return here, parts.port or _PORTS[parts.scheme]
