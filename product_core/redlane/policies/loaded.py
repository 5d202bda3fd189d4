"""What a load came to: the rules, the settings, and everything that is wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from redlane.model.problem import Finding, Severity
from redlane.model.settings import Settings
from redlane.policies.ruleset import RuleSet

__all__ = ["Loaded"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Rules and settings as far as they are whole, and every finding.

    The rule set holds the policies without error and the roles that can be enforced
    entirely: a role with a missing or broken policy is not in it, so that asking for it
    blocks. `start` and `reload` refuse on any of `errors`; `validate` asks
    `problems_of_role`.
    """

    ruleset: RuleSet
    settings: Settings
    findings: tuple[Finding, ...]
    errors_by_role: Mapping[str, tuple[Finding, ...]] = field(default_factory=dict)
    """Why each role that was found is not whole; whole ones are not here."""
    errors_hiding_roles: tuple[Finding, ...] = ()
    """Errors that leave unknown which roles there are."""
    errors_of_settings: tuple[Finding, ...] = ()
    errors_of_plugins: tuple[Finding, ...] = ()
    """Plugins that contradict each other: they make every role unusable."""
    missing_context: str | None = None
    """Why nothing on this machine holds system calls, or None."""
    missing_proxy: str | None = None
    """Why nothing judges what sessions send and get back, or None."""

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that refuse a start or a reload."""
        return tuple(e for e in self.findings if e.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """The findings that are only told."""
        return tuple(e for e in self.findings if e.severity is Severity.WARNING)

    def problems_of_role(self, name: str | None) -> tuple[Finding, ...]:
        """The errors that make a role unusable; None asks for the default role.

        Only for the default role the settings count, for they name it. A role that is
        not there has no problems, unless a role file could not be read: it may be in
        that one.
        """
        if name is None:
            default = self.settings.sevsh.default_role
            own = self.problems_of_role(default) if default is not None else ()
            return tuple(dict.fromkeys((*self.errors_of_settings, *own)))
        if name in self.ruleset.roles:
            return ()
        own = self.errors_by_role.get(name) or self.errors_hiding_roles
        return (*self.errors_of_plugins, *own)
