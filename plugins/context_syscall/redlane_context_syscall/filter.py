"""The seccomp filter of a session."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from errno import EPERM

from redlane.api import GuardOptions
from redlane_context_syscall.bpf import NOTIFY, Rule, assemble, errno_of, refuse
from redlane_context_syscall.numbers import number_of
from redlane_context_syscall.roads import Road, closed, guarding, watched

__all__ = ["program", "refusal", "roads"]


def program(
    named: Mapping[str, bool],
    protected: frozenset[int],
    options: GuardOptions,
    refused: Collection[str] = (),
) -> bytes:
    """The filter for policies that name these calls: an array of `struct sock_filter`.

    The supervisor is asked about every call that is named, also one that is refused in
    any case: a policy's event is written before (`refusal`). Those in `refused` are
    refused without a question.
    """
    calls: dict[int, list[Rule]] = {}
    whole = [Road(name, refuse(EPERM), "policies block all of it") for name in refused]
    for road in (*whole, *roads(named, protected, options)):
        number = number_of(road.call)
        if number is not None:
            calls.setdefault(number, []).append(Rule(road.becomes, road.when))
    return assemble(calls)


def roads(
    named: Mapping[str, bool], protected: frozenset[int], options: GuardOptions
) -> Iterator[Road]:
    """What becomes of each call, in the order in which the filter looks.

    Nobody's policies open what `guarding` and `closed` refuse.
    """
    yield from guarding(protected, namespaces=options.namespaces)
    for name in named:
        yield Road(name, NOTIFY, "a policy names it")
    yield from closed(namespaces=options.namespaces)
    yield from watched()


def refusal(name: str, arguments: Sequence[int], options: GuardOptions) -> int:
    """The errno that a call is refused with once policies have been asked; 0 if none.

    For calls that policies name and that are closed all the same.
    """
    for road in closed(namespaces=options.namespaces):
        if road.call == name and all(each.holds(arguments) for each in road.when):
            return errno_of(road.becomes)
    return 0
