"""The keyring of a desktop (freedesktop.org's Secret Service), through `secret-tool`.

Where there is none, or it is locked and nobody opens it, these do nothing and say so.
"""

import os
import shutil
import subprocess

__all__ = ["forget_token", "keep_token", "kept_token"]

_TOOL = "secret-tool"
_BUS = "DBUS_SESSION_BUS_ADDRESS"
_SECONDS = 60.0
"""So long somebody may take to type the keyring's password."""


def keep_token(hub: str, email: str, token: str) -> bool:
    """Keep a token; False where that cannot be."""
    label = f"--label=Redlane: {email} at {hub}"
    return _asked(("store", label), hub, token) is not None


def kept_token(hub: str) -> str | None:
    """The token that is kept for a hub, if one is and can be read."""
    return _asked(("lookup",), hub) or None


def forget_token(hub: str) -> None:
    """Keep no token of that hub."""
    _asked(("clear",), hub)


def _asked(words: tuple[str, ...], hub: str, secret: str = "") -> str | None:
    """What the program says; None where it fails or there is nobody to ask."""
    tool = shutil.which(_TOOL)
    if tool is None or not os.environ.get(_BUS):
        return None
    try:
        done = subprocess.run(
            (tool, *words, "application", "redlane", "hub", hub),
            input=secret.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None
