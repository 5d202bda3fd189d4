"""What bash runs is among what was read, where it reads otherwise than it looks."""

import pytest
from core.shell_views import views

from redlane.contexts.shell.content import ShellContent

FOUND = {
    "behind a comment sign in a regular expression": "[[ a =~ (a)# ]] ; rm -rf x",
    "behind a bar in a regular expression": "[[ a =~ b|(c d)# ]] ; rm -rf x",
    "behind a regular expression after an operator": "[[ a && b =~ (#) ]]; rm -rf x",
    "behind quotes in quotes, in a pattern": 'echo "${y#\'"\'}"; rm -rf x',
    "behind quotes in quotes, in a default": 'echo "${y:-\'"\'}"; rm -rf x',
    "behind a backquote in quotes": "echo \"${y^^'`'}\"; rm -rf x",
    "in quotes in quotes": "echo \"${y:-'$(rm -rf x)'}\"",
    "behind an array that is none": "a=(b ; 'c\nrm -rf x",
    "behind an array with a redirection": "a=(b <<E\nrm -rf x\nE",
    "behind an array with a group": 'a=(b (" \nrm -rf x',
    "behind an array with a glob": "a=(@(b|c)); rm -rf x",
    "behind a bracket that is not closed": "echo ${y[a} | rm -rf x; ls ]}",
    "behind a sum that is not closed": ": $[${y]\nrm -rf x",
    "behind an expansion within a name": ': "${HOME${}}"\nrm -rf x',
    "behind a function that is no program": 'echo "${ ls;}"; rm -rf x',
    "in a function's redirection": "f() { :; } < <(rm -rf x); f",
    "in a function's text": "f() { sh; } <<E\nrm -rf x\nE\nf",
    "in a function that is not called": "f() { :; } <<< $(rm -rf x)",
    "in a subscript": "a['$(rm -rf x)']=1",
    "in a subscript of ANSI-C": "a[$'\\x24(rm -rf x)']=1",
    "in a subscript that is read": "echo ${a['$(rm -rf x)']}",
    "in an offset": "echo ${HOME:'a[$(rm -rf x)]'}",
    "in a descriptor's name": "ls {a['$(rm -rf x)']}>&1",
    "in a parameter that is summed up": "set -- 'a[$(rm -rf x)]'; echo $(($1))",
    "in a function's parameter": "f() { echo $(($1)); }; f 'a[$(rm -rf x)]'",
    "by an alias": "shopt -s expand_aliases\nalias foo=rm\nfoo -rf x",
    "by an alias of nothing": "alias foo=''\nfoo rm -rf x",
    "by an alias of a wrapper": "alias foo='env '\nfoo rm -rf x",
    "behind an alias that runs itself": "alias ls='ls -l'\nls; rm -rf x",
    "behind a document to a variable": "cat <<$y\nit's\n$y\nrm -rf x",
    "behind a document to a substitution": "cat <<$(y)\nit's\n$(y)\nrm -rf x",
    "behind a document to ANSI-C": "cat <<$'E'\nit's\nE\nrm -rf x",
    "behind a document to a translation": 'cat <<$"E"\nit\'s\nE\nrm -rf x',
    "behind a document to a joined word": "cat <<E\\\nF\nit's\nEF\nrm -rf x",
    "behind a document to an escape": 'cat <<"E\\$"\nit\'s\nE$\nrm -rf x',
    "behind a document in a substitution": ": $(cat <<E\nit's\nE)\nrm -rf x",
    "behind a document in a process": ": <(cat <<E\nit's\nEnd) \nrm -rf x",
    "behind a document to nothing": ": $(cat <<''\nit's\n)\nrm -rf x",
    "by the last word": "true rm; $_ -rf x",
    "by a program's name that is printed": "$(type -p rm) -rf x",
    "by a program's name that is not known": "$(date +rm) -rf x",
    "by an option that is not known": "getopts r: o -r rm; $OPTARG -rf x",
    "by what another descriptor gives": "read -u3 y 3<<< 'rm -rf x'; $y",
    "by elements without anything between": 'a=(r m); IFS=; "${a[*]}" -rf x',
    "by an extended glob": "/bin/@(rm|ls) -rf x",
    "by a class of letters": "/bin/r[[:lower:]] -rf x",
    "by a glob that excludes": "/bin/[^a]m -rf x",
    "by each word of xargs": "xargs -n1 rm -rf <<< 'y x'",
    "by each line of xargs": "xargs -I{} rm -rf {} <<< $'y\\nx'",
    "by a quoted word of xargs": "xargs rm <<< '\"-rf\" \\x'",
    "by a sum": "rm -rf $((1 + 2)); $((0))rm -rf x; rm -rf x",
    "with a padded range": "{rm,-rf,{,x}}",
    "with no parameters": 'rm "$@" -rf x',
    "behind an array behind a continuation": 'y=\\\n((}"\nrm -rf x',
    "behind a document to a tab": "cat <<-'\tA'\nit's\n\tA\nA\nrm -rf x",
    "behind a document with a joined end": "cat <<-A\n\tit's\n\\\n\tA\nrm -rf x",
    "behind a document to two lines, in sh": 'cat <<"A\nB"\nit\'s\nA\nB\nrm -rf x',
    "by the input that exec gives": "exec <<A\nrm -rf x\nA\nbash",
    "by a descriptor that exec gives": "exec 3<<< 'rm -rf x'; bash <&3",
    "in a cluster of options": "mapfile -tC'rm -rf x' -c1 y <<< b",
    "by xargs -i": "xargs -i rm -rf {} <<< x",
    "by xargs -l": "xargs -l rm -rf <<< x",
    "by xargs with a file": "xargs -a <(echo x) rm -rf",
    "by env's own blanks": "env -S 'rm\\_-rf x'",
    "by env's own end": "env -S 'rm -rf x\\c y'",
    "by env in env": "env -S '-S \"rm -rf x\"'",
    "by env's lone dash": "env - A=b rm -rf x",
    "by a line that sed runs": "sed e <<< 'rm -rf x'",
    "by a line that awk runs": "awk '{system($0)}' <<< 'rm -rf x'",
    "in printf's variable": "printf -v'y[$(rm -rf x)]' z",
    "behind a comment in a loop's words": "for i in 1 # it's\ndo rm -rf x; done",
    "behind a subscript in a subscript": "y[z[1]]=1 rm -rf x",
    "by a slice of an array": 'y=(a rm -rf x); "${y[@]:1}"',
    "by a slice of parameters": 'f() { "${@:2}"; }; f a rm -rf x',
    "by the last parameter": "set -- a rm; ${@: -1} -rf x",
    "by an element that is worked out": "y=(a rm); ${y[0+1]} -rf x",
    "by an element under a variable": "y=(a rm); ${y[i]} -rf x",
    "by eval with a dash": "eval -- rm -rf x",
    "by a table of aliases": "BASH_ALIASES[y]=rm; y -rf x",
    "by a table of commands": "BASH_CMDS[y]=/bin/rm; y -rf x",
    "behind a split end of a case": "case a in esa\\\nc\nrm -rf x",
    "in a timed coprocess": "time coproc rm -rf x",
    "in a timed function": "time function f { rm -rf x; }; f",
    "in a coprocess on the next line": "coproc N\\\n { rm -rf x; }",
    "in an array that is declared": "y=a; declare -a $y='($(rm -rf x))'",
    "behind an array with a glob that is none": 'a=(@(b)); : "\nrm -rf x',
    "by what is written to a process": "echo 'rm -rf x' > >(sh)",
    "by what tee gives a process": "echo 'rm -rf x' | tee >(sh)",
    "by who is called for what is missing": (
        "command_not_found_handle() { shift; rm -rf $1; }; a x"
    ),
    "behind a descriptor and a continuation": "2\\\n>&1 rm -rf x",
    "behind a split redirection": ">\\\n&1 rm -rf x",
    "behind a split descriptor's name": "{\\\nf}>y rm -rf x",
    "by printf with a precision": "printf -v y '%.2s' rmx; $y -rf x",
    "by strings that awk joins": 'awk \'BEGIN{c="rm -rf"; system(c " x")}\'',
}


@pytest.mark.parametrize("text", FOUND.values(), ids=FOUND)
def test_what_runs_is_found(text: str) -> None:
    assert "rm -rf x" in views(text)


FORMS = {
    "a sum": ("ls $((3 * 2))", "ls 6"),
    "a sum that is negative": ("ls $((-7 / 2))", "ls -3"),
    "a sum of too much": ("ls $((1 + 2 + 3))", "ls $((1 + 2 + 3))"),
    "a padded range": ("ls {08..10}", "ls 08 09 10"),
    "an empty alternative": ("ls {,a}", "ls a"),
    "a number of elements": ("a=(b c); ls ${#a[@]}", "ls 2"),
    "all elements as one": ('a=(b c); ls "${a[*]}"', "ls b c"),
    "a well-known directory by a glob": ("cd ~/.ss?; cat id_rsa", "cat ~/.ssh/id_rsa"),
    "another directory by env": ("env -C ~/.ssh cat id_rsa", "cat ~/.ssh/id_rsa"),
}


@pytest.mark.parametrize(("text", "form"), FORMS.values(), ids=FORMS)
def test_words_are_what_bash_makes_of_them(text: str, form: str) -> None:
    assert form in views(text)


LAUNCHED = (
    "capsh -- -c 'rm -rf x'",
    "perf stat -e cycles rm -rf x",
    "sg users 'rm -rf x'",
    "newgrp users -c 'rm -rf x'",
    "ssh-agent -t 5 rm -rf x",
    "split --filt='rm -rf x' f",
    "tar --to-com='rm -rf x' -xf f",
    "tar --use-compress-prog 'rm -rf x' -xf f",
    "sqlite3 f '.once |rm -rf x' 'select 1'",
    "make SHELL='rm -rf x'",
    "tclsh <<< 'exec rm -rf x'",
    "expect -c 'spawn rm -rf x'",
    "groff -U <<< '.sy rm -rf x'",
    "dc -e '!rm -rf x'",
    "m4 <<< 'syscmd(`rm -rf x'\"'\"')'",
    "bind -x '\"\\C-a\": rm -rf x'",
)


@pytest.mark.parametrize("text", LAUNCHED)
def test_programs_that_start_another_are_read(text: str) -> None:
    assert "rm -rf x" in views(text)


@pytest.mark.parametrize(
    "text",
    [
        "$MAKE -C build all",
        "$(npm bin)/eslint .",
        '"$PYTHON" -m pytest tests',
        "$CC -o a.out a.c",
        "$ ls -l",
    ],
)
def test_a_program_that_is_not_known_is_each_that_it_may_be(text: str) -> None:
    forms = views(text)
    rest = text.partition(" ")[2]
    may_be_any = not text.startswith(("$(npm bin)/", "$ "))
    assert (f"rm {rest}" in forms) is may_be_any


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('eval "$COMMANDS"', "eval $COMMANDS"),
        ('eval "$(cat steps)"', "eval $(cat steps)"),
        ("while read line; do $line; done < steps", "$line"),
        ("eval 'echo $HOME'", None),
        ('"$PYTHON"', None),
        ("$MAKE all", None),
    ],
)
def test_what_only_its_run_tells_is_told(text: str, told: str | None) -> None:
    found = [each for each in views(text) if each.startswith("# runs what only")]
    assert bool(found) is (told is not None)
    assert told is None or f"# runs what only its run tells: {told}" in found


@pytest.mark.parametrize(
    "text",
    [
        "y='r/m'; ${y//\\//} -rf x",
        "y='a*b'; ls \"${y%\\**}\"",
        "y=ab; ls ${y^^[ab]}",
        "y=AB; ls ${y@L}",
        "y=ab; ls ${y~}",
        "y='a b'; ls ${y##[[:space:]]}",
        "y=abc; ls ${y/b/&&}",
    ],
)
def test_what_is_not_worked_out_is_not_known(text: str) -> None:
    content = ShellContent(text.encode())
    assert content.each_command is None
    assert content.is_open
