"""The settings: one table of name, type, default and help.

Each may stand in the configuration file (TOML), in the environment as `REDLANE_HUB_`
and its name in capitals, or on the command line; the later of these wins. The command
line's options and the manual derive from this table.
"""

import dataclasses
import ipaddress
import os
import re
import tomllib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from redlane_hub.errors import OperatorError

__all__ = [
    "ENVIRONMENT_PREFIX",
    "MOST_WORKERS",
    "Settings",
    "environment_name",
    "load_settings",
    "origins",
]

ENVIRONMENT_PREFIX = "REDLANE_HUB_"

MOST_WORKERS = 64
"""One for each processor is enough; a slip of a digit must not fork without end."""

_SEED_BYTES = 32
_HIGHEST_PORT = 65535


def _setting(text: str, default: Any) -> Any:  # noqa: ANN401  # dataclasses.field is typed so
    return dataclasses.field(default=default, metadata={"help": text})


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting of a hub; the fields' metadata holds their help."""

    database: str = _setting("the path of the SQLite database", "hub.db")
    listen: str = _setting("HOST:PORT or unix:/PATH to serve on", "127.0.0.1:8080")
    metrics_listen: str = _setting(
        "HOST:PORT of /metrics, on a loopback address; empty: no metrics", ""
    )
    workers: int = _setting("how many processes serve", 1)
    log_level: str = _setting("debug, info, warning or error", "info")
    secret: str = _setting(
        "the secret that signs tokens, best 32 random bytes or more; generated and "
        "kept beside the database when unset",
        "",
    )
    public_url: str = _setting(
        "the address that people reach this hub under; default: what it listens on", ""
    )
    smtp_url: str = _setting(
        "the mail server: smtp://[USER:PASSWORD@]HOST[:PORT] (STARTTLS when offered) "
        "or smtps://…; empty: no mail",
        "",
    )
    mail_from: str = _setting("the sender of mails", "Redlane hub <hub@localhost>")
    max_content_bytes: int = _setting("the largest content of an artifact", 262_144)
    require_signatures: bool = _setting("refuse artifacts without a signature", False)  # noqa: FBT003  # a default
    subscription_key: str = _setting(
        "base64 of the 32-byte Ed25519 seed that signs subscription statuses; generated"
        " and kept beside the database when unset",
        "",
    )
    payment_api_url: str = _setting("the address of Stripe's API", "")
    payment_api_key: str = _setting("the key for Stripe's API", "")
    payment_price: str = _setting("the id of the price that is sold", "")
    payment_webhook_secret: str = _setting(
        "the secret that signs Stripe's webhooks", ""
    )
    trusted_proxies: tuple[str, ...] = _setting(
        "addresses, comma-separated, whose X-Forwarded-For is believed; `unix` for who "
        "connects to our Unix socket",
        (),
    )

    @property
    def database_path(self) -> Path:
        """Where the database is."""
        return Path(self.database)

    @property
    def base_url(self) -> str:
        """The address for links, without a slash at its end."""
        return (self.public_url or f"http://{self.listen}").rstrip("/")


def environment_name(name: str) -> str:
    """The environment variable of a setting."""
    return ENVIRONMENT_PREFIX + name.upper()


def load_settings(
    options: Mapping[str, object],
    environment: Mapping[str, str] = os.environ,
    config: Path | None = None,
) -> Settings:
    """The settings from a configuration file, the environment and the command line.

    Options that are None were not given. Raises OperatorError naming the setting, where
    it was set and what it wants.
    """
    given: dict[str, object] = {}
    places: dict[str, str] = {}
    for name, value, where in _given(options, environment, config):
        given[name] = _typed(name, value, where)
        places[name] = where
    settings = Settings(**given)  # type: ignore[arg-type]  # _typed has checked them
    _check(settings, places)
    return settings


def origins(
    options: Mapping[str, object],
    environment: Mapping[str, str] = os.environ,
    config: Path | None = None,
) -> dict[str, str]:
    """Where each setting comes from that is given anywhere; raises as the above."""
    return {name: where for name, _, where in _given(options, environment, config)}


def _given(
    options: Mapping[str, object],
    environment: Mapping[str, str],
    config: Path | None,
) -> Iterator[tuple[str, object, str]]:
    """Every value that is given, with where; of one name the last counts."""
    if config is not None:
        for name, value in _read_config(config).items():
            yield name, value, f"{config}: '{name}'"
    for name in _fields():
        variable = environment_name(name)
        # An empty variable is as good as none: that is how units unset one.
        if environment.get(variable):
            yield name, environment[variable], variable
    for name, value in options.items():
        if value is not None:
            yield name, value, f"--{name.replace('_', '-')}"


def _fields() -> dict[str, dataclasses.Field[Any]]:
    return {field.name: field for field in dataclasses.fields(Settings)}


def _read_config(path: Path) -> dict[str, object]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OperatorError(f"{path}: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OperatorError(f"{path}: not valid TOML: {error}") from None
    unknown = sorted(found.keys() - _fields().keys())
    if unknown:
        raise OperatorError(
            f"{path}: unknown setting '{unknown[0]}'; known are {', '.join(_fields())}"
        )
    return found


_WHOLE_NUMBER = re.compile("[0-9]{1,18}")
_BOOLEANS = {
    "1": True,
    "true": True,
    "yes": True,
    "0": False,
    "false": False,
    "no": False,
}


def _typed(name: str, value: object, where: str) -> object:
    """The value in the type of the setting's default, from text if need be."""
    default = _fields()[name].default
    if isinstance(default, bool):
        if isinstance(value, str) and value.lower() in _BOOLEANS:
            return _BOOLEANS[value.lower()]
        return _checked(value, bool, f"{where} must be 1 or 0")
    if isinstance(default, int):
        if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
            return int(value)
        if isinstance(value, bool):
            value = None
        return _checked(value, int, f"{where} must be a whole number")
    if isinstance(default, tuple):
        if isinstance(value, str):
            value = [each.strip() for each in value.split(",") if each.strip()]
        found = _checked(value, list, f"{where} must be a list of texts")
        return tuple(_checked(each, str, f"{where} must hold texts") for each in found)
    return _checked(value, str, f"{where} must be a text")


def _checked(value: object, kind: type[Any], message: str) -> Any:  # noqa: ANN401  # of that kind
    if not isinstance(value, kind):
        raise OperatorError(message)
    return value


def _check(settings: Settings, places: Mapping[str, str]) -> None:
    """Refuse values that cannot work, naming where they stand, before anything starts.

    What takes a mail server or sockets to know is checked where those are.
    """
    for name, rule in _RULES.items():
        problem = rule(getattr(settings, name))
        if problem:
            raise OperatorError(f"{places.get(name, repr(name))} must be {problem}")


def _path_problem(text: str) -> str | None:
    return None if text and "\0" not in text else "a path"


def _workers_problem(count: int) -> str | None:
    return None if 1 <= count <= MOST_WORKERS else f"1 to {MOST_WORKERS}"


def _size_problem(size: int) -> str | None:
    return None if size >= 1 else "1 or more"


def _level_problem(text: str) -> str | None:
    words = ("debug", "info", "warning", "error")
    return None if text in words else "debug, info, warning or error"


def _proxies_problem(addresses: tuple[str, ...]) -> str | None:
    for address in addresses:
        try:
            ipaddress.ip_address("::1" if address == "unix" else address)
        except ValueError:
            return f"IP addresses; {address!r} is no IP address"
    return None


def _web_problem(text: str) -> str | None:
    """Others see these addresses: no credentials may stand in them."""
    plain = not text or (text.isprintable() and not set(text) & set(" ?#@\\"))
    if plain and _is_url(text, {"http", "https"}):
        return None
    return "an address: http://… or https://…, without a user, a query or a fragment"


def _mail_problem(text: str) -> str | None:
    usable = _is_url(text, {"smtp", "smtps"})
    return None if usable else "an address: smtp://… or smtps://…"


def _is_url(text: str, schemes: set[str]) -> bool:
    """Whether it is an address of these; nothing is one as well."""
    try:
        found = urlsplit(text)
        usable = found.scheme in schemes and bool(found.hostname)
        usable = usable and (found.port is None or 0 < found.port <= _HIGHEST_PORT)
    except ValueError:
        return False
    return usable or not text


def _seed_problem(text: str) -> str | None:
    try:
        usable = len(b64decode(text, validate=True)) == _SEED_BYTES
    except ValueError:
        usable = False
    return None if usable or not text else f"base64 of {_SEED_BYTES} random bytes"


_RULES: dict[str, Callable[[Any], str | None]] = {
    "database": _path_problem,
    "workers": _workers_problem,
    "log_level": _level_problem,
    "public_url": _web_problem,
    "smtp_url": _mail_problem,
    "max_content_bytes": _size_problem,
    "subscription_key": _seed_problem,
    "payment_api_url": _web_problem,
    "trusted_proxies": _proxies_problem,
}
"""What each setting must be, told where a value is not."""
