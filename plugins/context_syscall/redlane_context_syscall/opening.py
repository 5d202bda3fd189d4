"""open, openat and creat, done in the caller's place.

A path is resolved once. What it means is pinned, judged, and then opened by the pin:
whatever becomes of the path or of the caller's memory meanwhile, the file that is
handed over is the one that was judged. Two things are not as they would be natively: a
terminal does not become the controlling one by being opened (TIOCSCTTY makes it that),
and it is the supervisor that waits for a lease on a file to be given up.
"""

import os
from collections.abc import Callable, Mapping
from errno import EFAULT, ENAMETOOLONG
from stat import S_ISDIR, S_ISREG

from redlane_context_syscall.adopting import UnfaithfulError, adopted
from redlane_context_syscall.calls import GO_ON, Answer, Handler
from redlane_context_syscall.creating import create
from redlane_context_syscall.flags import (
    CREATING,
    OURS,
    TEMPORARY,
    check_flags,
    is_changing,
    known,
    rights,
)
from redlane_context_syscall.foreign import candidates_abroad
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import AT_FDCWD, openat2
from redlane_context_syscall.request import Request, Rules
from redlane_context_syscall.resolve import pin, pin_at, place
from redlane_context_syscall.special import open_pinned, opened
from redlane_context_syscall.target import Target
from redlane_context_syscall.world import World

__all__ = ["Opening"]

_UNCOMMON = os.O_PATH | CREATING | os.O_NOFOLLOW
_NEW = os.O_CREAT | os.O_WRONLY | os.O_TRUNC


class Opening:
    """Answers opens; one for each session, for several threads at once."""

    def __init__(
        self,
        listener: Listener,
        world: World,
        decisions: Rules,
        *,
        blocking: Callable[[Notification], None],
    ) -> None:
        """`blocking` is called before anything that may wait for long."""
        self._listener = listener
        self._world = world
        self._decisions = decisions
        self._blocking = blocking

    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each call, by its name."""
        return {"open": self.open, "openat": self.openat, "creat": self.creat}

    def open(self, notification: Notification) -> Answer:
        """Answer open: path, flags, mode."""
        path, flags, mode = notification.args[:3]
        return self._answer(notification, "open", AT_FDCWD, path, flags, mode)

    def openat(self, notification: Notification) -> Answer:
        """Answer openat: directory, path, flags, mode."""
        directory, path, flags, mode = notification.args[:4]
        return self._answer(notification, "openat", directory, path, flags, mode)

    def creat(self, notification: Notification) -> Answer:
        """Answer creat: path, mode."""
        path, mode = notification.args[:2]
        return self._answer(notification, "creat", AT_FDCWD, path, _NEW, mode)

    def _answer(
        self,
        notification: Notification,
        name: str,
        dirfd: int,
        address: int,
        flags: int,
        mode: int,
    ) -> Answer:
        """Read what there is to read, and do it as the caller would."""
        world, rules = self._world, self._decisions
        flags = known(flags)
        check_flags(flags)
        if rules.is_slow(name):
            self._blocking(notification)
        target = Target(notification, self._listener, world)
        path: bytes | None = None
        try:
            path = self._read(target, name, address)
            if world.is_one:
                return _opened(self._request(target, name, (dirfd, path), flags, mode))
            reason = target.foreign()
            if reason and world.allows_namespaces:
                follow = not flags & (os.O_NOFOLLOW | os.O_EXCL)
                abroad = candidates_abroad(target, dirfd, path, follow=follow)
                changes = is_changing(flags) or flags & os.O_CREAT
                rules.check(notification, name, abroad, abroad if changes else ())
                return GO_ON
            if reason:
                rules.refuse(notification, name, reason, (path,))
            with adopted(target, creating=bool(flags & CREATING)):
                return _opened(
                    self._request(
                        target, name, (dirfd, path), flags, mode, is_adopted=True
                    )
                )
        except UnfaithfulError as error:
            rules.refuse(notification, name, error.reason, (path,))

    def _read(self, target: Target, name: str, address: int) -> bytes:
        """The path as written; one that cannot be read is judged as just that."""
        try:
            return target.read_string(address)
        except PermissionError:
            raise UnfaithfulError("its memory is closed to the supervisor") from None
        except OSError as error:
            if error.errno == EFAULT:
                self._decisions.check(target.notification, name, (None,))
            elif error.errno == ENAMETOOLONG:  # it was read, and is no path
                self._decisions.check(target.notification, name)
            raise

    def _request(
        self,
        target: Target,
        name: str,
        where: tuple[int, bytes],
        flags: int,
        mode: int,
        *,
        is_adopted: bool = False,
    ) -> Request:
        return Request(
            target,
            name,
            self._decisions,
            self._blocking,
            where,
            flags,
            rights(mode, flags),
            is_adopted=is_adopted,
        )


def _opened(request: Request) -> Answer:
    """Open in the way that the flags ask for."""
    flags = request.flags
    if not flags & _UNCOMMON:
        return _open_what_is_there(request)
    if flags & os.O_PATH:
        return _judge_only(request)
    if flags & TEMPORARY:
        return _open_temporary(request)
    if flags & os.O_CREAT:
        return create(request)
    return _open_unfollowed(request)


def _open_what_is_there(request: Request) -> Answer:
    """Open an existing file, wherever links lead."""
    target, path = request.target, request.path
    pinned = request.resolved(lambda: pin(target, request.dirfd, path))
    try:
        request.check(
            pinned.canonical, pinned.status, fails=S_ISDIR(pinned.status.st_mode)
        )
        if request.flags & os.O_TRUNC and S_ISREG(pinned.status.st_mode):
            request.make_room()
        return request.answer(open_pinned(request, pinned))
    finally:
        os.close(pinned.descriptor)


def _open_unfollowed(request: Request) -> Answer:
    """Open an existing file that must be no link (O_NOFOLLOW).

    By its name in the pinned directory, since the flag stays visible in the open file.
    """
    target = request.target
    where = request.resolved(lambda: place(target, request.dirfd, request.path))
    try:
        if not where.is_plain:
            return _open_what_is_there(request)
        found = request.resolved(
            lambda: pin_at(target, where.parent, where.name, follow=False)
        )
        try:
            request.check(
                where.canonical,
                found.status,
                fails=S_ISDIR(found.status.st_mode),
            )
            if request.flags & os.O_TRUNC and S_ISREG(found.status.st_mode):
                request.make_room()
            flags = request.flags | OURS
            return request.answer(
                opened(request, found, lambda: openat2(where.parent, where.name, flags))
            )
        finally:
            found.close()
    finally:
        where.close()


def _open_temporary(request: Request) -> Answer:
    """Make a file without a name in a directory (O_TMPFILE)."""
    target, flags = request.target, request.flags
    follow = not flags & os.O_NOFOLLOW
    pinned = request.resolved(
        lambda: pin(target, request.dirfd, request.path, follow=follow)
    )
    try:
        request.check(pinned.canonical)
        request.make_room()
        with request.creating():
            return request.answer(open_pinned(request, pinned))
    finally:
        pinned.close()


def _judge_only(request: Request) -> Answer:
    """Leave O_PATH to the kernel: such a descriptor cannot be handed over.

    Another thread may have it point somewhere else, which opens nothing: what is done
    by way of it is judged again.
    """
    follow = not request.flags & os.O_NOFOLLOW
    pinned = request.resolved(
        lambda: pin(request.target, request.dirfd, request.path, follow=follow)
    )
    try:
        request.check(pinned.canonical)
    finally:
        pinned.close()
    return GO_ON
