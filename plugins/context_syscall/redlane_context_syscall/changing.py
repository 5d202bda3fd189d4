"""Calls after which a process may differ from its supervisor: noted, then let go on.

They are noted before they are done: a call that fails costs time later, and one that
was not noted would be judged by what no longer holds.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from redlane_context_syscall.calls import GO_ON, Answer, Handler
from redlane_context_syscall.kernel.listener import Notification
from redlane_context_syscall.numbers import name_of
from redlane_context_syscall.world import World

__all__ = ["CHANGING", "Changing"]

_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x00020000  # CLONE_NEWUSER, CLONE_NEWNS


def _credentials(world: World, _arguments: tuple[int, ...]) -> None:
    world.note_credentials()


def _root(world: World, _arguments: tuple[int, ...]) -> None:
    world.note_root()


def _namespaces(world: World, _arguments: tuple[int, ...]) -> None:
    world.note_namespaces()


def _parting(world: World, arguments: tuple[int, ...]) -> None:
    """Flags in the first register; other namespaces change no path and no rights."""
    if arguments[0] & (_NEW_USER | _NEW_MOUNTS):
        world.note_namespaces()


CHANGING: Mapping[str, Callable[[World, tuple[int, ...]], None]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *("setuid", "setgid", "setreuid", "setregid", "setresuid"),
                *("setresgid", "setfsuid", "setfsgid", "setgroups", "capset", "prctl"),
            ),
            _credentials,
        ),
        "chroot": _root,
        "pivot_root": _root,
        "setns": _namespaces,
        "unshare": _parting,
        "clone": _parting,
    }
)
"""What each call changes, by name."""


class Changing:
    """Notes what a call changes, once it is judged."""

    def __init__(self, judged: Handler, world: World) -> None:
        """`judged` is asked first, and raises OSError for what is refused."""
        self._judged = judged
        self._world = world

    def __call__(self, notification: Notification) -> Answer:
        """Judge, note, and leave the call to the kernel."""
        answer = self._judged(notification)
        if answer is GO_ON:
            name = name_of(notification.number)
            CHANGING[name or ""](self._world, notification.args)
        return answer
