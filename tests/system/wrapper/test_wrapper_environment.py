"""What surrounds a command: nothing of it runs anything or decides anything."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from spec.redlane_home import wait_for
from system.scripted_peer import ScriptedPeer, peer_at
from system.wrapper_programs import Wrapper

from redlane.contexts.shell.running import environment

SOURCE = Path(environment.__file__).parents[3] / "wrapper" / "environment.c"


def _table() -> set[str]:
    return set(re.findall(r'^    "([^"]+)",', SOURCE.read_text(), re.MULTILINE))


def test_the_daemons_own_shells_lose_the_same_as_the_wrappers() -> None:
    names = {each.decode() for each in environment.UNSAFE}

    assert _table() == names | {"BASH_FUNC_*", "LD_*"}


@pytest.mark.parametrize("name", sorted(_table()))
def test_it_is_taken_out(wrapper: Wrapper, name: str) -> None:
    name = name.replace("*", "PRELOAD" if name == "LD_*" else "ls%%")
    value = "() { echo bad; }" if "%%" in name else "/nonexistent"

    done = wrapper("-c", "/usr/bin/env", env={name: value, "KEPT_LD_X": "1"})

    assert f"{name}={value}".encode() not in done.stdout
    assert b"KEPT_LD_X=1" in done.stdout


WITH_ANOTHER_HOME = """
import ctypes, os, sys
def array(words):
    return (ctypes.c_char_p * (len(words) + 1))(*map(os.fsencode, words))
given = ["HOME=" + sys.argv[1], *(f"{k}={v}" for k, v in os.environ.items()), "NONE"]
ctypes.CDLL(None).execve(os.fsencode(sys.argv[2]), array(sys.argv[2:]), array(given))
"""


def test_of_two_variables_of_one_name_the_first_one_counts(
    wrapper: Wrapper, peer: ScriptedPeer, tmp_path: Path
) -> None:
    """Whoever took the other one would read a startup file that was not judged."""
    program, other = wrapper.directory / "redlane-sh", tmp_path / "other"
    other.mkdir()
    (other / ".profile").write_text("echo from profile\n")
    words = [sys.executable, "-c", WITH_ANOTHER_HOME, other, program]
    command = "env | grep -c -e ^HOME= -e ^NONE"

    done = subprocess.run(
        [*words, "-lc", command],
        env=wrapper.environment,
        capture_output=True,
        check=False,
    )

    assert done.stdout == b"from profile\n1\n"
    assert b"bash %b" % bytes(other / ".profile") in peer.commands


def test_no_file_or_function_runs_before_the_command(
    wrapper: Wrapper, tmp_path: Path
) -> None:
    canary = tmp_path / "canary"
    script = tmp_path / "bad.sh"
    script.write_text(f"touch {canary}\n")
    touch = f"$(touch {canary})"

    done = wrapper(
        "-xc",
        "ls /dev/null; true",
        env={
            "BASH_ENV": str(script),
            "ENV": str(script),
            "PS4": touch,
            "SHELLOPTS": "xtrace",
            "BASH_FUNC_ls%%": f"() {{ touch {canary}; }}",
            "PROMPT_COMMAND": f"touch {canary}",
        },
    )

    assert b"/dev/null" in done.stdout
    assert not canary.exists()


def test_a_home_that_is_not_ones_own_is_judged(
    wrapper: Wrapper, peer: ScriptedPeer, tmp_path: Path
) -> None:
    (tmp_path / ".bashrc").write_text("echo from bashrc\n")
    (tmp_path / ".profile").write_text("echo from profile\n")

    done = wrapper("-lc", "echo ran")

    assert sorted(peer.commands) == [
        b"bash %b" % bytes(tmp_path / ".bashrc"),
        b"bash %b" % bytes(tmp_path / ".profile"),
        b"echo ran",
    ]
    assert done.stdout == b"from profile\nran\n"


@pytest.mark.parametrize("words", [("-lc",), ("-ic",), ("--login", "-c")])
def test_a_refused_startup_file_runs_nothing(
    wrapper: Wrapper, peer: ScriptedPeer, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / ".bashrc").write_text("echo from bashrc\n")
    peer.answer = b"BLOCK 2\nno"

    done = wrapper(*words, "echo ran")

    assert (done.returncode, done.stdout) == (126, b"")


def test_a_named_startup_file_is_judged(
    wrapper: Wrapper, peer: ScriptedPeer, tmp_path: Path
) -> None:
    script = tmp_path / "rc"
    script.write_text("echo rc\n")

    wrapper("--rcfile", str(script), "-ic", "echo ran")

    assert peer.commands[0] == b"bash %b" % bytes(script)


@pytest.mark.parametrize("sign", ["SSH_CLIENT", "socket"])
def test_no_startup_file_as_if_by_a_remote_shell(
    wrapper: Wrapper, tmp_path: Path, sign: str
) -> None:
    (tmp_path / ".bashrc").write_text("echo from bashrc\n")
    here, there = (each.detach() for each in socket.socketpair())
    env = {**wrapper.environment, "SHLVL": "0"}
    if sign == "SSH_CLIENT":
        env["SSH_CLIENT"] = "1.2.3.4 5 6"

    done = subprocess.run(
        [wrapper.directory / "redlane-sh", "-c", "echo ran"],
        env=env,
        stdin=here if sign == "socket" else subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )

    os.close(here)
    os.close(there)
    assert done.stdout == b"ran\n"


def _descriptors(program: Path, wrapper: Wrapper, *closed: int) -> bytes:
    closing = " ".join(f"{each}>&-" for each in closed)
    line = f"exec {program} -c 'for f in /proc/$$/fd/*; do echo ${{f##*/}}; done >&9'"
    return subprocess.run(
        ["/bin/bash", "-c", f"{line} 9>&1 {closing}"],
        env=dict(wrapper.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
    ).stdout


@pytest.mark.parametrize(
    "closed", [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
)
def test_the_shell_finds_the_descriptors_of_its_caller(
    wrapper: Wrapper, closed: tuple[int, ...]
) -> None:
    wrapped = _descriptors(wrapper.directory / "bash", wrapper, *closed)

    assert wrapped == _descriptors(Path("/bin/bash"), wrapper, *closed)


def test_a_refusal_does_not_land_in_the_socket(
    wrapper: Wrapper, peer: ScriptedPeer
) -> None:
    peer.answer = b"BLOCK 2\nno"

    assert (
        subprocess.run(
            [
                "/bin/bash",
                "-c",
                'exec "$0" -c true 0<&- 1>&- 2>&-',
                wrapper.directory / "bash",
            ],
            env=dict(wrapper.environment),
            check=False,
        ).returncode
        == 126
    )
    assert peer.commands == [b"true"]


def test_process_attributes_are_kept(wrapper: Wrapper) -> None:
    probe = "umask; ulimit -n; echo $$ $PPID; cat /proc/$$/status"
    ours = (
        f"umask 027; ulimit -n 99; echo $$; exec {wrapper.directory}/bash -c '{probe}'"
    )

    done = subprocess.run(
        ["/bin/bash", "-c", ours],
        env=dict(wrapper.environment),
        capture_output=True,
        text=True,
        check=False,
    )

    lines = done.stdout.splitlines()
    assert lines[1:3] == ["0027", "99"]
    assert lines[3].split()[0] == lines[0]
    blocked = next(each for each in lines if each.startswith("SigBlk"))
    assert int(blocked.split()[1], 16) == 0


@pytest.mark.parametrize("ignored", [signal.SIGPIPE, signal.SIGINT, signal.SIGHUP])
def test_ignored_signals_stay_ignored(
    wrapper: Wrapper, ignored: signal.Signals
) -> None:
    done = subprocess.run(
        [
            "/bin/sh",
            "-c",
            f"trap '' {int(ignored)}; exec \"$0\" -c 'cat /proc/$$/status'",
            wrapper.directory / "bash",
        ],
        env=dict(wrapper.environment),
        capture_output=True,
        text=True,
        check=False,
    )

    mask = next(e for e in done.stdout.splitlines() if e.startswith("SigIgn"))
    assert int(mask.split()[1], 16) & 1 << (ignored - 1)


def test_a_very_long_socket_path(wrapper: Wrapper, tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    with peer_at(deep / "control.sock") as peer:
        done = wrapper("-c", "ls /proc/self/fd", env={"REDLANE_SOCKET": str(peer.path)})

    assert done.stdout.split() == [b"0", b"1", b"2", b"3"]


def test_where_to_ask_in_turn(wrapper: Wrapper, tmp_path: Path) -> None:
    places = {
        "REDLANE_SOCKET": ("one", "one/any.sock"),
        "XDG_RUNTIME_DIR": ("two", "two/redlane/control.sock"),
        "REDLANE_HOME": ("three", "three/run/control.sock"),
        "HOME": ("four", "four/.redlane/run/control.sock"),
    }
    env = {"PATH": os.defpath}
    for name, (value, path) in reversed(places.items()):
        where = tmp_path / path
        where.parent.mkdir(parents=True)
        env[name] = str(tmp_path / value) if name != "REDLANE_SOCKET" else str(where)
        with peer_at(where) as peer:
            subprocess.run(
                [wrapper.directory / "redlane-sh", "-c", "true"], env=env, check=False
            )
            assert peer.commands == [b"true"]


def _shim(wrapper: Wrapper, run: Path, name: str = "bash") -> Path:
    (run / "bin").mkdir(parents=True)
    return Path(shutil.copy2(wrapper.directory / name, run / "bin" / name))


def test_a_shim_asks_the_socket_beside_it(wrapper: Wrapper, tmp_path: Path) -> None:
    shim = _shim(wrapper, tmp_path / "run")
    (tmp_path / "link").symlink_to(shim)
    with peer_at(tmp_path / "run" / "control.sock") as peer:
        for called in (shim, tmp_path / "link"):
            subprocess.run(
                [called, "-c", "true"], env={"REDLANE_SOCKET": "/none"}, check=True
            )

    assert peer.commands == [b"true", b"true"]


FORGET = (
    "import os, subprocess, sys;"
    "sys.exit(subprocess.run(sys.argv[1:], env={'REDLANE_SOCKET': '/none'}).returncode)"
)


def test_inside_a_session_nothing_else_is_asked(
    wrapper: Wrapper, tmp_path: Path
) -> None:
    """Neither the environment, nor another supervisor, nor a shim with a socket."""
    shim = _shim(wrapper, tmp_path / "false")
    supervisor = wrapper.directory / "redlane-run"
    (tmp_path / "true").mkdir()
    with (
        peer_at(tmp_path / "true" / "control.sock") as true,
        peer_at(tmp_path / "false" / "control.sock") as false,
    ):
        inner = [supervisor, "--socket", str(false.path), "--"]
        asking = [sys.executable, "-c", FORGET, *inner, shim, "-c", "true"]
        subprocess.run(
            [supervisor, "--socket", str(true.path), "--", *asking],
            env=dict(wrapper.environment),
            check=True,
        )

    assert (true.commands, false.commands) == ([b"true"], [])


def test_an_orphan_is_still_inside(wrapper: Wrapper, tmp_path: Path) -> None:
    code = (
        "import os, sys, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "while os.getppid() != int(sys.argv[1]): time.sleep(0.01)\n"
        "os.execve(sys.argv[2], ['bash', '-c', 'echo ran'], {'REDLANE_SOCKET': '/no'})"
    )
    line = f'"$0" -c "$1" $PPID {wrapper.directory}/bash; sleep 1'
    options = ("--boundary", "none")
    (tmp_path / "run").mkdir()
    with peer_at(tmp_path / "run" / "session.sock") as peer:
        done = subprocess.run(
            [
                *(wrapper.directory / "redlane-run", "--socket", str(peer.path)),
                *(*options, "--", "/bin/sh", "-c", line, sys.executable, code),
            ],
            env=dict(wrapper.environment),
            capture_output=True,
            check=False,
        )
        wait_for(lambda: peer.commands)

    assert (done.stdout, peer.commands) == (b"ran\n", [b"echo ran"])
