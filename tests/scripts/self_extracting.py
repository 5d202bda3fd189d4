"""Archives that extract themselves: a script, and behind it what no shell reads."""

import gzip
import random
import shutil
import subprocess
from pathlib import Path

__all__ = ["make"]

HEADER = b"""\
#!/bin/sh
# Unpacks what is behind this line: payload.
set -e
here=$(mktemp -d)
sed '1,/^__PAYLOAD__$/d' "$0" | gzip -cd > "$here/payload"
cp "$here/payload" ./payload
rm -rf "$here"
exit 0
__PAYLOAD__
"""
STARTED = "#!/bin/sh\nset -e\nmkdir -p ./installed\ncp payload ./installed/\n"
MAKESELF: dict[str, tuple[str, ...]] = {
    "makeself.run": (),
    "makeself-base64.run": ("--base64",),
    "makeself-plain.run": ("--nocomp",),
    "makeself-silent.run": ("--notemp", "--nox11"),
}
_SEED = 20_262


def make(makeself: Path, directory: Path) -> None:
    """Make one of each kind in a directory, with the makeself that is there."""
    content = random.Random(_SEED).randbytes(40_000)
    packed = directory / ".packed"
    packed.mkdir()
    (packed / "payload").write_bytes(content)
    (packed / "start.sh").write_text(STARTED)
    (packed / "start.sh").chmod(0o755)
    for name, options in MAKESELF.items():
        words = (packed, directory / name, "a package", "./start.sh")
        _run("sh", makeself, "--quiet", *options, *words)
    program = directory / "gzexe.run"
    shutil.copy(packed / "start.sh", program)
    _run("gzexe", program)
    Path(f"{program}~").unlink()
    shutil.rmtree(packed)
    (directory / "exit.run").write_bytes(HEADER + gzip.compress(content, mtime=0))


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True)
