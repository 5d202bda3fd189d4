"""A script file is taken at its word: what it works out is judged where it runs."""

from pathlib import Path

import pytest
from core.shell_views import views

from redlane.contexts.shell.content import ShellContent

DANGER = "rm -rf x"
MANY = "echo one | tr a b > o\n" * 3_000
"""More than is followed: what comes behind is read literally."""

SEEN = {
    "at the end of much else": f"{MANY}{DANGER}",
    "in a function that is never called": f"{MANY}f() {{ {DANGER}; }}",
    "in either branch": f"{MANY}if test -d a; then :; else {DANGER}; fi",
    "in a loop": f"{MANY}for a in *; do {DANGER}; done",
    "in a case": f"{MANY}case $1 in a) {DANGER};; esac",
    "in a subshell": f"{MANY}(cd a && {DANGER})",
    "in a substitution": f'{MANY}a="$({DANGER})"',
    "behind another shell": f"{MANY}sh -c '{DANGER}'",
    "evaluated": f"{MANY}eval '{DANGER}'",
    "in a here-document to a shell": f"{MANY}sh <<E\n{DANGER}\nE",
    "in a long here-document to a shell": f"sh <<E\n{MANY}{DANGER}\nE",
    "with a variable that holds one word": f"{MANY}a=x\nrm -rf $a",
    "behind a command that is not known": f"{MANY}$SUDO {DANGER}",
    "in a trap": f"{MANY}trap '{DANGER}' EXIT",
    "the same once more": f"{MANY}echo x\n{DANGER}\n{DANGER}",
    "behind a name that is left out": "r${a}m -rf x",
    "behind an option that is left out": "rm -r${a}f x",
    "called with its words": 'f() { rm -rf "$1"; }\nf x',
    "written before it is run": f"echo {DANGER} > w\nsh w",
    "written to a file whose name is not known": (
        f't="$(mktemp)"\necho {DANGER} > "$t"\nsh "$t"'
    ),
    "in another script": "bash inner.sh",
    "in another script behind much else": f"{MANY}. ./inner.sh",
}


@pytest.mark.parametrize("text", SEEN.values(), ids=SEEN)
def test_literal_command_is_seen(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.sh").write_text(text)
    (tmp_path / "inner.sh").write_text(DANGER)
    assert DANGER in views("bash s.sh", cwd=str(tmp_path))


UNKNOWN = {
    "a directory": ('rm -rf "$build"/*', "rm -rf /*"),
    "a directory that a test sets": (
        "d=\nif test -f a; then d=b; fi\nrm -rf $d/",
        "rm -rf /",
    ),
    "a name before a path": ("> $dir/etc/x", "> /etc/x"),
    "a library": ("LD_PRELOAD=$lib make", "LD_PRELOAD= make"),
    "a directory out of a filter": (
        'd=$(echo /usr/bin | sed "$clean")\n> $d/x',
        "> /usr/bin/x",
    ),
    "a file that something reads": ("$cat ./data", "rm -rf data"),
    "a place that is found out": ("cd /usr\n> $dir/x", "> /usr/$dir/x"),
}


@pytest.mark.parametrize(("text", "guess"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known_is_not_guessed(
    tmp_path: Path, text: str, guess: str
) -> None:
    (tmp_path / "s.sh").write_text(text)
    (tmp_path / "data").write_text("rm -rf data")
    assert guess not in views("bash s.sh", cwd=str(tmp_path))


@pytest.mark.parametrize("text", ["r${a}m -rf x", "$a rm -rf x", 'rm -rf $a"x"'])
def test_what_is_typed_may_be_nothing(text: str) -> None:
    assert DANGER in views(text)


NUMBERS = {
    "nothing": ("rm -rf x", 0),
    "known words": ('a=x\nrm -rf "$a" $(echo y)', 0),
    "an argument": ("rm $x", 1),
    "a command": ("$x y", 1),
    "a redirection": ("echo > $x", 1),
    "each word": ("rm $x $y\n$x", 3),
    "a word that is used twice": ('for a in 1 2; do rm "$x"; done', 1),
    "a function that is called": ('f() { rm "$x"; }\nf', 1),
    "a function that is not called": ('f() { rm "$x"; }', 0),
}


@pytest.mark.parametrize(("text", "number"), NUMBERS.values(), ids=NUMBERS)
def test_words_that_are_not_known_are_counted(
    tmp_path: Path, text: str, number: int
) -> None:
    (tmp_path / "s.sh").write_text(text)
    content = ShellContent(b"bash s.sh", cwd=str(tmp_path))
    assert content.problem is None
    assert content.unknown_words == number
    told = f"# known only when it runs: {number} words"
    assert (told in views("bash s.sh", cwd=str(tmp_path))) == (number > 0)


@pytest.mark.parametrize("text", ["rm $x", "sh -c 'rm $x'", "eval $x", "$x | sh"])
def test_words_that_are_typed_are_not_counted(text: str) -> None:
    content = ShellContent(text.encode())
    assert content.problem is None
    assert content.unknown_words == 0


PAYLOADS = {
    "alone": "exit\n",
    "with a status": "exit 0\n",
    "with the last status": 'exit "$?"\n',
    "behind much else": "if a; then exit 1; fi\nb | c\nexit 0\n",
    "with a remark": "exit 0 # the archive follows\n",
    "by becoming another program": 'exec wish "$0" -- "$@"\n',
    "by becoming Perl": 'eval \'exec perl -wSx "$0" "$@"\'\n  if 0;\n',
}
NO_PAYLOADS = {
    "a function of this name": "exit() { :; }\nexit\n",
    "an alias": "alias exit=:\nexit\n",
    "two words": "exit 1 2\n",
    "a word that may be two": "exit $x\n",
    "a file that cannot be opened": "exit > /nowhere/x\n",
    "in the background": "exit &\n",
    "a shell that stays when it becomes nothing": "shopt -s execfail\nexec nothing\n",
    "a program that may be none": "exec $x\n",
    "descriptors alone": "exec 3>&1\n",
    "options that it may not have": "exec -x\n",
    "in a condition": "if a; then\nexit\nfi\n",
    "behind a condition": "a && exit\n",
    "in a subshell": "(\nexit\n)\n",
    "in a pipeline": "exit |\ncat\n",
    "in a function": "f() {\nexit\n}\n",
    "as an argument": "echo \\\nexit\n",
}


@pytest.mark.parametrize("before", PAYLOADS.values(), ids=PAYLOADS)
def test_what_follows_the_end_of_a_script_is_no_command(
    tmp_path: Path, before: str
) -> None:
    (tmp_path / "s.sh").write_text(f"{before}{DANGER}\n")
    assert DANGER not in views("bash s.sh", cwd=str(tmp_path))
    assert DANGER in views(f"{before}{DANGER}\n")


@pytest.mark.parametrize("before", NO_PAYLOADS.values(), ids=NO_PAYLOADS)
def test_what_may_be_run_after_all_is_seen(tmp_path: Path, before: str) -> None:
    (tmp_path / "s.sh").write_text(f"{before}{DANGER}\n")
    assert DANGER in views("bash s.sh", cwd=str(tmp_path))


def test_device_that_a_script_reads_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_text('a="$(cat /dev/urandom)"\n$a')
    assert ShellContent(b"bash s.sh", cwd=str(tmp_path)).problem is None


def test_archive_behind_a_script_is_no_problem(tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_bytes(b"exit 0\n" + b"((`\0$(" * 100_000)
    assert ShellContent(b"bash s.sh", cwd=str(tmp_path)).problem is None


@pytest.mark.parametrize("copy", [">&6", "2>&1", "<&0", ">&-", "6>&-"])
def test_descriptor_is_no_file(copy: str) -> None:
    assert not [each for each in views(f"echo {copy}", cwd="/usr") if "/usr" in each]


def test_each_redirection_is_shown_with_its_own_target(tmp_path: Path) -> None:
    text = "for a in 1 2; do for b in 3 4; do cat < in$a > out$b; done; done"
    (tmp_path / "s.sh").write_text(text)
    seen = views("bash s.sh", cwd=str(tmp_path))
    assert "cat < in1 > out3" in seen
    assert not [each for each in seen if "out3 > out4" in each]


MANY_MEANINGS = "".join(f"for {name} in 1 2 3 4 5 6 7; do " for name in "abcd")


@pytest.mark.parametrize("printer", ["echo", "printf %s", "test -n"])
def test_what_is_printed_alone_may_mean_anything(printer: str) -> None:
    text = f'{MANY_MEANINGS} {printer} "$a$b$c$d"; done; done; done; done'
    assert ShellContent(text.encode()).problem is None


@pytest.mark.parametrize("use", ["| sh", "> w; sh w", "| xargs rm"])
def test_what_is_printed_and_run_must_be_known(use: str) -> None:
    text = f'{MANY_MEANINGS} echo "$a$b$c$d" {use}; done; done; done; done'
    assert ShellContent(text.encode()).problem is not None


@pytest.mark.parametrize("command", ["rm", "$x", "eval echo"])
def test_what_is_run_must_be_known(command: str) -> None:
    text = f'{MANY_MEANINGS} {command} "$a$b$c$d"; done; done; done; done'
    assert ShellContent(text.encode()).problem is not None


ORIGINS = {
    "a download": ('t=$(mktemp); curl -s u > "$t"; sh "$t"', "curl -s u | sh"),
    "something packed": ('t=$(mktemp); gzip -cd < "$0" > $t; $t', "gzip -cd | sh"),
}


@pytest.mark.parametrize(("text", "seen"), ORIGINS.values(), ids=ORIGINS)
def test_program_that_a_script_writes_is_known_by_where_it_comes_from(
    tmp_path: Path, text: str, seen: str
) -> None:
    (tmp_path / "s.sh").write_text(text)
    assert seen in views("bash s.sh", cwd=str(tmp_path))


PRELOADS = ['"$(pwd)/x.so"', "$LD_PRELOAD:./k.so", '"$HOME/x.so"']


@pytest.mark.parametrize("value", PRELOADS)
def test_path_in_a_value_is_seen_though_not_all_of_it_is_known(
    tmp_path: Path, value: str
) -> None:
    (tmp_path / "s.sh").write_text(f"LD_PRELOAD={value} ls")
    seen = views("bash s.sh", cwd=str(tmp_path))
    assert [each for each in seen if each.startswith("LD_PRELOAD=")]


def test_path_is_known_by_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "s.sh").write_text('t="/etc/x-$$"\necho > "$t"')
    assert "> /etc/x-$$" in views("bash s.sh", cwd=str(tmp_path))


LEFT_OUT = {
    "a function that is called often": 'f() { "$@"; }\n'
    + "".join(f"f echo {number}\n" for number in range(20))
    + f"f {DANGER}",
    "a function that calls itself": (f'f() {{ "$@"; f {DANGER}; }}\nf echo a'),
    "what follows an exit": f". ./lib.sh\nexit 0\n{DANGER}",
    "what follows a program": f"exec nothing\n{DANGER}",
    "more than is followed": f"{MANY}x=rm\nf() {{ $x -rf x; }}\nf\nx=ls",
    "too many values": "".join(
        f"for {name} in a b c d e f g h rm; do\n" for name in ("i", "j")
    )
    + "$i -rf $j\ndone\ndone",
    "a value with a dollar in it": 't="/tmp/$x"\nrm -rf "$t"',
    "some lines of more": "rm $(printf 'a\\nb')",
    "a file that is written in part": "grep a lib.sh > w\n. ./w",
    "a script that reads itself": '"$@"\nset -- rm -rf x\n. ./s.sh',
    "a text that runs itself": 't=\'eval "$t"\'\neval "$t"',
}


@pytest.mark.parametrize("text", LEFT_OUT.values(), ids=LEFT_OUT)
def test_what_is_left_out_of_a_script_counts_as_not_known(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "s.sh").write_text(text)
    (tmp_path / "lib.sh").write_text("exit() { :; }\n")
    content = ShellContent(b"bash s.sh", cwd=str(tmp_path))
    assert content.problem is None
    assert content.unknown_words > 0
