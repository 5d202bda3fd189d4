"""What the daemon tells the proxy, and which addresses nobody may reach through it."""

from typing import Any

import pytest

from redlane.proxy.settings import ProxySettings, plain_address

DOCUMENT: dict[str, Any] = {
    "intercept": True,
    "passthrough_hosts": ["bank.example"],
    "provider_hosts": [],
    "mcp_servers": {},
    "scan_headers": False,
    "inbound": {
        "enabled": True,
        "oversize_action": "flag",
        "max_buffer_bytes": 8,
        "max_segments": 3,
        "budget_ms": 2500,
    },
    "authority": None,
    "trusted": None,
    "own": [["127.0.0.1", 8888], ["10.1.2.3", 9999]],
}


@pytest.mark.parametrize(
    ("address", "port", "is_own"),
    [
        ("127.0.0.1", 8888, True),
        ("127.9.9.9", 8888, True),
        ("0.0.0.0", 8888, True),
        ("::1", 8888, True),
        ("::", 8888, True),
        ("::ffff:127.0.0.1", 8888, True),
        ("::ffff:7f00:1", 8888, True),
        ("fe80::1%lo", 8888, False),
        ("10.1.2.3", 9999, True),
        ("::ffff:10.1.2.3", 9999, True),
        ("127.0.0.1", 8889, False),
        ("192.0.2.1", 8888, False),
        ("example.com", 8888, False),
    ],
)
def test_own_endpoints_are_known_by_any_address(
    address: str, port: int, *, is_own: bool
) -> None:
    assert ProxySettings.from_document(DOCUMENT).is_own(address, port) is is_own


@pytest.mark.parametrize("missing", DOCUMENT)
def test_settings_that_lack_something_are_none(missing: str) -> None:
    document = {key: value for key, value in DOCUMENT.items() if key != missing}
    with pytest.raises(KeyError):
        ProxySettings.from_document(document)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:127.0.0.1", "127.0.0.1"),
        ("2002:7f00:1::", "127.0.0.1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("localhost", None),
        ("127.1", None),
    ],
)
def test_address_has_one_plain_form(text: str, plain: str | None) -> None:
    assert plain_address(text) == plain
