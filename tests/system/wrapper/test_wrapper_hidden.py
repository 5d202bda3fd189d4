"""What `redlane-run --hidden` hides: nothing opens it but the programs that own it.

What is refused for what is hidden is done for what is not.
"""

import json
import subprocess
from collections.abc import Iterator, Sequence
from errno import EACCES, ENOSYS, EPERM
from pathlib import Path

import pytest
from supervised import compiled
from system import ways_to_hidden_files as ways
from system.hidden_ground import OWN_MOUNTS, PYTHON, Ground


def _at(text: str, *paths: str) -> str:
    return "\n".join(text.strip().replace("@", each) for each in paths)


def _options(
    ground: Ground, hidden: Sequence[str] = ways.HIDDEN, shown: str = "own/shown"
) -> list[str]:
    options = ["--owners", f"cat:tail:{Path(PYTHON).name}"]
    options += ["--shown", str(ground.place / shown)]
    for each in hidden:
        owners, _, path = each.partition("=")
        options += ["--hidden", f"{owners}={ground.place / path}"]
    return options


def _others(
    ground: Ground,
    error: int,
    text: str,
    *before: str,
    options: Sequence[str] | None = None,
    within: Sequence[str] = (),
) -> list[str]:
    """The statements that end with another errno, 0 for success, and with which."""
    words = [*before, PYTHON, "-I", "-B", "-c", ways.INSIDER]
    words += [json.dumps([each for each in ways.NAMED.split(text) if each])]
    held = _options(ground) if options is None else options
    done = ground.run(*words, options=held, within=within)
    assert done.stdout, done.stderr
    errors = json.loads(done.stdout).items()
    return [f"{name}: {other}" for name, other in errors if other != error]


def _fill(ground: Ground) -> None:
    """Make what they find: directories that are alike, hidden and not."""
    ground.renew()
    place = ground.place
    for each in (*ways.DIRECTORIES, "own/shown/deep"):
        (place / each).mkdir(parents=True, exist_ok=True)
        if "link" not in each and "at" not in each:
            for name in ("file", "a", "b", "c"):
                (place / each / name).write_text("as it was")
    for each in (*ways.SINGLE, "mine/named", "mine/both", "mine/two", "up/file"):
        (place / each).write_text("as it was")
    (place / "own/link").symlink_to("file")
    ground.person.own(place)


@pytest.fixture
def ground(grounds: Ground) -> Ground:
    _fill(grounds)
    return grounds


@pytest.fixture
def untouched(ground: Ground) -> Iterator[None]:
    """What is hidden has the names and the contents that it had."""

    def told() -> list[tuple[str, str]]:
        files = (each for each in ground.place.rglob("*") if each.is_file())
        rows = ((each.relative_to(ground.place), each) for each in files)
        hidden = ("own", "key", "up", "mine", "theirs")
        return sorted(
            (str(name), each.read_text())
            for name, each in rows
            if name.parts[0].partition(".")[0] in hidden
        )

    before = told()
    yield
    assert told() == before


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("path", ways.HELD)
def test_what_is_hidden_is_opened_in_no_way(ground: Ground, path: str) -> None:
    assert _others(ground, EPERM, _at(ways.READS, path)) == []


@pytest.mark.parametrize("path", ways.LEFT)
def test_what_is_not_is_opened_in_all_these_ways(ground: Ground, path: str) -> None:
    text = _at(ways.READS, path)
    if path == "mine/file":  # this program's own, and not another's
        text = ways.NAMED.sub("\n", text).partition("program(")[0]
    assert _others(ground, 0, text) == []


def test_the_longest_place_counts_and_copies_beside_it(ground: Ground) -> None:
    assert _others(ground, EPERM, _at("read('@')", *ways.ALL_HELD)) == []
    assert _others(ground, 0, _at("read('@')", *ways.ALL_LEFT)) == []


def test_without_a_place_nothing_is_hidden(ground: Ground) -> None:
    none = _options(ground, ())
    assert _others(ground, 0, _at("read('@')", *ways.ALL_HELD), options=none) == []


@pytest.mark.parametrize("path", ["own/file", "other/file"])
def test_what_cannot_be_looked_at_opens_nothing(ground: Ground, path: str) -> None:
    how = "call(437, -100, '@', (ctypes.c_ulong * 3)(), 24)"
    assert _others(ground, ENOSYS, _at(how, path)) == []
    assert _others(ground, EPERM, _at("by_handle('@')", path)) == []


@pytest.mark.usefixtures("untouched")
def test_programs_of_32_bits_are_held_as_well(ground: Ground) -> None:
    way = "child(lambda: interrupted(b'@'))"
    none = _options(ground, ())
    if _others(ground, 0, _at(way, "own/file"), options=none):
        pytest.skip("NOT TESTED: this kernel runs none")
    assert _others(ground, 0, _at(way, "other/file")) == []
    assert _others(ground, EPERM, _at(way, "own/file", "key")) == []


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("directory", ["own", "theirs", "mine"])
def test_what_is_hidden_gets_no_other_name(ground: Ground, directory: str) -> None:
    """Not by its owner either."""
    assert _others(ground, EPERM, _at(ways.MOVES, directory)) == []


def test_what_is_not_hidden_gets_other_names(ground: Ground) -> None:
    assert _others(ground, 0, _at(ways.MOVES, "left")) == []


@pytest.mark.usefixtures("untouched")
def test_what_leads_to_it_stays(ground: Ground) -> None:
    assert _others(ground, EPERM, ways.ABOVE) == []


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("directory", ["own", "own/deep", "theirs"])
def test_nothing_is_made_in_a_hidden_place(ground: Ground, directory: str) -> None:
    assert _others(ground, EPERM, _at(ways.MAKES + ways.MOVES_IN, directory)) == []


@pytest.mark.parametrize("directory", ["left", "own/shown"])
def test_all_of_that_is_made_elsewhere(ground: Ground, directory: str) -> None:
    assert _others(ground, 0, _at(ways.MAKES, directory)) == []
    moves = ways.MOVES_IN.replace("/1'", "/20'").replace("/2'", "/21'")
    assert _others(ground, 0, _at(moves, directory)) == []


def test_its_owner_makes_what_it_needs(ground: Ground) -> None:
    assert _others(ground, 0, _at(ways.MAKES, "mine")) == []


def test_what_is_not_there_yet_is_not_made(ground: Ground) -> None:
    assert _others(ground, EPERM, ways.ABSENT) == []
    assert not (ground.place / "absent").exists()


def test_that_it_is_there_is_seen(ground: Ground) -> None:
    assert _others(ground, 0, ways.SEEN) == []


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("directory", ["own", "theirs"])
def test_mounts_of_its_own_give_no_way(ground: Ground, directory: str) -> None:
    ground.needs_namespaces()
    assert _others(ground, EPERM, _at(ways.BOUND, directory), *OWN_MOUNTS) == []
    assert _others(ground, EACCES, _at(ways.OVERLAID, directory), *OWN_MOUNTS) == []
    if ground.is_roots:
        alone = (*OWN_MOUNTS[:1], "-m")
        assert _others(ground, EPERM, _at(ways.BOUND, directory), *alone) == []


def test_mounts_of_its_own_take_no_way(ground: Ground) -> None:
    ground.needs_namespaces()
    assert _others(ground, 0, _at(ways.BOUND, "left"), *OWN_MOUNTS) == []


@pytest.mark.parametrize("path", ["own", "left"])
def test_where_nobody_can_tell_nothing_is_read(ground: Ground, path: str) -> None:
    ground.needs_namespaces()
    assert _others(ground, EPERM, _at(ways.UNTOLD, path), *OWN_MOUNTS) == []


def test_what_was_hidden_is_read_no_more_than_before(ground: Ground) -> None:
    for path in ("key", "left/file"):
        for end in ("", ".bak", ".new"):
            (ground.place / f"{path}{end}").write_text("as it was")
    (ground.place / "links/other").write_text("another")
    ground.person.own(ground.place)
    both = "rename('links/other', '@.new')", "unlink('@.new')"
    assert _others(ground, EPERM, _at(ways.REMOVED.replace(*both), "key")) == []
    assert _others(ground, 0, _at(ways.REMOVED, "left/file")) == []


def test_owner_is_none_in_namespaces_of_its_own(ground: Ground) -> None:
    """Its loader may be another there."""
    ground.needs_namespaces()
    assert _others(ground, EPERM, "program('cat', 'theirs/file')", *OWN_MOUNTS) == []
    assert _others(ground, 0, "program('cat', 'left/file')", *OWN_MOUNTS) == []


def test_formats_of_programs_are_not_told_to_the_kernel(ground: Ground) -> None:
    ground.needs_namespaces()
    way = "mount('b', 'at', 'binfmt_misc', 0); read('at/register', O_WRONLY)"
    assert _others(ground, EPERM, way, *OWN_MOUNTS) == []


MOUNTED = """
mkdir -p own/sub alias
mount -t tmpfs none own/sub
echo text > own/sub/file
mount --bind own alias
mount --bind own/deep at
exec "$@"
"""


def test_mounts_that_were_there_before_give_no_way(ground: Ground) -> None:
    if not ground.is_roots:
        pytest.skip("NOT TESTED: root mounts them")
    words = ["unshare", "-m", "sh", "-ec", MOUNTED, "sh"]
    ways = "read('own/sub/file')\nread('alias/file')\nread('at/file')\nread('alias/a')"
    assert _others(ground, EPERM, ways, within=words) == []
    twin = "read('own/shown/file')\nread('key.txt')"
    assert _others(ground, 0, twin, within=words) == []


def test_owner_opens_what_it_owns(ground: Ground) -> None:
    ways = "program('cat', '@')\nprogram('/usr/bin/cat', '-u', '@')"
    assert _others(ground, 0, _at(ways, "theirs/file", "mine/inner/file")) == []
    assert _others(ground, 0, "program('cat', 'mine/two')") == []
    held = ("own/file", "mine/file", "mine/named", "mine/both", "key")
    assert _others(ground, EPERM, _at(ways, *held)) == []


@pytest.mark.usefixtures("untouched")
def test_who_poses_as_an_owner_is_none(ground: Ground) -> None:
    assert _others(ground, EPERM, _at(ways.POSING, "theirs/file")) == []


def test_owner_that_has_loaded_code_of_others_is_none(ground: Ground) -> None:
    library = ground.base / "other.so"
    subprocess.run(
        ["cc", "-shared", "-xc", "-", "-o", library], input=b"int other;", check=True
    )
    loading = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); open(sys.argv[2]).read()"
    for named, path, code in (
        (str(library), "mine/file", 1),
        (str(library), "left/file", 0),
        ("libc.so.6", "mine/file", 0),
    ):
        words = (PYTHON, "-I", "-B", "-c", loading, named, path)
        done = ground.run(*words, options=_options(ground))
        assert done.returncode == code, done
        assert ("PermissionError" in done.stderr) == bool(code)


def test_posing_programs_run(ground: Ground) -> None:
    assert _others(ground, 0, _at(ways.POSING, "left/file")) == []


@pytest.mark.usefixtures("untouched")
def test_who_poses_as_an_owner_by_mounts_is_none(ground: Ground) -> None:
    ground.needs_namespaces()
    text = _at(ways.POSING_IN_MOUNTS, "theirs/file")
    assert _others(ground, EPERM, text, *OWN_MOUNTS) == []
    twin = _at(ways.POSING_IN_MOUNTS, "left/file")
    assert _others(ground, 0, twin, *OWN_MOUNTS) == []


PROGRAMS = Path(__file__).parents[1] / "programs"


@pytest.mark.usefixtures("untouched")
def test_who_says_that_it_is_an_owner_is_none(ground: Ground) -> None:
    ground.needs_namespaces()
    program = ground.base / "posing"
    posing = str(compiled(PROGRAMS / "posing.c", program, "-static", "-no-pie"))
    for path, expected in (("left/file", "as it was\n"), ("theirs/file", "\n")):
        words = (posing, "/usr/bin/cat", "--read", path)
        done = ground.run(*words, options=_options(ground))
        assert done.stdout.partition("\n")[2] == expected, done


@pytest.mark.usefixtures("untouched")
def test_what_an_owner_has_open_is_not_opened_again(ground: Ground) -> None:
    way = "read(opened_by('@'))"
    assert _others(ground, EACCES, _at(way, "theirs/file", "left/file")) == []


def test_disks_and_memory_are_not_opened(ground: Ground) -> None:
    if not ground.is_roots:
        pytest.skip("NOT TESTED: these are for root")
    known = [each for each in Path("/dev").iterdir() if each.is_block_device()][:2]
    known += [each for each in map(Path, ("/dev/mem", "/proc/kcore")) if each.exists()]
    text = ways.RAW + "\n".join(f"read('{each}')" for each in known)
    assert _others(ground, EPERM, text) == []
    assert _others(ground, 0, ways.PLAIN_DEVICES) == []


def test_only_its_own_memory_is_opened(ground: Ground) -> None:
    assert _others(ground, EPERM, ways.MEMORIES) == []
    assert _others(ground, 0, ways.OWN_MEMORY) == []


def test_owners_are_not_looked_into(ground: Ground) -> None:
    """Other programs of the session are."""
    assert _others(ground, EPERM, _at(ways.TRACES, "cat")) == []
    assert _others(ground, 0, _at(ways.TRACES.partition("child")[0], "tee")) == []


def test_guarded_shell_is_not_looked_into(ground: Ground) -> None:
    assert _others(ground, EPERM, ways.SHELL) == []


def test_files_are_taken_from_no_process(ground: Ground) -> None:
    """Whose a descriptor is may change while that is found out."""
    assert _others(ground, EPERM, _at("taken(@)", "cat", "tee")) == []


def test_what_changes_while_it_is_looked_at_shows_nothing(ground: Ground) -> None:
    source = PROGRAMS / "exchanged_reads.c"
    race = str(compiled(source, ground.base / "race"))
    assert ground.run(race, options=_options(ground, ())).returncode == 1
    _fill(ground)
    done = ground.run(race, options=_options(ground))
    assert (done.returncode, done.stdout) == (0, "both\n"), done


NAMESPACES = """
child(lambda: c.unshare(0x20000) and _exit(ctypes.get_errno()))
child(lambda: c.unshare(0x10000000) and _exit(ctypes.get_errno()))
child(lambda: c.setns(held('/proc/self/ns/net', 0), 0) and _exit(ctypes.get_errno()))
child(lambda: 0, lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0))
"""


def test_no_namespaces_are_entered_where_they_are_denied(ground: Ground) -> None:
    ground.needs_namespaces()
    denied = [*_options(ground), "--namespaces", "deny"]
    assert _others(ground, EPERM, NAMESPACES, options=denied) == []


@pytest.mark.usefixtures("untouched")
def test_an_overlay_shows_nothing(ground: Ground) -> None:
    ground.needs_namespaces()
    program = str(compiled(PROGRAMS / "exchanged_mounts.c", ground.base / "mounts"))
    alone = ground.run(*OWN_MOUNTS, program, options=_options(ground, ()))
    if alone.returncode != 1:
        pytest.skip("NOT TESTED: no overlays are to be had here")
    done = ground.run(*OWN_MOUNTS, program, options=_options(ground))
    assert done.returncode == 0, done


def test_hidden_and_writable_both_count(ground: Ground) -> None:
    writable = ["--writable", str(ground.place / "other")]
    options = [*_options(ground, (*ways.HIDDEN, "=other/deep")), *writable]
    held = _at("read('@', W)", "own/file", "other/deep/a")
    assert _others(ground, EPERM, held, options=options) == []
    held = _at("read('@', W)", "left/file", "own/shown/file")
    assert _others(ground, EACCES, held, options=options) == []
    shown = _at("read('@')", "left/file", "own/shown/file", "other/file")
    text = f"{shown}\nread('other/file', RW)\nread('other/new', W | O_CREAT)"
    assert _others(ground, 0, text, options=options) == []
    text = "read('own/file')\nread('other/deep/a')"
    assert _others(ground, EPERM, text, options=options) == []


def test_a_refusal_is_told_and_is_an_event(ground: Ground) -> None:
    ground.peer.requests.clear()
    paths = ("key", "own/file", "own/file")
    done = ground.run("/usr/bin/head", "-qc1", *paths, options=_options(ground))
    assert done.stderr.count("(builtin:hidden)") == 1, "once"
    heads = [each for each in ground.peer.requests if each.startswith(b"POST")]
    assert heads[0].startswith(b"POST /api/sessions/s/syscalls HTTP/1.1")
