"""Warnings about policies and roles that name system calls: who holds them, and how.

Such policies load on every machine, so that `redlane validate` judges them everywhere;
where nothing enforces them, a person has to know.
"""

from collections.abc import Iterable, Iterator, Mapping

from redlane.model.policy import Action, Context, Policy, Role
from redlane.model.problem import Finding, Severity
from redlane.plugin_shapes import CONTEXT_PACKAGES
from redlane.plugins import Plugins
from redlane.policies.syscalls import syscalls_of, takes_part

__all__ = ["find_loose", "find_unenforced", "missing_context"]

_NAMED = 3
"""How many names a message lists before it counts the rest."""


def find_unenforced(policies: Iterable[Policy], plugins: Plugins) -> Iterator[Finding]:
    """Policies that nothing enforces, and Allows that the eBPF filter cannot hold."""
    members = [each for each in policies if takes_part(each, plugins.match_types)]
    if not members:
        return
    missing = missing_context(plugins)
    if missing is not None:
        subject = f"context {Context.SYSCALL}"
        message = (
            f"nothing enforces {_listed('policy', 'policies', [e.id for e in members])}"
            f", because {missing}; `redlane run` refuses roles that hold "
            f"{'it' if len(members) == 1 else 'them'}"
        )
        yield Finding(Severity.WARNING, "", subject, message)
    for policy in members:
        if policy.action is Action.ALLOW:
            names = _listed("system call", "system calls", list(syscalls_of(policy)))
            message = (
                f"its Allow leaves the {names} out of the eBPF filter: the ordered "
                "seccomp rule set enforces what carries an Allow"
            )
            yield Finding(Severity.WARNING, policy.source, policy.id, message)


def find_loose(
    roles: Iterable[Role], policies: Mapping[str, Policy]
) -> Iterator[Finding]:
    """Roles that ask of whoever holds system calls what `redlane-run` alone does.

    That knows a file by whatever name a session gives it, and holds connections.
    """
    for role in roles:
        named = (policies[each] for each in role.policies if each in policies)
        if not (role.is_held_by_run and any(map(syscalls_of, named))):
            continue
        if role.is_bound and role.namespaces:
            message = (
                "`namespaces` lets its sessions mount files elsewhere, where neither "
                "`writable` nor `hidden` holds them"
            )
            yield Finding(Severity.WARNING, role.source, role.name, message)
        if role.leaves_by_proxy:
            message = (
                "`egress` is held by redlane-run, and policies about system calls by "
                "their plugin, which does not hold it: take out one or the other"
            )
            yield Finding(Severity.ERROR, role.source, role.name, message)


def missing_context(plugins: Plugins) -> str | None:
    """Why there is nothing that enforces policies about system calls, or None."""
    if Context.SYSCALL in plugins.contexts:
        return None
    package = CONTEXT_PACKAGES[Context.SYSCALL]
    for report in plugins.reports:
        if report.distribution == package and report.error is not None:
            return f"{package} {report.version} failed to load: {report.error}"
    return f"no plugin does: install the package {package}"


def _listed(one: str, many: str, names: list[str]) -> str:
    """`policy a`, or `policies a, b, c and 4 more`."""
    listed = ", ".join(names[:_NAMED])
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{one if len(names) == 1 else many} {listed}{rest}"
