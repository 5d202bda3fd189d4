"""What `redlane run` adds to the machine's rules: the user's own, as restrictions.

The machine's daemon judges by root's policies. Those of the user's own directory that
can be added to them, as they only forbid and only look, are sent along.
"""

from collections.abc import Mapping

from redlane.cli.output import print_note
from redlane.errors import LoadError
from redlane.model.policy import Policy
from redlane.model.problem import Finding
from redlane.paths import Paths

__all__ = ["restrictions_of_user"]


def restrictions_of_user(environ: Mapping[str, str]) -> Mapping[str, object] | None:
    """The field `restrictions` of a new session, or None when there is nothing to add.

    The policies are those of the user's default role, or all when none is set. What may
    not be added is told, and what does not load is an error: rules that somebody relies
    on must not be left out unseen.
    """
    # Only a user of the machine's daemon pays for the loader.
    from redlane.plugins import find_plugins  # noqa: PLC0415
    from redlane.policies.loading import load  # noqa: PLC0415
    from redlane.policies.policy_document import document_of  # noqa: PLC0415
    from redlane.policies.restrictions import why_no_restriction  # noqa: PLC0415

    plugins = find_plugins()
    loaded = load(Paths.from_environment(environ), plugins)
    if loaded.errors:
        raise LoadError(_first_of(loaded.errors))
    role = loaded.settings.sevsh.default_role
    policies = loaded.ruleset.policies
    chosen = policies if role is None else loaded.ruleset.roles[role].policies
    documents = []
    for each in sorted(set(chosen), key=lambda name: policies[name].order):
        policy = policies[each]
        why = why_no_restriction(policy.action, plugins.match_types[policy.type])
        if why is None:
            documents.append(document_of(policy))
        else:
            print_note(_left_out(policy, why))
    return {"policies": documents} if documents else None


def _first_of(errors: tuple[Finding, ...]) -> str:
    first = errors[0]
    subject = f" {first.subject}:" if first.subject else ""
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return (
        f"{first.file}:{subject} {first.message}{more}: nothing runs until your own "
        "rules load (see: redlane config check)"
    )


def _left_out(policy: Policy, why: str) -> str:
    return f"{policy.source}: policy {policy.id!r} is left out: {why}"
