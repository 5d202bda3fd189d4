"""Bytes to content, for `redlane validate` and the control API."""

from redlane.contexts.mcp.content import ToolCallContent
from redlane.contexts.shell.content import ShellContent
from redlane.contexts.shell.expansion.disk import OWN_DISK, Disk
from redlane.contexts.syscall.content import SystemCallContent
from redlane.errors import ContentError
from redlane.model.content import Content
from redlane.model.policy import TEXT_CONTEXTS, Context

__all__ = ["parse_content", "parse_contents"]


def parse_content(
    context: Context, data: bytes, cwd: str | None = None, disk: Disk = OWN_DISK
) -> Content:
    """`data` as content of one context; `cwd` is where a shell command would run.

    On `disk` are the scripts that it names.

    Raises ContentError when it does not have the form that the context needs.
    """
    match context:
        case Context.MCP:
            return ToolCallContent.from_json(data)
        case Context.SYSCALL:
            return SystemCallContent.from_json(data)
        case Context.ALL:
            raise ContentError("context All stands for several contents")
        case Context.SHELL:
            return ShellContent(data, cwd=cwd, disk=disk)
        case Context.NETWORK:
            from redlane.contexts.network.content import NetworkContent  # noqa: PLC0415  # decoders take time to load

            return NetworkContent(data)
        case Context.INBOUND:
            from redlane.contexts.inbound.content import InboundContent  # noqa: PLC0415  # as above

            return InboundContent(data)


def parse_contents(
    context: Context, data: bytes, cwd: str | None = None, disk: Disk = OWN_DISK
) -> tuple[Content, ...]:
    """`data` as content of `context`; in context All as every text context sees it."""
    contexts = TEXT_CONTEXTS if context is Context.ALL else (context,)
    return tuple(parse_content(each, data, cwd, disk) for each in contexts)
