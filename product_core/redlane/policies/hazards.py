"""What is legal but dangerous: warnings for a start and for `config check`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from redlane.model.content import Reader
from redlane.model.matching import MatchType
from redlane.model.policy import Action, Context, Policy, Role
from redlane.model.problem import Finding, Severity
from redlane.model.settings import Settings
from redlane.plugin_models import MANIFEST, packaged_models
from redlane.policies.asking import matches_all
from redlane.policies.juror_types import MODEL
from redlane.policies.syscalls import is_path_filter

__all__ = ["BROAD_PROBES", "find_hazards"]

BROAD_PROBES = (
    b"   ",
    b"ls -l",
    b"abcdefghij",
    b"2026",
    "東京 日本 🦊".encode(),
    b"!@#$%^&*()[]{}<>?/|",
    b"https://example.org/index.html",
    b"the quick brown fox jumps over the lazy dog 0123456789 " * 64,
)
"""Unlike texts: an Allow that matches each of them allows everything.

All hold something and none has a line break, so that `.+` and `^.*$` match them too.
"""

_CLASSIFIER = "MlClassifier"
_NAMED = 3
"""How many names a message lists before it counts the rest."""


def find_hazards(
    policies: Iterable[Policy],
    roles: Iterable[Role],
    match_types: Mapping[str, MatchType],
    settings: Settings,
    settings_file: str,
) -> Iterator[Finding]:
    """What is too broad, what cannot see HTTPS, and models that are not there."""
    policies = list(policies)
    yield from _broad_allows(policies, roles, match_types)
    yield from _missing_models(policies, settings, settings_file)
    inbound = [each.id for each in policies if each.context is Context.INBOUND]
    if inbound and not settings.tls.intercept:
        yield Finding(
            Severity.WARNING,
            settings_file,
            "tls.intercept",
            f"{_some('inbound policy', 'inbound policies', inbound)} cannot see HTTPS "
            "responses: set `tls.intercept` to true",
        )


def _missing_models(
    policies: Iterable[Policy], settings: Settings, file: str
) -> Iterator[Finding]:
    """A warning for each policy and juror whose model is not here, or not packaged."""
    place = (settings.plugins.get(_CLASSIFIER) or {}).get("models")
    asked = [
        (each.model or "", each.source, each.id, "the policy blocks")
        for each in policies
        if each.type == _CLASSIFIER and place is not None
    ]
    asked += [
        (str(each.settings["model"]), file, "review.jury", f"{each.name!r} blocks")
        for each in settings.review.jury
        if each.type == MODEL
    ]
    if not asked:
        return
    folder, packaged = Path(file).parent / str(place or "models"), packaged_models()
    for model, source, subject, blocks in asked:
        is_installed = place is not None and (folder / model / MANIFEST).is_file()
        if not is_installed and (place is None or len(packaged.get(model, ())) != 1):
            yield Finding(
                Severity.WARNING,
                source,
                subject,
                f"model {model!r} is not installed in {folder}: {blocks} whatever it "
                "is asked about",
            )


def _broad_allows(
    policies: Iterable[Policy],
    roles: Iterable[Role],
    match_types: Mapping[str, MatchType],
) -> Iterator[Finding]:
    """A warning for each Allow that matches whatever it is shown."""
    allows: dict[str, list[Policy]] = defaultdict(list)
    for policy in policies:
        if policy.action is Action.ALLOW and _is_probed(policy, match_types):
            allows[policy.type].append(policy)
    broad = [
        policy
        for type_name, members in allows.items()
        for policy in _matching_all(match_types[type_name], members)
    ]
    if not broad:
        return
    holders: dict[str, list[str]] = defaultdict(list)
    for role in roles:
        for policy_id in set(role.policies):
            holders[policy_id].append(role.name)
    for policy in sorted(broad, key=lambda each: each.order):
        yield _broad(policy, sorted(holders[policy.id]))


def _is_probed(policy: Policy, match_types: Mapping[str, MatchType]) -> bool:
    """Checkers are not run, and a policy that only names system calls has no text."""
    if match_types[policy.type].reader is not Reader.PATTERN:
        return False
    return policy.context is not Context.SYSCALL or is_path_filter(policy)


def _matching_all(match_type: MatchType, members: list[Policy]) -> Iterator[Policy]:
    orders = matches_all(match_type, members, BROAD_PROBES)
    return (each for each in members if each.order in orders)


def _broad(policy: Policy, roles: list[str]) -> Finding:
    where = "" if policy.context is Context.ALL else f" in context {policy.context}"
    held = (
        f"it disables the rest of {_some('role', 'roles', roles)}{where}"
        if roles
        else f"no role holds it; one that did would enforce nothing else{where}"
    )
    message = f"this Allow matches everything: {held}"
    return Finding(Severity.WARNING, policy.source, policy.id, message)


def _some(one: str, many: str, names: list[str]) -> str:
    """`role a`, or `roles a, b, c and 4 more`."""
    listed = ", ".join(names[:_NAMED])
    rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{one if len(names) == 1 else many} {listed}{rest}"
