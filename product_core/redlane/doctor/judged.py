"""Requests as the daemon saw them: each is judged, or there is no event of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from redlane.doctor.findings import Finding, held
from redlane.doctor.network import HTTP, HTTPS

__all__ = ["confirmed"]

_BEGINNINGS = {HTTP: " http://", HTTPS: " https://"}


def confirmed(
    finding: Finding, token: str, events: Sequence[Mapping[str, Any]]
) -> Finding:
    """What is to be told of an attempt, once the events of its session are known."""
    beginning = _BEGINNINGS.get(finding.name)
    if beginning is None:
        return finding
    for each in events:
        first = str(each["content"]).partition("\n")[0]
        if beginning in first and token in first:
            detail = f"a request is judged ({each['verdict']}), and is an event"
            return held(finding.name, detail)
    return finding
