"""Site-packages directories for tests: real ones linked, small ones written."""

import importlib.metadata
from pathlib import Path

from distributions import link_dependencies

__all__ = ["APACHE", "MIT", "real_site", "write_distribution"]

MIT = """\
MIT License

Copyright (c) {year} {holder}

Permission is hereby granted, free of charge, to any person obtaining a copy of this
software, to deal in it without restriction. The above copyright notice
shall be included in all copies.
"""
APACHE = """\
                                 Apache License
                           Version 2.0, January 2004
   TERMS AND CONDITIONS FOR USE, REPRODUCTION, AND DISTRIBUTION
   Copyright [yyyy] [name of copyright owner]
"""


def real_site(program: str, place: Path) -> Path:
    """What a program needs, as it is installed here, and the program's metadata."""
    place.mkdir()
    link_dependencies(program, place)
    own = Path(str(importlib.metadata.distribution(program).locate_file("")))
    for info in own.glob(f"{program.replace('-', '_')}-[0-9]*.dist-info"):
        (place / info.name).symlink_to(info)
    return place


def write_distribution(
    site: Path,
    name: str,
    *headers: str,
    version: str = "1.0",
    files: dict[str, str] | None = None,
) -> Path:
    """A distribution of one module, with `files` in its .dist-info."""
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    module = f"{name.replace('-', '_')}.py"
    (site / module).write_text("")
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}", *headers]
    (info / "METADATA").write_text("\n".join(lines) + "\n")
    (info / "RECORD").write_text(f"{module},,\n{info.name}/METADATA,,\n../x/bin,,\n")
    for path, text in (files or {}).items():
        (info / path).parent.mkdir(parents=True, exist_ok=True)
        (info / path).write_text(text)
    return info
