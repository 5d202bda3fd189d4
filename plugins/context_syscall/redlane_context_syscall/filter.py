"""The seccomp filter of a session."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from errno import EPERM

from redlane.api import GuardOptions
from redlane_context_syscall import placing, pretending
from redlane_context_syscall.bpf import NOTIFY, Rule, assemble, errno_of, refuse
from redlane_context_syscall.filter_rules import FilterRule, closed, guarding, watched
from redlane_context_syscall.numbers import number_of

__all__ = ["program", "refusal", "rules"]


def program(
    named: Mapping[str, bool],
    protected: frozenset[int],
    options: GuardOptions,
    refused: Collection[str] = (),
    *,
    is_root: bool = True,
) -> bytes:
    """The filter for policies that name these calls: an array of `struct sock_filter`.

    The supervisor is asked about every call that is named, also one that is refused in
    any case: a policy's event is written before (`refusal`). Those in `refused` are
    refused without a question. `is_root`: so is the supervisor.
    """
    calls: dict[int, list[Rule]] = {}
    whole = [
        FilterRule(name, refuse(EPERM), "policies block all of it") for name in refused
    ]
    for rule in (*whole, *rules(named, protected, options, is_root=is_root)):
        number = number_of(rule.call)
        if number is not None:
            calls.setdefault(number, []).append(Rule(rule.becomes, rule.when))
    return assemble(calls)


def rules(
    named: Mapping[str, bool],
    protected: frozenset[int],
    options: GuardOptions,
    *,
    is_root: bool = True,
) -> Iterator[FilterRule]:
    """What becomes of each call, in the order in which the filter looks.

    Nobody's policies open what `guarding` and `closed` refuse.
    """
    yield from guarding(protected, namespaces=options.namespaces)
    for name in named:
        yield FilterRule(name, NOTIFY, "a policy names it")
    yield from _settled(options, is_root=is_root)
    yield from watched()
    if options.places:
        yield from placing.asked()


def refusal(
    name: str,
    arguments: Sequence[int],
    options: GuardOptions,
    *,
    is_root: bool = True,
) -> int | None:
    """What becomes of a call once policies have been asked, if that is settled.

    The errno that it is refused with, or 0 for success without doing it. For calls
    that policies name and that are closed all the same.
    """
    for rule in _settled(options, is_root=is_root):
        if rule.call == name and all(each.holds(arguments) for each in rule.when):
            return errno_of(rule.becomes)
    return None


def _settled(options: GuardOptions, *, is_root: bool) -> Iterator[FilterRule]:
    yield from closed(namespaces=options.namespaces)
    if options.places:
        yield from placing.refused()
    if options.coreless:
        yield from pretending.cores()
    if not is_root:
        yield from pretending.memory()
