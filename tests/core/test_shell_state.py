"""What a text sets is followed: through forks, loops, functions, whatever may not run.

Where it cannot be followed the text is open: what it starts is judged where it runs.
"""

from pathlib import Path

import pytest
from core.shell_views import views

from redlane.contexts.shell.content import ShellContent
from redlane.model.content import Reader
from redlane.model.policy import Action

DANGER = "rm -rf x"

FOLLOWED = {
    "parameters set in a branch": (
        'if a; then set -- rm -rf x; else set -- ls; fi; "$@"'
    ),
    "parameters behind options": 'set -eu -o pipefail rm -rf x; "$@"',
    "parameters set in a subshell": "set -- rm; (set -- ls); $1 -rf x",
    "parameters dropped in a loop": (
        "set -- ls ls ls rm; while a; do $1 -rf x; shift; done"
    ),
    "parameters dropped by a sum": 'set -- ls rm -rf x; shift $((1)); "$@"',
    "parameters of a function": 'f() { echo "$1"; shift; "$@"; }; f ls rm -rf x',
    "unset": "a=ls; unset a; ${a:-rm} -rf x",
    "an element that is unset": "a=(ls rm); unset 'a[0]'; ${a:-rm} -rf x",
    "unset in a function": "a=ls; f() { local a; ${a:-rm} -rf x; }; f",
    "set outside of a function": "a=rm; local a=ls; $a -rf x",
    "set in the background": "a=rm; a=ls & $a -rf x",
    "set by a group in the background": "a=rm; { a=ls; } & $a -rf x",
    "set by a list in the background": "a=rm; a=ls && b & $a -rf x",
    "set by a coprocess": "a=rm; coproc a=ls; $a -rf x",
    "set by a named coprocess": "a=rm; coproc N { a=ls; }; $a -rf x",
    "set in a substitution": "a=rm; b=$(a=ls); $a -rf x",
    "set in a process": "a=rm; cat <(a=ls); $a -rf x",
    "set by default": "a=; : ${a:=rm}; $a -rf x",
    "appended by export": "a=r; export a+=m; $a -rf x",
    "constant": "readonly a=rm; a=ls; $a -rf x",
    "constant by declare": "declare -r a=rm; a=ls; $a -rf x",
    "set by reference": "a=ls; declare -n b=a; b=rm; $a -rf x",
    "read by reference": "a=ls; declare -n b=a; a=rm; $b -rf x",
    "passed on by four rounds": (
        "a=rm; for i in 1 2 3 4; do e=$d d=$c c=$b b=$a; done; $e -rf x"
    ),
    "elements": 'a[0]=rm; a[1]=-rf; a[2]=x; "${a[@]}"',
    "elements by name": "declare -A a; a[b]=rm; a[c]=ls; ${a[b]} -rf x",
    "an element of which the place is not known": "a=ls; a[$b]=rm; $a -rf x",
    "a function defined in the background": "f() { $1 -rf x; }; f() { ls; } & f rm",
    "a function defined in a branch": (
        "if a; then f() { $1 -rf x; }; else f() { ls; }; fi; f rm"
    ),
}


@pytest.mark.parametrize("text", FOLLOWED.values(), ids=FOLLOWED)
def test_value_is_followed(text: str) -> None:
    assert DANGER in views(text)


@pytest.mark.parametrize(
    "text", ["a=$(cd b; pwd); rm c", "cd b | ls; rm c", "cd b & rm c", "(cd b); rm c"]
)
def test_directory_of_a_fork_is_its_own(text: str) -> None:
    assert "rm /a/b/c" not in views(text, cwd="/a")


def test_label_in_front_of_a_command_is_no_command() -> None:
    text = 'run() { echo "$1"; shift; "$@"; }; run "rm -rf x" ls'

    assert not [each for each in views(text) if each.startswith("rm -rf x ls")]


OPEN = {
    "a variable from outside": "echo $a",
    "a substitution": "echo $(date)",
    "an output that is known in part": "a=$(echo b | grep b); echo $a",
    "a file that is read": 'read a < f; echo "$a"',
    "what a file prints": "echo $(cat f)",
    "a file that is sourced": ". ./f",
    "another directory, if there is one": "cd a; ls",
    "an alias": "alias ls=cat; ls",
    "a value that grows": 'for a in b c; do d="$d$a"; done; $d',
    "a sum that sets": "let a=5; a=${a/5/b}; $a",
    "a sum in a loop": "for ((a=5;;)); do a=${a/5/b}; $a; done",
    "a name that stands for another later": "declare -n a; a=b; a=c; $b",
    "a value that is changed": "declare -l a; a=LS; $a",
    "words that are read": "echo ab | head -c 1 | while read a; do $a; done",
    "an option's value": 'getopts a: b; echo "$OPTARG"',
    "what is captured": "[[ a =~ (.*) ]]; echo ${BASH_REMATCH[1]}",
}
KNOWN = {
    "plain words": "make all",
    "a pipeline": "make 2>&1 | tee log | head -n 3",
    "a value of its own": "a=b; echo $a; for c in d e; do echo $c; done",
    "parameters of its own": 'f() { echo "$1"; }; f a; set -- b; echo "$@"',
    "home": "ls ~ $HOME",
    "a printed value": "echo $(echo a)",
}


def is_open(text: str, cwd: Path) -> bool:
    (cwd / "f").write_text("ls\n")
    content = ShellContent(text.encode(), cwd=str(cwd))
    content.views(Action.BLOCK, Reader.PATTERN)
    assert not content.unknown_words
    return content.is_open


@pytest.mark.parametrize("text", OPEN.values(), ids=OPEN)
def test_text_of_which_not_all_is_known_is_open(tmp_path: Path, text: str) -> None:
    assert is_open(text, tmp_path)


@pytest.mark.parametrize("text", KNOWN.values(), ids=KNOWN)
def test_text_that_is_known_is_not_open(tmp_path: Path, text: str) -> None:
    assert not is_open(text, tmp_path)
