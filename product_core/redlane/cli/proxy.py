"""The proxy as people read of it, and what it cannot see."""

from collections.abc import Mapping
from typing import Any

__all__ = ["blind_spots", "proxy_line"]

_STATES = {
    "idle": "starts with the first request",
    "starting": "starts",
    "running": "runs",
    "failing": "does not start",
    "stopped": "has stopped",
}


def proxy_line(proxy: Mapping[str, Any]) -> str:
    """Whether there is one, where, and how far it sees."""
    if not proxy["installed"]:
        return str(proxy["problem"])
    state = _STATES.get(proxy["state"], str(proxy["state"]))
    where = f" at {proxy['address']}" if proxy["address"] else ""
    why = f": {proxy['problem']}" if proxy["problem"] else ""
    seen = "HTTPS is intercepted" if proxy["intercepting"] else "HTTPS by host alone"
    return f"{state}{where}{why}; {seen}"


def blind_spots(offer: Mapping[str, Any], egress: str) -> str:
    """What of a session's traffic nobody sees, in one line."""
    https = (
        "" if offer["bundle"] else "; of HTTPS, only the host (tls.intercept is off)"
    )
    if egress == "proxy":
        return f"the session reaches other machines by the proxy alone{https}"
    return (
        "the network is judged for programs that go by HTTP_PROXY and its like: those "
        f"that do not are not seen{https}"
    )
