"""Stripe's API, as far as the hub needs it: one call that opens a hosted checkout.

Whatever answers is not trusted: the call as a whole has a deadline, the answer a limit,
redirects are refused, and the address it gives must be one to send a browser to.
"""

import hashlib
import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from urllib.parse import urlencode, urlsplit

from redlane_hub.errors import InvalidInputError, PaymentError
from redlane_hub.settings import Settings
from redlane_hub.wire.strictjson import parse_json

__all__ = ["DEADLINE", "LARGEST_ANSWER", "Stripe"]

DEADLINE = 10.0
"""How many seconds a call may take, from the first packet to the last."""

LARGEST_ANSWER = 256 * 1024
"""How many bytes an answer may have."""

_SUCCESSES = frozenset({http.client.OK, http.client.CREATED})
_LONGEST_URL = 4096
_PATH = "/v1/checkout/sessions"


class Stripe:
    """Stripe, reached at `settings.payment_api_url` with the hub's key."""

    def __init__(self, settings: Settings, *, deadline: float = DEADLINE) -> None:
        self._api = urlsplit(settings.payment_api_url.rstrip("/"))
        self._key = settings.payment_api_key
        self._price = settings.payment_price
        self._pages = f"{settings.base_url}/checkout"
        self._deadline = deadline
        self.webhook_secret = settings.payment_webhook_secret

    @property
    def configured(self) -> bool:
        """Whether there is everything that a checkout needs."""
        return bool(self._api.netloc and self._key and self._price)

    def checkout_url(self, user_id: str, email: str, moment: datetime) -> str:
        """The address of a new hosted checkout, which will say that it is this user's.

        A second call within the minute gets the same one. Raises PaymentError.
        """
        if not self.configured:
            raise PaymentError("the payment provider is not configured")
        form = {
            "mode": "subscription",
            "client_reference_id": user_id,
            "customer_email": email,
            "line_items[0][price]": self._price,
            "line_items[0][quantity]": "1",
            "success_url": f"{self._pages}/success",
            "cancel_url": f"{self._pages}/cancel",
        }
        body = urlencode(form).encode()
        same = hashlib.sha256(b"%d %s" % (moment.timestamp() // 60, body)).hexdigest()
        return self._url_of(self._posted(body, same))

    def _posted(self, body: bytes, idempotency_key: str) -> bytes:
        headers = {
            "Authorization": f"Bearer {self._key}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Idempotency-Key": idempotency_key,
            "Accept": "application/json",
            "Connection": "close",
        }
        try:
            with self._connected() as connection:
                connection.request("POST", self._api.path + _PATH, body, headers)
                # The answer holds the connection open when it was not read to its end.
                with closing(connection.getresponse()) as answer:
                    data = answer.read(LARGEST_ANSWER + 1)
        except (OSError, http.client.HTTPException, ValueError) as error:
            # What it says may hold the key or an address.
            raise PaymentError(
                f"the payment provider cannot be asked ({type(error).__name__})"
            ) from None
        if answer.status not in _SUCCESSES:
            raise PaymentError(f"the payment provider answered {answer.status}")
        if len(data) > LARGEST_ANSWER:
            raise PaymentError("the payment provider's answer is too large")
        return data

    @contextmanager
    def _connected(self) -> Iterator[http.client.HTTPConnection]:
        """A connection that is cut off at the deadline, whatever it is doing then."""
        secure = self._api.scheme == "https"
        host = self._api.hostname or ""
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(host, self._api.port)
        address = (host, connection.port)
        raw = socket.create_connection(address, timeout=self._deadline)
        with closing(connection), _cut_off(raw, self._deadline):
            connection.sock = raw
            if secure:
                context = ssl.create_default_context()
                connection.sock = context.wrap_socket(raw, server_hostname=host)
            yield connection

    def _url_of(self, data: bytes) -> str:
        try:
            value = parse_json(data)
        except InvalidInputError:
            value = None
        url = value.get("url") if isinstance(value, dict) else None
        if not isinstance(url, str) or not self._leads_to_a_checkout(url):
            raise PaymentError("the payment provider's answer holds no usable address")
        return url

    def _leads_to_a_checkout(self, url: str) -> bool:
        """Whether it is https, or as plain as the API's own, and means one thing only.

        A provider for trying things out has plain addresses throughout.
        """
        printable = url.isascii() and url.isprintable() and not set(url) & set(' "<>\\')
        if len(url) > _LONGEST_URL or not printable:
            return False
        try:
            found = urlsplit(url)
            schemes = {"https", self._api.scheme}
            # Asked for the port, it refuses one that cannot be.
            return found.scheme in schemes and bool(found.hostname) and found.port != 0
        except ValueError:
            return False


@contextmanager
def _cut_off(connected: socket.socket, seconds: float) -> Iterator[None]:
    """Shut the connection down after so many seconds, unless the block ends before.

    A timeout on the socket alone starts anew with every byte that drips in.
    """
    with connected.dup() as same:
        timer = threading.Timer(seconds, _shut_down, (same,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()


def _shut_down(connected: socket.socket) -> None:
    try:
        connected.shutdown(socket.SHUT_RDWR)
    except OSError:
        return
