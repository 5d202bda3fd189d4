"""The settings: one table of name, form, default and help, and its values.

The dataclasses are the table. Parser, JSON Schema, `config check` and the manual are
derived from it (policy format: Inbound scanning settings; settings.json).
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from redlane.model.field import Field, Kind

__all__ = [
    "GROUPS",
    "JUROR_SECONDS",
    "LONGEST_SECONDS",
    "MOST_JURORS",
    "SETTINGS",
    "Hub",
    "InboundScan",
    "Juror",
    "Order",
    "Proxy",
    "Review",
    "Settings",
    "Sevsh",
    "System",
    "Tls",
    "Webhook",
]

LONGEST_SECONDS = 86400
_LONGEST_MILLISECONDS = 86_400_000
_MOST_SEGMENTS = 1_000_000
_MOST_ENDORSEMENTS = 1000
MOST_JURORS = 32
JUROR_SECONDS = 20


def _setting(kind: Kind, text: str, *, default: object, **limits: Any) -> Any:  # noqa: ANN401  # dataclasses.field is typed so
    """A dataclass field that knows its row of the table."""
    row = {"kind": kind, "help": text, **limits}
    return dataclasses.field(default=default, metadata=row)


@dataclass(frozen=True, slots=True)
class Sevsh:
    """`sevsh`: sessions and the shell wrapper."""

    default_role: str | None = _setting(
        Kind.NAME,
        "the role of new sessions; without one, everything is blocked",
        default=None,
    )
    validation_timeout_seconds: float = _setting(
        Kind.NUMBER,
        "how long a shell command waits for its verdict before it is refused",
        default=5,
        positive=True,
        maximum=LONGEST_SECONDS,
    )


@dataclass(frozen=True, slots=True)
class InboundScan:
    """`inbound_scan`: what comes back to the agent."""

    enabled: bool = _setting(
        Kind.BOOLEAN,
        "scan what comes back to the agent",
        default=True,
    )
    oversize_action: str = _setting(
        Kind.STRING,
        "what happens to content that is not fully scanned",
        default="flag",
        choices=("flag", "block", "allow"),
    )
    max_segments: int = _setting(
        Kind.INTEGER,
        "segments of text that classifiers score before they declare a remainder",
        default=3,
        minimum=1,
        maximum=_MOST_SEGMENTS,
    )
    budget_ms: int = _setting(
        Kind.INTEGER,
        "wall-clock ceiling of classifiers for one response, in milliseconds",
        default=2500,
        minimum=1,
        maximum=_LONGEST_MILLISECONDS,
    )
    max_buffer_bytes: int = _setting(
        Kind.SIZE,
        "the largest body that is buffered; larger ones take oversize_action",
        default=8 * 1024 * 1024,
    )


@dataclass(frozen=True, slots=True)
class Tls:
    """`tls`: interception of HTTPS."""

    intercept: bool = _setting(
        Kind.BOOLEAN,
        "decrypt HTTPS, so that policies see what it carries",
        default=False,
    )
    passthrough_hosts: tuple[str, ...] = _setting(
        Kind.STRINGS,
        "hosts whose HTTPS is never decrypted",
        default=(),
    )


@dataclass(frozen=True, slots=True)
class Juror:
    """One of a jury: of a type that is known, with what that one asks for."""

    name: str
    type: str
    timeout_seconds: float = JUROR_SECONDS
    settings: Mapping[str, object] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )
    requests_per_hour: int | None = None


WEBHOOK_FORMATS = (*("json", "slack", "mattermost", "google-chat", "discord", "teams"),)
"""Who a webhook's messages are for."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where reviews are told of, and what their signatures are made with."""

    url: str
    secret: str = dataclasses.field(repr=False)
    format: str = "json"
    answer_listen: str | None = None
    answer_url: str | None = None
    answer_password: str | None = dataclasses.field(default=None, repr=False)


class Order(StrEnum):
    """Who decides: a person, a jury, or a person where a jury does not agree."""

    PERSON = "person"
    JURY = "jury"
    JURY_THEN_PERSON = "jury-then-person"

    @property
    def deciders(self) -> str:
        """Who that is, for people."""
        names = {Order.PERSON: "a person", Order.JURY: "the jury"}
        return names.get(self, "the jury or a person")


@dataclass(frozen=True, slots=True)
class Review:
    """`review`: what becomes of the yellow lane."""

    timeout_seconds: float = _setting(
        Kind.NUMBER,
        "how long flagged content waits for a decision",
        default=30,
        positive=True,
        maximum=LONGEST_SECONDS,
    )
    timeout_action: str = _setting(
        Kind.STRING,
        "what happens when nobody decides in time",
        default="block",
        choices=("block", "allow"),
    )
    jury: tuple[Juror, ...] = _setting(
        Kind.JURY,
        "who is asked about what is held: commands, models, or plugins' jurors",
        default=(),
    )
    quorum: int | None = _setting(
        Kind.INTEGER,
        "how many of the jury must allow, where it decides alone; without it, all",
        default=None,
        minimum=1,
        maximum=MOST_JURORS,
    )
    order: str | None = _setting(
        Kind.STRING,
        "who decides; without it a person, and where there is a jury that one first",
        default=None,
        choices=tuple(Order),
    )

    webhook: Webhook | None = _setting(  # noqa: RUF009  # a field
        Kind.WEBHOOK,
        "an address that is told of what is held, and the secret that signs it",
        default=None,
    )

    @property
    def decides(self) -> Order:
        """Who decides, as things are."""
        if not self.jury:
            return Order.PERSON
        return Order.JURY_THEN_PERSON if self.order is None else Order(self.order)

    @property
    def ends_in(self) -> str:
        """What happens when the time is up: a jury that is not done allows nothing."""
        return self.timeout_action if self.decides is Order.PERSON else "block"

    @property
    def allows(self) -> int:
        """How many jurors must allow where the jury decides alone."""
        return len(self.jury) if self.quorum is None else self.quorum


@dataclass(frozen=True, slots=True)
class Proxy:
    """`proxy`: the agent's way to the network."""

    listen: str = _setting(
        Kind.ADDRESS,
        "where the proxy listens, on loopback; port 0 picks a free one",
        default="127.0.0.1:0",
    )
    scan_headers: bool = _setting(
        Kind.BOOLEAN,
        "show policies the request's headers as well",
        default=False,
    )
    provider_hosts: tuple[str, ...] = _setting(
        Kind.STRINGS,
        "model providers' hosts, whose request and response bodies are not judged",
        default=(),
    )
    mcp_servers: Mapping[str, str] | None = _setting(
        Kind.STRING_MAP,
        "what policies call the MCP servers at these hosts, besides the host itself",
        default=None,
    )


@dataclass(frozen=True, slots=True)
class System:
    """`system`: the machine's daemon, and those who do not administer it."""

    user_roles: tuple[str, ...] = _setting(
        Kind.STRINGS,
        "the roles that users may take on the machine's daemon besides the default",
        default=(),
    )


@dataclass(frozen=True, slots=True)
class Hub:
    """`hub`: where policies are shared."""

    url: str | None = _setting(
        Kind.NAME,
        "the hub that redlane hub asks: an address, or a name of hub.names",
        default=None,
    )
    names: Mapping[str, str] | None = _setting(
        Kind.STRING_MAP,
        "names for hubs, and the address of each, to say --hub NAME",
        default=None,
    )
    subscription_key: str | None = _setting(
        Kind.NAME,
        "the key that signs subscription statuses, as redlane-hub keys prints it",
        default=None,
    )
    require_signature: bool = _setting(
        Kind.BOOLEAN,
        "take nothing from a hub but what is signed so that it can be checked here",
        default=False,
    )
    require_recognised: bool = _setting(
        Kind.BOOLEAN,
        "take only what accounts have published that the hub recognises",
        default=False,
    )
    require_endorsements: int = _setting(
        Kind.INTEGER,
        "how many recognised accounts, the publisher aside, must vouch for an artifact",
        default=0,
        minimum=0,
        maximum=_MOST_ENDORSEMENTS,
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that settings.json may say, with the defaults for what it does not."""

    sevsh: Sevsh = Sevsh()
    inbound_scan: InboundScan = InboundScan()
    tls: Tls = Tls()
    review: Review = Review()
    proxy: Proxy = Proxy()
    system: System = System()
    hub: Hub = Hub()
    plugins: Mapping[str, Mapping[str, object] | None] = dataclasses.field(
        default_factory=lambda: MappingProxyType({})
    )
    """`plugins`: what match types read, by their names; None where it is wrong."""


GROUPS: dict[str, type] = {
    each.name: type(each.default)
    for each in dataclasses.fields(Settings)
    if dataclasses.is_dataclass(each.default)
}
"""The dataclass of each group of settings."""

SETTINGS: tuple[Field, ...] = tuple(
    Field(f"{group}.{each.name}", default=each.default, **each.metadata)
    for group, members in GROUPS.items()
    for each in dataclasses.fields(members)
)
"""Every setting by its dotted name."""
