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

__all__ = ["OWNERS", "SECRETS", "SOCKETS", "Hiding", "Secret"]


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
        "@services": (),
    }
)
"""Places by a name; one with `!` in front, within another, may be read all the same."""

_RUN = "{run}"

SOCKETS: Mapping[str, tuple[Secret, ...]] = MappingProxyType(
    {
        "@keys": (
            Secret(
                (f"{_RUN}/gnupg",),
                (
                    *("gpg", "gpgsm", "gpg-agent", "gpgconf", "keyboxd"),
                    *("scdaemon", "ssh", "ssh-add"),
                ),
            ),
            Secret(
                (
                    *("{agent}", f"{_RUN}/keyring/ssh", f"{_RUN}/gcr/ssh"),
                    *(f"{_RUN}/ssh-agent.socket", f"{_RUN}/openssh_agent"),
                    *("~/.1password/agent.sock", f"{_RUN}/p11-kit"),
                ),
                ("ssh", "ssh-add", "ssh-keygen"),
            ),
        ),
        "@passwords": (Secret((f"{_RUN}/keyring", f"{_RUN}/kwalletd5.socket")),),
        "@services": (
            Secret(
                (
                    *(
                        "{docker}",
                        "/run/docker.sock",
                        "/run/buildkit",
                        "/run/containerd",
                    ),
                    *("/run/docker/containerd", "/run/cri-dockerd.sock"),
                    *("/run/k3s", "/run/crio", "/run/podman", f"{_RUN}/docker.sock"),
                    *(f"{_RUN}/podman", "~/.docker/run", "~/.docker/desktop"),
                    *("~/.colima", "~/.orbstack/run", "~/.rd/docker.sock"),
                ),
                (
                    *("docker", "docker-buildx", "docker-compose"),
                    *("podman", "buildah", "skopeo", "nerdctl", "ctr", "crictl"),
                ),
            ),
            Secret(
                (
                    *("/run/lxd.socket", "/var/lib/lxd/unix.socket"),
                    "/var/snap/lxd/common/lxd/unix.socket",
                    *("/run/incus", "/var/lib/incus/unix.socket"),
                ),
                ("lxc", "incus"),
            ),
            Secret(("/run/libvirt", f"{_RUN}/libvirt"), ("virsh",)),
            Secret(
                (
                    *("{bus}", "/run/dbus", f"{_RUN}/bus", f"{_RUN}/at-spi"),
                    *("/run/systemd/private", f"{_RUN}/systemd"),
                    *("/run/systemd/machine", "/run/systemd/io.systemd.Manager"),
                ),
                (
                    *("systemctl", "loginctl", "hostnamectl", "timedatectl"),
                    *("localectl", "resolvectl", "networkctl", "notify-send"),
                    *("gh", "git-credential-libsecret"),
                ),
            ),
            Secret(("/run/snapd.socket",), ("snap",)),
            Secret(
                (
                    *("/tmp/tmux-{uid}", "/run/screen", f"{_RUN}/zellij"),  # noqa: S108  # theirs
                    *(f"{_RUN}/emacs", "/tmp/emacs{uid}", f"{_RUN}/wezterm"),  # noqa: S108  # theirs
                    *("/tmp/.X11-unix", "/tmp/.ICE-unix", f"{_RUN}/wayland-*"),  # noqa: S108  # theirs
                    *(f"{_RUN}/sway-ipc.*", f"{_RUN}/i3", f"{_RUN}/hypr"),
                    *(f"{_RUN}/niri.*", f"{_RUN}/kdeinit*", f"{_RUN}/klauncher*"),
                    *(f"{_RUN}/vscode-ipc-*", "/tmp/vscode-ipc-*"),  # noqa: S108  # theirs
                    *(f"{_RUN}/nvim.*", "/tmp/nvim.*", "/run/WSL"),  # noqa: S108  # theirs
                )
            ),
        ),
    }
)
"""Unix sockets by the same names, of which nothing is read.

What listens there does what it is asked to outside of every session, or shows what is
secret. An owner is asked about by its command line. `{uid}` is the user, `{run}` their
directory below /run/user, `{agent}`, `{bus}` and `{docker}` are where those are said to
listen; `*` at the end is whatever begins so.
"""

OWNERS: tuple[str, ...] = tuple(
    sorted(
        {
            owner
            for each in chain(*SECRETS.values(), *SOCKETS.values())
            for owner in each.owners
        }
    )
)
"""The names of all programs that own something."""
