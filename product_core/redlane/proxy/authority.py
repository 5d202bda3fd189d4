"""Makes the certificate authority of TLS interception, and keeps its files whole.

`key.pem` holds key and certificate and is its owner's alone; `cert.pem` is the
certificate, `bundle.pem` the same behind all that the machine trusts: both are for
everybody to read. Each is replaced in one step, and no link is ever followed.
"""

import argparse
import datetime as dt
import fcntl
import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

__all__ = ["AuthorityError", "Store", "create", "main"]

_KEY, _CERTIFICATE, _BUNDLE = "key.pem", "cert.pem", "bundle.pem"
_KEY_BITS = 2048
_LIFE = dt.timedelta(days=3650)
_CLOCK_SKEW = dt.timedelta(days=2)
_RENEW_BEFORE = dt.timedelta(days=30)
_MOST_BYTES = 16 * 1024 * 1024
_NOT_OURS = stat.S_IWGRP | stat.S_IWOTH
_OF_OTHERS = 0o077


class AuthorityError(Exception):
    """The files cannot be kept here; the message says why."""


@dataclass(frozen=True, slots=True)
class Store:
    """The opened directory of the files, and who is to own what is put there."""

    descriptor: int
    owner: tuple[int, int]

    def read(self, name: str, *, secret: bool = False) -> bytes | None:
        """What a file holds; None without one that is ours, and of nobody else."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            file = os.open(name, flags, dir_fd=self.descriptor)
        except OSError:
            return None
        status = os.fstat(file)
        is_ours = stat.S_ISREG(status.st_mode) and status.st_uid == self.owner[0]
        if not is_ours or status.st_mode & (_OF_OTHERS if secret else _NOT_OURS):
            os.close(file)
            return None
        with os.fdopen(file, "rb") as stream:
            return stream.read(_MOST_BYTES)

    def write(self, name: str, data: bytes, mode: int) -> None:
        """Replace a file in one step; what is there under its name is not touched."""
        fresh = f"{name}.new"
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=self.descriptor)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(fresh, flags, 0o600, dir_fd=self.descriptor)
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
            stream.flush()
            if os.fstat(file).st_uid != self.owner[0]:
                os.fchown(file, *self.owner)
            os.fchmod(file, mode)
            os.fsync(file)
        os.rename(fresh, name, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)


@contextmanager
def opened(directory: Path) -> Iterator[Store]:
    """The directory, made if need be, for one program at a time."""
    made = _made(directory)
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(directory, flags)
    try:
        if made and os.geteuid() == 0:  # what root makes is whose the place is
            above = directory.parent.stat()
            os.fchown(descriptor, above.st_uid, above.st_gid)
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid() and os.geteuid() != 0:
            raise AuthorityError(f"{directory} belongs to user {status.st_uid}")
        if status.st_mode & _NOT_OURS:
            raise AuthorityError(f"others can write to {directory} (chmod 755)")
        os.fchmod(descriptor, 0o755)  # whatever the mask: everybody reads the bundle
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield Store(descriptor, (status.st_uid, status.st_gid))
    finally:
        os.close(descriptor)


def _made(directory: Path) -> bool:
    """Whether the directory had to be made."""
    try:
        directory.mkdir(mode=0o755, parents=True)
    except FileExistsError:
        return False
    return True


def create(store: Store, trusted: Path | None, *, fresh: bool) -> bool:
    """Have the files as they should be; whether the authority is a new one.

    One that is whole and goes on for a while is kept, unless it is to be `fresh`.
    """
    pem = None if fresh else store.read(_KEY, secret=True)
    certificate = None if pem is None else _usable(pem)
    is_new = certificate is None
    if certificate is None:
        pem, certificate = _make()
        store.write(_KEY, pem, 0o600)
    system = trusted.read_bytes() if trusted is not None and trusted.is_file() else b""
    bundle = system + (b"\n" if system[-1:] not in (b"", b"\n") else b"") + certificate
    for name, data in ((_CERTIFICATE, certificate), (_BUNDLE, bundle)):
        if is_new or store.read(name) != data:
            store.write(name, data, 0o644)
    return is_new


def _usable(pem: bytes) -> bytes | None:
    """The certificate of a key file, in PEM; None when the file is of no more use."""
    try:
        key = load_pem_private_key(pem, None)
        certificate = x509.load_pem_x509_certificate(pem)
    except ValueError:
        return None
    if key.public_key() != certificate.public_key():
        return None
    ends = certificate.not_valid_after_utc
    if ends < dt.datetime.now(dt.UTC) + _RENEW_BEFORE:
        return None
    return certificate.public_bytes(Encoding.PEM)


def _make() -> tuple[bytes, bytes]:
    """A new authority: the key with the certificate, and the certificate alone."""
    key = rsa.generate_private_key(65537, _KEY_BITS)
    now = dt.datetime.now(dt.UTC)
    public = key.public_key()
    # No two are called the same: clients look an issuer up by its name.
    name = f"Redlane interception {os.urandom(4).hex()}"
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Redlane"),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(public), critical=False
        )
        .sign(key, hashes.SHA256())
    ).public_bytes(Encoding.PEM)
    form = PrivateFormat.TraditionalOpenSSL
    return key.private_bytes(Encoding.PEM, form, NoEncryption()) + certificate, (
        certificate
    )


def _usage() -> x509.KeyUsage:
    """To sign certificates and lists of revoked ones, and for nothing else."""
    return x509.KeyUsage(
        key_cert_sign=True,
        crl_sign=True,
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Do as the daemon or `redlane ca` asks; one line of JSON says what came of it."""
    parser = argparse.ArgumentParser(prog="redlane.proxy.authority")
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--trusted", type=Path)
    parser.add_argument("action", choices=("create", "regenerate"))
    asked = parser.parse_args(arguments)
    try:
        with opened(asked.directory) as store:
            fresh = asked.action == "regenerate"
            told: dict[str, object] = {
                "created": create(store, asked.trusted, fresh=fresh)
            }
    except AuthorityError as error:
        told = {"error": str(error)}
    except OSError as error:
        told = {"error": f"{error.filename or asked.directory}: {error.strerror}"}
    sys.stdout.write(json.dumps(told) + "\n")
    return 1 if "error" in told else 0


if __name__ == "__main__":
    sys.exit(main())
