"""What the daemon tells its proxy: the settings that are in force, as one message."""

import json
from collections.abc import Iterable
from pathlib import Path

from redlane.errors import DaemonError
from redlane.model.settings import Settings
from redlane.wire.frames import MOST_SETTINGS_BYTES

__all__ = ["LOOK_AGAIN", "settings_message"]

LOOK_AGAIN = b'{"look_again": true}'
"""What the proxy is told when a session is not what it was."""


def settings_message(
    settings: Settings,
    authority: Path,
    trusted: Path,
    own: Iterable[tuple[str, int]],
) -> bytes:
    """The message; `own` are addresses that nobody may reach through the proxy.

    Raises DaemonError when it is longer than a message can be.
    """
    scan = settings.inbound_scan
    intercept = settings.tls.intercept
    document = {
        "intercept": intercept,
        "passthrough_hosts": list(settings.tls.passthrough_hosts),
        "provider_hosts": list(settings.proxy.provider_hosts),
        "mcp_servers": dict(settings.proxy.mcp_servers or {}),
        "scan_headers": settings.proxy.scan_headers,
        "inbound": {
            "enabled": scan.enabled,
            "oversize_action": scan.oversize_action,
            "max_buffer_bytes": scan.max_buffer_bytes,
            "max_segments": scan.max_segments,
            "budget_ms": scan.budget_ms,
        },
        "authority": str(authority) if intercept else None,
        "trusted": str(trusted),
        "own": [list(each) for each in own],
    }
    message = json.dumps(document).encode()
    if len(message) > MOST_SETTINGS_BYTES:
        raise DaemonError(
            "tls.passthrough_hosts, proxy.provider_hosts and proxy.mcp_servers are too "
            f"long together (more than {MOST_SETTINGS_BYTES // 1024} KB)"
        )
    return message
