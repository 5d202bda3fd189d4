"""A certificate authority for one test run, and certificates of servers."""

import datetime as dt
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

__all__ = ["NAMES", "Authority"]

NAMES = ("localhost", "127.0.0.1", "::1")
"""What the origins are reached by."""


class Authority:
    """An authority that nobody trusts but those who read `bundle`."""

    def __init__(self, directory: Path, name: str = "Authority of the tests") -> None:
        """Make the key and write the certificate below `directory`."""
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self.bundle = directory / "authority.pem"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        self._certificate = (
            _builder(self._name, self._name, self._key)
            .add_extension(
                x509.BasicConstraints(ca=True, path_length=None), critical=True
            )
            .add_extension(usage, critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.bundle.write_bytes(_pem(self._certificate))

    def issue(
        self, *names: str, days: int = 30, client: bool = False
    ) -> tuple[Path, Path]:
        """The files of a certificate and its key, for names and addresses.

        With negative `days` it is no longer valid.
        """
        names = names or NAMES
        key = ec.generate_private_key(ec.SECP256R1())
        use = (
            ExtendedKeyUsageOID.CLIENT_AUTH
            if client
            else ExtendedKeyUsageOID.SERVER_AUTH
        )
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(
            self._key.public_key()
        )
        certificate = (
            _builder(_name(names[0]), self._name, key, days)
            .add_extension(
                x509.SubjectAlternativeName(list(map(_san, names))), critical=False
            )
            .add_extension(
                x509.BasicConstraints(ca=False, path_length=None), critical=True
            )
            .add_extension(x509.ExtendedKeyUsage([use]), critical=False)
            .add_extension(identifier, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        stem = f"{certificate.serial_number:x}"
        files = self.directory / f"{stem}.pem", self.directory / f"{stem}.key"
        files[0].write_bytes(_pem(certificate) + _pem(self._certificate))
        files[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return files


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    days: int = 30,
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    day = dt.timedelta(days=1)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + min(0, days) * day - day)
        .not_valid_after(now + days * day)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
        )
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _san(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
