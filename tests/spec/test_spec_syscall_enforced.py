"""Path filters on running programs (policy format: Syscall policy rules 1 to 3)."""

import os
from pathlib import Path
from typing import Any

import pytest
from spec.calling_agents import Agents, Call, on_paths, placed
from spec.cases import regex, simple
from supervised import EXACT

Policy = dict[str, Any]


# Rule 1: on a Regex policy the pattern is a path filter.

EXACT_CALLS: dict[str, Call] = {
    "open": ("open", "{}/x"),
    "openat": ("openat", "{}/x"),
    "creat": ("creat", "{}/new"),
    "unlink": ("unlink", "{}/x"),
    "unlinkat": ("unlinkat", "{}/x"),
    "rmdir": ("rmdir", "{}/empty"),
    "rename": ("rename", "{}/x", "{}/y"),
    "renameat": ("renameat", "{}/x", "{}/y"),
    "renameat2": ("renameat2", "{}/x", "{}/y"),
}


@pytest.mark.parametrize("name", EXACT)
def test_regex_is_a_filter_of_paths(agents: Agents, work: Path, name: str) -> None:
    call = EXACT_CALLS[name]
    for each in ("free", "denied"):
        (work / each / "empty").mkdir()
    before = sorted((work / "denied").iterdir())

    ends = agents.ask(
        on_paths("Block", f"^{work}/denied/", name),
        placed(call, work / "denied"),
        placed(call, work / "free"),
    )

    assert ends == ["EPERM", "ok"]
    assert sorted((work / "denied").iterdir()) == before


@pytest.mark.parametrize(
    ("one", "two"), [("denied/x", "free/new"), ("free/x", "denied/new")]
)
@pytest.mark.parametrize("name", ["rename", "renameat", "renameat2"])
def test_either_path_of_a_rename_counts(
    agents: Agents, work: Path, name: str, one: str, two: str
) -> None:
    policy = on_paths("Block", f"^{work}/denied/", name)

    assert agents.ask(policy, (name, work / one, work / two)) == ["EPERM"]

    assert (work / one).exists()
    assert not (work / two).exists()


def test_both_sides_of_an_exchange_count(agents: Agents, work: Path) -> None:
    policy = on_paths("Block", f"^{work}/denied/", "renameat2")
    one, two = work / "denied" / "x", work / "free" / "x"

    assert agents.ask(
        policy, ("renameat2", one, two, 2), ("renameat2", two, one, 2)
    ) == ["EPERM", "EPERM"]

    assert one.read_text() == "denied"


def test_calls_that_no_policy_names_are_free(agents: Agents, work: Path) -> None:
    ends = agents.ask(
        on_paths("Block", f"^{work}/denied/", "unlink"),
        ("openat", work / "denied" / "x"),
        ("chmod", work / "denied" / "x"),
        ("unlink", work / "denied" / "x"),
    )

    assert ends == ["ok", "ok", "EPERM"]


def test_simple_without_filter_is_every_invocation(agents: Agents, work: Path) -> None:
    ends = agents.ask(
        simple("Block", "mkdir", context="Syscall"),
        ("mkdir", work / "new"),
        ("mkdir", "relative"),
        ("mkdir", 1),
        ("unlink", work / "free" / "x"),
    )

    assert ends == ["EPERM", "EPERM", "EPERM", "ok"]


def test_simple_names_several_calls(agents: Agents, work: Path) -> None:
    ends = agents.ask(
        simple("Block", syscall=["mkdir", "unlink", "getppid"], context="Syscall"),
        ("mkdir", work / "new"),
        ("unlink", work / "free" / "x"),
        ("getppid",),
        ("openat", work / "free" / "x"),
    )

    assert ends == ["EPERM", "EPERM", "EPERM", "ok"]


def test_simple_with_a_filter_is_a_part_of_the_path(agents: Agents, work: Path) -> None:
    ends = agents.ask(
        simple("Block", "denied/", syscall="openat", context="Syscall"),
        ("openat", work / "denied" / "x"),
        ("openat", work / "free" / "x"),
    )

    assert ends == ["EPERM", "ok"]


def test_policy_of_all_contexts_takes_part_when_it_names_calls(
    agents: Agents, work: Path
) -> None:
    ends = agents.ask(
        regex("Block", f"^{work}/denied/", syscall="openat", context="All"),
        ("openat", work / "denied" / "x"),
        ("openat", work / "free" / "x"),
    )

    assert ends == ["EPERM", "ok"]


# Rule 2: as the literal string and as the canonical form in the process's own view.

SPELLINGS: dict[str, Call] = {
    "absolute": ("openat", "{}/denied/x"),
    "relative": ("openat", "denied/x"),
    "dot": ("openat", "{}/./denied/./x"),
    "dot-dot": ("openat", "{}/free/../denied/x"),
    "slashes": ("openat", "//{}//denied///x"),
    "link-to-file": ("openat", "{}/free/link"),
    "link-to-directory": ("openat", "{}/to-denied/x"),
    "dot-dot-behind-a-link": ("openat", "{}/to-free/../denied/x"),
    "working-directory": ("open-within", "{}/denied", "x"),
    "above-the-working-directory": ("open-within", "{}/free", "../denied/x"),
    "descriptor": ("open-at", "{}/denied", "x"),
    "above-the-descriptor": ("open-at", "{}/free", "../denied/x"),
    "thread": ("in-a-thread", "openat", "{}/denied/x"),
    "child": ("in-a-child", "openat", "{}/denied/x"),
    "process": ("openat", "/proc/self/cwd/denied/x"),
}


def test_every_spelling_has_one_canonical_form(agents: Agents, work: Path) -> None:
    calls = {name: placed(call, work) for name, call in SPELLINGS.items()}

    ends = agents.ask(
        on_paths("Block", f"^{work}/denied/x$", "openat"), *calls.values()
    )

    assert dict(zip(calls, ends, strict=True)) == dict.fromkeys(calls, "EPERM")


def test_the_literal_path_counts_as_well(agents: Agents, work: Path) -> None:
    ends = agents.ask(
        on_paths("Block", "^denied/|/to-free/", "openat"),
        ("openat", "denied/x"),
        ("openat", work / "to-free" / "x"),
        ("openat", work / "denied" / "x"),
        ("openat", work / "free" / "x"),
    )

    assert ends == ["EPERM", "EPERM", "ok", "ok"]


def test_names_that_are_not_there_have_a_canonical_form(
    agents: Agents, work: Path
) -> None:
    ends = agents.ask(
        on_paths("Block", f"^{work}/denied/new$", "openat"),
        ("openat", work / "to-denied" / "new", os.O_CREAT),
        ("openat", work / "free" / "none"),
    )

    assert ends == ["EPERM", "ENOENT"]
    assert not (work / "denied" / "new").exists()


def test_last_link_is_not_followed_by_what_does_not_follow_it(
    agents: Agents, work: Path
) -> None:
    ends = agents.ask(
        on_paths("Block", f"^{work}/denied/", "unlink", "rename"),
        ("rename", work / "free" / "link", work / "free" / "other"),
        ("unlink", work / "free" / "other"),
        ("unlink", work / "to-denied" / "x"),
    )

    assert ends == ["ok", "ok", "EPERM"]


# Rule 3: a Block matches on any candidate, an Allow only when every one does.


def _allow_free(work: Path) -> list[Policy]:
    return [
        on_paths("Block", f"^{work}/|^free|^denied", "openat"),
        on_paths("Allow", f"^{work}/free/|^free/", "openat"),
    ]


ALLOWED: dict[str, tuple[Call, str]] = {
    "all": (("openat", "{}/free/x"), "ok"),
    "relative": (("openat", "free/x"), "ok"),
    "not-matched": (("openat", "{}/denied/x"), "EPERM"),
    "canonical-elsewhere": (("openat", "{}/free/link"), "EPERM"),
    "literal-elsewhere": (("openat", "{}/denied/link"), "EPERM"),
    "literal-leads-out": (("openat", "{}/free/../denied/x"), "EPERM"),
    "literal-leads-in": (("openat", "{}/denied/../free/x"), "EPERM"),
    "unreadable": (("openat", 1), "EPERM"),
}


def test_allow_wants_every_candidate(agents: Agents, work: Path) -> None:
    calls = {name: placed(call, work) for name, (call, _) in ALLOWED.items()}

    ends = agents.ask(_allow_free(work), *calls.values())

    assert dict(zip(calls, ends, strict=True)) == {
        name: end for name, (_, end) in ALLOWED.items()
    }


def test_allow_of_both_paths_of_a_rename(agents: Agents, work: Path) -> None:
    policies = [
        on_paths("Block", f"^{work}/", "rename"),
        on_paths("Allow", f"^{work}/free/", "rename"),
    ]
    ends = agents.ask(
        policies,
        ("rename", work / "free" / "x", work / "free" / "y"),
        ("rename", work / "free" / "y", work / "denied" / "y"),
        ("rename", work / "denied" / "x", work / "free" / "z"),
    )

    assert ends == ["ok", "EPERM", "EPERM"]


@pytest.mark.parametrize("call", ["open", "openat", "unlink", "rmdir", "creat"])
def test_unreadable_path_matches_a_block(agents: Agents, work: Path, call: str) -> None:
    policy = on_paths("Block", f"^{work}/denied/", call)

    assert agents.ask(policy, (call, 1)) == ["EPERM"]


def test_calls_fail_as_the_kernel_has_them_fail(agents: Agents, work: Path) -> None:
    long = "x" * 256
    calls: dict[Call, str] = {
        ("rename", long, "free/y"): "ENAMETOOLONG",
        ("rename", "free/x", long): "ENAMETOOLONG",
        ("rename", "none", "free/y"): "ENOENT",
        ("rename", "free", "free/below"): "EINVAL",
        ("rename", "free/x", "free"): "ENOTEMPTY",
        ("rename", "to-denied", "free"): "EISDIR",
        ("renameat2", "free/x", "free/link", 1): "EEXIST",
        ("unlink", long): "ENAMETOOLONG",
        ("unlink", "free"): "EISDIR",
        ("unlink", "free/x/"): "ENOTDIR",
        ("rmdir", "free"): "ENOTEMPTY",
        ("rmdir", "free/."): "EINVAL",
        ("openat", long): "ENAMETOOLONG",
        ("openat", "free", os.O_WRONLY): "EISDIR",
        ("openat", "free/x", os.O_CREAT | os.O_EXCL): "EEXIST",
        ("openat", "free/link", os.O_NOFOLLOW): "ELOOP",
        ("openat", ""): "ENOENT",
        ("openat", "free/x/y"): "ENOTDIR",
        ("openat", "none/new", os.O_CREAT): "ENOENT",
    }

    ends = agents.ask(on_paths("Block", f"^{work}/denied/"), *calls)

    assert dict(zip(calls, ends, strict=True)) == calls
