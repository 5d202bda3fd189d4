"""What policies see of a shell command (commands inside it; builtin protection)."""

import pytest
from spec.cases import Case, Judge, executable, modify, regex, simple
from spec.redlane_home import Home

TARGET = "rm -rf /srv/x"
INSIDE = {
    "as-given": "rm -rf /srv/x",
    "spaces": "rm   -rf    /srv/x",
    "tabs": "rm\t-rf\t/srv/x",
    "quoted-name": '"rm" -rf /srv/x',
    "single-quoted-name": "'rm' -rf /srv/x",
    "empty-quotes": "r''m -rf /srv/x",
    "escaped-name": r"\rm -rf /srv/x",
    "escaped-letter": r"r\m -r\f /srv/x",
    "quoted-arguments": "rm '-rf' \"/srv/x\"",
    "ansi-c-quoting": r"rm $'\x2drf' $'/srv\057x'",
    "line-continuation": "rm \\\n  -rf \\\n  /srv/x",
    "second-of-a-list": "echo hi; rm  -rf /srv/x",
    "and-list": "true && rm  -rf /srv/x",
    "or-list": "false || rm  -rf /srv/x",
    "background": "rm  -rf /srv/x & wait",
    "second-line": "echo hi\nrm  -rf /srv/x",
    "pipeline": "echo y | rm  -rf /srv/x",
    "negated": "! rm  -rf /srv/x",
    "timed": "time rm  -rf /srv/x",
    "assignment-before": "A=1 rm  -rf /srv/x",
    "redirection-before": ">/dev/null rm  -rf /srv/x",
    "redirection-between": "rm >/dev/null -rf /srv/x",
    "subshell": "(rm  -rf /srv/x)",
    "group": "{ rm  -rf /srv/x; }",
    "if": "if true; then rm  -rf /srv/x; fi",
    "while": "while rm  -rf /srv/x; do break; done",
    "for": "for a in 1; do rm  -rf /srv/x; done",
    "case": "case a in a) rm  -rf /srv/x;; esac",
    "function": "f() { rm  -rf /srv/x; }; f",
    "substitution": "echo $(rm  -rf /srv/x)",
    "substitution-in-quotes": 'echo "now $(rm  -rf /srv/x)"',
    "backquotes": "echo `rm  -rf /srv/x`",
    "process-substitution": "cat <(rm  -rf /srv/x)",
    "substitution-in-an-assignment": "a=$(rm  -rf /srv/x)",
    "substitution-in-a-default": "echo ${a:-$(rm  -rf /srv/x)}",
    "substitution-in-arithmetic": "echo $(( $(rm  -rf /srv/x) + 1 ))",
    "substitution-in-a-heredoc": "cat <<E\n$(rm  -rf /srv/x)\nE",
    "substitution-in-a-test": "[[ -n $(rm  -rf /srv/x) ]]",
    "nested-substitution": 'echo "$(echo "$(rm  -rf /srv/x)")"',
    "bash-c": "bash -c 'rm  -rf /srv/x'",
    "sh-c": 'sh -c "rm  -rf /srv/x"',
    "path-bash-c": "/bin/bash -c 'rm  -rf /srv/x'",
    "dash-ec": "dash -ec 'rm  -rf /srv/x'",
    "bash-o-c": "bash -o pipefail -c 'rm  -rf /srv/x'",
    "bash-c-twice": """bash -c "bash -c 'rm  -rf /srv/x'" """,
    "eval": "eval 'rm  -rf /srv/x'",
    "eval-joined": "eval rm ' -rf' /srv/x",
    "eval-in-bash-c": """bash -c 'eval "rm  -rf /srv/x"'""",
    "heredoc-to-bash": "bash <<'E'\nrm  -rf /srv/x\nE",
    "here-string-to-sh": "sh <<< 'rm  -rf /srv/x'",
    "env-bash-c": "env A=1 bash -c 'rm  -rf /srv/x'",
    "sudo-bash-c": "sudo -n bash -c 'rm  -rf /srv/x'",
    "nohup-sh-c": "nohup sh -c 'rm  -rf /srv/x'",
    "exec-bash-c": "exec bash -c 'rm  -rf /srv/x'",
    "command-eval": "command eval 'rm  -rf /srv/x'",
    "builtin-eval": "builtin eval 'rm  -rf /srv/x'",
    "timeout-bash-c": "timeout 5 bash -c 'rm  -rf /srv/x'",
    "trap": "trap 'rm  -rf /srv/x' EXIT",
    "after-a-comment": "# harmless\nrm  -rf /srv/x",
}
OUTSIDE = {
    "other-command": "rm -rf /srv/y",
    "other-order": "rm /srv/x -rf",
    "in-a-comment": "true # rm  -rf /srv/x",
    "words-apart": "rm -rf; /srv/x",
}
BLOCK = (simple("Block", TARGET),)
ANCHORED = (regex("Block", "^rm -rf /srv/x$"),)
CHECKER = (executable("Block", "grep -qx 'rm -rf /srv/x'"),)


def _shell(
    name: str, policies: tuple[dict[str, object], ...], content: str, verdict: str
) -> Case:
    place = -1 if verdict == "ALLOW" else 0
    return Case(name, policies, content, verdict, place, context="Shell")


CASES = (
    *(_shell(f"inside-{n}", BLOCK, text, "BLOCK") for n, text in INSIDE.items()),
    *(_shell(f"outside-{n}", BLOCK, text, "ALLOW") for n, text in OUTSIDE.items()),
    *(
        _shell(f"anchored-{name}", ANCHORED, INSIDE[name], "BLOCK")
        for name in ("second-of-a-list", "bash-c-twice", "substitution", "function")
    ),
    _shell("flag-inside", (simple("Flag", TARGET),), INSIDE["bash-c"], "FLAG"),
    # Checkers see the command as given and each command string, not every command.
    _shell("checker-as-given", CHECKER, TARGET, "BLOCK"),
    _shell("checker-bash-c", CHECKER, "bash -c 'rm -rf /srv/x'", "BLOCK"),
    _shell("checker-eval", CHECKER, "eval 'rm -rf /srv/x'", "BLOCK"),
    _shell(
        "checker-bash-c-twice", CHECKER, """sh -c "sh -c 'rm -rf /srv/x'" """, "BLOCK"
    ),
    _shell("checker-not-a-list", CHECKER, "true; rm -rf /srv/x", "ALLOW"),
    # Allow and Modify act on the command as given.
    Case(
        "allow-matches-as-given",
        (simple("Allow", "echo"), *BLOCK),
        "echo hi; rm -rf /srv/x",
        "ALLOW",
        0,
        context="Shell",
    ),
    Case(
        "allow-does-not-match-inside",
        (regex("Allow", "^rm -rf /srv/x$"), *BLOCK),
        "bash -c 'rm -rf /srv/x'",
        "BLOCK",
        1,
        context="Shell",
    ),
    Case(
        "allow-does-not-match-a-normal-form",
        (regex("Allow", "^rm -rf /srv/x$"), *BLOCK),
        "rm  -rf  /srv/x",
        "BLOCK",
        1,
        context="Shell",
    ),
    Case(
        "modify-does-not-match-inside",
        (
            regex(
                "Modify",
                "^rm",
                transform={"type": "Regex", "pattern": "r", "replacement": ""},
            ),
        ),
        "true; rm x",
        "ALLOW",
        None,
        context="Shell",
    ),
    Case(
        "modify-as-given",
        (modify("rm x", {"type": "Regex", "pattern": "rm", "replacement": "ls"}),),
        "true;  rm x",
        "MODIFY",
        0,
        context="Shell",
        rewritten="true;  ls x",
    ),
    Case(
        "rewritten-is-judged-inside",
        (
            modify("safe", {"type": "Regex", "pattern": "safe", "replacement": "r''m"}),
            *BLOCK,
        ),
        "true; safe -rf /srv/x",
        "BLOCK",
        1,
        context="Shell",
    ),
    _shell("all-allowed", (regex("Allow", "(?s).*"),), "ls", "ALLOW"),
    Case(
        "most-severe-wins",
        (simple("Flag", "echo"), simple("Block", TARGET)),
        "echo hi; bash -c 'rm  -rf /srv/x'",
        "BLOCK",
        1,
        context="Shell",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_what_policies_see_of_a_command(judge: Judge, case: Case) -> None:
    case.check(judge(case))


WRITES = {
    "assign": "REDLANE_SESSION=x",
    "assign-empty": "REDLANE_SESSION=",
    "assign-socket": "REDLANE_SOCKET=/tmp/x",
    "assign-before-a-command": "REDLANE_SESSION=x ls",
    "assign-after-another": "A=1 REDLANE_SOCKET=/tmp/x ls",
    "assign-append": "REDLANE_SESSION+=x",
    "assign-element": "REDLANE_SESSION[0]=x",
    "assign-array": "REDLANE_SESSION=(x)",
    "assign-in-a-list": "echo hi; REDLANE_SESSION=x",
    "assign-on-a-later-line": "echo hi\nREDLANE_SESSION=x\n",
    "assign-in-a-subshell": "(REDLANE_SESSION=x; ls)",
    "assign-in-a-substitution": "echo $(REDLANE_SESSION=x ls)",
    "assign-in-a-function": "f() { REDLANE_SESSION=x; }; f",
    "assign-in-an-if": "if true; then REDLANE_SESSION=x; fi",
    "assign-over-a-continuation": "REDLANE_SES\\\nSION=x",
    "export": "export REDLANE_SESSION=x",
    "export-quoted": "export 'REDLANE_SESSION=x'",
    "export-half-quoted": 'export RED"LANE_SES"SION=x',
    "export-escaped": r"export REDLANE\_SESSION=x",
    "export-ansi-c": r"export $'REDLANE_SESS\x49ON=x'",
    "export-braces": "export REDLANE_{SESSION,SOCKET}=x",
    "export-by-name": "n=REDLANE_SESSION; export $n=x",
    "export-by-part": "n=SESSION; export REDLANE_$n=x",
    "export-by-substitution": "export $(echo REDLANE_SESSION)=x",
    "export-among-others": "export A=1 REDLANE_SOCKET=x B=2",
    "declare": "declare -x REDLANE_SESSION=x",
    "declare-reference": "declare -n r=REDLANE_SESSION; r=x",
    "typeset": "typeset REDLANE_SESSION=x",
    "readonly": "readonly REDLANE_SESSION=x",
    "local": "f() { local REDLANE_SESSION=x; ls; }; f",
    "unset": "unset REDLANE_SESSION",
    "unset-v": "unset -v REDLANE_SOCKET",
    "unset-quoted": "unset 'REDLANE_SESSION'",
    "unset-among-others": "unset A REDLANE_SESSION B",
    "builtin-unset": "builtin unset REDLANE_SESSION",
    "command-export": "command export REDLANE_SESSION=x",
    "export-n": "export -n REDLANE_SESSION",
    "env": "env REDLANE_SESSION=x ls",
    "env-u": "env -u REDLANE_SESSION ls",
    "env-u-joined": "env -uREDLANE_SESSION ls",
    "env-unset": "env --unset=REDLANE_SOCKET ls",
    "env-path": "/usr/bin/env REDLANE_SESSION=x ls",
    "env-after-an-option": "env -C /tmp REDLANE_SESSION=x ls",
    "sudo": "sudo REDLANE_SESSION=x ls",
    "read": "read REDLANE_SESSION <<< x",
    "read-r": "read -r A REDLANE_SESSION",
    "mapfile": "mapfile REDLANE_SESSION < /etc/hosts",
    "printf-v": "printf -v REDLANE_SESSION %s x",
    "printf-v-joined": "printf -vREDLANE_SESSION %s x",
    "getopts": "getopts a REDLANE_SESSION",
    "for": "for REDLANE_SESSION in a b; do ls; done",
    "select": "select REDLANE_SESSION in a b; do break; done",
    "arithmetic": "(( REDLANE_SESSION = 1 ))",
    "arithmetic-increment": "(( REDLANE_SESSION++ ))",
    "arithmetic-expansion": "echo $(( REDLANE_SESSION = 1 ))",
    "let": "let REDLANE_SESSION=1",
    "default-assigning": ": ${REDLANE_SESSION:=x}",
    "default-assigning-unset": ": ${REDLANE_SESSION=x}",
    "eval": "eval 'REDLANE_SESSION=x'",
    "eval-joined": "eval REDLANE_SES'SION=x'",
    "bash-c": "bash -c 'REDLANE_SESSION=x ls'",
    "bash-c-unset": 'bash -c "unset REDLANE_SOCKET; ls"',
    "heredoc-to-sh": "sh <<E\nexport REDLANE_SESSION=x\nE",
    "file-descriptor": "exec {REDLANE_SESSION}>&1",
    "coproc": "coproc REDLANE_SESSION { ls; }",
    "wait-p": "wait -n -p REDLANE_SESSION",
}
READS = {
    "echo": "echo $REDLANE_SESSION",
    "echo-braces": 'echo "${REDLANE_SESSION}"',
    "echo-default": "echo ${REDLANE_SESSION:-none}",
    "echo-length": "echo ${#REDLANE_SOCKET}",
    "printenv": "printenv REDLANE_SESSION",
    "env-grep": "env | grep REDLANE_SESSION",
    "test": '[ -n "$REDLANE_SESSION" ]',
    "test-equal": '[ "$REDLANE_SESSION" = x ]',
    "double-bracket": "[[ $REDLANE_SESSION == x ]]",
    "copy": "a=$REDLANE_SESSION; echo $a",
    "argument": 'curl --unix-socket "$REDLANE_SOCKET" http://localhost/health',
    "search": "grep -rn REDLANE_SESSION src",
    "talk-about-it": "git commit -m 'unset REDLANE_SESSION when REDLANE_SOCKET=x'",
    "print-an-assignment": "echo REDLANE_SESSION=x",
    "heredoc-to-a-file": "cat > notes <<'E'\nexport REDLANE_SESSION=x\nE",
    "comment": "ls # REDLANE_SESSION=x",
    "longer-name": "MY_REDLANE_SESSION=x REDLANE_SESSIONS=y ls",
    "other-variable": "REDLANE_HOME=/tmp/x ls",
    "unset-another": "unset FOO",
    "declare-p": "declare -p REDLANE_SESSION",
    "arithmetic-compare": "(( REDLANE_SESSION == 1 ))",
}


def _builtin(home: Home, command: str) -> tuple[str, str | None]:
    verdict = home.control.analyze(command, role="all-allowed", hold=False)
    return verdict["verdict"], verdict["policy"]


@pytest.mark.parametrize("command", WRITES.values(), ids=WRITES.keys())
def test_no_allow_permits_changing_the_session_variables(
    table_daemon: Home, command: str
) -> None:
    verdict, policy = _builtin(table_daemon, command)

    assert verdict == "BLOCK"
    assert policy is not None
    assert not policy.startswith("all-allowed")


@pytest.mark.parametrize("command", READS.values(), ids=READS.keys())
def test_reading_the_session_variables_is_free(
    table_daemon: Home, command: str
) -> None:
    assert _builtin(table_daemon, command) == ("ALLOW", "all-allowed-0")


def test_validate_knows_the_builtin_policies(table_home: Home) -> None:
    verdict = table_home.verdict("unset REDLANE_SESSION", "all-allowed")

    assert verdict["verdict"] == "BLOCK"
    builtins = table_home.run("config", "list-builtins")
    assert verdict["policy"] in builtins.out
