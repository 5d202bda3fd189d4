"""Commands hidden behind operators in words, directories, values and producers."""

import time

import pytest
from core.shell_views import views

from redlane.contexts.shell.content import ShellContent
from redlane.model.content import Reader
from redlane.model.policy import Action

HIDDEN = {
    "a separator as an argument": ("rm -rf ';' x", "rm -rf , x"),
    "an ampersand as an argument": ("rm -rf '&' x", "rm -rf , x"),
    "a pipe inside an argument": ("rm -rf 'a|b' x", "rm -rf a,b x"),
    "a line break inside an argument": ("rm -rf 'a\nb' x", "rm -rf a,b x"),
    "an escaped separator": (r"rm -rf \; x", "rm -rf , x"),
    "a separator in a pipeline": ("cat ';' k | sh", "cat , k | sh"),
    "a home directory that was entered": ("cd; rm -rf *", "rm -rf ~/*"),
    "a directory of keys": ("cd ~/.ssh && cat id_rsa", "cat ~/.ssh/id_rsa"),
    "a directory with pushd": ("pushd ~/.ssh; cat ./id_rsa", "cat ~/.ssh/id_rsa"),
    "a directory and a redirection": ("cd /etc; echo x > passwd", "> /etc/passwd"),
    "a way up from the working directory": ("rm -rf ../../x", "rm -rf /home/x"),
    "everything here": ("rm -rf ./*", "rm -rf /home/dev/project/*"),
    "the working directory's name": ("rm -rf $PWD", "rm -rf /home/dev/project"),
    "a parent that is worked out": ("rm -rf $(dirname ~/x)", "rm -rf ~"),
    "a path that is resolved": ("rm -rf $(realpath ..)", "rm -rf .."),
    "an index in a value": ("x='a[$(rm -rf x)]'; ((x))", "rm -rf x"),
    "an index that is tested": ("test -v 'a[$(rm -rf x)]'", "rm -rf x"),
    "an index that is printed to": ("printf -v 'a[$(rm -rf x)]' 1", "rm -rf x"),
    "an index that is read": ("read x <<< 'a[$(rm -rf x)]'; ((x))", "rm -rf x"),
    "an index that is declared": ("declare -i i='a[$(rm -rf x)]'", "rm -rf x"),
    "a value expanded as a prompt": ("p='`rm -rf x`'; echo \"${p@P}\"", "rm -rf x"),
    "a startup file's name": ("BASH_ENV='$(rm -rf x)' bash -c :", "rm -rf x"),
    "words to complete": ("compgen -W '$(rm -rf x)'", "rm -rf x"),
    "printed by Python": ("python3 -c \"print('rm -rf x')\" | sh", "rm -rf x"),
    "printed by awk": ("awk 'BEGIN{print \"rm -rf x\"}' | sh", "rm -rf x"),
    "printed as a date": ("date +'rm -rf x' | sh", "rm -rf x"),
    "printed by a filter of a filter": ("yes 'rm -rf x' | head -1 | sh", "rm -rf x"),
    "cut out": ("cut -c2- <<< 'xrm -rf x' | sh", "rm -rf x"),
    "searched for": ("grep -o 'rm.*' <<< 'zzrm -rf x' | sh", "rm -rf x"),
    "packed and unpacked": ("echo 'rm -rf x' | gzip | gunzip | sh", "rm -rf x"),
    "edited with a pattern": ("sed 's/^#//' <<< '#rm -rf x' | sh", "rm -rf x"),
    "edited out of anything": ("seq 1 | sed 's/1/rm -rf x/' | sh", "rm -rf x"),
    "sed's flag e": ("sed 's/a/rm -rf x/e' f", "rm -rf x"),
    "sed's command e": ("sed '1e rm -rf x' f", "rm -rf x"),
    "sed behind a long script": ("sed '" + "p\n" * 9_000 + "e rm -rf x' f", "rm -rf x"),
    "awk with a variable": ("awk 'BEGIN{c=\"rm -rf x\"; system(c)}'", "rm -rf x"),
    "awk to a shell": ('awk \'BEGIN{print "rm -rf x" | "sh"}\'', "rm -rf x"),
    "ed on its input": ("ed -s <<< '!rm -rf x'", "rm -rf x"),
    "sqlite on its input": ("sqlite3 <<< '.shell rm -rf x'", "rm -rf x"),
    "a debugger's pipe": ("gdb -batch -ex 'pipe p 1 | rm -rf x'", "rm -rf x"),
    "a proxy of scp": ("scp -o ProxyCommand='rm -rf x' a b:", "rm -rf x"),
    "lines that end with NUL": ("printf 'rm -rf x' | xargs -0 sh -c", "rm -rf x"),
    "a function in the environment": (
        "env 'BASH_FUNC_ls%%=() { rm -rf x; }' bash -c ls",
        "rm -rf x",
    ),
    "a setting in the environment": (
        "GIT_CONFIG_VALUE_0='!rm -rf x' git y",
        "rm -rf x",
    ),
    "an alias from the environment": (
        "Z='!rm -rf x' git --config-env=alias.x=Z x",
        "rm -rf x",
    ),
    "a debugger of Perl": ("PERL5DB='BEGIN{system(\"rm -rf x\")}' perl -d", "rm -rf x"),
    "a pipe of Perl": ("perl -e 'open F,\"rm -rf x|\";'", "rm -rf x"),
    "a command in a variable of Python": (
        "python3 -c 'import os; c=\"rm -rf x\"; os.system(c)'",
        "rm -rf x",
    ),
    "a file that dd wrote": ("printf 'rm -rf x' | dd of=w; sh w", "rm -rf x"),
    "a file that install wrote": (
        "printf 'rm -rf x' | install /dev/stdin w; ./w",
        "rm -rf x",
    ),
    "a file found in PATH": (
        "printf '#!/bin/sh\\nrm -rf x' > b/ls; PATH=b:$PATH ls",
        "rm -rf x",
    ),
    "a program that was written": (
        "cat > d.py <<'E'\nimport os\nos.system('rm -rf x')\nE\npython3 d.py",
        "rm -rf x",
    ),
    "a module that was written": (
        "echo 'import os; os.system(\"rm -rf x\")' > m.py; python3 -m m",
        "rm -rf x",
    ),
    "a makefile that was written": (
        "printf 'a:\\n\\trm -rf x\\n' > Makefile; make",
        "rm -rf x",
    ),
    "lines read into an array": ("mapfile -t a <<< rm; ${a[0]} -rf x", "rm -rf x"),
    "another machine's name": ("x86_64 rm -rf x", "rm -rf x"),
    "a score": ("choom -n 0 -- rm -rf x", "rm -rf x"),
}

TWINS = {
    "a search that ends a find": r"find . -name x -exec grep y {} \;",
    "a subshell that moves": "(cd / && ls); rm -rf build",
    "a message with a substitution in quotes": "git commit -m 'do not $(rm -rf x)'",
    "text printed to a pager": "python3 -c \"print('rm -rf x')\" | less",
    "a plain edit": "sed 's/rm -rf x/y/' f",
    "an edit that ends in e": "sed 's/done/rm -rf x/' f",
}


@pytest.mark.parametrize(("text", "shown"), HIDDEN.values(), ids=HIDDEN)
def test_hidden_command_is_shown(text: str, shown: str) -> None:
    assert shown in views(text, cwd="/home/dev/project")


@pytest.mark.parametrize("text", TWINS.values(), ids=TWINS)
def test_what_only_looks_alike_is_not_shown(text: str) -> None:
    found = views(text, cwd="/home/dev/project")
    assert not [view for view in found if view in ("rm -rf x", "rm -rf /build")]


def test_words_with_operators_are_shown_as_they_are_too() -> None:
    assert "echo a;b" in views("echo 'a;b'")


@pytest.mark.parametrize(
    "text",
    [
        "sed 's/" + "(a*)*" * 8 + "b/x/' <<< " + "a" * 2_000 + " | sh",
        "sed 's/[[a]/x/' <<< 'rm' | sh",
        "sed '" + "".join(f"s{chr(place)}" for place in range(0x4E00, 0x9E00)) + "'",
        "x='" + "$(" * 30_000 + "'",
        "x='" + "`a" * 30_000 + "'",
        "test -v '" + "a[$(" * 30_000 + "'",
    ],
    ids=["backtracking", "nested set", "sed", "openings", "backquotes", "indices"],
)
def test_hostile_text_is_judged_in_no_time(text: str) -> None:
    begun = time.process_time()
    ShellContent(text.encode()).views(Action.BLOCK, Reader.PATTERN)
    assert time.process_time() - begun < 5
