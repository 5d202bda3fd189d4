"""What a hub answers, as values (hub API: Resources and their fields).

Fields that are not known here are left out, so that a newer hub can be asked; one that
is missing or of another type is nonsense.
"""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from redlane.hubclient.errors import HubUnavailableError

__all__ = [
    "Account",
    "Artifact",
    "Dependency",
    "Endorsement",
    "Login",
    "Members",
    "NewEmail",
    "Published",
    "Registered",
    "Release",
    "Resolution",
    "Resolved",
    "SearchPage",
    "SigningKey",
    "Subscription",
    "Summary",
    "read",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Registered:
    """A new account, which has no token yet."""

    id: str
    email: str


@dataclass(frozen=True, slots=True)
class Login:
    """A bearer token, good for 30 days, and whose it is."""

    token: str = field(repr=False)
    email: str
    is_endorsed: bool
    require_email_update: bool


@dataclass(frozen=True, slots=True)
class NewEmail:
    """The address of an account after it was changed, and a token that tells it."""

    email: str
    token: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Account:
    """An account; `is_approved`: it may publish, `is_endorsed`: it is recognised."""

    id: str
    email: str
    is_endorsed: bool
    is_approved: bool
    created_at: str


@dataclass(frozen=True, slots=True)
class Subscription:
    """A signed status; `expires_at` is in seconds since 1970."""

    status: str
    updated_at: str | None
    subscription_id: str | None
    expires_at: int
    signature: str


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A public key, by its fingerprint; `revoked_at` is None while it counts."""

    id: str
    fingerprint: str
    label: str | None
    created_at: str
    user_id: str | None = None
    revoked_at: str | None = None


@dataclass(frozen=True, slots=True)
class Dependency:
    """An artifact that another one names."""

    name: str
    version: str
    required: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """An artifact as a search shows it."""

    id: str
    name: str
    version: str
    description: str | None
    owner: str
    owner_is_endorsed: bool
    tags: tuple[str, ...]
    downloads: int
    visibility: str
    created_at: str
    yanked: bool
    artifact_type: str


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Some of what was found; `total` counts all that the caller may see."""

    results: tuple[Summary, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Artifact:
    """One version of an artifact, with its content: any JSON value."""

    id: str
    name: str
    version: str
    description: str | None
    owner: str
    owner_is_endorsed: bool
    tags: tuple[str, ...]
    downloads: int
    visibility: str
    created_at: str
    content: Any
    content_hash: str
    content_schema: Any
    signed: bool
    key_fingerprint: str | None
    signature_valid: bool | None
    artifact_type: str
    yanked: bool
    yanked_reason: str | None
    dependencies: tuple[Dependency, ...]


@dataclass(frozen=True, slots=True)
class Release:
    """What is to be published, as the hub takes it.

    `content` is the text of a JSON value. `signature` is base64, of the content's
    SHA-256 as 64 hexadecimal digits, by the key that `key_fingerprint` names.
    """

    name: str
    version: str
    content: str
    description: str | None = None
    tags: tuple[str, ...] = ()
    visibility: str = "public"
    artifact_type: str = "artifact"
    dependencies: tuple[Dependency, ...] = ()
    schema: Mapping[str, object] | None = None
    signature: str | None = None
    key_fingerprint: str | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """What the hub made of what was published."""

    id: str
    name: str
    version: str
    description: str | None
    owner: str
    tags: tuple[str, ...]
    visibility: str
    downloads: int
    created_at: str
    content_hash: str
    content_schema: Any
    signed: bool
    key_fingerprint: str | None
    dependencies: tuple[Dependency, ...]
    artifact_type: str


@dataclass(frozen=True, slots=True)
class Members:
    """What a set names."""

    set_name: str
    set_version: str
    members: tuple[Dependency, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    """An artifact that is needed, `depth` steps away; not `found`: it is nowhere."""

    name: str
    version: str
    required: bool
    depth: int
    found: bool


@dataclass(frozen=True, slots=True)
class Resolution:
    """All that an artifact needs, and what that needs; `root` is name@version."""

    root: str
    dependencies: tuple[Resolved, ...]


@dataclass(frozen=True, slots=True)
class Endorsement:
    """That somebody vouches for an artifact."""

    id: str
    artifact_id: str
    user_id: str
    email: str
    user_is_endorsed: bool
    level: str
    created_at: str


def read(kind: type[T], value: object) -> T:
    """A JSON value as one of these, or as a tuple of them.

    Raises HubUnavailableError, which says what is missing or of another type.
    """
    return _read(kind, value, "the answer")  # type: ignore[no-any-return]


def _read(kind: Any, value: object, where: str) -> Any:  # noqa: ANN401  # any of them
    if kind is Any:
        return value
    if get_origin(kind) is tuple and isinstance(value, list):
        (of, _) = get_args(kind)
        return tuple(_read(of, e, f"{where}[{i}]") for i, e in enumerate(value))
    if is_dataclass(kind) and isinstance(value, dict):
        return _read_fields(kind, value, where)  # type: ignore[arg-type]  # a class
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    if type(value) not in kinds:
        wanted = " or ".join(getattr(each, "__name__", str(each)) for each in kinds)
        raise HubUnavailableError(f"the hub answers nonsense: {where} is no {wanted}")
    return value


def _read_fields(kind: type, value: dict[str, object], where: str) -> object:
    taken = {}
    for name, (form, is_needed) in _forms(kind).items():
        if name in value:
            taken[name] = _read(form, value[name], f"{where}.{name}")
        elif is_needed:
            raise HubUnavailableError(
                f"the hub answers nonsense: {where}.{name} is missing"
            )
    return kind(**taken)


@cache
def _forms(kind: type) -> dict[str, tuple[Any, bool]]:
    """The fields of one of these: their types, and whether they must be there."""
    hints = get_type_hints(kind)
    return {
        each.name: (hints[each.name], each.default is MISSING) for each in fields(kind)
    }
