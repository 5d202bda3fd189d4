"""TLS on both sides: certificates of our own for clients, real ones from servers."""

import logging
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from mitmproxy import certs, ctx, http, tls
from mitmproxy.addons.tlsconfig import TlsConfig

from redlane.proxy.aliases import is_unnamed
from redlane.proxy.hosts import same_host
from redlane.proxy.settings import ProxySettings

__all__ = ["Interception"]

_log = logging.getLogger(__name__)


class Interception(TlsConfig):
    """mitmproxy's own, with the authority and the trust that the daemon names."""

    def __init__(self) -> None:
        """Nothing is intercepted before `use`."""
        self._authority: tuple[str, int] | None = None

    def configure(self, updated: set[str]) -> None:
        """Nothing: mitmproxy would make an authority of its own here."""

    def request(self, flow: http.HTTPFlow) -> None:
        """Nothing: mitmproxy 12 would answer some addresses itself, unjudged."""

    def use(self, settings: ProxySettings) -> None:
        """Sign as settings say; raises OSError or ValueError for a broken file."""
        if settings.intercept and settings.authority is not None:
            path = Path(settings.authority)
            made = settings.authority, path.stat().st_mtime_ns
            if made != self._authority:
                self.certstore = _store(path.read_bytes())
                self._authority = made
        ctx.options.update(ssl_verify_upstream_trusted_ca=settings.trusted)

    def tls_start_client(self, tls_start: tls.TlsData) -> None:
        """Serve whom `CONNECT` and the server's name agree on, and nobody else."""
        name = tls_start.context.client.sni
        address = tls_start.context.server.address
        if address is None or not _may_name(name, address[0]):
            _log.info("refused: the name in TLS is not that of CONNECT")
            return  # without a context mitmproxy closes the connection
        super().tls_start_client(tls_start)


def _may_name(name: str | None, host: str) -> bool:
    """Whether it is the name of what `CONNECT` named, or Routing has had it judged."""
    return not name or same_host(name, host) or is_unnamed(host)


class _Store(certs.CertStore):
    """mitmproxy's own, whose certificates name no list of revoked ones.

    mitmproxy 12 would have them name one that it serves itself (see `request`).
    """

    def get_cert(
        self,
        commonname: str | None,
        sans: Iterable[x509.GeneralName],
        organization: str | None = None,
        *_: object,
    ) -> certs.CertStoreEntry:
        """A certificate of these names."""
        return super().get_cert(commonname, sans, organization)


def _store(pem: bytes) -> certs.CertStore:
    """A store of certificates, signed by the authority in `pem`."""
    key = load_pem_private_key(pem, None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ValueError("the key of the authority is not one of RSA")  # noqa: TRY004
    without_parameters: Any = None  # of Diffie-Hellman over finite fields: curves do
    authority = certs.Cert.from_pem(pem)
    has_list = hasattr(certs, "dummy_crl")
    lists: Any = {"default_crl": b""} if has_list else {}
    return _Store(key, authority, None, dhparams=without_parameters, **lists)
