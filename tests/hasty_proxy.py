"""The proxy with less patience than half a minute."""

from redlane.proxy import http1, kept_connections
from redlane.proxy.main import main

__all__: list[str] = []

if __name__ == "__main__":
    http1._HEAD_SECONDS = 0.5  # a head that comes at once takes none of it
    kept_connections._FIRST_SECONDS = 5.0  # the first may be long in work
    main()
