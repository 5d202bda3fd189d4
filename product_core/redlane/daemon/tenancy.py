"""What differs between the daemon of one user and that of the whole machine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from redlane.contexts.parse import parse_contents
from redlane.contexts.shell.acting import Identity, check_acting
from redlane.contexts.shell.callers_disk import CallersDisk
from redlane.contexts.shell.content import ShellContent
from redlane.contexts.shell.disk import OWN_DISK, Disk
from redlane.control.callers import Admission
from redlane.control.judging import Contents
from redlane.control.peers import Peer
from redlane.daemon.capabilities import clear_ambient
from redlane.model.content import Content
from redlane.model.policy import Context
from redlane.state.owners import default_session
from redlane.state.shares import KnownUsers, Share

__all__ = ["Tenancy", "tenancy"]


@dataclass(frozen=True, slots=True)
class Tenancy:
    """Whom a daemon serves, whose files it reads, and by what it counts.

    Without `share` all that is counted is one user's.
    """

    admission: Admission
    contents: Contents
    knows: Callable[[int], bool]
    share: Share | None = None

    def counted(self, peer: Peer) -> str | None:
        """The name under which a peer's connections are counted, if they are."""
        if self.share is None or not self.admission.bounds(peer):
            return None
        return self.share(default_session(peer.uid))

    def counted_session(self, session_id: str) -> str | None:
        """The name under which what a session's proxy asks is counted, if it is."""
        return None if self.share is None else self.share(session_id)


def tenancy(*, is_system: bool) -> Tenancy:
    """How the machine's daemon is, or a user's own.

    Raises DaemonError when this process may not do what the machine's daemon must.
    """
    users = KnownUsers()
    if not is_system:
        return Tenancy(Admission(), _contents(_own_disk), users.knows)
    clear_ambient()
    check_acting()
    contents = _contents(_callers_disk)
    return Tenancy(Admission.of_machine(), contents, users.knows, users.share)


def _contents(disk: Callable[[Peer], Disk]) -> Contents:
    """How bytes become content, with files as `disk` finds them for who asks."""

    def shell(
        data: bytes,
        arguments: tuple[bytes, ...],
        cwd: str | None,
        before: bytes,
        peer: Peer,
    ) -> Content:
        return ShellContent(data, arguments, cwd, before, disk(peer))

    def parse(context: Context, data: bytes, peer: Peer) -> Sequence[Content]:
        return parse_contents(context, data, disk=disk(peer))

    return Contents(parse, shell)


def _own_disk(_: Peer) -> Disk:
    return OWN_DISK


def _callers_disk(peer: Peer) -> Disk:
    identity = Identity(peer.uid, peer.gid, peer.groups)
    return CallersDisk(peer.pid, identity, lambda: peer.alive)
