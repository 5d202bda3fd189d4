"""Which action wins (policy format: Actions), in every pair and in any order."""

from itertools import permutations
from typing import Any

import pytest
from spec.cases import Case, Judge, executable, regex, simple
from spec.redlane_home import Home

UPPER = {"type": "Regex", "pattern": "a", "replacement": "A"}
POLICIES: dict[str, dict[str, Any]] = {
    "allow": simple("Allow", "a"),
    "block": simple("Block", "a"),
    "modify": simple("Modify", "a", transform=UPPER),
    "flag": simple("Flag", "a"),
}
VERDICTS = {"allow": "ALLOW", "block": "BLOCK", "modify": "MODIFY", "flag": "FLAG"}


def _winner(names: tuple[str, ...]) -> str:
    """Allow over Block over the rest; of Modify and Flag, Flag names the verdict."""
    for name in ("allow", "block", "flag", "modify"):
        if name in names:
            return name
    raise AssertionError(names)


def _ordered(names: tuple[str, ...]) -> Case:
    winner = _winner(names)
    rewritten = "A" if winner in ("flag", "modify") and "modify" in names else None
    return Case(
        "-".join(names),
        tuple(POLICIES[name] for name in names),
        "a",
        VERDICTS[winner],
        names.index(winner),
        rewritten=rewritten,
    )


FAILING = "/nonexistent/checker"


def _beside_a_failing_one(action: str, order: tuple[str, ...]) -> Case:
    """A policy that matches, and one of the same action that cannot be asked."""
    fields: dict[str, Any] = {"transform": UPPER} if action == "modify" else {}
    policies = {
        "match": POLICIES[action],
        "fail": executable(action.capitalize(), FAILING, **fields),
    }
    return Case(
        f"{action}-{'-'.join(order)}",
        tuple(policies[each] for each in order),
        "a",
        "BLOCK",
        0 if action == "block" else order.index("fail"),
    )


CASES = (
    *(_ordered(names) for size in (1, 2, 4) for names in permutations(POLICIES, size)),
    Case("nothing-matches", (simple("Block", "b"),), "a", "ALLOW", None),
    Case("no-policies", (), "a", "ALLOW", None),
    # An Allow that matches ends it; one that fails blocks, and nothing rescues it.
    *(
        Case(
            f"failing-allow-{'-'.join(order)}",
            tuple({"fail": executable("Allow", FAILING), **POLICIES}[n] for n in order),
            "a",
            "BLOCK",
            order.index("fail"),
        )
        for other in ("allow", "block", "modify", "flag")
        for order in permutations(("fail", other))
    ),
    *(
        Case(
            f"allow-spares-a-failing-{action.lower()}{'-first' if first else ''}",
            tuple(
                sorted(
                    (
                        executable(action, FAILING, **fields),
                        simple("Allow", "a"),
                    ),
                    key=lambda policy: (policy["type"] == "Simple") == first,
                )
            ),
            "a",
            "ALLOW",
            0 if not first else 1,
        )
        for action, fields in (
            ("Block", {}),
            ("Flag", {}),
            ("Modify", {"transform": UPPER}),
        )
        for first in (True, False)
    ),
    *(
        _beside_a_failing_one(action, order)
        for action in ("block", "flag", "modify")
        for order in permutations(("match", "fail"))
    ),
    Case(
        "a-checker-that-says-no-is-no-failure",
        (executable("Allow", "false"), simple("Flag", "a")),
        "a",
        "FLAG",
        1,
    ),
    Case(
        "first-block-is-named",
        (simple("Block", "x"), simple("Block", "a"), regex("Block", "a")),
        "a",
        "BLOCK",
        1,
    ),
    Case(
        "first-block-is-named-across-types",
        (executable("Block", "true"), simple("Block", "a"), regex("Block", "a")),
        "a",
        "BLOCK",
        0,
    ),
    Case(
        "first-flag-is-named",
        (regex("Flag", "^a"), simple("Flag", "a")),
        "a",
        "FLAG",
        0,
    ),
    Case(
        "first-allow-is-named",
        (simple("Block", "a"), regex("Allow", "a"), simple("Allow", "a")),
        "a",
        "ALLOW",
        1,
    ),
    # Allow is scoped by context like any other policy.
    Case(
        "allow-of-another-context",
        (simple("Block", "a"), simple("Allow", "a", context="Shell")),
        "a",
        "BLOCK",
        0,
    ),
    Case(
        "allow-of-this-context",
        (simple("Block", "a"), simple("Allow", "a", context="Network")),
        "a",
        "ALLOW",
        1,
    ),
    Case(
        "failing-allow-of-another-context",
        (executable("Allow", FAILING, context="Shell"), simple("Allow", "a")),
        "a",
        "ALLOW",
        1,
    ),
    Case(
        "match-everything-allow",
        (simple("Block", "a"), simple("Flag", "a"), regex("Allow", ".*")),
        "a",
        "ALLOW",
        2,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_precedence(judge: Judge, case: Case) -> None:
    case.check(judge(case))


def test_a_policy_outside_the_role_has_no_effect(home: Home) -> None:
    home.policies(
        {"id": "in", **simple("Flag", "a")},
        {"id": "block", **simple("Block", "a")},
        {"id": "allow", **simple("Allow", "a")},
        {"id": "fails", **executable("Allow", FAILING)},
    )
    home.role("agent", "in")

    assert home.verdict("a", "agent", "Network")["policy"] == "in"


@pytest.mark.parametrize("order", list(permutations(("x", "y", "z"))), ids="-".join)
def test_the_order_of_a_role_does_not_matter(
    home: Home, order: tuple[str, ...]
) -> None:
    home.policies(
        {"id": "x", **simple("Flag", "a")},
        {"id": "y", **simple("Block", "a")},
        {"id": "z", **simple("Block", "a")},
    )
    home.role("agent", *order)

    assert home.verdict("a", "agent", "Network")["policy"] == "y"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("10.json", "9.json"),
        ("B.json", "a.json"),
        ("a.json", "b.json"),
        ("z.json", "é.json"),
    ],
    ids=lambda name: name,
)
def test_load_order_is_the_file_name_bytewise(
    home: Home, first: str, second: str
) -> None:
    home.policies({"id": "second", **simple("Block", "a")}, file=second)
    home.policies({"id": "first", **simple("Block", "a")}, file=first)
    home.role("agent", "second", "first")

    assert home.verdict("a", "agent", "Network")["policy"] == "first"
