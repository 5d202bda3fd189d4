"""What the daemon is asked, for every way to call the wrapper, and what runs then."""

import subprocess
from pathlib import Path

import pytest
from system.scripted_peer import ScriptedPeer
from system.wrapper_programs import Wrapper

COMMANDS = {
    "c": (("-c", "echo $#"), b"echo $#"),
    "arguments": (("-c", "echo $0 $*", "n", "a b", ""), b"echo $0 $*\0n\0a b\0"),
    "lc": (("-lc", "true"), b"true"),
    "c-l": (("-c", "-l", "true"), b"true"),
    "c-c": (("-c", "-c", "true"), b"true"),
    "plus-c": (("+c", "echo plus"), b"echo plus"),
    "c-then-dashes": (("-c", "--", "-x"), b"-x"),
    "c-then-dash": (("-c", "-", "echo dash"), b"echo dash"),
    "c-o-name": (("-co", "pipefail", "true | false"), b"true | false"),
    "o-takes-c": (("-o", "errexit", "-c", "true", "-c"), b"true\0-c"),
    "O-and-o": (("-Oo", "extglob", "nounset", "-c", "true"), b"true"),
    "long-one-dash": (("-norc", "-c", "true"), b"true"),
    "rcfile-missing": (("--rcfile", "/nonexistent", "-c", "true"), b"true"),
    "s-and-c": (("-s", "-c", "echo $0", "x"), b"echo $0\0x"),
    "bytes": (("-c", b"printf '\xff\xfe'"), b"printf '\xff\xfe'"),
}


@pytest.mark.parametrize(("words", "asked"), COMMANDS.values(), ids=COMMANDS)
def test_the_command_is_what_is_asked_and_run(
    wrapper: Wrapper,
    peer: ScriptedPeer,
    words: tuple[str | bytes, ...],
    asked: bytes,
) -> None:
    plain = subprocess.run(["/bin/bash", *words], capture_output=True, check=False)

    done = wrapper(*words)

    assert peer.commands == [asked]
    assert (done.returncode, done.stdout) == (plain.returncode, plain.stdout)


USAGE = {
    "no-command": ("-c",),
    "unknown-letter": ("-cZ", "true"),
    "unknown-long": ("--nonsense", "-c", "true"),
    "long-after-letters": ("-e", "--norc", "-c", "true"),
    "o-without-name": ("-c", "-o"),
    "rcfile-without-name": ("--rcfile",),
    "wordexp": ("--wordexp", "-c", "true"),
}


@pytest.mark.parametrize("words", USAGE.values(), ids=USAGE)
def test_what_is_not_understood_is_not_run(
    wrapper: Wrapper, peer: ScriptedPeer, words: tuple[str, ...]
) -> None:
    done = wrapper(*words, stdin=b"echo from input\n")

    assert (done.returncode, done.stdout, peer.questions) == (2, b"", [])
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["echo a; echo b", "true", "echo $HOME"])
def test_one_bare_argument_is_a_command(
    wrapper: Wrapper, peer: ScriptedPeer, command: str
) -> None:
    assert wrapper(command).returncode == 0
    assert peer.commands == [command.encode()]


@pytest.mark.parametrize("name", ["bash", "sh"])
def test_a_shim_takes_a_bare_argument_for_a_file(
    wrapper: Wrapper, peer: ScriptedPeer, name: str
) -> None:
    done = wrapper("echo a; echo b", name=name)

    assert done.returncode == {"bash": 127, "sh": 2}[name]
    assert not peer.questions


def test_the_name_decides_which_shell_runs(wrapper: Wrapper) -> None:
    probe = 'readlink /proc/$$/exe; echo "${BASH_VERSION:-none}"'
    sh = wrapper("-c", probe, name="sh").stdout.split()
    bash = wrapper("-c", probe, name="bash").stdout.split()
    other = wrapper("-c", probe, name="another-name").stdout.split()

    assert Path(sh[0].decode()) == Path("/bin/sh").resolve()
    assert bash == other
    assert Path(bash[0].decode()) == Path("/bin/bash").resolve()


def test_the_working_directory_is_told(
    wrapper: Wrapper, peer: ScriptedPeer, tmp_path: Path
) -> None:
    strange = tmp_path / "a b%\r\n\xe9\t:"
    strange.mkdir()

    wrapper("-c", "true", cwd=strange)

    assert peer.questions[0].directory == bytes(strange)


def test_the_longest_command_that_exec_takes(
    wrapper: Wrapper, peer: ScriptedPeer
) -> None:
    command = "echo ${#0};:" + "a" * 131_000

    assert wrapper("-c", command).returncode in {0, 127}
    assert peer.commands == [command.encode()]


def test_a_rewritten_command_that_exec_does_not_take(
    wrapper: Wrapper, peer: ScriptedPeer
) -> None:
    peer.answer = b"MODIFY 200000\n" + b"a" * 200_000

    done = wrapper("-c", "true")

    assert (done.returncode, done.stdout) == (126, b"")
    assert done.stderr.startswith(b"redlane: ")


def test_a_script_is_asked_by_the_name_that_it_was_given(
    wrapper: Wrapper, peer: ScriptedPeer, tmp_path: Path
) -> None:
    (tmp_path / "it's.sh").write_text('echo "$0 $*"')

    done = wrapper("./it's.sh", "a b", "-c", cwd=tmp_path)

    assert peer.commands == [b"bash './it'\\''s.sh' 'a b' -c"]
    assert done.stdout == b"./it's.sh a b -c\n"


def test_a_script_on_the_path(
    wrapper: Wrapper, peer: ScriptedPeer, tmp_path: Path
) -> None:
    script = tmp_path / "scripted"
    script.write_text("echo found")

    done = wrapper("--", "scripted", env={"PATH": f"/nowhere:{tmp_path}:/bin"})

    assert peer.commands == [b"bash %b" % bytes(script)]
    assert done.stdout == b"found\n"


def test_a_script_behind_a_link_is_asked_by_where_it_is(
    wrapper: Wrapper, peer: ScriptedPeer, tmp_path: Path
) -> None:
    script = tmp_path / "real.sh"
    script.write_text("echo found")
    (tmp_path / "cwd").symlink_to("/proc/self/cwd")

    done = wrapper("cwd/real.sh", cwd=tmp_path)

    assert peer.commands == [b"bash %b" % bytes(script)]
    assert done.stdout == b"found\n"


@pytest.mark.parametrize("path", ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])
def test_a_script_that_only_we_can_read_is_asked_by_its_text(
    wrapper: Wrapper, peer: ScriptedPeer, path: str
) -> None:
    done = wrapper(path, "a", stdin=b"echo $0 $1\n")

    assert peer.commands == [b"echo $0 $1\n\0%b\0a" % path.encode()]
    assert done.stdout == f"{path} a\n".encode()


def test_a_substituted_process_is_read_once(
    wrapper: Wrapper, peer: ScriptedPeer
) -> None:
    line = f"{wrapper.directory}/redlane-sh <(echo 'echo $1') x"

    done = subprocess.run(
        ["/bin/bash", "-c", line],
        env=dict(wrapper.environment),
        capture_output=True,
        check=False,
    )

    assert peer.commands[0].startswith(b"echo $1\n\0/dev/fd/")
    assert done.stdout == b"x\n"


def test_a_script_is_read_whole_from_a_pipe(
    wrapper: Wrapper, peer: ScriptedPeer
) -> None:
    script = b"read line\nsecond\0 line\necho got $line\n"

    done = wrapper(stdin=script)

    assert peer.commands == [script.replace(b"\0", b"") + b"\0bash"]
    assert done.stdout == b"got second line\n"


def test_a_refused_script_runs_no_line(wrapper: Wrapper, peer: ScriptedPeer) -> None:
    peer.answer = b"BLOCK 2\nno"

    done = wrapper("-s", "arg", stdin=b"echo one\nrm -rf x\n")

    assert (done.returncode, done.stdout) == (126, b"")


def test_a_rewritten_script_is_run(wrapper: Wrapper, peer: ScriptedPeer) -> None:
    peer.answer = b"MODIFY 9\necho $1\n\n"

    assert wrapper("-s", "arg", stdin=b"echo old\n").stdout == b"arg\n"


@pytest.mark.parametrize("stream", [b"", b"\0\0"], ids=["empty", "nul"])
def test_nothing_to_run(wrapper: Wrapper, stream: bytes) -> None:
    done = wrapper(stdin=stream)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_shell_tells_about_itself(wrapper: Wrapper, option: str) -> None:
    done = wrapper(option, "-c", "echo ran", env={"REDLANE_SOCKET": "/none"})

    assert done.stdout.startswith(b"GNU bash")
    assert b"ran" not in done.stdout
