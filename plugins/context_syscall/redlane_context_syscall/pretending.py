"""What the filter answers with success and does not do: programs insist on it.

gpg and ssh-agent give up when they may not have it that nobody reads their memory.
"""

from collections.abc import Iterator

from redlane_context_syscall.bpf import Condition, refuse
from redlane_context_syscall.filter_rules import FilterRule

__all__ = ["cores", "memory"]

_SUCCEEDS = refuse(0)
_CORE = 4  # RLIMIT_CORE
_SET_DUMPABLE = 4  # PR_SET_DUMPABLE


def cores() -> Iterator[FilterRule]:
    """The limit of core files stays: at zero in sessions that must not leave any.

    Programs that set it to zero themselves have what they want.
    """
    why = "a core file lies where nobody may write, or holds what nobody may read"
    yield FilterRule("setrlimit", _SUCCEEDS, why, (Condition(0, (_CORE,)),))
    for is_upper in (False, True):  # the new limit's address, if there is one
        given = Condition(2, (0,), negated=True, is_upper=is_upper)
        yield FilterRule("prlimit64", _SUCCEEDS, why, (Condition(1, (_CORE,)), given))


def memory() -> Iterator[FilterRule]:
    """Processes stay open to a supervisor that is not root.

    It has to read the paths in the memory of its callers, and would have to refuse
    every open of one that is closed to it. Others of the session cannot look into it
    all the same: ptrace, process_vm_readv and its files in /proc are closed to them.
    """
    why = "the supervisor reads the paths of calls from the memory of their callers"
    closes = (Condition(0, (_SET_DUMPABLE,)), Condition(1, (0,)))
    yield FilterRule("prctl", _SUCCEEDS, why, closes)
