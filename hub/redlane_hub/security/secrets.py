"""The hub's two secrets: from the settings, else from files beside the database.

A file holds just what the setting would hold, so it can be moved there. It is made in
one step and never seen half written: of two hubs that start at once, both take the one
that was first.
"""

import logging
import os
import re
import secrets
import stat
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from redlane_hub.errors import OperatorError
from redlane_hub.settings import Settings

__all__ = [
    "SECRET_ENDINGS",
    "Secrets",
    "kept_secrets",
    "load_secrets",
    "rotate_token_secret",
    "subscription_seed",
]

_BYTES = 32
_TOKEN_TEXT = re.compile(r"[!-~]{32,1024}")
_SEED_TEXT = re.compile(r"[A-Za-z0-9+/]{43}=")
_MOST_BYTES = 4096

_FORMS = {".secret": _TOKEN_TEXT, ".subscription-key": _SEED_TEXT}

SECRET_ENDINGS = tuple(_FORMS)
"""How the files beside a database end that hold its secrets."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Secrets:
    """What signs bearer tokens, and the Ed25519 seed that signs subscriptions."""

    token: bytes
    subscription_seed: bytes


def load_secrets(settings: Settings) -> Secrets:
    """Both secrets; what is neither set nor kept yet is generated and kept.

    Raises OperatorError naming the file that cannot be used, and why.
    """
    return Secrets(_token_secret(settings), subscription_seed(settings))


def kept_secrets(database: Path) -> dict[str, str]:
    """What the files beside a database hold, by how their names end.

    Raises OperatorError for a file that holds anything else: whoever may write beside
    the database could link it to what only an administrator may read.
    """
    found = {}
    for ending, form in _FORMS.items():
        path = Path(f"{database}{ending}")
        with _clearly(path), suppress(FileNotFoundError):
            found[ending] = _in_form(path, _read(path)[0], form)
    return found


def rotate_token_secret(settings: Settings) -> Path:
    """Replace the kept secret, so that no token issued until now is valid any more.

    A running hub goes on with the old one until it is restarted. Returns the file.
    Raises OperatorError where the secret comes from the settings.
    """
    if settings.secret:
        raise OperatorError(
            "the secret that signs tokens comes from the settings (REDLANE_HUB_SECRET, "
            "or 'secret' in the configuration file): change it there, and restart the "
            "hub"
        )
    if not settings.database_path.is_file():
        raise OperatorError(f"{settings.database}: there is no database")
    path = _token_path(settings)
    with _clearly(path), _written_beside(path, _new_token_text(), settings) as made:
        made.replace(path)
        _sync_directory(path)
    return path


def _token_path(settings: Settings) -> Path:
    return Path(f"{settings.database}.secret")


def _new_token_text() -> str:
    return secrets.token_urlsafe(_BYTES)


def _new_seed_text() -> str:
    return b64encode(secrets.token_bytes(_BYTES)).decode()


def _token_secret(settings: Settings) -> bytes:
    if not settings.secret:
        path = _token_path(settings)
        return _kept(path, _new_token_text, _TOKEN_TEXT, settings).encode()
    # The environment's bytes that are no UTF-8 arrive as surrogates: back to bytes.
    secret = settings.secret.encode(errors="surrogateescape")
    if len(secret) < _BYTES:
        _log.warning(
            "The secret that signs tokens is short and may be guessed: "
            "use 32 random bytes or more.",
            extra={"setting": "secret"},
        )
    return secret


def subscription_seed(settings: Settings) -> bytes:
    """The seed alone: from the settings, else kept, else generated and kept."""
    text = settings.subscription_key
    if not text:
        path = Path(f"{settings.database}.subscription-key")
        text = _kept(path, _new_seed_text, _SEED_TEXT, settings)
    return b64decode(text)


def _kept(
    path: Path,
    new_text: Callable[[], str],
    form: re.Pattern[str],
    settings: Settings,
) -> str:
    """The text in the file, which is made when there is none."""
    with _clearly(path):
        try:
            text, found = _read(path)
        except FileNotFoundError:
            _make(path, new_text(), settings)
            text, found = _read(path)
    _check_private(path, found, settings)
    return _in_form(path, text, form)


def _in_form(path: Path, text: str, form: re.Pattern[str]) -> str:
    if not form.fullmatch(text):
        raise OperatorError(
            f"{path}: holds no secret as this hub writes them: restore it from a "
            "backup, or move it away and a new one is made"
        )
    return text


def _check_private(path: Path, found: os.stat_result, settings: Settings) -> None:
    """Refuse a secret that others know, or that is not the operator's."""
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise OperatorError(
            f"{path}: others can read or change this secret: "
            "chmod 600 it, or move it away and a new one is made"
        )
    trusted = {0, os.geteuid()}
    if settings.database_path.exists():
        trusted.add(settings.database_path.stat().st_uid)
    if found.st_uid not in trusted:
        raise OperatorError(
            f"{path}: belongs to somebody else, who knows this secret: "
            "move it away and a new one is made"
        )


def _read(path: Path) -> tuple[str, os.stat_result]:
    """What the file holds, and what it is."""
    # Without blocking: a named pipe would wait for a writer.
    with open(
        path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)
    ) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OperatorError(f"{path}: is no regular file")
        data = file.read(_MOST_BYTES)
    return data.decode("ascii", errors="replace").strip(), found


def _make(path: Path, text: str, settings: Settings) -> None:
    # A link, and not a rename: who comes second keeps what the first has made.
    with _written_beside(path, text, settings) as made, suppress(FileExistsError):
        path.hardlink_to(made)
    _sync_directory(path)


@contextmanager
def _written_beside(path: Path, text: str, settings: Settings) -> Iterator[Path]:
    """A new file, safely on the disk, that can become `path` in one step."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{text}\n")
            if os.geteuid() == 0 and settings.database_path.exists():
                # An administrator's command must leave it readable to the service.
                owner = settings.database_path.stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _clearly(path: Path) -> Iterator[None]:
    """Name the file in what the operating system says."""
    try:
        yield
    except OSError as error:
        raise OperatorError(f"{path}: {error.strerror}") from None
