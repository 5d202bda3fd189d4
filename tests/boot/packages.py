"""The packages that `make deb` has built, and installing them in a machine."""

from collections.abc import Sequence
from pathlib import Path

from boot.machine import Done, Machine

__all__ = ["BUILT", "NAMES", "ROOT", "apt", "install", "latest"]

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "dist" / "deb"
NAMES = (
    *("redlane", "redlane-hub", "redlane-proxy"),
    *("redlane-plugin-ml", "redlane-model-inbound", "redlane-plugin-syscall"),
)
INSTALL_SECONDS = 300.0


def latest(suite: str) -> tuple[Path, ...]:
    """The newest build of each package, in one directory."""
    found = []
    for name in NAMES:
        built = sorted(
            (BUILT / suite).glob(f"{name}_*.deb"), key=lambda each: each.stat().st_mtime
        )
        assert built, f"there is no {name} for {suite}: make deb SUITE={suite}"
        found.append(built[-1])
    return tuple(found)


def apt(machine: Machine, *arguments: str, check: bool = True) -> Done:
    """Run apt-get as a script would: no question, and its defaults otherwise."""
    return machine.run(
        ("apt-get", "--quiet", "--yes", *arguments),
        env={"DEBIAN_FRONTEND": "noninteractive"},
        timeout=INSTALL_SECONDS,
        check=check,
    )


def install(machine: Machine, debs: Sequence[Path]) -> None:
    """Install packages that lie in the machine's /debs."""
    apt(machine, "install", *(f"/debs/{each.name}" for each in debs))
