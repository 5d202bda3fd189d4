"""Who may send a body: nothing of one is taken before that is known."""

from mitmproxy import http

from redlane.proxy.answers import refusal_response
from redlane.proxy.judge import Judge
from redlane.proxy.keeping import ASKER
from redlane.wire.question import Origin

__all__ = ["Admitting"]


class Admitting:
    """The hook about requests with a body, for mitmproxy."""

    def __init__(self, judge: Judge) -> None:
        """Ask `judge`."""
        self._judge = judge

    async def request_body(self, flow: http.HTTPFlow) -> None:
        """Answer those whose credentials are nobody's."""
        asker: Origin = flow.metadata[ASKER]
        answer = await self._judge.who(asker)
        if answer.blocked:
            flow.response = refusal_response(answer)
