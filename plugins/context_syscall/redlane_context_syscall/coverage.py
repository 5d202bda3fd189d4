"""How firmly each system call is held on a machine, and by what."""

from collections.abc import Mapping

from redlane.api import Coverage, Enforcement
from redlane_context_syscall.bpf import NOTIFY
from redlane_context_syscall.filter_rules import EXACT, closed
from redlane_context_syscall.hot import is_built
from redlane_context_syscall.kernel.features import Features
from redlane_context_syscall.numbers import number_of

__all__ = ["coverage"]

_OPENS = frozenset({"open", "openat", "creat"})
_ANSWERED = frozenset({"open", "openat"})
_SLOWLY = "more slowly than it could be: the compiled extension is not installed"
_EMULATED = "done by the supervisor in the caller's place"
_SECOND_NAMES = "its role lets programs mount, which gives files other paths"
_JUDGED = "judged, then left to the kernel"


def coverage(
    named: Mapping[str, bool],
    features: Features,
    *,
    namespaces: bool = False,
    places: bool = False,
) -> tuple[Coverage, ...]:
    """How calls are enforced that policies name; True: some policies look at paths.

    What of them every session is refused anyway is told as such. With `places` more is
    done in the caller's place.
    """
    exact = frozenset({*EXACT, "bind"} if places else EXACT)
    always = {
        each.call
        for each in closed(namespaces=namespaces)
        if not each.when and each.becomes != NOTIFY
    } - set(EXACT)
    return tuple(
        _of(
            name,
            features,
            exact,
            by_path=by_path,
            refused=name in always,
            mounts=namespaces,
        )
        for name, by_path in sorted(named.items())
    )


def _of(
    name: str,
    features: Features,
    exact: frozenset[str],
    *,
    by_path: bool,
    refused: bool,
    mounts: bool,
) -> Coverage:
    lacking = _lacking(name, features, by_path=by_path and not refused)
    if lacking:
        return Coverage(name, Enforcement.UNAVAILABLE, "nothing", lacking)
    if refused:
        return Coverage(name, Enforcement.EXACT, "refused in every session")
    if not by_path:
        return Coverage(name, Enforcement.EXACT, "judged by name alone")
    if name in exact and mounts:
        return Coverage(name, Enforcement.ADVISORY, _EMULATED, _SECOND_NAMES)
    if name in exact:
        return _of_exact(name, features)
    reason = "its memory is read once more by the kernel"
    return Coverage(name, Enforcement.ADVISORY, _JUDGED, reason)


def _lacking(name: str, features: Features, *, by_path: bool) -> str:
    """Why a call cannot be held at all on this machine, or nothing."""
    if number_of(name) is None:
        return "this machine has no such call"
    if not features.goes_on:
        return f"{_linux(features)} cannot ask about system calls (5.5 can)"
    if by_path and not features.resolves:
        return f"{_linux(features)} has no path filters (5.6 has)"
    return ""


def _of_exact(name: str, features: Features) -> Coverage:
    if name in _OPENS and not features.injects:
        reason = f"{_linux(features)} takes no open files from a supervisor (5.9 does)"
        return Coverage(name, Enforcement.ADVISORY, _JUDGED, reason)
    if name in _ANSWERED and not is_built():
        return Coverage(name, Enforcement.EXACT, _EMULATED, _SLOWLY)
    return Coverage(name, Enforcement.EXACT, _EMULATED)


def _linux(features: Features) -> str:
    return "Linux {}.{}".format(*features.version)
