"""What a client is told that cannot be served speaks of Redlane, and quotes nobody."""

import json

import pytest

from redlane.proxy.answers import error_page

MESSAGES = {
    "mitmproxy received an HTTP CONNECT request even though it is not running in "
    "regular/upstream mode. This usually indicates a misconfiguration, please see the "
    "mitmproxy mode documentation for details.": "there is no tunnel in a tunnel",
    "Received message with both transfer-encoding and content-length headers from "
    "client, refusing to prevent request smuggling attacks. Disable the "
    "validate_inbound_headers option to skip this security check.": (
        "Received message with both transfer-encoding and content-length headers from "
        "client, refusing to prevent request smuggling attacks."
    ),
    "The remote server and mitmproxy cannot agree on a TLS version to use. You may "
    "need to adjust mitmproxy's tls_version_server_min option.": (
        "The remote server and the proxy agree on no version of TLS"
    ),
    "server said: b'a secret'": "server said:…",
    "cannot connect to mitmproxy.test:443": "cannot connect to mitmproxy.test:443",
    "[Errno 111] Connect call failed ('127.0.0.1', 1)": (
        "[Errno 111] Connect call failed ('127.0.0.1', 1)"
    ),
}


@pytest.mark.parametrize("message", MESSAGES)
def test_page_speaks_of_redlane(message: str) -> None:
    page = json.loads(error_page(502, message))
    assert page == {
        "error": f"Redlane's proxy: {MESSAGES[message]}",
        "status": 502,
    }
