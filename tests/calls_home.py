"""A home whose Redlane holds system calls by the sample context of these tests.

The sample stands in the place of the package that comes with Redlane, in an environment
of its own: a session's supervisor takes nothing from the variables of who starts it.
"""

import platform
import shutil
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
from distributions import ROOT

__all__ = ["make_redlane", "needs_filters"]

SAMPLE = ROOT / "tests" / "sample_context_plugin" / "redlane_sample_calls.py"
_COMMAND = """\
#!{python}
import sys
from redlane.cli.main import main
sys.argv[0] = "redlane"
sys.exit(main())
"""

needs_filters = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the sample context knows x86_64 only"
)


def make_redlane(place: Path, *, context: bool = True) -> Path:
    """The command `redlane` of a new environment; without `context` nothing holds."""
    venv.create(place, symlinks=True)
    (site,) = place.glob("lib/python3*/site-packages")
    info = site / "redlane_context_syscall-9.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: redlane-context-syscall\nVersion: 9.9\n"
    )
    if context:
        shutil.copy(SAMPLE, site)
        (info / "entry_points.txt").write_text(
            "[redlane]\ncontext_syscall = redlane_sample_calls\n"
        )
    here = sysconfig.get_path("purelib")
    (site / "host.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    command = place / "bin" / "redlane"
    command.write_text(_COMMAND.format(python=place / "bin" / "python"))
    command.chmod(0o755)
    assert sys.prefix != str(place)
    return command
