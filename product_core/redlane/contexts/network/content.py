"""A request as content: what policies of each action see of it.

Allow and Modify act on the request as it is. Block and Flag also see its request line
in other spellings and the texts inside its body, so that no encoding hides either.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from redlane.contexts.network.credentials import (
    beside_credentials,
    without_credentials,
)
from redlane.contexts.network.request import (
    Request,
    RequestLine,
    read_request,
    write_request,
)
from redlane.contexts.network.spellings import spellings
from redlane.decoding.body_texts import BodyTexts, texts_inside, texts_of_values
from redlane.errors import ContentError
from redlane.model.content import Content, Reader, readable
from redlane.model.policy import Action, Context

__all__ = ["NetworkContent", "Request", "RequestLine"]

_OUTER = (Action.ALLOW, Action.MODIFY)
_SEGMENT = re.compile(rb"[/;:@#]+")
_MOST_SEGMENTS = 256
_FORM = "application/x-www-form-urlencoded"


class NetworkContent(Content):
    """A request; its further texts are worked out when a Block or Flag asks.

    Whoever has worked them out gives them. `addresses` are those that the host's name
    leads to; `content_type` is what the body is called, for headers that are not shown.
    """

    __slots__ = ("_addresses", "_content_type", "_found", "context", "data")

    def __init__(
        self,
        data: bytes,
        texts: Sequence[bytes] | None = None,
        *,
        content_type: str = "",
        addresses: Sequence[str] = (),
    ) -> None:
        self.context = Context.NETWORK
        self.data = data
        self._found = None if texts is None else BodyTexts(tuple(texts))
        self._content_type = content_type
        self._addresses = tuple(addresses)

    @classmethod
    def of_request(
        cls,
        line: RequestLine,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        content_type: str = "",
        addresses: Sequence[str] = (),
    ) -> "NetworkContent":
        """The content of a request; `headers` are those that policies see."""
        data = write_request(line, headers, body)
        return cls(data, content_type=content_type, addresses=addresses)

    def __repr__(self) -> str:
        """What is judged; the texts come of it."""
        return f"NetworkContent({self.data!r})"

    @property
    def texts(self) -> tuple[bytes, ...]:
        """What Block and Flag see besides `data`."""
        return self._body_texts().texts

    @property
    def problem(self) -> str | None:
        """Why the texts are not all that is in the request, or None."""
        return self._body_texts().problem or None

    def request(self) -> Request:
        """The request that `data` is, which a Modify may have changed.

        Raises ContentError when it is none.
        """
        return read_request(self.data)

    def views(self, action: Action, reader: Reader) -> tuple[bytes, ...]:
        """The request as it is; for Block and Flag also what is inside it."""
        pattern = reader is Reader.PATTERN
        if action in _OUTER:
            return (readable(self.data) if pattern else self.data,)
        if pattern:
            given = (readable(self.data), *map(readable, self.texts))
            return tuple(dict.fromkeys(given))
        joined = b"\n".join(self.texts)
        return (self.data, joined) if joined else (self.data,)

    def rewritten(self, change: Callable[[bytes], bytes]) -> "NetworkContent":
        """Another request, whose texts are worked out anew."""
        return NetworkContent(
            change(self.data),
            content_type=self._content_type,
            addresses=self._addresses,
        )

    def rewritten_beside_credentials(
        self, change: Callable[[bytes], bytes]
    ) -> "NetworkContent":
        """Another request: its URL, headers and body changed, each by itself."""
        try:
            request = self.request()
        except ContentError:
            return self.rewritten(change)
        return self._with(beside_credentials(request, change))

    def without_credentials(self) -> "NetworkContent":
        """The request without headers for credentials and without a user in its URL."""
        try:
            return self._with(without_credentials(self.request()))
        except ContentError:
            return self

    def _with(self, request: Request) -> "NetworkContent":
        data = write_request(request.line, request.headers, request.body)
        return NetworkContent(
            data,
            content_type=self._content_type or self.request().content_type,
            addresses=self._addresses,
        )

    def _body_texts(self) -> BodyTexts:
        if self._found is None:
            found = tuple(self._all_texts())
            texts = [text for each in found for text in each.texts]
            problems = filter(None, (each.problem for each in found))
            self._found = BodyTexts(tuple(dict.fromkeys(texts)), next(problems, ""))
        return self._found

    def _all_texts(self) -> Iterator[BodyTexts]:
        """What is in the line, in the query, in the headers and in the body.

        What is no request is a body as a whole.
        """
        try:
            request = self.request()
        except ContentError:
            yield texts_inside(self.data, self._content_type)
            return
        line = request.line
        yield BodyTexts(tuple(self._lines(line)))
        target, _, query = line.url.partition(b"?")
        values = (value for _, value in request.headers)
        yield texts_of_values((*_SEGMENT.split(target, _MOST_SEGMENTS), *values))
        yield texts_inside(query, _FORM)
        yield texts_inside(request.body, self._content_type or request.content_type)

    def _lines(self, line: RequestLine) -> Iterator[bytes]:
        method, version = line.method.decode(errors="replace"), line.version.decode()
        url = line.url.decode(errors="replace")
        for spelling in spellings(method, url, self._addresses):
            yield f"{method} {spelling} {version}".encode("utf-8", "replace")
