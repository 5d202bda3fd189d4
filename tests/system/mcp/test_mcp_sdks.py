"""The official SDKs get through `redlane mcp` what they get directly.

A row is a client on one of the SDKs, a server, and the transport between them.
"""

import base64
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_sdk_table import CLIENTS, SERVERS, Client, Sdks, installed
from spec.redlane_home import REDLANE, Home

ROOT = Path(__file__).parents[3]
CLOCK = re.compile(r"\d{1,2}:\d\d:\d\d( [AP]M)?")
QUICK = {
    ("python-2", "everything"),
    ("typescript-1", "everything"),
    ("typescript-2", "modern"),
    ("python-1", "filesystem"),
}
"""Rows of every run; the others belong to the whole suite."""


@pytest.fixture(scope="module")
def sdks() -> Iterator[Sdks]:
    with installed(ROOT / ".run") as found:
        if isinstance(found, str):
            pytest.skip(f"NOT TESTED: the SDKs of MCP cannot be installed: {found}")
        yield found


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A daemon whose role judges everything, and lets everything pass."""
    home = Home(tmp_path_factory.mktemp("h"))
    home.policies(
        {
            "id": "inert",
            "type": "Simple",
            "action": "Block",
            "pattern": "no server has ever said this",
        },
        {
            "id": "elsewhere",
            "type": "McpTool",
            "action": "Block",
            "server": "elsewhere",
        },
    )
    home.role("all", "inert", "elsewhere")
    home.start("--role", "all")
    yield home
    home.stop()


def settled(value: Any, key: str = "") -> Any:
    """A value without the time of day, which is written into some answers."""
    if isinstance(value, dict):
        return {name: settled(each, name) for name, each in value.items()}
    if isinstance(value, list):
        return [settled(each) for each in value]
    if isinstance(value, str) and key == "blob":
        with contextlib.suppress(ValueError):
            return settled(base64.b64decode(value).decode())
    return CLOCK.sub("now", value) if isinstance(value, str) else value


def rows() -> Iterator[Any]:
    for client in CLIENTS:
        for server in SERVERS:
            quick = (client.id, server) in QUICK
            marks = [] if quick else [pytest.mark.slow]
            name = f"{client.id}-{server}-stdio"
            yield pytest.param(client, server, id=name, marks=marks)


@pytest.mark.parametrize(("client", "server"), list(rows()))
def test_an_sdk_gets_what_it_gets_directly(
    sdks: Sdks, lab: Home, client: Client, server: str
) -> None:
    place = lab.user / "place"
    directly = sdks.run(client, server, place, ())
    way = (str(REDLANE), "mcp", "--name", server, "--")
    through = sdks.run(client, server, place, way)

    for number, (one, other) in enumerate(zip(directly, through, strict=True)):
        assert settled(other) == settled(one), number
    if server == "modern" and client.id.endswith("-2"):
        assert through[0][0] == "2026-07-28"
    for context in ("Mcp", "Inbound"):
        judged = lab.run("events", "--json", "--context", context, "--limit", "1000")
        assert server in judged.out
