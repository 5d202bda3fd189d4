"""The proxy with less patience: half a second where it has half a minute."""

from redlane.proxy import http1, kept_connections
from redlane.proxy.main import main

__all__: list[str] = []

if __name__ == "__main__":
    http1._HEAD_SECONDS = 0.5  # nobody should wait for a test
    kept_connections._FIRST_SECONDS = 0.5  # as above
    main()
