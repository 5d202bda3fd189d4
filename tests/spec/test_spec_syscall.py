"""Syscall policies on given calls and paths (policy format: Syscall policy rules)."""

import json
from typing import Any

import pytest
from spec.cases import Case, Judge, executable, regex, simple
from spec.redlane_home import Home

Policy = dict[str, Any]


def _call(name: str, *paths: str | None) -> dict[str, Any]:
    return {"syscall": name, "paths": list(paths)}


def _on(name: str, policy: Policy, call: object, *, matches: bool) -> Case:
    """A policy that must match or must not, told by its own verdict."""
    policy = {"context": "Syscall", **policy}
    if policy["action"] == "Allow":
        policies = (policy, simple("Block", context="Syscall", syscall=EVERY))
        denied = ("ALLOW", 0) if matches else ("BLOCK", 1)
        return Case(name, policies, call, *denied, context="Syscall")
    verdict = policy["action"].upper() if matches else "ALLOW"
    place = 0 if matches else None
    return Case(name, (policy,), call, verdict, place, context="Syscall")


EVERY = ["open", "openat", "unlink", "execve", "rename"]
SHADOW = "/etc/shadow"


def _path(action: str, pattern: str = SHADOW) -> Policy:
    return regex(action, f"^{pattern}$", syscall=["open", "rename"])


CASES = (
    # Simple without `syscall`: the pattern is the syscall's name.
    _on("name", simple("Block", "open"), _call("open", "/x"), matches=True),
    _on("name-without-paths", simple("Block", "open"), _call("open"), matches=True),
    _on("name-null-path", simple("Block", "open"), _call("open", None), matches=True),
    _on("name-is-whole", simple("Block", "open"), _call("openat", "/x"), matches=False),
    _on("other-name", simple("Block", "open"), _call("unlink", "/x"), matches=False),
    _on("name-flag", simple("Flag", "open"), _call("open", "/x"), matches=True),
    _on("name-allow", simple("Allow", "open"), _call("open", "/x"), matches=True),
    # Simple with `syscall` and no path filter: every invocation.
    _on(
        "syscall-no-filter",
        simple("Block", syscall="open"),
        _call("open", "/x"),
        matches=True,
    ),
    _on(
        "syscall-no-filter-no-paths",
        simple("Block", syscall="open"),
        _call("open"),
        matches=True,
    ),
    _on(
        "syscall-empty-filter",
        simple("Block", "", syscall="open"),
        _call("open"),
        matches=True,
    ),
    _on(
        "syscall-other",
        simple("Block", syscall="open"),
        _call("unlink", "/x"),
        matches=False,
    ),
    *(
        _on(
            f"syscall-array-{name}",
            simple("Block", syscall=["open", "unlink"]),
            _call(name, "/x"),
            matches=name != "openat",
        )
        for name in ("open", "unlink", "openat")
    ),
    # Simple with both: the pattern is a path filter by substring.
    _on(
        "filter-substring",
        simple("Block", "shadow", syscall="open"),
        _call("open", SHADOW),
        matches=True,
    ),
    _on(
        "filter-not-in-path",
        simple("Block", "shadow", syscall="open"),
        _call("open", "/etc/passwd"),
        matches=False,
    ),
    _on(
        "filter-other-syscall",
        simple("Block", "shadow", syscall="open"),
        _call("unlink", SHADOW),
        matches=False,
    ),
    _on(
        "filter-is-not-the-name",
        simple("Block", "open", syscall="open"),
        _call("open", "/etc/x"),
        matches=False,
    ),
    # Regex: the pattern is a path filter.
    _on("regex-path", _path("Block"), _call("open", SHADOW), matches=True),
    _on("regex-other-path", _path("Block"), _call("open", "/x"), matches=False),
    _on("regex-other-call", _path("Block"), _call("unlink", SHADOW), matches=False),
    _on(
        "regex-unanchored",
        regex("Block", "had", syscall="open"),
        _call("open", SHADOW),
        matches=True,
    ),
    # Block, Flag and Modify: any candidate; an unreadable path counts as a match.
    *(
        case
        for action in ("Block", "Flag")
        for case in (
            _on(
                f"any-first-{action.lower()}",
                _path(action),
                _call("open", SHADOW, "/x"),
                matches=True,
            ),
            _on(
                f"any-last-{action.lower()}",
                _path(action),
                _call("rename", "/x", "/y", SHADOW),
                matches=True,
            ),
            _on(
                f"none-{action.lower()}",
                _path(action),
                _call("open", "/x", "/y"),
                matches=False,
            ),
            _on(
                f"unreadable-{action.lower()}",
                _path(action),
                _call("open", None),
                matches=True,
            ),
            _on(
                f"unreadable-among-others-{action.lower()}",
                _path(action),
                _call("open", "/x", None),
                matches=True,
            ),
            _on(
                f"no-path-{action.lower()}",
                _path(action),
                _call("open"),
                matches=False,
            ),
        )
    ),
    _on(
        "unreadable-simple-filter",
        simple("Block", "shadow", syscall="open"),
        _call("open", None),
        matches=True,
    ),
    # Allow: every candidate; an unreadable path never matches.
    _on("allow-only", _path("Allow"), _call("open", SHADOW), matches=True),
    _on("allow-every", _path("Allow"), _call("open", SHADOW, SHADOW), matches=True),
    _on("allow-not-every", _path("Allow"), _call("open", SHADOW, "/x"), matches=False),
    _on("allow-unreadable", _path("Allow"), _call("open", None), matches=False),
    _on(
        "allow-unreadable-among-others",
        _path("Allow"),
        _call("open", SHADOW, None),
        matches=False,
    ),
    _on("allow-needs-a-path", _path("Allow"), _call("open"), matches=False),
    _on(
        "allow-simple-filter-every",
        simple("Allow", "/tmp/", syscall="open"),
        _call("open", "/tmp/a", "/tmp/b"),
        matches=True,
    ),
    _on(
        "allow-simple-filter-not-every",
        simple("Allow", "/tmp/", syscall="open"),
        _call("open", "/tmp/a", "/etc/b"),
        matches=False,
    ),
    _on(
        "allow-without-filter",
        simple("Allow", syscall="open"),
        _call("open", None),
        matches=True,
    ),
    # Executable: the checker gets the call as JSON.
    _on(
        "checker-sees-the-path",
        executable("Block", f"grep -q {SHADOW}", syscall="open"),
        _call("open", SHADOW),
        matches=True,
    ),
    _on(
        "checker-decides",
        executable("Block", f"grep -q {SHADOW}", syscall="open"),
        _call("open", "/x"),
        matches=False,
    ),
    _on(
        "checker-other-syscall",
        executable("Block", "true", syscall="open"),
        _call("unlink", "/x"),
        matches=False,
    ),
    Case(
        "checker-failing-allow",
        (
            executable("Allow", "/nonexistent", context="Syscall", syscall="open"),
            simple("Allow", "open", context="Syscall"),
        ),
        _call("open", "/x"),
        "BLOCK",
        0,
        context="Syscall",
    ),
    # Context All takes part only with `syscall`.
    Case(
        "all-without-syscall",
        (simple("Block", "open"), regex("Block", ".")),
        _call("open", "/open"),
        "ALLOW",
        None,
        context="Syscall",
    ),
    Case(
        "all-with-syscall",
        (regex("Block", "shadow", syscall="open"),),
        _call("open", SHADOW),
        "BLOCK",
        0,
        context="Syscall",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_syscall_policies(judge: Judge, case: Case) -> None:
    case.check(judge(case))


def test_a_checker_is_told_about_the_call(home: Home) -> None:
    seen = home.user / "seen"
    checker = executable(
        "Block", f"sh -c 'cat > {seen}'", context="Syscall", syscall="open"
    )
    home.policies({"id": "p", **checker})
    home.role("agent", "p")

    home.verdict(_call("open", SHADOW, None), "agent", "Syscall")

    told = json.loads(seen.read_text())
    assert told["syscall"] == "open"
    assert told["paths"] == [SHADOW, None]
    assert {"args", "pid", "ppid", "command", "session"} <= told.keys()


MALFORMED = {
    "no-json": "open",
    "array": "[]",
    "no-syscall": '{"paths":[]}',
    "syscall-no-string": '{"syscall":2,"paths":[]}',
    "paths-no-array": '{"syscall":"open","paths":"/x"}',
    "path-no-string": '{"syscall":"open","paths":[1]}',
}


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED.keys())
def test_validate_cannot_evaluate_what_is_no_syscall(home: Home, content: str) -> None:
    home.role("open")

    ran = home.validate(content, "open", "Syscall")

    assert ran.code == 2
    assert ran.out == ""
    assert ran.refusal


@pytest.mark.parametrize("content", MALFORMED.values(), ids=MALFORMED.keys())
def test_the_daemon_blocks_what_is_no_syscall(table_daemon: Home, content: str) -> None:
    verdict = table_daemon.control.analyze(content, "Syscall", role="name", hold=False)

    assert verdict["verdict"] == "BLOCK"


def test_validate_reads_no_file_system(home: Home) -> None:
    target = home.user / "target"
    target.write_text("x")
    link = home.user / "link"
    link.symlink_to(target)
    home.policies(
        {"id": "p", **regex("Block", "/target$", context="Syscall", syscall="open")}
    )
    home.role("agent", "p")

    verdict = home.verdict(_call("open", str(link)), "agent", "Syscall")

    assert verdict["verdict"] == "ALLOW"
