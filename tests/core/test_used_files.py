"""What a command would use is told of each file that it may mean, wherever that is."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from core.children import wait_until

from redlane.contexts.shell.content import ShellContent
from redlane.judging.used_files import Used, used_by

MOST_TOPS = 20


class Asking:
    """A process in a directory of its own, whose home is another one."""

    def __init__(self, top: Path, *places: str) -> None:
        self.top = top / "top"
        self.home = top / "home"
        for each in (self.top, self.home):
            each.mkdir()
        paths = ":".join(places or ("bin", f"{top}/tools"))
        self._process = subprocess.Popen(
            ["/bin/sleep", "600"],
            cwd=self.top,
            env={"PATH": paths, "HOME": str(self.home)},
        )
        # The pipe of a start is closed before the kernel shows the variables.
        variables = Path(f"/proc/{self._process.pid}/environ")
        wait_until(lambda: bool(variables.read_bytes()))

    def uses(self, command: str) -> Used:
        return used_by(ShellContent(command.encode()), self._process.pid)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    with closing(Asking(tmp_path)) as found:
        yield found


def write(file: Path, text: str) -> None:
    """Another file in its place, which holds that."""
    file.parent.mkdir(parents=True, exist_ok=True)
    made = file.with_name("made")
    made.write_text(text)
    made.replace(file)


SWAPPED = {
    "a word": ("./x", "x"),
    "input": ("cat < x", "x"),
    "an assigned file": ("LD_PRELOAD=./x tool", "x"),
    "one of a list": ("LD_PRELOAD=y:./x tool", "x"),
    "one of a list of an option": ("java -cp y:x Main", "x"),
    "a mount": ("run -v ./x:/y image", "x"),
    "an option's": ("grep -fx y", "x"),
    "that of many options": ("sort -nrusTx y", "x"),
    "several options'": ("tar -czfx y", "x"),
    "data": ("curl -d@x -F a=@y z", "x"),
    "data of a field": ("curl -F a=@x z", "x"),
    "where it goes": ("env -C sub ./x", "sub/x"),
    "where an option goes": ("env -Csub ./x", "sub/x"),
    "where several options go": ("env -iCsub ./x", "sub/x"),
    "where a long option goes": ("env --chdir=sub ./x", "sub/x"),
    "where one with one dash goes": ("tofu -chdir=sub -f x", "sub/x"),
    "split by env": ("env -S '-C sub ./x'", "sub/x"),
    "in a text": ("sh -c 'env -C sub ./x'", "sub/x"),
    "from one to another": ("env -C a env -C b ./x", "a/b/x"),
    "and on": ("env -C a env -C b env -C c ./x", "a/b/c/x"),
    "and back": ("env -C a env -C .. ./x", "x"),
    "by a link": ("env -C link ./x", "sub/x"),
    "up": ("env -C .. ./x", "../x"),
    "home": ("env -C ~ ./x", "../home/x"),
    "below home": ("cat ~/x", "../home/x"),
    "a name with a tilde": ("cat '~/x'", "~/x"),
    "a program": ("tool", "../tools/tool"),
    "a program of a relative place": ("tool", "bin/tool"),
    "a program of that place elsewhere": ("env -C sub tool", "sub/bin/tool"),
}


@pytest.mark.parametrize(("command", "path"), SWAPPED.values(), ids=SWAPPED)
def test_another_file_of_that_name_is_another_use(
    asking: Asking, command: str, path: str
) -> None:
    for each in ("sub", "a/b/c"):
        (asking.top / each).mkdir(parents=True)
    (asking.top / "link").symlink_to("sub")
    file = asking.top / path
    write(file, "one")
    first = asking.uses(command)
    assert (asking.uses(command), first.more) == (first, False)
    write(file, "two")
    assert asking.uses(command) != first


OPEN = {
    "a pattern": "cat *.txt",
    "a variable": "cat $x",
    "somebody's home": "cat ~root/x",
    "quoted input": "cat < 'x y'",
    "input with a backslash": r"cat < x\.y",
    "a quoted value": "LD_PRELOAD='./x y' tool",
    "another PATH": "PATH=tools tool",
    "a PATH by env": "env PATH=tools tool",
    "another HOME": "HOME=sub cat ~/x",
    "too many names": f"cat {' '.join(map(str, range(1001)))}",
}


@pytest.mark.parametrize("command", OPEN.values(), ids=OPEN)
def test_what_cannot_all_be_told_says_so(asking: Asking, command: str) -> None:
    assert asking.uses(command).more


@pytest.mark.parametrize("more", [0, 1])
def test_so_many_directories_are_looked_in(asking: Asking, more: int) -> None:
    names = [f"d{each}" for each in range(MOST_TOPS + more)]
    for each in names:
        (asking.top / each).mkdir()
    write(asking.top / names[MOST_TOPS - 1] / "x", "one")
    used = asking.uses(f"ls {' '.join([*names, *names, '.', './d1', 'd1/..'])} x")
    assert [each.name for each in used.files] == [f"{names[MOST_TOPS - 1]}/x"]
    assert used.more == bool(more)


def test_no_more_is_looked_for_than_takes_a_moment(tmp_path: Path) -> None:
    directories = [f"d{each}" for each in range(MOST_TOPS)]
    programs = " ; ".join(f"tool{each}" for each in range(50))
    with closing(Asking(tmp_path, *map(str, range(50)))) as asking:
        for each in directories:
            (asking.top / each).mkdir()
        assert not asking.uses(programs).more
        assert asking.uses(f"{programs} {' '.join(directories)}").more


def test_directories_that_name_each_other_end(asking: Asking) -> None:
    (asking.top / "a").mkdir()
    (asking.top / "a" / "b").symlink_to("..")
    write(asking.top / "x", "one")
    used = asking.uses("env -C a env -C b ./x")
    names = ["./x", "x", "a/b/./x", "a/b/x"]
    assert ([each.name for each in used.files], used.more) == (names, False)


def test_neither_a_fifo_nor_a_directory_is_a_file_or_waited_for(asking: Asking) -> None:
    os.mkfifo(asking.top / "x")
    (asking.top / "y").mkdir()
    used = asking.uses("cat x y")
    assert (used.files, used.more) == ((), False)


def test_a_file_that_is_too_large_to_be_read_says_so(asking: Asking) -> None:
    with (asking.top / "x").open("wb") as file:
        file.truncate(2**30)
        os.chown(file.fileno(), os.getuid() or 1, -1)
    used = asking.uses("cat x")
    assert (len(used.files), used.more) == (1, True)


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_known_and_says_so(asking: Asking) -> None:
    write(asking.top / "x", "one")
    (asking.top / "x").chmod(0)
    used = asking.uses("cat x")
    assert (len(used.files), used.more) == (1, True)


def test_a_process_that_is_gone_says_so(asking: Asking) -> None:
    asking.close()
    used = asking.uses("cat x")
    assert (used.files, used.place, used.more) == ((), (), True)
