"""Who has signed what comes here: what was here and who is trusted decide."""

from dataclasses import replace
from typing import Any

import pytest
from core.sharing.sharing_samples import (
    KEY,
    NEW_KEY,
    OTHER_KEY,
    MemoryHub,
    artifact,
    locked,
    needs,
)
from hub_statements import stated
from nacl.signing import SigningKey

from redlane.hubclient import (
    Artifact,
    Endorsement,
    HubRefusedError,
    HubUnavailableError,
)
from redlane.model.settings import Hub as HubSettings
from redlane.sharing.errors import RefusedError
from redlane.sharing.lock import Lock, Locked
from redlane.sharing.trust import Trust
from redlane.sharing.vetting import (
    newest_version,
    refusal,
    require_unlike,
    require_vouched,
)

NOBODY, ADA = Trust(), Trust().trusting(KEY, "Ada")
ROTATED = ADA.trusting(NEW_KEY, "Ada", replaces=KEY)
ANYTHING = HubSettings()
SIGNED_ONLY = HubSettings(require_signature=True)
RECOGNISED_ONLY = HubSettings(require_recognised=True)


def here(of: Artifact, **fields: Any) -> Locked:
    """An artifact as it is locked once it was pulled."""
    as_it_was = Locked(of.version, of.content_hash, of.key_fingerprint, {}, {})
    return replace(as_it_was, **fields)


UNSIGNED, SIGNED = artifact("team@1"), artifact("team@1", key=KEY)
STATED = stated(artifact("team@1"), SigningKey(bytes(32)))
YANKED = artifact("team@1", yanked=True)
RECOGNISED = artifact("team@1", owner_is_endorsed=True)
BY_NEW_KEY = artifact("team@2", key=NEW_KEY)
NEEDING = artifact("team@1", *needs("tags@1"))
OPTIONAL = artifact("team@1", *needs("tags@1", required=False))

Case = tuple[Artifact, Locked | None, Trust, HubSettings]
TAKEN: dict[str, Case] = {
    "new": (UNSIGNED, None, NOBODY, ANYTHING),
    "new and signed": (SIGNED, None, NOBODY, ANYTHING),
    "same again": (SIGNED, here(SIGNED), ADA, ANYTHING),
    "newer": (artifact("team@2", key=KEY), here(SIGNED), ADA, ANYTHING),
    "older": (artifact("team@0", key=KEY), here(SIGNED), ADA, ANYTHING),
    "yanked, but here": (YANKED, here(YANKED), NOBODY, ANYTHING),
    "unsigned before": (artifact("team@2", key=KEY), here(UNSIGNED), ADA, ANYTHING),
    "stated, as is wanted": (STATED, None, NOBODY, SIGNED_ONLY),
    "stated, as is wanted, and here": (STATED, here(STATED), NOBODY, SIGNED_ONLY),
    "recognised, as is wanted": (RECOGNISED, None, NOBODY, RECOGNISED_ONLY),
    "needs what it needed": (
        NEEDING,
        here(NEEDING, dependencies={"tags": "1"}),
        NOBODY,
        ANYTHING,
    ),
    "key that came in place": (BY_NEW_KEY, here(SIGNED), ROTATED, ANYTHING),
    "optional, and still missing": (OPTIONAL, here(OPTIONAL), NOBODY, ANYTHING),
    "optional, and here": (
        OPTIONAL,
        here(OPTIONAL, dependencies={"tags": "1"}),
        NOBODY,
        ANYTHING,
    ),
    "another version needs others": (
        artifact("team@2", *needs("git@1")),
        here(NEEDING, dependencies={"tags": "1"}),
        NOBODY,
        ANYTHING,
    ),
    "old key, still here": (SIGNED, here(SIGNED), ROTATED, ANYTHING),
}
REFUSED: dict[str, tuple[Case, str]] = {
    "another content": (
        (UNSIGNED, here(UNSIGNED, content_hash="e" * 64), NOBODY, ANYTHING),
        "team@1 is not what it was",
    ),
    "another content by a trusted key": (
        (SIGNED, here(SIGNED, content_hash="e" * 64), ADA, ANYTHING),
        "A version never changes",
    ),
    "needs more": (
        (NEEDING, here(UNSIGNED), NOBODY, ANYTHING),
        "team@1 needs other things than it did",
    ),
    "needs less": (
        (UNSIGNED, here(UNSIGNED, dependencies={"tags": "1"}), NOBODY, ANYTHING),
        "team@1 needs other things than it did",
    ),
    "needs another version": (
        (NEEDING, here(NEEDING, dependencies={"tags": "2"}), NOBODY, ANYTHING),
        "team@1 needs other things than it did",
    ),
    "needs another": (
        (NEEDING, here(NEEDING, dependencies={"git": "1"}), NOBODY, ANYTHING),
        "team@1 needs other things than it did",
    ),
    "optional, and another version": (
        (OPTIONAL, here(OPTIONAL, dependencies={"tags": "2"}), NOBODY, ANYTHING),
        "team@1 needs other things than it did",
    ),
    "yanked": ((YANKED, None, NOBODY, ANYTHING), "was yanked by its publisher: no"),
    "yanked, with a reason": (
        (replace(YANKED, yanked_reason="it leaks"), None, NOBODY, ANYTHING),
        "was yanked by its publisher: it leaks",
    ),
    "yanked, and another one is here": (
        (YANKED, locked("2"), NOBODY, ANYTHING),
        "was yanked",
    ),
    "signature does not hold": (
        (replace(SIGNED, signature_valid=False), None, ADA, ANYTHING),
        "the signature of team@1 does not hold",
    ),
    "signature of which nothing is known": (
        (replace(SIGNED, signature_valid=None), None, ADA, ANYTHING),
        "the signature of team@1 does not hold",
    ),
    "key was revoked since": (
        (replace(SIGNED, signature_valid=False), here(SIGNED), ADA, ANYTHING),
        "or its key was revoked",
    ),
    "unsigned": ((UNSIGNED, None, NOBODY, SIGNED_ONLY), "hub.require_signature"),
    "unsigned, and here": (
        (UNSIGNED, here(UNSIGNED), NOBODY, SIGNED_ONLY),
        "hub.require_signature",
    ),
    "signed by the hub's word": (
        (SIGNED, None, ADA, SIGNED_ONLY),
        "team@1 is not signed so that it can be checked here",
    ),
    "signed by the hub's word, and here": (
        (SIGNED, here(SIGNED), ADA, SIGNED_ONLY),
        "hub.require_signature",
    ),
    "stated of another version": (
        (replace(STATED, version="2"), None, NOBODY, SIGNED_ONLY),
        "hub.require_signature",
    ),
    "stated, and not signed by the hub's word": (
        (replace(STATED, signed=False), None, NOBODY, SIGNED_ONLY),
        "hub.require_signature",
    ),
    "not recognised": (
        (SIGNED, None, ADA, RECOGNISED_ONLY),
        "ada@example.org, who published team@1, is not recognised",
    ),
    "signed no more": (
        (artifact("team@2"), here(SIGNED), ADA, ANYTHING),
        f"team@2 is not signed, and 1, which is here, is signed by {KEY}",
    ),
    "same version, signed no more": (
        (UNSIGNED, here(SIGNED), ADA, ANYTHING),
        "team@1 is not signed",
    ),
    "another key": (
        (BY_NEW_KEY, here(SIGNED), ADA, ANYTHING),
        f"redlane hub trust {NEW_KEY} --replaces {KEY}",
    ),
    "another key that is trusted": (
        (BY_NEW_KEY, here(SIGNED), ADA.trusting(NEW_KEY, None), ANYTHING),
        f"team@2 is signed by {NEW_KEY}",
    ),
    "back to the key before": (
        (artifact("team@3", key=KEY), here(BY_NEW_KEY), ROTATED, ANYTHING),
        f"team@3 is signed by {KEY}",
    ),
    "key that came in place of another": (
        (
            artifact("team@2", key=NEW_KEY),
            here(SIGNED, key_fingerprint=OTHER_KEY),
            ROTATED,
            ANYTHING,
        ),
        f"--replaces {OTHER_KEY}",
    ),
}


@pytest.mark.parametrize("case", TAKEN.values(), ids=TAKEN)
def test_what_nothing_speaks_against_may_be_taken(case: Case) -> None:
    assert refusal(*case) is None


@pytest.mark.parametrize(("case", "says"), REFUSED.values(), ids=REFUSED)
def test_what_nobody_can_say_yes_to_is_refused(case: Case, says: str) -> None:
    assert says in (refusal(*case) or "")


def endorsement(user: str, *, known: bool = True, of: str = "team@1") -> Endorsement:
    email = f"{user}@example.org"
    return Endorsement("e", f"id of {of}", user, email, known, "verified", "")


VOUCHED = {
    "nobody": ([], 0),
    "one": ([endorsement("bob")], 1),
    "two": ([endorsement("bob"), endorsement("eve")], 2),
    "one twice": ([endorsement("bob"), endorsement("bob")], 1),
    "unrecognised": ([endorsement("bob", known=False)], 0),
    "owner": ([endorsement("ada")], 0),
    "owner, in capitals": ([endorsement("ADA")], 0),
    "of another": ([endorsement("bob", of="other@1")], 0),
}


@pytest.mark.parametrize(("vouched", "count"), VOUCHED.values(), ids=VOUCHED)
def test_only_recognised_accounts_other_than_the_owner_vouch(
    vouched: list[Endorsement], count: int
) -> None:
    memory = MemoryHub(UNSIGNED)
    memory.vouched = vouched
    require_vouched(memory.hub, UNSIGNED, count)
    with pytest.raises(RefusedError, match=f"team@1 has the endorsement of {count} "):
        require_vouched(memory.hub, UNSIGNED, count + 1)


def at(named: str, day: int, **fields: Any) -> Artifact:
    return artifact(named, created_at=f"2026-01-{day:02}T00:00:00Z", **fields)


def test_the_newest_version_is_what_the_hub_says_where_none_is_here() -> None:
    memory = MemoryHub(at("team@2", 2), at("team@1", 1))
    assert newest_version(memory.hub, "team", None) == "1"


NEWER = {
    "newer": ("1", 1, "2", 2),
    "not comparable": ("beta", 1, "alpha", 2),
    "longer": ("1.9", 1, "1.10", 2),
}
BACK = {
    "older number": ("2", 1, "1", 2),
    "older time": ("1", 2, "2", 1),
    "older by both": ("2", 2, "1", 1),
    "same time": ("1", 1, "2", 1),
    "not comparable, and before": ("beta", 2, "alpha", 1),
}


@pytest.mark.parametrize(("now", "day", "new", "later"), NEWER.values(), ids=NEWER)
def test_a_version_that_came_later_is_the_newest(
    now: str, day: int, new: str, later: int
) -> None:
    was = at(f"team@{now}", day)
    memory = MemoryHub(was, at(f"team@{new}", later))
    assert newest_version(memory.hub, "team", here(was)) == new


@pytest.mark.parametrize(("now", "day", "new", "later"), BACK.values(), ids=BACK)
def test_a_hub_does_not_go_back_behind_what_is_here(
    now: str, day: int, new: str, later: int
) -> None:
    was = at(f"team@{now}", day)
    memory = MemoryHub(was, at(f"team@{new}", later))
    with pytest.raises(RefusedError, match=f"the hub lists team@{new}, which is older"):
        newest_version(memory.hub, "team", here(was))


def test_a_hub_does_not_forget_what_is_here() -> None:
    memory = MemoryHub(at("team@2", 2))
    with pytest.raises(RefusedError, match="here as 1, which the hub does not know"):
        newest_version(memory.hub, "team", here(at("team@1", 1)))


def test_a_hub_does_not_change_what_is_here() -> None:
    memory = MemoryHub(at("team@1", 1, content=[]), at("team@2", 2))
    with pytest.raises(RefusedError, match="team@1 is not what it was"):
        newest_version(memory.hub, "team", here(at("team@1", 1)))


def test_another_refusal_of_the_hub_is_its_own() -> None:
    memory = MemoryHub(at("team@2", 2))
    memory.answers["team", "1"] = HubRefusedError("forbidden", 403)
    with pytest.raises(HubRefusedError, match="forbidden"):
        newest_version(memory.hub, "team", here(at("team@1", 1)))


@pytest.mark.parametrize("others", [(), (at("team@0", 1),), (at("team@9", 1),)])
def test_what_is_here_and_was_yanked_stays(others: tuple[Artifact, ...]) -> None:
    was = at("team@1", 5, yanked=True)
    memory = MemoryHub(was, *others)
    assert newest_version(memory.hub, "team", here(was)) == "1"


def test_what_is_newer_comes_in_place_of_what_was_yanked() -> None:
    was = at("team@1", 1, yanked=True)
    memory = MemoryHub(was, at("team@2", 2))
    assert newest_version(memory.hub, "team", here(was)) == "2"


def test_a_hub_that_lists_nothing_of_what_is_here_is_refused() -> None:
    was = at("team@1", 1)
    memory = MemoryHub()
    memory.answers["team", "1"] = was
    with pytest.raises(
        RefusedError, match="here as 1, and the hub lists nothing newer"
    ):
        newest_version(memory.hub, "team", here(was))


def test_what_the_hub_does_not_list_has_no_newest_version() -> None:
    with pytest.raises(HubRefusedError, match="lists no artifact"):
        newest_version(MemoryHub().hub, "team", None)


@pytest.mark.parametrize(
    "time",
    ["", "soon", "2026-01-02", "2026-01-02T00:00:00", "1e9", "2026-13-01T00:00Z"],
)
@pytest.mark.parametrize("is_newest", [True, False])
def test_a_time_that_is_none_is_nonsense(time: str, is_newest: bool) -> None:  # noqa: FBT001  # a case
    was, new = at("team@1", 1), at("team@2", 2)
    new = replace(new, created_at=time) if is_newest else new
    was = was if is_newest else replace(was, created_at=time)
    with pytest.raises(HubUnavailableError, match=r"nonsense: .* is no (time|UTC)"):
        newest_version(MemoryHub(was, new).hub, "team", here(was))


def test_times_of_any_zone_are_compared() -> None:
    was = artifact("team@1", created_at="9999-12-31T23:59:59-23:59")
    new = artifact("team@2", created_at="0001-01-01T00:00:00+23:59")
    with pytest.raises(RefusedError, match="is older"):
        newest_version(MemoryHub(was, new).hub, "team", here(was))


def test_a_newest_version_that_is_none_raises_no_other_error() -> None:
    was, new = at("team@1", 1), at(f"team@{'9' * 5000}", 2)
    with pytest.raises(HubUnavailableError, match="nonsense"):
        newest_version(MemoryHub(was, new).hub, "team", here(was))


ALIKE: dict[str, Artifact] = {
    "by nobody": artifact("tearn@1"),
    "by another key": artifact("tearn@1", key=OTHER_KEY),
    "not signed, with a key told": artifact("tearn@1", key_fingerprint=KEY),
    "in other letters": artifact("TEAM@1"),
}
UNLIKE: dict[str, Artifact] = {
    "by the same key": artifact("tearn@1", key=KEY),
    "with a mark in it": artifact("te-am@1"),
    "itself": artifact("team@2"),
}
TEAM_IS_HERE = Lock("", {"team": here(SIGNED)})


@pytest.mark.parametrize("of", ALIKE.values(), ids=ALIKE)
def test_a_new_name_that_is_taken_for_one_that_is_here_needs_its_key(
    of: Artifact,
) -> None:
    with pytest.raises(RefusedError, match=f"{of.name} looks like team"):
        require_unlike({of.name: of}, TEAM_IS_HERE)


@pytest.mark.parametrize("of", UNLIKE.values(), ids=UNLIKE)
def test_a_name_that_is_not_taken_for_that_of_another_publisher_is_free(
    of: Artifact,
) -> None:
    require_unlike({of.name: of}, TEAM_IS_HERE)


def test_two_new_names_that_look_alike_need_one_key() -> None:
    one, other = artifact("git-rules@1", key=KEY), artifact("git_ru1es@1", key=KEY)
    require_unlike({each.name: each for each in (one, other)}, Lock())
    other = artifact("git_ru1es@1", key=OTHER_KEY)
    with pytest.raises(RefusedError, match="git_ru1es looks like git-rules"):
        require_unlike({each.name: each for each in (one, other)}, Lock())
