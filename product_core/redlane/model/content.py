"""What is judged: one piece of traffic of one context, and the texts to match.

A policy does not always see just the bytes as given. A Block on a shell command also
sees the commands inside it, an MCP call is seen as JSON and as each string value. A
`Content` answers which texts a policy sees, from the policy's action and from how its
match type reads.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from redlane.model.policy import Action, Context

__all__ = [
    "Content",
    "Reader",
    "ShellCommand",
    "SystemCall",
    "TextContent",
    "ToolCall",
    "readable",
]


class Reader(StrEnum):
    """How a match type reads content, which decides what texts it is shown.

    A PATTERN is cheap, says the same of the same text, and is shown every text; a
    CHECKER starts a process or a model, so it is shown whole command strings only, and
    may fail.
    """

    PATTERN = "pattern"
    CHECKER = "checker"


@dataclass(frozen=True, slots=True)
class ShellCommand:
    """A simple command of a shell text: the variables it assigns, and its words.

    Quotes are removed; what is not known before it runs stands as written (`$x`). A
    `for` over a variable assigns it too, and has no words. `in_script`: it stands in a
    script file, and nowhere in what was typed.
    """

    words: tuple[str, ...] = ()
    assigned: tuple[str, ...] = ()
    in_script: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """An MCP `tools/call` (policy format: McpTool)."""

    server: str
    tool: str
    arguments: Mapping[str, object] = field(
        default_factory=lambda: MappingProxyType({})
    )


@dataclass(frozen=True, slots=True)
class SystemCall:
    """An intercepted system call; a path of None could not be read.

    `paths` holds every candidate, literal and canonical; `details` what else a checker
    is told (args, pid, ppid, command, session). `changed` are the true paths of what it
    would make, change or remove.
    """

    name: str
    paths: tuple[str | None, ...] = ()
    details: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    changed: tuple[str | None, ...] = ()


def readable(data: bytes) -> bytes:
    """`data` as valid UTF-8, what is not decoded with replacement.

    Raw bytes would slip past `.` in a regular expression, so every pattern sees text.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode(errors="replace").encode()
    return data


class Content(ABC):
    """One piece of traffic to judge."""

    __slots__ = ()

    context: Context
    data: bytes
    """The content exactly as it came."""

    @property
    def history(self) -> bytes:
        """What the same shell has run, and that decides what this does."""
        return b""

    @property
    def call(self) -> ToolCall | None:
        """The tool call, in context Mcp."""
        return None

    @property
    def problem(self) -> str | None:
        """Why not all of it can be shown to policies; such content is a Block.

        Unless an Allow matches: that acts on the content as it came.
        """
        return None

    @property
    def commands(self) -> tuple[ShellCommand, ...]:
        """Every simple command, however wrapped, in context Shell."""
        return ()

    @property
    def each_command(self) -> tuple[bytes, ...] | None:
        """What an Allow has to match one by one if it is to match each command.

        The commands of a shell text, what they set and where they are redirected, in
        context Shell; None where not all of that is known.
        """
        return None

    @property
    def frame(self) -> "Content | None":
        """What an agent put around the commands of `each_command`, in context Shell.

        To be judged by itself: no Allow of a command is about that.
        """
        return None

    @property
    def unknown_words(self) -> int:
        """How many words of scripts are known only when they run, in context Shell.

        Counted as far as policies have looked.
        """
        return 0

    @property
    def is_open(self) -> bool:
        """Whether more may run than policies were shown, in context Shell."""
        return False

    @property
    def runs_files(self) -> bool:
        """Whether text of files runs that was shown to policies, in context Shell.

        Others may lie there by the time that a shell opens them.
        """
        return False

    @property
    def rests_on_text(self) -> bool:
        """Whether it reads so whatever files there are, in context Shell.

        But for the programs that its lines begin with, which have to be the same.
        """
        return False

    @property
    def extracted(self) -> tuple[bytes, ...] | None:
        """The text that was extracted, in context Inbound; none in a picture."""
        return None

    @property
    def system_call(self) -> SystemCall | None:
        """The system call, in context Syscall."""
        return None

    @abstractmethod
    def views(self, action: Action, reader: Reader) -> tuple[bytes, ...]:
        """The texts that policies of `action` see; a match on any is a match.

        PATTERN readers get valid UTF-8; CHECKER readers get bytes as they came.
        """

    @abstractmethod
    def rewritten(self, change: Callable[[bytes], bytes]) -> "Content":
        """The content after a Modify has put `change` to what it may rewrite."""

    def rewritten_beside_credentials(
        self, change: Callable[[bytes], bytes]
    ) -> "Content":
        """The same, but for what a request is authorized by, in context Network."""
        return self.rewritten(change)

    def without_credentials(self) -> "Content":
        """The content without what a request is authorized by, in context Network."""
        return self


@dataclass(frozen=True, slots=True)
class TextContent(Content):
    """Plain text: every policy sees the whole of it."""

    context: Context
    data: bytes

    def views(self, action: Action, reader: Reader) -> tuple[bytes, ...]:  # noqa: ARG002
        """The whole text, decoded for patterns, as it came for checkers."""
        return (readable(self.data) if reader is Reader.PATTERN else self.data,)

    def rewritten(self, change: Callable[[bytes], bytes]) -> "TextContent":
        """The same text, changed."""
        return TextContent(self.context, change(self.data))
