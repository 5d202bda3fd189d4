"""What the proxy asks about: a request, a response, or the call of a tool in one."""

from collections.abc import Sequence

from redlane.contexts.inbound.content import InboundContent
from redlane.contexts.mcp.content import ToolCallContent
from redlane.contexts.network.content import NetworkContent
from redlane.errors import ContentError
from redlane.model.content import Content
from redlane.model.policy import Context

__all__ = ["traffic_content"]


def traffic_content(
    context: Context, data: bytes, texts: Sequence[bytes], problem: str = ""
) -> Content:
    """Content of Network, Inbound or Mcp, with the texts that the proxy has found.

    Nothing is looked for here: strangers' bytes are not for the daemon to take apart.
    `problem` says why the texts are not all, or is empty. Raises ContentError.
    """
    match context:
        case Context.NETWORK if problem:
            return _PartlyRead(data, texts, problem)
        case Context.NETWORK:
            return NetworkContent(data, texts)
        case Context.INBOUND:
            return InboundContent(data, texts)
        case Context.MCP:
            return ToolCallContent.from_json(data)
        case _:
            raise ContentError(f"the proxy has nothing of context {context}")


class _PartlyRead(NetworkContent):
    """A request in which there is more than could be looked at."""

    __slots__ = ("_problem",)

    def __init__(self, data: bytes, texts: Sequence[bytes], problem: str) -> None:
        super().__init__(data, texts)
        self._problem = problem

    @property
    def problem(self) -> str:
        return self._problem
