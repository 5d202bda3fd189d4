"""mkdir, mknod, symlink and their relatives, done in the caller's place.

The directory is pinned, and the name in it goes to the kernel as it was written, with
its slashes: so every errno is the kernel's own.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from redlane_context_syscall.adopting import UnfaithfulError, adopted
from redlane_context_syscall.arguments import arguments_of
from redlane_context_syscall.calls import Answer, Handler, Value
from redlane_context_syscall.emulated_call import (
    EmulatedCall,
    EmulatedCalls,
    NameRules,
    text,
)
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import AT_FDCWD, mkdirat, mknodat, symlinkat
from redlane_context_syscall.resolve import DirectoryEntry, pin_at, place, place_at
from redlane_context_syscall.target import Target
from redlane_context_syscall.world import World

__all__ = ["Making"]

_WORD = 0xFFFFFFFF

Paths = tuple[bytes | None, ...]
Make = Callable[[EmulatedCall, DirectoryEntry], None]


class Making:
    """Answers what makes a name; one for each session, for several threads at once."""

    def __init__(
        self,
        listener: Listener,
        world: World,
        decisions: NameRules,
        *,
        blocking: Callable[[Notification], None],
    ) -> None:
        """`blocking` is called before anything that may wait for long."""
        self._calls = EmulatedCalls(listener, world, decisions, blocking=blocking)

    def handlers(self) -> Mapping[str, Handler]:
        """The handler of each call, by its name."""
        kinds = {
            ("mkdir", "mkdirat"): _mkdir,
            ("mknod", "mknodat"): _mknod,
            ("symlink", "symlinkat"): None,
        }
        return {
            name: partial(self._answer, name, make)
            for names, make in kinds.items()
            for name in names
        }

    def _answer(
        self, name: str, make: Make | None, notification: Notification
    ) -> Answer:
        """Pin where the name is to be, and make it; without `make` a link."""
        call = self._calls.begin(notification, name)
        link = arguments_of(name)[-1]
        at = link.directory
        directory = notification.args[at] if at >= 0 else AT_FDCWD
        told = _text_of_link(call) if make is None else b""
        path = call.read(notification.args[link.pointer])
        left = call.left((directory, path, False))
        if left is not None:
            return left
        with call.resolving():
            there = place(call.target, directory, text(path))
        try:
            if make is None:
                _symlink(call, there, told)
            else:
                make(call, there)
        finally:
            there.close()
        return Value()


def _mkdir(call: EmulatedCall, there: DirectoryEntry) -> None:
    """The mode stands behind the path."""
    (mode,) = _behind_path(call, 1)
    call.check_made(there)
    with _creating(call):
        mkdirat(there.parent, there.name, mode)


def _mknod(call: EmulatedCall, there: DirectoryEntry) -> None:
    """Mode and device stand behind the path."""
    mode, device = _behind_path(call, 2)
    call.check_made(there)
    with _creating(call):
        mknodat(there.parent, there.name, mode, device)


def _symlink(call: EmulatedCall, there: DirectoryEntry, told: bytes) -> None:
    """The link's text is the first register. Nothing changes where it leads."""
    call.check_made(there, seen=_leads_to(call, there, told))
    with call.acting():
        symlinkat(told, there.parent, there.name)


def _behind_path(call: EmulatedCall, count: int) -> tuple[int, ...]:
    at = arguments_of(call.name)[-1].pointer + 1
    return tuple(
        each & _WORD for each in call.target.notification.args[at : at + count]
    )


@contextmanager
def _creating(call: EmulatedCall) -> Iterator[None]:
    """As the caller, with its umask."""
    try:
        with adopted(call.target, creating=True):
            yield
    except UnfaithfulError as error:
        call.refuse(error.reason)


def _leads_to(call: EmulatedCall, link: DirectoryEntry, told: bytes) -> Paths:
    """Where a link would lead, if that can be told: it may lead nowhere."""
    try:
        with call.acting():
            return (_canonical(call.target, link.parent, told),)
    except PermissionError:
        return (None,)
    except OSError:
        return ()


def _canonical(target: Target, directory: int, path: bytes) -> bytes | None:
    try:
        found = pin_at(target, directory, path)
    except FileNotFoundError:
        found_place = place_at(target, directory, path)
        found_place.close()
        return found_place.canonical
    found.close()
    return found.canonical


def _text_of_link(call: EmulatedCall) -> bytes:
    """What a new link is to say, which the kernel reads first."""
    told = call.read(call.target.notification.args[0])
    if isinstance(told, OSError):
        call.check()
    return text(told)
