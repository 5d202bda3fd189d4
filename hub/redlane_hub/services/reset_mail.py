"""The worker: sends the mails of the queue, from a thread of its own.

A request is answered before anything is looked up, so that neither the answer nor its
time tells whether an address is registered (hub API: Password reset).
"""

import logging
import threading

from redlane_hub.clock import Clock
from redlane_hub.mail import Mailer, MailError, MailRefusedError
from redlane_hub.services.reset_queue import TOKEN_LIFETIME, Letter, ResetQueue
from redlane_hub.store.database import Database

__all__ = ["POLL_SECONDS", "STOP_SECONDS", "ResetMailWorker"]

POLL_SECONDS = 2.0
"""How often the queue is looked at without being woken: other processes fill it too."""

STOP_SECONDS = 5.0
"""How long `stop` waits for a mail that is being sent."""

_SHORTEST_PAUSE = 0.05

_SUBJECT = "Reset your Redlane password"
_TEXT = """\
Somebody asked to reset the password of your account at
{base_url}

If it was you, choose a new password here within {minutes} minutes:

{link}

The link works once, and only the newest one works. If it was not you, do
nothing: your password stays as it is.
"""

_log = logging.getLogger(__name__)


class ResetMailWorker:
    """Sends reset mails in the background; one for each process."""

    def __init__(
        self, database: Database, clock: Clock, mailer: Mailer, base_url: str
    ) -> None:
        self._database = database
        self._queue = ResetQueue(database, clock)
        self._mailer = mailer
        self._base_url = base_url
        self._bell = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to send, with what waits from before."""
        self._thread = threading.Thread(
            target=self._work, name="reset-worker", daemon=True
        )
        self._thread.start()

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Send no more; a mail that takes too long may be sent again after a start."""
        self._stopping.set()
        self._bell.set()
        if self._thread is not None:
            self._thread.join(seconds)

    def wake(self) -> None:
        """Look at the queue at once."""
        self._bell.set()

    def deliver_due(self) -> None:
        """Send every mail that is due."""
        while not self._stopping.is_set():
            letter = self._queue.take()
            if letter is None:
                return
            self._deliver(letter)

    def _work(self) -> None:
        while not self._stopping.is_set():
            self._bell.clear()
            self._bell.wait(self._round())
        self._database.close()

    def _round(self) -> float:
        """Send what is due; how many seconds to wait for the next round.

        The boundary: resets must not end with the first failure that nobody foresaw.
        The request that failed comes back when its lease is over, until it is too old.
        """
        try:
            self.deliver_due()
            seconds = self._queue.seconds_until_due()
        except Exception:  # noqa: BLE001  # the boundary, see above
            _log.exception("The password reset mails failed; they go on.")
            return POLL_SECONDS
        if seconds is None:
            return POLL_SECONDS
        return min(max(seconds, _SHORTEST_PAUSE), POLL_SECONDS)

    def _deliver(self, letter: Letter) -> None:
        details: dict[str, object] = {"attempts": letter.request.attempts}
        try:
            self._mailer.send(letter.to, _SUBJECT, self._text(letter.token))
        except MailRefusedError as error:
            self._queue.sent(letter)
            details["reason"] = str(error)
            _log.warning("A password reset mail was refused for good.", extra=details)
        except MailError as error:
            details["reason"] = str(error)
            if self._queue.retry(letter):
                _log.warning(
                    "A password reset mail could not be sent; it is tried again.",
                    extra=details,
                )
            else:
                _log.error(
                    "A password reset mail was given up: none could be sent in a day.",
                    extra=details,
                )
        else:
            self._queue.sent(letter)

    def _text(self, token: str) -> str:
        return _TEXT.format(
            base_url=self._base_url,
            minutes=round(TOKEN_LIFETIME.total_seconds() / 60),
            link=f"{self._base_url}/reset-password?token={token}",
        )
