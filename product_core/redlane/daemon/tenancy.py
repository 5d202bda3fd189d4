"""What differs between the daemon of one user and that of the whole machine."""

import os
import pwd
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from redlane.contexts.parse import parse_contents
from redlane.contexts.shell.content import ShellContent
from redlane.contexts.shell.expansion.acting import Identity, check_acting
from redlane.contexts.shell.expansion.callers_disk import CallersDisk
from redlane.contexts.shell.expansion.disk import OWN_DISK, Disk
from redlane.contexts.shell.expansion.hiding_disk import HidingDisk, own_path
from redlane.contexts.shell.expansion.mounted import has_our_view, paths_of
from redlane.contexts.syscall.surroundings import Surroundings, concealed
from redlane.daemon.capabilities import clear_ambient
from redlane.engine.hiding import Hidden
from redlane.judging.service import Contents
from redlane.membership.callers import Admission
from redlane.membership.peers import Peer
from redlane.model.content import Content
from redlane.model.policy import Context
from redlane.policies.secrets import Hiding
from redlane.state.owners import default_session
from redlane.state.quota_keys import KnownUsers, QuotaKey

__all__ = ["Tenancy", "tenancy"]


@dataclass(frozen=True, slots=True)
class Tenancy:
    """Whom a daemon serves, whose files it reads, and by what it counts.

    Without `quota_key` all that is counted is one user's.
    """

    admission: Admission
    contents: Contents
    knows: Callable[[int], bool]
    quota_key: QuotaKey | None = None

    def counted(self, peer: Peer) -> str | None:
        """The name under which a peer's connections are counted, if they are."""
        if self.quota_key is None or not self.admission.bounds(peer):
            return None
        return self.quota_key(default_session(peer.uid))

    def counted_session(self, session_id: str) -> str | None:
        """The name under which what a session's proxy asks is counted, if it is."""
        return None if self.quota_key is None else self.quota_key(session_id)


def tenancy(*, is_system: bool) -> Tenancy:
    """How the machine's daemon is, or a user's own.

    Raises DaemonError when this process may not do what the machine's daemon must.
    """
    users = KnownUsers()
    if not is_system:
        return Tenancy(Admission(), _Contents(_own_disk), users.knows)
    clear_ambient()
    check_acting()
    contents = _Contents(_callers_disk)
    return Tenancy(Admission.of_machine(), contents, users.knows, users.quota_key)


@dataclass(frozen=True, slots=True)
class _Contents:
    """How bytes become content, with files as `disk` finds them for who asks."""

    disk: Callable[[Peer], Disk]

    def shell(
        self,
        command: bytes,
        arguments: tuple[bytes, ...],
        directory: str | None,
        before: bytes,
        peer: Peer,
        hiding: Hiding,
        is_handed_on: Callable[[], bool],
    ) -> Content:
        disk = self._shown(peer, hiding)
        return ShellContent(command, arguments, directory, before, disk, is_handed_on)

    def parse(
        self, context: Context, data: bytes, peer: Peer, hiding: Hiding
    ) -> Sequence[Content]:
        return parse_contents(context, data, disk=self._shown(peer, hiding))

    def _shown(self, peer: Peer, hiding: Hiding) -> Disk:
        disk = self.disk(peer)
        if not hiding.entries:
            return disk
        hidden = _hidden(hiding, _home_of(peer.uid), _directory_of(hiding.root))
        is_ours = disk is OWN_DISK
        find = own_path if is_ours else partial(paths_of, pid=peer.pid)
        return HidingDisk(disk, hidden.holds, find)


@lru_cache(maxsize=256)
def _hidden(hiding: Hiding, home: str, work: str) -> Hidden:
    return concealed(hiding.entries, Surroundings(home, work))


def _home_of(user: int) -> str:
    """A user's home; ours is where our environment says."""
    if user == os.geteuid():
        return os.path.expanduser("~")  # noqa: PTH111  # a text
    try:
        return pwd.getpwuid(user).pw_dir
    except KeyError:
        return "/"


def _directory_of(root: int | None) -> str:
    """Where the root of a session works; "/" where that cannot be told."""
    try:
        return os.readlink(f"/proc/{root}/cwd")  # noqa: PTH115  # a text
    except OSError:
        return "/"


def _own_disk(peer: Peer) -> Disk:
    """Files of this user, as who asks has them mounted; root may ask as well."""
    if peer.uid != os.geteuid() or has_our_view(peer.pid):
        return OWN_DISK
    me = Identity(os.geteuid(), os.getegid(), tuple(os.getgroups()))
    return CallersDisk(peer.pid, me, lambda: peer.alive)


def _callers_disk(peer: Peer) -> Disk:
    identity = Identity(peer.uid, peer.gid, peer.groups)
    return CallersDisk(peer.pid, identity, lambda: peer.alive)
