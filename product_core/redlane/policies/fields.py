"""The one table of what policies, transforms and roles are made of.

Loader, JSON Schemas and messages are all derived from these rows (policy format:
Policy, Transform, Role).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from redlane.model.field import Field, Kind
from redlane.model.policy import Action, Context, Scope, TransformType
from redlane.policies.syscall_names import SYSCALL_NAMES

__all__ = [
    "CONDITIONS",
    "FORMAT_TYPES",
    "LEGACY",
    "POLICY",
    "ROLE",
    "TRANSFORM",
    "TRANSFORM_CONDITIONS",
    "Condition",
    "Table",
]

Table = Mapping[str, Field]
"""Fields by name."""

FORMAT_TYPES = ("Simple", "Regex", "Executable", "McpTool", "MlClassifier")
"""The match types of the policy format; plugins may add others."""

_CLASSIFIER = ("MlClassifier",)
_TOOL = ("McpTool",)


@dataclass(frozen=True, slots=True)
class Condition:
    """A rule that joins fields: when it applies, one of `needs` must be given.

    It applies when each field of `when` has one of its values (an absent one counts as
    its default) and `given`, if set, is given. With no `needs` that is an error itself.
    """

    message: str
    when: Mapping[str, tuple[str, ...]]
    needs: tuple[str, ...] = ()
    given: str = ""


def _table(*fields: Field) -> Table:
    common = (
        Field("description", Kind.STRING, "what it is for"),
        Field("reason", Kind.STRING, "what a person is told when it applies"),
        Field("suggestion", Kind.STRING, "what to do instead"),
        Field(
            "tests", Kind.ANY, "what it must match, and what not; redlane test runs it"
        ),
        Field("tags", Kind.STRINGS, "words to search by"),
        Field("$schema", Kind.STRING, "the JSON Schema that an editor checks it by"),
    )
    return MappingProxyType({field.name: field for field in (*fields, *common)})


POLICY = _table(
    Field("id", Kind.NAME, "unique name; roles refer to it", required=True),
    Field(
        "type",
        Kind.NAME,
        f"how it matches: {', '.join(FORMAT_TYPES)}, or a plugin's type",
        required=True,
    ),
    Field(
        "action",
        Kind.STRING,
        "what a match does",
        required=True,
        choices=tuple(each.value for each in Action),
    ),
    Field(
        "context",
        Kind.STRING,
        "what traffic it sees",
        choices=tuple(each.value for each in Context),
        default=Context.ALL,
    ),
    Field(
        "pattern",
        Kind.STRING,
        "Simple: a substring; Regex: a regular expression; Executable: a command line",
        types=("Simple", "Regex", "Executable"),
    ),
    Field(
        "kill",
        Kind.BOOLEAN,
        "context Syscall: kill the process instead of returning EPERM",
        default=False,
    ),
    Field(
        "syscall",
        Kind.STRING_OR_STRINGS,
        "context Syscall: the system calls it is about",
        choices=tuple(sorted(SYSCALL_NAMES)),
    ),
    Field("transform", Kind.OBJECT, "how a Modify rewrites the content"),
    Field(
        "scope",
        Kind.STRING,
        "what an Allow in context Shell has to match to count: the content, or each "
        "command that is found in it",
        choices=tuple(each.value for each in Scope),
        default=Scope.CONTENT,
    ),
    Field("server", Kind.NAME, "the MCP server's name; any when absent", types=_TOOL),
    Field("tool", Kind.NAME, "the MCP tool's name; any when absent", types=_TOOL),
    Field("model", Kind.NAME, "the installed classifier model", types=_CLASSIFIER),
    Field(
        "block_threshold",
        Kind.NUMBER,
        "block at this score or above",
        types=_CLASSIFIER,
    ),
    Field(
        "flag_threshold",
        Kind.NUMBER,
        "flag at this score or above",
        types=_CLASSIFIER,
    ),
)

TRANSFORM = _table(
    Field(
        "type",
        Kind.STRING,
        "how it rewrites",
        required=True,
        choices=tuple(each.value for each in TransformType),
    ),
    Field(
        "pattern",
        Kind.STRING,
        "the regular expression whose every match is replaced",
        types=(TransformType.REGEX,),
    ),
    Field(
        "replacement",
        Kind.STRING,
        "what replaces it ($1, ${name}; $$ is a dollar); empty or absent strips",
        types=(TransformType.REGEX,),
    ),
    Field(
        "blocks_encoded",
        Kind.BOOLEAN,
        "block what it would change in texts that are encoded, which it cannot rewrite",
        types=(TransformType.REGEX,),
        default=False,
    ),
    Field(
        "spares_credentials",
        Kind.BOOLEAN,
        "leave what a request is authorized by: headers for that, and the URL's user",
        types=(TransformType.REGEX,),
        default=False,
    ),
    Field(
        "command",
        Kind.STRING,
        "the command that rewrites standard input to standard output",
        types=(TransformType.EXECUTABLE,),
    ),
)

ROLE = _table(
    Field("name", Kind.NAME, "the name that --role takes", required=True),
    Field(
        "policies",
        Kind.STRINGS,
        "the ids of the policies it activates",
        required=True,
    ),
    Field(
        "extends",
        Kind.STRING_OR_STRINGS,
        "the roles that it extends: `policies` adds to theirs, and a name with `-` in "
        "front takes away",
    ),
    Field(
        "is_dynamic",
        Kind.BOOLEAN,
        "reserved for computed membership",
        default=False,
    ),
    Field(
        "namespaces",
        Kind.STRING,
        "whether sessions whose system calls are judged may enter new namespaces, as "
        "sandboxes do",
        choices=("deny", "allow"),
        default="deny",
    ),
    Field(
        "ebpf",
        Kind.BOOLEAN,
        "hold system calls by eBPF programs as well, where the machine can",
        default=False,
    ),
    Field(
        "freeze_on_flag",
        Kind.BOOLEAN,
        "freeze a session as long as something of it is held",
        default=False,
    ),
    Field(
        "writable",
        Kind.STRINGS,
        "the only places where sessions may change files: paths, `~`, `.`, `@work`, "
        "`@temporary`, `@caches`, `@agents`, `@histories`; with `!` in front, a place "
        "within that they may not",
    ),
    Field(
        "hidden",
        Kind.STRINGS,
        "places that sessions may not read: paths, `~`, `.`, `@keys`, `@cloud`, "
        "`@tokens`, `@browsers`, `@passwords`, and sockets that they may not connect "
        "to: `@services`; with `!` in front, a place within that they may",
    ),
    Field(
        "egress",
        Kind.STRING,
        "whether sessions reach other machines past the proxy; left out, `proxy` for a "
        "role with policies of the contexts Network, Inbound or Mcp, else `any`",
        choices=("any", "proxy"),
    ),
    Field(
        "boundary",
        Kind.STRING,
        "whether sessions start where the kernel does not hold all of the boundary",
        choices=("any", "whole"),
        default="any",
    ),
)

LEGACY = _table(
    Field("policies", Kind.ANY, "a policy or an array of policies"),
    Field("roles", Kind.ANY, "a role or an array of roles"),
)
"""The object form of the legacy file."""

_TEXTUAL = tuple(each for each in Context if each is not Context.SYSCALL)

CONDITIONS = (
    Condition(
        "{type} policies need `pattern`",
        {"type": ("Regex", "Executable")},
        needs=("pattern",),
    ),
    Condition(
        "Simple policies need `pattern`",
        {"type": ("Simple",), "context": _TEXTUAL},
        needs=("pattern",),
    ),
    Condition(
        "Simple policies in context Syscall need `syscall`, or `pattern` with the name "
        "of the system call",
        {"type": ("Simple",), "context": (Context.SYSCALL,)},
        needs=("pattern", "syscall"),
    ),
    Condition(
        "{type} policies in context Syscall need `syscall`",
        {"type": ("Regex", "Executable"), "context": (Context.SYSCALL,)},
        needs=("syscall",),
    ),
    Condition(
        "McpTool policies need `server` or `tool`, or both",
        {"type": _TOOL},
        needs=("server", "tool"),
    ),
    Condition("MlClassifier policies need `model`", {"type": _CLASSIFIER}, ("model",)),
    Condition(
        "MlClassifier policies cannot have action Allow: a score is no permission",
        {"type": _CLASSIFIER, "action": (Action.ALLOW,)},
    ),
    Condition(
        "MlClassifier does not support context {context}: "
        "use Shell, Network, Inbound or All",
        {"type": _CLASSIFIER, "context": (Context.SYSCALL, Context.MCP)},
    ),
    Condition(
        "Modify policies need `transform`",
        {"action": (Action.MODIFY,)},
        needs=("transform",),
    ),
    Condition(
        "a system call cannot be rewritten: action Modify has no context Syscall",
        {"action": (Action.MODIFY,), "context": (Context.SYSCALL,)},
    ),
    Condition(
        "a system call cannot be rewritten: remove `syscall` from this Modify",
        {"action": (Action.MODIFY,), "context": _TEXTUAL},
        given="syscall",
    ),
)
"""What must hold between the fields of a policy."""

TRANSFORM_CONDITIONS = (
    Condition(
        "Regex transforms need `pattern`",
        {"type": (TransformType.REGEX,)},
        needs=("pattern",),
    ),
    Condition(
        "Executable transforms need `command`",
        {"type": (TransformType.EXECUTABLE,)},
        needs=("command",),
    ),
)
"""What must hold between the fields of a transform."""
