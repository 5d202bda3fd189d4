"""Where the compiled programs of the shell wrapper are installed."""

from pathlib import Path

__all__ = ["PROGRAMS", "program"]

PROGRAMS = ("redlane-sh", "redlane-run")

_SHELL = Path(__file__).resolve().parent.parent


def program(name: str) -> Path:
    """Where one of PROGRAMS is installed; raises FileNotFoundError when it is not."""
    path = _SHELL / "bin" / name
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: install Redlane again")
    return path
