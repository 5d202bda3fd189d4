"""What comes back as content: the body, and the text that a model could read in it."""

from collections.abc import Callable, Sequence

from redlane.decoding.charsets import to_utf8
from redlane.decoding.extraction import extracted
from redlane.decoding.sniffing import sniff
from redlane.model.content import Content, Reader, readable
from redlane.model.policy import Action, Context

__all__ = ["InboundContent"]


class InboundContent(Content):
    """A body, decoded; its text is extracted when a policy asks, unless it is given."""

    __slots__ = ("_texts", "context", "data")

    def __init__(
        self,
        data: bytes,
        texts: Sequence[bytes] | None = None,
        content_type: str = "",
    ) -> None:
        """Take a body; without `texts`, it may be in the charset of `content_type`."""
        self.context = Context.INBOUND
        self.data = data if texts is not None else to_utf8(data, content_type)[0]
        self._texts = None if texts is None else tuple(texts)

    def __repr__(self) -> str:
        """The arguments that made it."""
        return f"InboundContent({self.data!r}, {self._texts!r})"

    @property
    def texts(self) -> tuple[bytes, ...]:
        """The extracted text, and what is hidden in it; none in a binary body."""
        if self._texts is None:
            self._texts = extracted(self.data, sniff(self.data))
        return self._texts

    @property
    def extracted(self) -> tuple[bytes, ...]:
        """The same: what classifiers score."""
        return self.texts

    def views(self, action: Action, reader: Reader) -> tuple[bytes, ...]:
        """The body and its text; an Allow sees the text alone, a Modify the body.

        What holds no text is its own: an Allow of everything allows a picture too.
        """
        pattern = reader is Reader.PATTERN
        data = readable(self.data) if pattern else self.data
        if action is Action.MODIFY:
            return (data,)
        joined = b"\n".join(self.texts)
        if action is Action.ALLOW:
            return (joined or data,)
        if not pattern:
            return (data, joined) if joined and joined != data else (data,)
        return tuple(dict.fromkeys((data, *map(readable, self.texts))))

    def rewritten(self, change: Callable[[bytes], bytes]) -> "InboundContent":
        """Another body, whose text is extracted anew."""
        made = change(self.data)  # UTF-8, whatever a page says of itself
        return InboundContent(made, extracted(made, sniff(made)))
