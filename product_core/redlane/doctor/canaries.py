"""Every attempt that is made within the session, in the order of the table."""

from collections.abc import Callable, Sequence

from redlane.doctor.commands import command_canaries
from redlane.doctor.files import read_hidden, write_elsewhere, write_own_file
from redlane.doctor.findings import Finding
from redlane.doctor.neighbours import neighbour_canaries
from redlane.doctor.network import connect_directly, request_http, request_https
from redlane.doctor.privileges import gain_privileges
from redlane.doctor.targets import Targets
from redlane.doctor.terminal import type_into_terminal
from redlane.doctor.tools import call_tool

__all__ = ["CANARIES"]

CANARIES: Sequence[Callable[[Targets], Finding]] = (
    *command_canaries(),
    call_tool,
    request_http,
    request_https,
    connect_directly,
    *neighbour_canaries(),
    type_into_terminal,
    gain_privileges,
    write_own_file,
    write_elsewhere,
    read_hidden,
)
