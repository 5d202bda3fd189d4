"""Signals, and what else reaches a process by its id: none to those that guard us.

The filter refuses the ids of the protected processes. What is left here are the ids of
their threads, which the kernel takes as well, and descriptors that stand for processes.
"""

import os
import re
import struct
from collections.abc import Callable, Mapping
from errno import EBADF, EINVAL, EPERM
from pathlib import Path
from types import MappingProxyType

from redlane_context_syscall.advisory import never
from redlane_context_syscall.calls import GO_ON, Answer, Value
from redlane_context_syscall.kernel.listener import Listener, Notification
from redlane_context_syscall.kernel.system import (
    pidfd_getfd,
    pidfd_open,
    pidfd_send_signal,
)
from redlane_context_syscall.numbers import name_of
from redlane_context_syscall.processes import process_of
from redlane_context_syscall.request import Rules
from redlane_context_syscall.target import Target
from redlane_context_syscall.tasks import Task
from redlane_context_syscall.world import World

__all__ = ["SIGNALLING", "Signals"]

_PIDFD_THREAD = os.O_EXCL
_TO_GROUP = 4  # PIDFD_SIGNAL_PROCESS_GROUP
_CAP_KILL = 1 << 5
_SIGKILL, _SIGCONT, _SIGSTOP = 9, 18, 19
_SET_OWNER = 8  # fcntl F_SETOWN
_SIZE_OF_INFORMATION = 128  # siginfo_t
_SI_QUEUE = -1
_INFORMATION = struct.Struct("=iiiiiI104x")  # signal, errno, code, -, pid, uid
_PID = re.compile(rb"^Pid:\s+(-?\d+)$", re.MULTILINE)
_DEAD = -1

_WHY = "it would reach a process that guards the session"
_WHY_OUTSIDE = "it would change a process outside of the session"
_STEERING = frozenset(
    {
        *("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam"),
        *("sched_setattr", "setpriority", "ioprio_set"),
    }
)
"""How another process runs is changed by these: the kernel asks for the same user."""
_OF_GROUP = {"setpriority": 1, "ioprio_set": 2}  # PRIO_PGRP, IOPRIO_WHO_PGRP
_OF_USER = {"setpriority": 2, "ioprio_set": 3}

SIGNALLING: Mapping[str, int] = MappingProxyType(
    {
        "kill": 0,
        "tkill": 0,
        "tgkill": 0,
        "rt_sigqueueinfo": 0,
        "rt_tgsigqueueinfo": 0,
        "pidfd_open": 0,
        "pidfd_send_signal": 0,
        "prlimit64": 0,
        "sched_setaffinity": 0,
        "sched_setscheduler": 0,
        "sched_setparam": 0,
        "sched_setattr": 0,
        "setpriority": 1,
        "ioprio_set": 1,
        "fcntl": 2,
    }
)
"""Which register says what process or thread a call is about."""


class Signals:
    """Judges what reaches processes, and keeps it from those that are protected."""

    def __init__(
        self,
        listener: Listener,
        world: World,
        decisions: Rules,
        protected: frozenset[int],
        refusal: Callable[[str, tuple[int, ...]], int | None] = never,
    ) -> None:
        """`protected`: the processes that guard the session; see `Advisory`."""
        self._listener = listener
        self._world = world
        self._decisions = decisions
        self._protected = protected
        self._refusal = refusal

    def __call__(self, notification: Notification) -> Answer:
        """Judge; a signal to a descriptor is sent here, any other by the kernel."""
        name = name_of(notification.number) or ""
        self._decisions.check(notification, name)
        if name == "pidfd_send_signal":
            return self._signal_descriptor(notification, name)
        if name != "fcntl" or notification.args[1] == _SET_OWNER:
            identity = _signed(notification.args[SIGNALLING[name]])
            if identity > 0 and self._is_protected(identity):
                self._decisions.refuse(notification, name, _WHY)
        if name in _STEERING and self._steers_others(notification, name):
            self._decisions.refuse(notification, name, _WHY_OUTSIDE)
        is_settled = self._refusal(name, notification.args) == 0
        return Value() if is_settled else GO_ON

    def _is_protected(self, identity: int) -> bool:
        """Whether this is the id of a protected process, or of a thread of one."""
        if identity in self._protected:
            return True
        try:
            return process_of(identity) in self._protected
        except ProcessLookupError:
            return False

    def _steers_others(self, notification: Notification, name: str) -> bool:
        """Whether it would change how a process runs that is not the session's own.

        All of a user's processes, and another group, may be anybody's.
        """
        arguments = notification.args
        identity = _signed(arguments[SIGNALLING[name]])
        if name == "prlimit64" and not arguments[2]:
            return False  # it only looks
        kind = _signed(arguments[0])
        if kind == _OF_USER.get(name):
            return True
        if kind == _OF_GROUP.get(name):
            return bool(identity) or self._is_in_a_guarding_group(notification.pid)
        return identity > 0 and self._is_outside(notification, identity)

    def _is_outside(self, notification: Notification, identity: int) -> bool:
        """Whether this is the id of a process or thread outside, if it is one of ours.

        In another process id namespace it is that of a process there.
        """
        try:
            is_outside = self._world.view.is_outside(process_of(identity))
        except ProcessLookupError:
            return False
        target = Target(notification, self._listener, self._world)
        return is_outside and not target.numbers_differ()

    def _is_in_a_guarding_group(self, process: int) -> bool:
        return os.getpgid(process) in {os.getpgid(each) for each in self._protected}

    def _signal_descriptor(self, notification: Notification, name: str) -> Answer:
        """Send the signal through a copy: what is in the table may be exchanged."""
        _check_flags(notification.args[3] & 0xFFFFFFFF)
        caller = Task.read(notification.pid)
        try:
            descriptor = self._copied(notification, caller)
        except PermissionError:
            why = "its descriptors are closed to the supervisor"
            self._decisions.refuse(notification, name, why)
        try:
            victim = _process_behind(descriptor)
            if victim != _DEAD and self._reaches_protected(notification, victim):
                self._decisions.refuse(notification, name, _WHY)
            # The kernel would not let the caller, and we are not bound as it is.
            if victim != _DEAD and self._world.view.is_outside(victim):
                raise PermissionError(EPERM, "it does not belong to the session")
            self._send(notification, caller, victim, descriptor)
        finally:
            os.close(descriptor)
        return Value()

    def _copied(self, notification: Notification, caller: Task) -> int:
        """A copy of the caller's descriptor in the first register."""
        try:
            process = pidfd_open(notification.pid, _PIDFD_THREAD)
        except OSError as error:  # Linux 6.9 knows descriptors of threads
            if error.errno != EINVAL:
                raise
            process = pidfd_open(caller.process)
        try:
            if not self._listener.is_valid(notification.id):
                raise ProcessLookupError("the caller has gone")
            return pidfd_getfd(process, _signed(notification.args[0]))
        finally:
            os.close(process)

    def _reaches_protected(self, notification: Notification, victim: int) -> bool:
        if self._is_protected(victim):
            return True
        if not notification.args[3] & _TO_GROUP:
            return False
        if _signed(notification.args[1]) not in (_SIGKILL, _SIGSTOP):
            return False
        return self._is_in_a_guarding_group(victim)

    def _send(
        self, notification: Notification, caller: Task, victim: int, descriptor: int
    ) -> None:
        """Signal as the caller, which the information tells, as far as it may."""
        _, signal, address, flags, *_ = notification.args
        signal, flags = _signed(signal), flags & 0xFFFFFFFF
        if address:
            target = Target(notification, self._listener, self._world)
            information = target.read(address, _SIZE_OF_INFORMATION)
        else:
            # A sender other than oneself can be told of queued signals alone.
            information = _INFORMATION.pack(
                signal, 0, _SI_QUEUE, 0, caller.process, caller.users[0]
            )
        if self._world.credentials_differ and victim != _DEAD:
            _check_right(caller, victim, signal)
        pidfd_send_signal(descriptor, signal, information if signal else None, flags)


def _signed(register: int) -> int:
    """The `int` in a register."""
    return (register & 0x7FFFFFFF) - (register & 0x80000000)


def _check_flags(flags: int) -> None:
    """Raise OSError (EINVAL) for flags that this kernel does not know.

    It looks at them first, so it tells without a process, too.
    """
    if flags:
        try:
            pidfd_send_signal(-1, 0, None, flags)
        except OSError as error:
            if error.errno == EINVAL:
                raise


def _process_behind(descriptor: int) -> int:
    """The process or thread that a descriptor stands for, -1 once it has gone.

    A directory /proc/PID stands for one as well. Raises OSError (EBADF) for others.
    """
    path = Path(f"/proc/self/fd/{descriptor}").readlink()
    if path.is_absolute():
        name = path.name
        if name.isascii() and name.isdigit():
            return int(name)
        raise OSError(EBADF, "no descriptor of a process")
    found = _PID.search(Path(f"/proc/self/fdinfo/{descriptor}").read_bytes())
    if not found:
        raise OSError(EBADF, "no descriptor of a process")
    if found[1] == b"0":
        raise PermissionError(EPERM, "it cannot be told whom the descriptor stands for")
    return int(found[1])


def _check_right(caller: Task, victim: int, signal: int) -> None:
    """Raise PermissionError where the caller, unlike us, may not signal (kill(2))."""
    if caller.credentials.effective & _CAP_KILL:
        return
    other = Task.read(victim)
    if other.process == caller.process:
        return
    if {caller.users[0], caller.users[1]} & {other.users[0], other.users[2]}:
        return
    if signal == _SIGCONT and os.getsid(caller.process) == os.getsid(victim):
        return
    raise PermissionError(EPERM, "the signal is not for this user to send")
