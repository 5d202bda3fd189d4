"""Restrictions of a session: kept over a kill, and never without them."""

import json
import stat
from dataclasses import replace
from pathlib import Path
from threading import Thread
from types import MappingProxyType

import pytest
from engine_samples import policy, rules
from gate_bench import Bench, content

from redlane.errors import RedlaneError, UsageError
from redlane.model.verdict import Decision
from redlane.plugins import find_plugins
from redlane.policies.restrictions import Restrictions, parse_restrictions
from redlane.state.sessions import Session, SessionTable

TYPES = find_plugins().match_types


def restrictions(pattern: str = "bad", action: str = "Block") -> Restrictions:
    document = {"id": "mine", "type": "Simple", "action": action, "pattern": pattern}
    return parse_restrictions({"policies": [document]}, TYPES)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, rules(policy("a", "Allow", "", "Simple"), types={**TYPES}))


def decide(bench: Bench, session: Session, text: str = "bad") -> Decision:
    return bench.gate.decide(content(text), session, hold=False).verdict.decision


def kept(directory: Path) -> list[str]:
    return sorted(each.name for each in (directory / "restrictions").glob("*"))


def test_restrictions_count_in_their_session_and_in_no_other(bench: Bench) -> None:
    guarded = bench.sessions.create(restrictions=restrictions())
    other = bench.sessions.create()
    assert decide(bench, guarded) is Decision.BLOCK
    assert decide(bench, guarded, "good") is Decision.ALLOW
    assert decide(bench, other) is Decision.ALLOW
    blocked, *_ = bench.events()
    assert (blocked.policy, blocked.restriction) == ("mine", True)


def test_flag_of_a_user_is_held_as_long_as_root_has_set(bench: Bench) -> None:
    bench.settings = replace(bench.settings, timeout_seconds=0.05)
    flagged = bench.sessions.create(restrictions=restrictions(action="Flag"))
    judgement = bench.gate.decide(content(), flagged)
    assert judgement.verdict.decision is Decision.BLOCK
    assert judgement.review is not None
    assert "not decided in 0.05 s" in judgement.verdict.reason


def test_restrictions_outlive_a_kill(bench: Bench) -> None:
    made = bench.sessions.create(restrictions=restrictions())
    again = Bench(bench.directory, bench.ruleset)
    assert again.sessions.get(made.id) == made
    assert decide(again, made) is Decision.BLOCK
    assert decide(again, made, "good") is Decision.ALLOW


def test_restrictions_are_kept_from_other_users(bench: Bench) -> None:
    bench.sessions.create(restrictions=restrictions())
    (name,) = kept(bench.directory)
    file = bench.directory / "restrictions" / name
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


DAMAGE = {
    "gone": None,
    "empty": b"",
    "torn": b'{"policies":[',
    "loosened": b'{"policies":[]}',
    "bytes": b"\xff\xfe",
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=[*DAMAGE])
def test_session_whose_restrictions_are_lost_is_blocked(
    bench: Bench, damage: bytes | None
) -> None:
    made = bench.sessions.create(restrictions=restrictions())
    (name,) = kept(bench.directory)
    file = bench.directory / "restrictions" / name
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage)
    again = Bench(bench.directory, bench.ruleset)
    for text in ("bad", "good"):
        assert decide(again, made, text) is Decision.BLOCK
    assert decide(again, again.session, "good") is Decision.ALLOW


def test_match_type_that_is_gone_after_a_reload_blocks(bench: Bench) -> None:
    made = bench.sessions.create(restrictions=restrictions())
    fewer = {name: each for name, each in TYPES.items() if name != "Simple"}
    bench.ruleset = rules(policy("a", "Allow", "", "Regex"), types=fewer)
    assert decide(bench, made, "good") is Decision.BLOCK
    assert "no plugin offers the match type 'Simple'" in bench.events()[-1].reason
    assert decide(bench, bench.session, "good") is Decision.ALLOW


def test_reload_and_new_role_leave_restrictions(bench: Bench) -> None:
    made = bench.sessions.create(restrictions=restrictions())
    bench.ruleset = rules(
        policy("all", "Allow", "", "Simple"), types={**TYPES}, role="free"
    )
    bench.sessions.set_role(made.id, "free")
    assert decide(bench, made) is Decision.BLOCK
    assert decide(bench, made, "good") is Decision.ALLOW
    bench.sessions.freeze(made.id)
    bench.sessions.unfreeze(made.id)
    assert decide(bench, made) is Decision.BLOCK


def test_sessions_with_the_same_restrictions_share_them(bench: Bench) -> None:
    first = bench.sessions.create(restrictions=restrictions())
    second = bench.sessions.create(restrictions=restrictions())
    bench.sessions.create(restrictions=restrictions("worse"))
    assert len(kept(bench.directory)) == 2
    bench.sessions.end(first.id)
    assert len(kept(bench.directory)) == 2
    assert decide(bench, second) is Decision.BLOCK
    bench.sessions.end(second.id)
    assert len(kept(bench.directory)) == 1


def test_start_clears_what_no_session_needs(bench: Bench) -> None:
    made = bench.sessions.create(restrictions=restrictions())
    stray = bench.directory / "restrictions" / ("0" * 64 + ".json")
    stray.write_bytes(b"{}")
    again = Bench(bench.directory, bench.ruleset)
    assert not stray.exists()
    assert decide(again, made) is Decision.BLOCK
    again.sessions.end(made.id)
    assert kept(Bench(bench.directory, bench.ruleset).directory) == []


def test_no_session_is_made_whose_restrictions_cannot_be_kept(bench: Bench) -> None:
    (bench.directory / "restrictions").write_bytes(b"")
    before = bench.sessions.list()
    with pytest.raises(UsageError, match="cannot be kept"):
        bench.sessions.create(restrictions=restrictions())
    assert bench.sessions.list() == before


def test_table_of_a_daemon_without_restrictions_is_read(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    made = SessionTable(file).create(role="r")
    table = json.loads(file.read_bytes())
    for record in table["sessions"]:
        del record["restrictions"]
    file.write_text(json.dumps(table))
    assert SessionTable(file).get(made.id) == made


@pytest.mark.parametrize("value", [1, [], True])
def test_table_with_another_kind_of_restrictions_is_garbage(
    tmp_path: Path, value: object
) -> None:
    file = tmp_path / "s.json"
    made = SessionTable(file).create(role="r")
    table = json.loads(file.read_bytes())
    table["sessions"][0]["restrictions"] = value
    file.write_text(json.dumps(table))
    after = SessionTable(file)
    assert after.problem is not None
    assert after.get(made.id) is None


def test_restrictions_of_an_unknown_digest_are_an_error(tmp_path: Path) -> None:
    sessions = SessionTable(tmp_path / "s.json")
    stranger = Session("x", "r", restrictions="0" * 64)
    with pytest.raises(RedlaneError):
        sessions.restrictions(stranger, MappingProxyType(TYPES))


def test_sessions_that_come_and_go_at_once_keep_their_restrictions(
    bench: Bench,
) -> None:
    sets = [restrictions(), restrictions("worse")]
    wrong: list[Decision] = []

    def come_and_go(number: int) -> None:
        for turn in range(15):
            made = bench.sessions.create(restrictions=sets[(number + turn) % 2])
            for text, right in (
                ("bad worse", Decision.BLOCK),
                ("good", Decision.ALLOW),
            ):
                if decide(bench, made, text) is not right:
                    wrong.append(right)
            bench.sessions.end(made.id)

    threads = [Thread(target=come_and_go, args=(each,)) for each in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []
    assert kept(bench.directory) == []


def test_kept_restrictions_are_written_again_when_their_file_is_gone(
    bench: Bench,
) -> None:
    first = bench.sessions.create(restrictions=restrictions())
    (name,) = kept(bench.directory)
    (bench.directory / "restrictions" / name).unlink()
    bench.sessions.create(restrictions=restrictions())
    assert kept(bench.directory) == [name]
    assert decide(Bench(bench.directory, bench.ruleset), first) is Decision.BLOCK
