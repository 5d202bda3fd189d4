"""Where the proxy is installed: beside us, or in an environment of its own.

The proxy needs mitmproxy, which the core does without. The package redlane-proxy
brings both in a Python environment of its own.
"""

import importlib.util
import sys
from pathlib import Path

__all__ = ["MISSING", "PACKAGE", "authority_command", "proxy_command"]

PACKAGE = "redlane-proxy"
MISSING = f"no proxy is installed: install the package {PACKAGE}"
"""Why there is none, where there is none."""

_LIBRARY = "mitmproxy"
_OWN_ENVIRONMENT = Path("/usr/lib/redlane-proxy/bin/python3")


def proxy_command() -> list[str] | None:
    """The words that start the proxy; None when it is not installed."""
    return _words("redlane.proxy")


def authority_command() -> list[str] | None:
    """The words that start the program of the certificate authority, or None."""
    return _words("redlane.proxy.authority")


def _words(module: str) -> list[str] | None:
    python = _python()
    # Isolated: neither the environment nor the working directory brings code along.
    return None if python is None else [python, "-I", "-m", module]


def _python() -> str | None:
    if importlib.util.find_spec(_LIBRARY) is not None:
        return sys.executable
    return str(_OWN_ENVIRONMENT) if _OWN_ENVIRONMENT.is_file() else None
