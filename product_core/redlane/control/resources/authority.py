"""`/api/ca/regenerate`: another certificate authority for TLS interception."""

import falcon

from redlane.control.bodies import read_object
from redlane.sessions.session_proxy import SessionProxy

__all__ = ["AuthorityRenewal"]


class AuthorityRenewal:
    """`POST` `{}`: replace key and certificate, and sign with them from now on."""

    def __init__(self, proxy: SessionProxy) -> None:
        """Have `proxy` do it."""
        self._proxy = proxy

    def on_post(self, request: falcon.Request, response: falcon.Response) -> None:
        """Answer where the certificate and the bundle are."""
        read_object(request)
        response.media = self._proxy.regenerate()
