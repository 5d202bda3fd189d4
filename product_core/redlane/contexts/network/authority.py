"""The certificate authority of TLS interception, as the daemon and `redlane ca` use it.

The program that makes it is the proxy's (`redlane.proxy.authority`): the core has no
library for certificates.
"""

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from redlane.contexts.network.installed import MISSING, authority_command
from redlane.errors import RedlaneError
from redlane.execution import SEARCH_PATH

__all__ = ["Authority", "trusted_certificates"]

_SECONDS = 60
_PLACES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
"""Where distributions keep what the machine trusts, in one file."""


@dataclass(frozen=True, slots=True)
class Authority:
    """The files in a directory; `trusted` is what the bundle begins with."""

    directory: Path
    trusted: Path

    @property
    def key(self) -> Path:
        """Key and certificate: for the proxy alone."""
        return self.directory / "key.pem"

    @property
    def certificate(self) -> Path:
        """The certificate, in PEM."""
        return self.directory / "cert.pem"

    @property
    def bundle(self) -> Path:
        """The certificate behind all that the machine trusts."""
        return self.directory / "bundle.pem"

    def create(self) -> bool:
        """Make what is missing; whether the authority is a new one.

        Raises RedlaneError when that is not possible, as `regenerate` does.
        """
        return self._run("create")

    def regenerate(self) -> bool:
        """Make another authority in place of the one that is there."""
        return self._run("regenerate")

    def _run(self, action: str) -> bool:
        command = authority_command()
        if command is None:
            raise RedlaneError(MISSING)
        options = ["--directory", str(self.directory), "--trusted", str(self.trusted)]
        try:
            done = subprocess.run(
                [*command, *options, action],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                env={"PATH": SEARCH_PATH, "LC_ALL": "C.UTF-8"},
                cwd="/",
                timeout=_SECONDS,
                check=False,
            )
            told = json.loads(done.stdout)
            error = told.get("error")
            created = told.get("created") is True
        except (OSError, subprocess.SubprocessError) as error_:
            error = str(error_)
        except (ValueError, AttributeError):
            error = _last_line(done.stderr) or f"exit status {done.returncode}"
        if error:
            raise RedlaneError(f"the certificate authority cannot be made: {error}")
        return created


def trusted_certificates(environ: Mapping[str, str]) -> Path:
    """The file of certificates that servers are verified by.

    SSL_CERT_FILE names it, as for other programs; else it is the machine's.
    """
    named = environ.get("SSL_CERT_FILE", "")
    places = (*([named] if named else []), *_PLACES)
    found = next(filter(os.path.isfile, places), _PLACES[0])
    return Path(found).absolute()


def _last_line(data: bytes) -> str:
    lines = data.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
