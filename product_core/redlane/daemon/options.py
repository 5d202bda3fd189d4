"""How the daemon is started: what the command line says, as values."""

from collections.abc import Sequence
from dataclasses import dataclass

from redlane.errors import UsageError

__all__ = ["Options", "role_names"]


@dataclass(frozen=True, slots=True)
class Options:
    """`only_roles` restricts the roles that are loaded, at every reload as well."""

    role: str | None = None
    only_roles: tuple[str, ...] | None = None
    system: bool = False

    def to_arguments(self) -> tuple[str, ...]:
        """As words of a command line, which `from_arguments` reads."""
        words = [] if self.role is None else [f"--role={self.role}"]
        if self.only_roles is not None:
            words.append(f"--roles={','.join(self.only_roles)}")
        return (*words, "--system") if self.system else tuple(words)

    @classmethod
    def from_arguments(cls, words: Sequence[str]) -> "Options":
        """What `to_arguments` wrote; raises UsageError for anything else."""
        role, roles, system = None, None, False
        for word in words:
            name, _, value = word.partition("=")
            match name:
                case "--role":
                    role = value
                case "--roles":
                    roles = role_names(value)
                case "--system":
                    system = True
                case _:
                    raise UsageError(f"unknown option {word!r}")
        return cls(role, roles, system)


def role_names(text: str) -> tuple[str, ...]:
    """The names of a list like `a,b`; raises UsageError when one is empty."""
    names = tuple(dict.fromkeys(each.strip() for each in text.split(",")))
    if "" in names:
        raise UsageError(f"--roles {text!r} names an empty role")
    return names
