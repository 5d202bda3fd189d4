"""Runs the scripts of a POSIX file-system test suite, and writes what they said.

Usage: posix_driver.py SUITE RESULT [FOLDER…]. SUITE holds `tests/FOLDER/*.t`, shell
scripts that print `ok N` and `not ok N`. RESULT gets a JSON object: to each script, the
numbers of what failed, and how many there were.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def main(suite: str, result: str, *folders: str) -> None:
    """Run them one by one, each in an empty directory below the current one."""
    tests = Path(suite) / "tests"
    found = {}
    for script in sorted(tests.rglob("*.t")):
        name = str(script.relative_to(tests))
        if not folders or script.parent.name in folders:
            found[name] = _said(script)
    Path(result).write_text(json.dumps(found))


def _said(script: Path) -> dict[str, object]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        Path(place).chmod(0o755)
        done = subprocess.run(
            ["/bin/sh", script],
            cwd=place,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
            check=False,
        )
        # What a script leaves behind may be closed to us, or immutable.
        subprocess.run(
            ["chmod", "-R", "u+rwx", place], capture_output=True, check=False
        )
    text = done.stdout.decode(errors="replace")
    failed = re.findall(r"^not ok (\d+)[^\n]*", text, re.MULTILINE)
    lines = [line for line in text.splitlines() if line.startswith("not ok")]
    ran = len(re.findall(r"^(?:not )?ok \d+", text, re.MULTILINE))
    return {"failed": failed, "ran": ran, "code": done.returncode, "lines": lines[:200]}


if __name__ == "__main__":
    main(*sys.argv[1:])
