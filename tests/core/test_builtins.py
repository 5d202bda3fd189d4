"""The built-in policies: what they block, what is free, and that nothing overrides."""

from pathlib import Path

import pytest
from engine_samples import policy, rules

from redlane.contexts.parse import parse_content
from redlane.contexts.shell.content import ShellContent
from redlane.engine.builtins import BUILTINS, first_builtin
from redlane.engine.judge import judge
from redlane.model.content import TextContent
from redlane.model.policy import Context, Transform, TransformType
from redlane.model.verdict import Decision

BLOCKED = [
    # assignments
    "REDLANE_SESSION=x",
    "REDLANE_SESSION= ls",
    "REDLANE_SESSION=x ls",
    "REDLANE_SOCKET=/tmp/evil.sock redlane status",
    "REDLANE_SESSION+=x",
    "REDLANE_SESSION[0]=x",
    "export REDLANE_SESSION=x",
    'export "REDLANE_SESSION=x"',
    "export A=1 REDLANE_SESSION=x",
    "declare -x REDLANE_SESSION=x",
    "declare -gx REDLANE_SESSION=1",
    "typeset REDLANE_SOCKET=x",
    "readonly REDLANE_SESSION=1",
    "f() { local REDLANE_SESSION; ls; }; f",
    "f() { local REDLANE_SESSION=x; ls; }; f",
    "declare -n r=REDLANE_SESSION; r=x",
    "read REDLANE_SESSION",
    "read -r -p hi FOO REDLANE_SESSION",
    "read -a REDLANE_SESSION",
    "read REDLANE_SESSION <<< x",
    "echo x | read REDLANE_SESSION",
    "while read REDLANE_SESSION; do :; done",
    "IFS=: read -r a REDLANE_SESSION <<< a:b",
    "printf -v REDLANE_SESSION x",
    'printf -v "REDLANE_SESSION" x',
    "mapfile -t REDLANE_SESSION",
    "readarray REDLANE_SESSION < f",
    "getopts ab REDLANE_SESSION",
    "wait -n -p REDLANE_SESSION",
    "for REDLANE_SESSION in a b; do :; done",
    "for REDLANE_SESSION; do :; done",
    "select REDLANE_SESSION in a; do :; done",
    "let REDLANE_SESSION=1",
    'let "REDLANE_SESSION = 4"',
    "let REDLANE_SESSION++",
    ": $((REDLANE_SESSION=1))",
    "echo $((REDLANE_SESSION++))",
    "((REDLANE_SESSION=1))",
    "(( REDLANE_SESSION = 1 ))",
    "(( REDLANE_SESSION++ ))",
    "(( a=1, REDLANE_SESSION += 2 ))",
    ": ${REDLANE_SESSION:=x}",
    ": ${REDLANE_SESSION=x}",
    "coproc REDLANE_SESSION { cat; }",
    # removals
    "unset REDLANE_SESSION",
    'unset "REDLANE_SESSION"',
    "unset -v FOO REDLANE_SOCKET",
    "export -n REDLANE_SESSION",
    "declare +x REDLANE_SESSION",
    'unset "${!REDLANE@}"',
    "unset ${!R*}",
    # programs that run another with a changed environment
    "env REDLANE_SESSION=x ls",
    "env -u REDLANE_SESSION ls",
    "env -uREDLANE_SESSION ls",
    "env --unset=REDLANE_SESSION ls",
    "env --unset REDLANE_SESSION ls",
    "env -i ls",
    "env - ls",
    "env -i",
    "env -i PATH=$PATH bash",
    "env --ignore-environment bash",
    "env -0iu FOO ls",
    "env -S'-u REDLANE_SESSION' ls",
    "env -S 'REDLANE_SESSION=x ls'",
    "/usr/bin/env -i bash",
    "command -p env -i ls",
    "exec -c ls",
    "exec -cl bash",
    "exec -a x -c ls",
    "sudo REDLANE_SESSION=x ls",
    "sudo -u bob REDLANE_SESSION=x ls",
    "sudo env REDLANE_SESSION=x ls",
    "timeout 5 env -u REDLANE_SESSION ls",
    "nohup setsid env -u REDLANE_SESSION sh",
    "xargs -I{} env -u REDLANE_SESSION ls",
    r"find . -exec env -u REDLANE_SESSION ls \;",
    "systemd-run --user --setenv REDLANE_SESSION=x ls",
    "exec {REDLANE_SESSION}</dev/null",
    "systemd-run --user -E REDLANE_SESSION=x ls",
    "tcsh -c 'unsetenv REDLANE_SESSION'",
    "tcsh -c 'setenv REDLANE_SESSION x'",
    "fish -c 'set -e REDLANE_SESSION'",
    "fish -c 'set -gx REDLANE_SESSION x'",
    # however spelled, wherever they stand
    'export RED"LANE_SESSION"=x',
    r"\unset REDLANE_SESSION",
    'un""set REDLANE_SESSION',
    r"$'\x75nset' REDLANE_SESSION",
    "unset REDLANE_SESS\\\nION",
    "builtin unset REDLANE_SESSION",
    "command unset REDLANE_SESSION",
    "${x:-unset} REDLANE_SESSION",
    "n=REDLANE_SESSION; unset $n",
    'a=REDLANE_; b=SESSION; unset "$a$b"',
    "n=REDLANE_SESSION; printf -v $n x",
    "export $(echo REDLANE_SESSION=x)",
    "export \"$(printf 'REDLANE_%s=x' SESSION)\"",
    "unset $(env | grep -o 'REDLANE_[A-Z]*')",
    "echo hi; unset REDLANE_SESSION",
    "true && unset REDLANE_SESSION",
    "(unset REDLANE_SESSION; ls)",
    "{ unset REDLANE_SESSION; }",
    "x=$(unset REDLANE_SESSION; ls)",
    "if true; then unset REDLANE_SESSION; fi",
    "case x in x) unset REDLANE_SESSION;; esac",
    "f() { unset REDLANE_SESSION; }; f",
    "bash -c 'unset REDLANE_SESSION'",
    "sh -c \"sh -c 'unset REDLANE_SESSION'\"",
    'eval "unset REDLANE_SESSION"',
    "eval unset REDLANE_SESSION",
    "trap 'unset REDLANE_SESSION' EXIT",
    "alias x='unset REDLANE_SESSION'",
    "printf '%s' 'unset REDLANE_SESSION' | sh",
    "source <(echo unset REDLANE_SESSION)",
    "sh <<E\nunset REDLANE_SESSION\nE",
    r"find . -name x -exec sh -c 'unset REDLANE_SESSION' \;",
    # code of other languages
    """python3 -c 'import os; os.environ["REDLANE_SESSION"]="x"'""",
    """python3 -c "import os; os.environ['REDLANE_SESSION'] = 'x'" """,
    """python3 -c "import os; os.environ.pop('REDLANE_SESSION')" """,
    """python3 -c "import os; del os.environ['REDLANE_SOCKET']" """,
    """python3.11 -Ic "import os; os.putenv('REDLANE_SESSION', 'x')" """,
    """python3 -c "import os; os.environ.update(REDLANE_SESSION='x')" """,
    """python3 -c "import os; os.environ['REDLANE_' + 'SESSION'] = 'x'" """,
    """python3 -c "import os; os.environ.clear()" """,
    """python3 -c "import os
for k in list(os.environ):
    if 'REDLANE' in k: del os.environ[k]" """,
    "python3 <<E\nimport os\nos.environ['REDLANE_SESSION']='x'\nE",
    "python3 - <<E\nimport os\nos.environ['REDLANE_SESSION']='x'\nE",
    """node -e "process.env.REDLANE_SESSION='x'" """,
    """node -e "process.env['REDLANE_SESSION'] = 'x'" """,
    """node -e 'delete process.env.REDLANE_SESSION'""",
    """node --eval="delete process.env['REDLANE_SESSION']" """,
    """perl -e '$ENV{REDLANE_SESSION}="x"; exec "sh"'""",
    """perl -we 'delete $ENV{"REDLANE_SESSION"}'""",
    """ruby -e "ENV['REDLANE_SESSION']='x'" """,
    """ruby -e "ENV.delete('REDLANE_SESSION')" """,
    """php -r "putenv('REDLANE_SESSION=x');" """,
    """sudo python3 -c "import os; os.environ['REDLANE_SESSION']='x'" """,
]

FREE = [
    "echo $REDLANE_SESSION",
    'echo "${REDLANE_SESSION:-none}"',
    "printenv REDLANE_SESSION",
    "env",
    "env | grep REDLANE",
    "env FOO=x ls",
    "set | grep REDLANE_SESSION",
    "set -x; echo $REDLANE_SESSION",
    "set -e; echo $REDLANE_SESSION",
    "declare -p REDLANE_SESSION",
    "export PATH=$PATH:/x; echo $REDLANE_SESSION",
    "grep REDLANE_SESSION file",
    "grep -rn 'REDLANE_SESSION=' src/",
    "sed -i 's/REDLANE_SESSION=x/REDLANE_SESSION=y/' notes",
    "awk '{print ENVIRON[\"REDLANE_SESSION\"]}' f",
    "test $REDLANE_SESSION = x",
    '[ -n "$REDLANE_SESSION" ] && echo yes',
    '[[ $REDLANE_SESSION == "x" ]]',
    "(( $REDLANE_SESSION == 1 ))",
    "(( REDLANE_SESSION == 1 || REDLANE_SESSION <= 2 ))",
    "echo ${REDLANE_SESSION:?none} ${REDLANE_SESSION:+some}",
    "case $REDLANE_SESSION in x) ls;; esac",
    'if [ "$REDLANE_SESSION" = x ]; then ls; fi',
    "x=$REDLANE_SESSION; echo $x",
    "for x in $REDLANE_SESSION; do echo $x; done",
    "export FOO=$REDLANE_SESSION",
    "export NOTE='unset REDLANE_SESSION'",
    "env NOTE='x REDLANE_SESSION=y' ls",
    "echo REDLANE_SESSION=x",
    "echo 'export REDLANE_SESSION=x' >> notes.md",
    "git commit -m 'unset REDLANE_SESSION; export REDLANE_SESSION=x'",
    'git commit -m "for REDLANE_SESSION users\n\nfor REDLANE_SESSION in docs"',
    "cat > f <<E\nunset REDLANE_SESSION\nREDLANE_SESSION=x\nE",
    "printf '%s\\n' REDLANE_SESSION",
    "unset FOO; read LINE; export PATH",
    'for d in */; do export "$d"; done',
    """python3 -c "import os; print(os.environ['REDLANE_SESSION'])" """,
    """python3 -c "import os; print(os.environ['REDLANE_SESSION'] == 'x')" """,
    """python3 -c "import os; x = os.environ.get('REDLANE_SESSION')" """,
    """python3 -c "import os; os.environ['A']='x'; os.environ['REDLANE_SESSION']" """,
    "python3 - <<'E'\nimport os\nprint(os.environ['REDLANE_SESSION'])\nE",
    """python3 tool.py "os.environ['REDLANE_SESSION']='x'" """,
    "node -e 'console.log(process.env.REDLANE_SESSION)'",
    "node -e 'if (process.env.REDLANE_SESSION === \"x\") {}'",
    "perl -e 'print $ENV{REDLANE_SESSION}'",
    "perl -e 'print 1 if $ENV{REDLANE_SESSION} =~ /x/'",
    "ruby -e \"puts ENV['REDLANE_SESSION']\"",
    "ls",
    "",
]


@pytest.mark.parametrize("command", BLOCKED)
def test_changing_the_session_variables_is_blocked(command: str) -> None:
    found = first_builtin(parse_content(Context.SHELL, command.encode()))
    assert found is not None
    assert found.id == "builtin:session-variables"


@pytest.mark.parametrize("command", FREE)
def test_reading_and_text_are_free(command: str) -> None:
    assert first_builtin(parse_content(Context.SHELL, command.encode())) is None


def test_allow_cannot_override() -> None:
    content = parse_content(Context.SHELL, b"unset REDLANE_SESSION")
    found = judge(rules(policy("a", "Allow", "")), "r", (content,))
    assert (found.decision, found.policy) == (Decision.BLOCK, BUILTINS[0].id)
    assert found.suggestion is not None
    assert BUILTINS[0].reason in found.reason


def test_allow_checker_that_fails_does_not_hide_it() -> None:
    content = parse_content(Context.SHELL, b"unset REDLANE_SESSION")
    found = judge(rules(policy("a", "Allow", "failed:", "Check")), "r", (content,))
    assert found.policy == BUILTINS[0].id


def test_rewritten_command_is_judged_as_well() -> None:
    into = Transform(TransformType.REGEX, pattern="^ls", replacement="unset")
    content = parse_content(Context.SHELL, b"ls REDLANE_SESSION")
    modify = policy("m", "Modify", "ls", transform=into)
    found = judge(rules(modify), "r", (content,))
    assert (found.decision, found.policy) == (Decision.BLOCK, BUILTINS[0].id)


@pytest.mark.parametrize(
    ("script", "typed", "decision"),
    [
        ("env -i PATH=$PATH make", "sh s.sh", Decision.ALLOW),
        ("exec env - ls", "sh s.sh", Decision.ALLOW),
        ("exec -c ls", "bash s.sh", Decision.ALLOW),
        ("env -i ls", "sh s.sh; env -i ls", Decision.BLOCK),
        ("env -i ls", "env -i ls; sh s.sh", Decision.BLOCK),
        ("env -i REDLANE_SESSION=x ls", "sh s.sh", Decision.BLOCK),
        ("env -u REDLANE_SESSION ls", "sh s.sh", Decision.BLOCK),
        ("unset REDLANE_SESSION", "sh s.sh", Decision.BLOCK),
        ("python3 -c 'import os; os.environ.clear()'", "sh s.sh", Decision.BLOCK),
    ],
)
def test_script_may_start_a_program_without_variables(
    tmp_path: Path, script: str, typed: str, decision: Decision
) -> None:
    (tmp_path / "s.sh").write_text(script)
    content = ShellContent(typed.encode(), cwd=str(tmp_path))
    assert judge(rules(), "r", (content,)).decision is decision


def test_only_the_shell_is_looked_at() -> None:
    for context in (Context.NETWORK, Context.INBOUND):
        assert first_builtin(TextContent(context, b"unset REDLANE_SESSION")) is None


def test_command_that_cannot_be_read_whole_is_blocked() -> None:
    content = parse_content(Context.SHELL, b"$(" * 5_000 + b"ls" + b")" * 5_000)
    found = judge(rules(), "r", (content,))
    assert found.decision is Decision.BLOCK
    assert "cannot be judged" in found.reason


def test_every_builtin_says_what_it_is() -> None:
    for builtin in BUILTINS:
        assert builtin.id.startswith("builtin:")
        assert builtin.description
        assert builtin.contexts


@pytest.mark.usefixtures("twenty_seconds_of_work")
@pytest.mark.parametrize(
    "command",
    [
        "let " + "a" * 200_000,
        "let " + "++ " * 50_000,
        "env " + "$" * 200_000,
        "$" * 200_000 + "[",
        "export " + "$x[" * 50_000,
        "echo $((" + "a " * 50_000 + "))",
        "python3 -c '" + "environ[" * 20_000 + "'",
        "python3 -c '" + "REDLANE del " * 20_000 + "'",
        "sudo " * 5_000 + "ls",
        "unset " + "${!" * 20_000,
    ],
    ids=[
        "let",
        "let-signs",
        "dollars",
        "subscript",
        "subscripts",
        "arithmetic",
        "code",
        "mention",
        "runners",
        "prefixes",
    ],
)
def test_no_command_takes_long_to_look_at(command: str) -> None:
    content = parse_content(Context.SHELL, command.encode())
    assert judge(rules(), "r", (content,)).decision in Decision
