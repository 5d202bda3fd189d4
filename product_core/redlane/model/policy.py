"""Policies and roles as values (policy format: Policy, Transform, Role)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

__all__ = [
    "TEXT_CONTEXTS",
    "Action",
    "Context",
    "Policy",
    "Role",
    "Scope",
    "Transform",
    "TransformType",
]


class Context(StrEnum):
    """Where content comes from (policy format: Contexts)."""

    SHELL = "Shell"
    NETWORK = "Network"
    SYSCALL = "Syscall"
    MCP = "Mcp"
    INBOUND = "Inbound"
    ALL = "All"


TEXT_CONTEXTS = (Context.SHELL, Context.NETWORK, Context.INBOUND)
"""The contexts whose content is plain text."""


class Action(StrEnum):
    """What a matching policy asks for (policy format: Actions)."""

    BLOCK = "Block"
    FLAG = "Flag"
    ALLOW = "Allow"
    MODIFY = "Modify"


class Scope(StrEnum):
    """What an Allow has to match to count: the content, or each command found in it."""

    CONTENT = "content"
    EACH = "each"


class TransformType(StrEnum):
    """How a Modify rewrites content (policy format: Transform)."""

    REGEX = "Regex"
    EXECUTABLE = "Executable"


@dataclass(frozen=True, slots=True)
class Transform:
    """The rewrite of a Modify policy: `pattern` and `replacement`, or `command`.

    `blocks_encoded`: what it would change in texts inside that cannot be rewritten,
    since they are encoded, is a Block. `spares_credentials`: those of a request, which
    it is authorized by, are neither changed nor looked into.
    """

    type: TransformType
    pattern: str = ""
    replacement: str = ""
    command: str = ""
    blocks_encoded: bool = False
    spares_credentials: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """One rule, as loaded: all fields of the policy format, absent ones as None.

    `order` is its place in load order (file name bytewise, then position); "first
    match" means the lowest. `options` holds the fields that only its match type knows.
    """

    id: str
    type: str
    action: Action
    context: Context = Context.ALL
    order: int = 0
    source: str = ""
    pattern: str | None = None
    kill: bool = False
    syscalls: tuple[str, ...] = ()
    transform: Transform | None = None
    server: str | None = None
    tool: str | None = None
    model: str | None = None
    block_threshold: float | None = None
    flag_threshold: float | None = None
    description: str | None = None
    reason: str | None = None
    suggestion: str | None = None
    tags: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    scope: Scope = Scope.CONTENT


@dataclass(frozen=True, slots=True)
class Role:
    """A named choice of policies; order in the list does not matter.

    `namespaces`: its sessions may enter new namespaces. `ebpf`: what can be is held by
    eBPF programs as well. Both are about sessions whose system calls are judged.
    `writable`: the only places where its sessions may change files; None: any.
    `hidden`: places that they may not read, but by the programs that own them.
    `leaves_by_proxy`: by nothing else do they leave this machine; None: it does not
    say, and they leave so where requests are judged.
    `wants_whole_boundary`: they start where the kernel holds all of it, or not at all.
    `freeze_on_flag`: they are frozen as long as something of them is held.
    `extends`: the roles whose policies it has besides, and whose fields but for those
    that are `given`.
    """

    name: str
    policies: tuple[str, ...]
    is_dynamic: bool = False
    namespaces: bool = False
    ebpf: bool = False
    writable: tuple[str, ...] | None = None
    hidden: tuple[str, ...] = ()
    leaves_by_proxy: bool | None = None
    wants_whole_boundary: bool = False
    freeze_on_flag: bool = False
    extends: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()
    description: str | None = None
    source: str = ""

    @property
    def is_bound(self) -> bool:
        """Whether it tells where its sessions may write or read."""
        return self.writable is not None or bool(self.hidden)

    @property
    def is_held_by_run(self) -> bool:
        """Whether `redlane-run` holds its sessions to anything, or a guard."""
        return self.is_bound or bool(self.leaves_by_proxy)
