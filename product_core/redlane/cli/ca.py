"""`redlane ca`: the certificate authority that TLS interception signs with."""

import argparse
import os
import sys
from typing import TYPE_CHECKING

from redlane.cli import exit_codes
from redlane.cli.output import print_note
from redlane.cli.parser import Commands, add_command, add_group
from redlane.errors import RedlaneError
from redlane.paths import Paths

if TYPE_CHECKING:
    from redlane.contexts.network.authority import Authority

__all__ = ["register"]


def register(commands: Commands) -> None:
    """Add `redlane ca` and what it holds."""
    group = add_group(
        commands,
        "ca",
        summary="the certificate authority of TLS interception",
        examples="""
            redlane ca path
            redlane ca print > redlane.pem
            redlane ca regenerate
        """,
    )
    add_command(
        group,
        "path",
        _path,
        summary="print where the authority's certificate is",
        description="""
            Print the path of the certificate, in PEM. The first use makes the
            authority. Beside it `bundle.pem` holds the same behind all that the machine
            trusts; the key is in `key.pem`, for its owner alone.
        """,
        examples="redlane ca path",
    )
    add_command(
        group,
        "print",
        _print,
        summary="print the authority's certificate",
        description="Print the certificate, in PEM. The first use makes the authority.",
        examples="redlane ca print | openssl x509 -noout -text",
    )
    add_command(
        group,
        "regenerate",
        _regenerate,
        summary="make another authority, and use it from now on",
        description="""
            Replace key and certificate. Programs that run have the old certificate:
            their HTTPS fails until they are started again.
        """,
        examples="redlane ca regenerate",
    )


def _path(_: argparse.Namespace) -> int:
    sys.stdout.write(f"{_made().certificate}\n")
    return exit_codes.OK


def _print(_: argparse.Namespace) -> int:
    sys.stdout.write(_made().certificate.read_text(encoding="ascii"))
    return exit_codes.OK


def _regenerate(_: argparse.Namespace) -> int:
    from redlane.client import Client, NotRunningError, operations  # noqa: PLC0415  # light
    from redlane.daemon.lifecycle import check_outside  # noqa: PLC0415  # as above

    check_outside("ca regenerate")
    paths = Paths.of_daemon_to_ask(os.environ)
    try:
        Client(paths.socket).send(operations.regenerate_authority())
    except NotRunningError:
        _authority(paths).regenerate()
    print_note(
        "there is a new certificate authority: start agents again that were started "
        "with the old one"
    )
    return exit_codes.OK


def _authority(paths: Paths) -> "Authority":
    from redlane.contexts.network.authority import (  # noqa: PLC0415  # light
        Authority,
        trusted_certificates,
    )

    return Authority(paths.authority, trusted_certificates(os.environ))


def _made() -> "Authority":
    """The authority of the daemon that is asked; it is made if there is none."""
    paths = Paths.of_daemon_to_ask(os.environ)
    authority = _authority(paths)
    if authority.certificate.is_file():
        return authority
    if paths.is_system and not os.access(paths.authority.parent, os.W_OK):
        raise RedlaneError(
            f"{authority.certificate} is not there yet: the machine's daemon makes it "
            "when the first session is opened with tls.intercept, and root with: "
            "redlane ca path"
        )
    authority.create()
    return authority
