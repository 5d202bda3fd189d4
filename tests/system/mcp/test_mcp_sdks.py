"""The official SDKs get through `redlane mcp` what they get directly.

A row is a client on one of the SDKs, a server, and the transport between them.
"""

import base64
import contextlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_sdk_table import CLIENTS, SERVERS, Client, Sdks, installed
from spec.redlane_home import REDLANE, Home

pytestmark = pytest.mark.timeout(300, func_only=True)  # installing has its own time
ROOT = Path(__file__).parents[3]
CLOCK = re.compile(r"\d{1,2}:\d\d:\d\d( [AP]M)?")
QUICK = {
    ("python-2", "everything", "stdio"),
    ("typescript-1", "everything", "http"),
    ("typescript-2", "modern", "http"),
    ("python-1", "filesystem", "stdio"),
}
"""Rows of every run; the others belong to the whole suite."""


@pytest.fixture(scope="module")
def sdks() -> Iterator[Sdks]:
    with installed(ROOT / ".run") as found:
        if isinstance(found, str):
            pytest.skip(f"NOT TESTED: the SDKs of MCP cannot be installed: {found}")
        yield found


@pytest.fixture
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A daemon whose role judges everything, lets everything pass, and pins anew."""
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


SERVED = (("everything", "http"), ("everything", "sse"), ("modern", "http"))


def rows() -> list[Any]:
    over = [(server, "stdio") for server in SERVERS] + list(SERVED)
    return [
        pytest.param(
            *(client, server, transport),
            id=f"{client.id}-{server}-{transport}",
            marks=[] if (client.id, server, transport) in QUICK else pytest.mark.soak,
        )
        for client in CLIENTS
        for server, transport in over
    ]


@contextlib.contextmanager
def fronted(lab: Home, server: str, url: str) -> Iterator[str]:
    """Where `redlane mcp --url` listens for the server at that URL."""
    words = [REDLANE, "mcp", "--name", server, "--url", url, "--json"]
    with subprocess.Popen(
        words, env=lab.environment(), stdout=subprocess.PIPE
    ) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["listening"]
        finally:
            process.terminate()


def told(
    sdks: Sdks, lab: Home, client: Client, server: str, transport: str
) -> tuple[list[Any], list[Any]]:
    """What the client is told directly, and through Redlane."""
    place = lab.user / "place"
    if transport == "stdio":
        way = (str(REDLANE), "mcp", "--name", server, "--")
        return (
            sdks.through(client, server, place, ()),
            sdks.through(client, server, place, way),
        )
    with sdks.served(server, transport, place) as url:
        directly = sdks.run(client, server, place, (transport, url))
        with fronted(lab, server, url) as front:
            return directly, sdks.run(client, server, place, (transport, front))


@pytest.mark.parametrize(("client", "server", "transport"), rows())
def test_an_sdk_gets_what_it_gets_directly(
    sdks: Sdks, lab: Home, client: Client, server: str, transport: str
) -> None:
    directly, through = told(sdks, lab, client, server, transport)
    if settled(directly) != settled(through):
        # Some drop a progress that they read together with the answer, which a busy
        # machine brings about either way: what is due to us is there once more.
        directly, through = told(sdks, lab, client, server, transport)

    for number, (one, other) in enumerate(zip(directly, through, strict=True)):
        assert settled(other) == settled(one), number
    if server == "modern" and client.id.endswith("-2"):
        assert through[0][0] == "2026-07-28"
    for context in ("Mcp", "Inbound"):
        judged = lab.run("events", "--json", "--context", context, "--limit", "1000")
        assert server in judged.out
