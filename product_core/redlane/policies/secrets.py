"""The places of a role's `hidden`, by names: what they hold, and whose it is.

An owner is a program that needs the files to do its work, by its file's name; that it
is that program is told by the file itself (`contexts.syscall.owners`). Programs that
anybody can have show what they hold, such as browsers and clients of databases that
load what their options name, are none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType

from redlane.policies.places import EXCEPT

__all__ = ["OWNERS", "SECRETS", "Hiding", "Secret"]


@dataclass(frozen=True, slots=True)
class Secret:
    """Places with something secret, and the programs that may read it."""

    places: tuple[str, ...]
    owners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hiding:
    """A role's `hidden` for one session; its root is the process `root`, if it has one.

    There places in the working directory are meant from.
    """

    entries: tuple[str, ...] = ()
    root: int | None = None


_CONFIGURED = "~/.config"
_SHARED = "~/.local/share"

SECRETS: Mapping[str, tuple[Secret, ...]] = MappingProxyType(
    {
        "@keys": (
            Secret(
                (
                    "~/.ssh",
                    *(f"{EXCEPT}~/.ssh/{each}" for each in ("config", "config.d")),
                    *(f"{EXCEPT}~/.ssh/known_hosts{each}" for each in ("", ".old")),
                    f"{EXCEPT}~/.ssh/allowed_signers",
                ),
                ("ssh", "ssh-keygen", "ssh-add"),
            ),
            Secret(
                ("~/.gnupg",),
                ("gpg", "gpgsm", "gpg-agent", "keyboxd"),
            ),
            Secret((f"{_CONFIGURED}/sops", f"{_CONFIGURED}/age")),
            Secret(("~/.minisign",), ("minisign",)),
        ),
        "@cloud": (
            Secret(("~/.aws",), ("aws",)),
            Secret(("~/.azure", f"{_CONFIGURED}/gcloud", "~/.boto", "~/.oci")),
            Secret(("~/.kube",), ("kubectl", "helm")),
            Secret(
                ("~/.docker/config.json", f"{_CONFIGURED}/containers/auth.json"),
                (
                    *("docker", "docker-buildx", "docker-compose"),
                    *("podman", "buildah", "skopeo"),
                ),
            ),
            Secret((f"{_CONFIGURED}/doctl", "~/.fly"), ("doctl", "flyctl")),
            Secret(
                ("~/.terraform.d/credentials.tfrc.json", "~/.terraformrc"),
                ("terraform", "tofu"),
            ),
            Secret(("~/.s3cfg",)),
            Secret((f"{_CONFIGURED}/rclone",)),
            Secret(("~/.vault-token",), ("vault",)),
        ),
        "@tokens": (
            Secret(("~/.netrc",), ("git-remote-http",)),
            Secret(
                ("~/.git-credentials", f"{_CONFIGURED}/git/credentials"),
                ("git", "git-credential-store"),
            ),
            Secret((f"{_CONFIGURED}/gh/hosts.yml",), ("gh",)),
            Secret((f"{_CONFIGURED}/glab-cli",), ("glab",)),
            Secret((f"{_CONFIGURED}/hub", "~/.pypirc", "~/.gem/credentials")),
            Secret(("~/.cargo/credentials", "~/.cargo/credentials.toml"), ("cargo",)),
            Secret(("~/.pgpass", "~/.my.cnf")),
        ),
        "@browsers": (
            Secret(
                (
                    *("~/.mozilla", "~/.thunderbird", "~/snap/firefox"),
                    *("~/.var/app/org.mozilla.firefox", "~/snap/chromium"),
                    f"{_CONFIGURED}/google-chrome",
                    f"{_CONFIGURED}/chromium",
                    f"{_CONFIGURED}/BraveSoftware",
                    f"{_CONFIGURED}/microsoft-edge",
                    f"{_CONFIGURED}/vivaldi",
                    f"{_CONFIGURED}/opera",
                ),
            ),
        ),
        "@passwords": (
            Secret(
                (
                    *("~/.password-store", f"{_SHARED}/keyrings"),
                    *(f"{_SHARED}/kwalletd", f"{_CONFIGURED}/keepassxc"),
                    *(f"{_CONFIGURED}/Bitwarden", f"{_CONFIGURED}/1Password"),
                    *(f"{_CONFIGURED}/Bitwarden CLI", f"{_CONFIGURED}/op"),
                ),
            ),
        ),
    }
)
"""Places by a name; one with `!` in front, within another, may be read all the same."""

OWNERS: tuple[str, ...] = tuple(
    sorted({owner for each in chain(*SECRETS.values()) for owner in each.owners})
)
"""The names of all programs that own something."""
