"""The previous build: the same packages under a lower version, a little different."""

import re
import subprocess
from pathlib import Path

__all__ = ["VERSION", "previous"]

VERSION = "0.0.1-1"


def previous(deb: Path, place: Path, changed: tuple[str, ...] = ()) -> Path:
    """A copy of a package as if built before; in it, files named `changed` differ."""
    tree, made = place / f"{deb.stem}-tree", place / deb.name
    subprocess.run(("dpkg-deb", "--raw-extract", deb, tree), check=True)
    control = tree / "DEBIAN" / "control"
    text = control.read_text()
    (version,) = re.findall(r"^Version: (\S+)$", text, re.MULTILINE)
    # Packages of ours that need each other are of one version.
    control.write_text(text.replace(version, VERSION))
    for each in changed:
        file = tree / each.lstrip("/")
        file.write_text(file.read_text() + "\n")
    pack = ("dpkg-deb", "-Zgzip", "-z1", "--build", tree, made)
    subprocess.run(pack, check=True, stdout=subprocess.DEVNULL)
    return made
