"""How the programs are compiled: by which compiler, and linked how."""

import subprocess
from pathlib import Path

import pytest

from redlane.contexts.shell.running.compiling import (
    CompileError,
    compile_programs,
    compiler_of,
)
from redlane.contexts.shell.running.programs import PROGRAMS

WITHOUT_LIBC_A = """\
#!/bin/sh
case " $* " in *" -static "*) echo "ld: cannot find -lc" >&2; exit 1 ;; esac
exec cc "$@"
"""


def tool(directory: Path, name: str, text: str = "#!/bin/sh\n") -> Path:
    path = directory / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def headers(program: Path) -> str:
    words = ["readelf", "--file-header", "--program-headers", program]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("named", "there", "taken"),
    [
        (None, ["clang", "gcc", "cc"], ("cc",)),
        (None, ["clang", "gcc"], ("gcc",)),
        (None, ["clang"], ("clang",)),
        ("", ["gcc"], ("gcc",)),
        ("other-gcc", ["cc", "other-gcc"], ("other-gcc",)),
        ("ccache gcc -m64", ["cc", "ccache"], ("ccache", "gcc", "-m64")),
    ],
)
def test_compiler_is_the_named_one_or_what_is_there(
    tmp_path: Path, named: str | None, there: list[str], taken: tuple[str, ...]
) -> None:
    for each in there:
        tool(tmp_path, each)
    environ = {"PATH": str(tmp_path)} | ({} if named is None else {"CC": named})
    assert compiler_of(environ) == taken


def test_another_compiler_does_not_stand_in_for_the_named_one(tmp_path: Path) -> None:
    tool(tmp_path, "cc")
    with pytest.raises(CompileError, match="no C compiler other-gcc"):
        compiler_of({"PATH": str(tmp_path), "CC": "other-gcc"})


def test_programs_are_linked_statically(tmp_path: Path) -> None:
    made = compile_programs(tmp_path, ("cc",), ("-Werror",))
    assert made.is_static
    told = {name: headers(tmp_path / name) for name in PROGRAMS}
    assert not any("INTERP" in each for each in told.values())
    assert "DYN (Position-Independent" in told["redlane-run"]


def test_programs_are_linked_dynamically_without_a_static_library(
    tmp_path: Path,
) -> None:
    compiler = tool(tmp_path, "compiler", WITHOUT_LIBC_A)
    made = compile_programs(tmp_path / "made", (str(compiler),))
    assert not made.is_static
    shell = tmp_path / "made" / "redlane-sh"
    asked = subprocess.run([shell, "--version"], capture_output=True, check=True)
    assert asked.stdout.startswith(b"GNU bash")
