"""What only a person can say yes to: new keys, nobody's, and what is stated no more."""

from dataclasses import replace

import pytest
from core.sharing.sharing_samples import KEY, NEW_KEY, OTHER_KEY, artifact, needs
from hub_people import fingerprint_of
from hub_statements import stated
from nacl.signing import SigningKey

from redlane.hubclient import Artifact
from redlane.sharing.errors import RefusedError
from redlane.sharing.lock import Lock, Locked
from redlane.sharing.trust import Trust
from redlane.sharing.vetting import Doubt, Reason, doubts

NOBODY, ADA = Trust(), Trust().trusting(KEY, "Ada")
ROTATED = ADA.trusting(NEW_KEY, "Ada", replaces=KEY)
HAND = SigningKey(bytes(32))
HERS = fingerprint_of(HAND)
EVE = Trust().trusting(HERS, "Eve")
STATES = EVE.stating({HERS})
RENEWED = STATES.trusting(NEW_KEY, "Eve", replaces=HERS)


def here(of: Artifact) -> Locked:
    """An artifact as it is locked once it was pulled."""
    needed = {each.name: each.version for each in of.dependencies}
    return Locked(of.version, of.content_hash, of.key_fingerprint, needed, {})


def lock(of: Locked | None) -> Lock:
    return Lock("", {"team": of} if of else {})


UNSIGNED, SIGNED = artifact("team@1"), artifact("team@1", key=KEY)
BY_NEW_KEY = artifact("team@2", key=NEW_KEY)
STATED = stated(UNSIGNED, HAND)
DROPPED = artifact("team@1", key=HERS)
NEXT = artifact("team@2", key=HERS, content=["next"])
SET = stated(artifact("team@1", *needs("a@2"), content=[], artifact_type="set"), HAND)
OTHER_SET = replace(
    SET, version="2", dependencies=needs("a@1"), id="id of team@2", content_schema=None
)
HELD_OUT = replace(OTHER_SET, key_fingerprint=KEY)

Doubted = tuple[Artifact, Locked | None, Trust, Reason, str | None]
DOUBTED: dict[str, Doubted] = {
    "new key": (SIGNED, None, NOBODY, Reason.NEW_KEY, KEY),
    "new key that states": (STATED, None, NOBODY, Reason.NEW_KEY, HERS),
    "key of somebody else": (
        artifact("team@1", key=OTHER_KEY),
        None,
        ADA,
        Reason.NEW_KEY,
        OTHER_KEY,
    ),
    "unsigned": (UNSIGNED, None, ADA, Reason.UNSIGNED, None),
    "unsigned, with a key told": (
        replace(UNSIGNED, key_fingerprint=KEY),
        None,
        ADA,
        Reason.UNSIGNED,
        None,
    ),
    "unsigned, and other than here": (
        artifact("team@2", content=1),
        here(UNSIGNED),
        ADA,
        Reason.UNSIGNED,
        None,
    ),
    "unsigned, whatever is stated": (
        replace(STATED, signed=False),
        None,
        STATES,
        Reason.UNSIGNED,
        None,
    ),
    "distrusted since": (SIGNED, here(SIGNED), NOBODY, Reason.NEW_KEY, KEY),
    "stated, and distrusted since": (
        STATED,
        here(STATED),
        STATES.without(HERS),
        Reason.NEW_KEY,
        HERS,
    ),
    "new key, distrusted since": (
        BY_NEW_KEY,
        here(SIGNED),
        ROTATED.without(NEW_KEY),
        Reason.NEW_KEY,
        NEW_KEY,
    ),
    "stated before": (DROPPED, None, STATES, Reason.UNSTATED, HERS),
    "stated before, and newer": (NEXT, here(STATED), STATES, Reason.UNSTATED, HERS),
    "statement of another version": (
        replace(STATED, version="2"),
        None,
        STATES,
        Reason.UNSTATED,
        HERS,
    ),
    "key before stated": (BY_NEW_KEY, None, RENEWED, Reason.UNSTATED, NEW_KEY),
    "stated set of the same content that needs another": (
        OTHER_SET,
        here(SET),
        STATES,
        Reason.UNSTATED,
        HERS,
    ),
}
CLEAR: dict[str, tuple[Artifact, Locked | None, Trust]] = {
    "trusted": (SIGNED, None, ADA),
    "trusted and here": (SIGNED, here(SIGNED), ADA),
    "unsigned, but here": (UNSIGNED, here(UNSIGNED), NOBODY),
    "key before, but here": (SIGNED, here(SIGNED), ROTATED),
    "new key": (BY_NEW_KEY, here(SIGNED), ROTATED),
    "stated": (STATED, None, EVE),
    "stated again": (STATED, None, STATES),
    "stated before, but here": (DROPPED, here(STATED), STATES),
    "never stated": (DROPPED, None, EVE),
    "another stated": (SIGNED, None, STATES.trusting(KEY, "Ada")),
}


@pytest.mark.parametrize(
    ("of", "was", "trust", "reason", "key"), DOUBTED.values(), ids=DOUBTED
)
def test_a_person_decides_on_what_is_new_and_not_vouched_for(
    of: Artifact, was: Locked | None, trust: Trust, reason: Reason, key: str | None
) -> None:
    (found,) = doubts({"team": of}, lock(was), trust)
    assert found == Doubt(reason, key, of == STATED, (of,))


REPLACED: dict[str, tuple[Artifact, Locked | None]] = {
    "something new": (SIGNED, None),
    "set of the same content that needs another": (
        HELD_OUT,
        here(replace(SET, key_fingerprint=KEY)),
    ),
}


@pytest.mark.parametrize(("of", "was"), REPLACED.values(), ids=REPLACED)
def test_a_key_in_whose_place_another_is_trusted_signs_nothing_new(
    of: Artifact, was: Locked | None
) -> None:
    with pytest.raises(RefusedError, match="in whose place"):
        doubts({"team": of}, lock(was), ROTATED)


@pytest.mark.parametrize(("of", "was", "trust"), CLEAR.values(), ids=CLEAR)
def test_nobody_is_asked_again(of: Artifact, was: Locked | None, trust: Trust) -> None:
    assert doubts({"team": of}, lock(was), trust) == ()


def test_a_person_is_asked_once_for_each_key_and_what_it_is_worth() -> None:
    keys = {"a": KEY, "b": None, "c": OTHER_KEY, "d": KEY, "e": None, "f": HERS}
    found = {name: artifact(f"{name}@1", key=key) for name, key in keys.items()}
    found |= {name: stated(artifact(f"{name}@1"), HAND) for name in "gh"}
    asked = doubts(found, Lock(), NOBODY)
    assert [
        (each.reason, each.key, each.is_stated, [of.name for of in each.artifacts])
        for each in asked
    ] == [
        (Reason.NEW_KEY, KEY, False, ["a", "d"]),
        (Reason.UNSIGNED, None, False, ["b", "e"]),
        (Reason.NEW_KEY, OTHER_KEY, False, ["c"]),
        (Reason.NEW_KEY, HERS, False, ["f"]),
        (Reason.NEW_KEY, HERS, True, ["g", "h"]),
    ]


@pytest.mark.parametrize("order", ["stated first", "stated last"])
def test_what_is_not_stated_beside_what_is_by_the_same_key_is_asked_about(
    order: str,
) -> None:
    found = {"team": STATED, "low": artifact("low@1", key=HERS)}
    if order == "stated last":
        found = dict(reversed(found.items()))
    (asked,) = doubts(found, Lock(), EVE)
    assert asked == Doubt(Reason.UNSTATED, HERS, False, (found["low"],))  # noqa: FBT003  # it is not


def test_keys_that_state_are_noted_as_far_as_they_are_trusted() -> None:
    both = EVE.trusting(KEY, "Ada")
    noted = both.stating({HERS, OTHER_KEY})
    states = {key: each.states for key, each in noted.publishers.items()}
    assert states == {HERS: True, KEY: False}
    assert noted.stating(()) == noted


STATING: dict[str, Trust] = {
    "trusted again": STATES.trusting(HERS, "again"),
    "in place of one that states": STATES.trusting(HERS, None).trusting(
        KEY, None, replaces=HERS
    ),
    "in place of one that never did": STATES.trusting(KEY, None).trusting(
        HERS, None, replaces=KEY
    ),
    "in place of one that is not trusted": STATES.trusting(HERS, None, replaces=KEY),
}


@pytest.mark.parametrize("trust", STATING.values(), ids=STATING)
def test_that_a_key_states_is_not_forgotten(trust: Trust) -> None:
    assert [each.states for each in trust.publishers.values()] == [True]
