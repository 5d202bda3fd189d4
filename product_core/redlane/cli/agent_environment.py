"""The environment of an agent: where its session's shell, proxy and trust are found.

Nothing depends on it but that programs find these; what an agent changes there, it
takes away from itself.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from redlane.cli.agent_files import agent_file, read_some
from redlane.cli.wget import wget_settings

__all__ = ["agent_environment"]

_PROXIES = (
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"),
    *("http_proxy", "https_proxy", "all_proxy"),
)
_EXCEPTIONS = ("NO_PROXY", "no_proxy")
_BUNDLES = (
    "SSL_CERT_FILE",  # OpenSSL, Python, Go, uv, Ruby, Codex
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "GIT_SSL_CAINFO",
    "npm_config_cafile",
    "CARGO_HTTP_CAINFO",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "NIX_SSL_CERT_FILE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "BUNDLE_SSL_CA_CERT",
    "HTTPLIB2_CA_CERTS",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
)
"""What replaces the certificates that a program trusts."""

_ADDED = "NODE_EXTRA_CA_CERTS"
"""What adds to them: for Node, which trusts its own."""

_DIRECTORIES = ("SSL_CERT_DIR", "GIT_SSL_CAPATH")
"""What would be looked at in place of a bundle."""

_OTHER_PROXIES = (
    *("pip_proxy", "cargo_http_proxy"),
    *("npm_config_proxy", "npm_config_https_proxy", "npm_config_http_proxy"),
    *("npm_config_noproxy", "npm_config_no_proxy"),
)
"""What would lead a program to a proxy other than that of its environment."""


def agent_environment(
    session: Mapping[str, Any], environ: Mapping[str, str], *, bound: bool
) -> dict[str, str]:
    """`environ` as an agent gets it in `session`, as the control API shows that.

    `bound`: the kernel holds it, so that every shell is judged, by whatever name.
    """
    shims = str(session["shims"])
    path = environ.get("PATH") or os.defpath
    shell = "/bin/bash" if bound else f"{shims}/bash"
    offer = session.get("proxy")
    return {
        **(environ if offer is None else _with_proxy(offer, environ)),
        "REDLANE_SESSION": str(session["id"]),
        "REDLANE_SOCKET": str(session["socket"]),
        "REDLANE_ROLE": str(session["role"] or ""),
        "SHELL": shell,
        "CLAUDE_CODE_SHELL": shell,
        # The shell of their names starts another, which each start would pay for.
        "PATH": f"{path}:{shims}" if bound else f"{shims}:{path}",
    }


def _with_proxy(offer: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` with every program that can be told led to the session's proxy."""
    url, bundle = str(offer["url"]), offer["bundle"]
    found = {
        name: value
        for name, value in environ.items()
        if name.lower() not in _OTHER_PROXIES
    }
    found |= dict.fromkeys(_PROXIES, url) | dict.fromkeys(_EXCEPTIONS, "")
    found["NODE_USE_ENV_PROXY"] = "1"  # from Node 24 on its own fetch goes by them
    if bundle is None:
        return found
    return _with_trust(str(bundle), str(offer["authority"]), found)


def _added(certificate: str, environ: Mapping[str, str]) -> str:
    """A file with the authority's certificate, behind those that the user adds."""
    named = environ.get(_ADDED)
    own = read_some(Path(named)) if named else b""
    if not own:
        return certificate
    text = b"\n".join((own, read_some(Path(certificate))))
    return str(agent_file("node-certificates", text, environ) or certificate)


def _with_trust(
    bundle: str, certificate: str, environ: Mapping[str, str]
) -> dict[str, str]:
    """`environ` with every program that can be told trusting the authority."""
    # npm takes these names in any case: there must be one alone.
    others = {name.lower() for name in _BUNDLES if name.startswith("npm_")}
    others |= {name.lower() for name in _DIRECTORIES} | {"npm_config_ca"}
    found = {
        name: value for name, value in environ.items() if name.lower() not in others
    }
    found |= dict.fromkeys(_BUNDLES, bundle)
    found[_ADDED] = _added(certificate, environ)
    wgetrc = wget_settings(bundle, environ)
    return found if wgetrc is None else {**found, "WGETRC": str(wgetrc)}
