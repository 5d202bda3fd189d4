"""Operations: what each method of each path takes, answers and refuses, as data.

A resource is a class whose methods carry `@operation`; the routes, the checks in front
of a method and the OpenAPI document are all made from these declarations.
"""

import enum
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from redlane_hub.model import Account

__all__ = [
    "OPERATION_KEY",
    "Access",
    "Bound",
    "Call",
    "Link",
    "Operation",
    "Raw",
    "Sent",
    "operation",
    "operations_of",
]

OPERATION_KEY = "redlane_hub.operation"
"""Where the WSGI environment holds the title of the operation that was asked for."""

Body = TypeVar("Body")
Query = TypeVar("Query")
Handler = TypeVar("Handler", bound=Callable[..., Any])


class Access(enum.Enum):
    """Who may call, and what a handler learns of it (hub API: Authentication)."""

    ANYONE = enum.auto()
    """A token is ignored."""
    OPTIONAL = enum.auto()
    """A valid token gives `viewer_id`; an invalid one is as none."""
    ACCOUNT = enum.auto()
    """A valid token of a living account, or 401."""
    PLACEHOLDER = enum.auto()
    """As ACCOUNT; also open to accounts that have still to set a real address."""
    APPROVED = enum.auto()
    """As ACCOUNT, and approved, or 403."""


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer whose bytes are ready; `headers` are added to the usual ones."""

    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int | None = None


@dataclass(frozen=True, slots=True)
class Sent:
    """A body as it came, of any media type; as `body=Sent` where no form is read.

    The names of `headers` are in lower case.
    """

    data: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Call(Generic[Body, Query]):
    """One request as a handler sees it: parsed, authenticated, its ids well formed.

    `head` is set where only the headers of the answer are asked for: nothing is
    fetched then, so nothing counts as a download.
    """

    body: Body
    query: Query
    path: Mapping[str, str]
    viewer_id: str | None = None
    caller: Account | None = None
    head: bool = False

    @property
    def account(self) -> Account:
        """The caller, where the operation's access guarantees one."""
        if self.caller is None:
            raise LookupError("an operation that is open to anyone asked who calls")
        return self.caller


@dataclass(frozen=True, slots=True)
class Link:
    """What can be done next with an answer: an operation, and where its values are.

    `operation` is the name of its handler; `values` maps its path's names to the fields
    of the answer that they come from.
    """

    operation: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Operation:
    """The declaration of one operation.

    `path` has the specification's names: `{artifact_id}`, `{user_id}` and
    `{endorsement_id}` are UUIDs, checked before everything else; other segments are
    texts. `body`, `query` and `returns` are forms (`wire.forms`); `body` may be `Sent`
    and `returns` a `tuple[Form, ...]`. `errors` are the statuses besides 401, 403, 429
    and 500 that access implies. A body holds few values unless `takes_many_values`:
    each costs many times its bytes, and most operations are open to whoever registers.
    What is `quick` reads a row or two, whoever asks for whatever: the thread that reads
    all connections answers it by itself.
    """

    method: str
    path: str
    access: Access
    summary: str
    status: int = 200
    body: Any = None
    query: Any = None
    returns: Any = None
    errors: tuple[int, ...] = ()
    tag: str = "artifacts"
    links: tuple[Link, ...] = ()
    takes_many_values: bool = False
    quick: bool = False

    @property
    def title(self) -> str:
        """What logs and metrics call it: the method and the path."""
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True)
class Bound:
    """An operation and the handler that does it."""

    declared: Operation
    handler: Callable[[Call[Any, Any]], Any]


_MARK = "__redlane_hub_operation__"


def operation(declared: Operation) -> Callable[[Handler], Handler]:
    """Declare the decorated method as the handler of an operation."""

    def mark(handler: Handler) -> Handler:
        setattr(handler, _MARK, declared)
        return handler

    return mark


def operations_of(resource: object) -> Iterator[Bound]:
    """The operations of a resource, in the order in which its class names them."""
    for name in vars(type(resource)):
        handler = getattr(resource, name)
        declared = getattr(handler, _MARK, None)
        if isinstance(declared, Operation):
            yield Bound(declared, handler)
