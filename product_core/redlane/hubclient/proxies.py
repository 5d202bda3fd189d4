"""The way to a hub: its own, or through the proxy that the environment names."""

import urllib.request
from urllib.parse import unquote, urlsplit

import urllib3

from redlane.errors import UsageError
from redlane.hubclient.address import is_on_this_machine

__all__ = ["manager_for"]


def manager_for(address: str) -> urllib3.PoolManager:
    """What makes the connections; a hub on this machine is asked by no proxy.

    Raises UsageError for a proxy that cannot be one.
    """
    proxy = None if is_on_this_machine(address) else _proxy(address)
    if proxy is None:
        return urllib3.PoolManager(maxsize=1)
    try:
        parts = urlsplit(proxy)
        login = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        headers = urllib3.make_headers(
            proxy_basic_auth=login if parts.username else None
        )
        return urllib3.ProxyManager(proxy, maxsize=1, proxy_headers=headers)
    except (urllib3.exceptions.HTTPError, ValueError, AssertionError) as error:
        raise UsageError(f"the proxy that the environment names: {error}") from error


def _proxy(address: str) -> str | None:
    parts = urlsplit(address)
    named = urllib.request.getproxies()
    proxy = named.get(parts.scheme) or named.get("all")
    if not proxy or urllib.request.proxy_bypass(parts.netloc):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
