"""MlClassifier policies (policy format: Match types, Errors)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spec.redlane_home import Home, wait_for
from tiny_models import TRIGGER, install, rewrite

CLASSIFIER = {
    "id": "ml",
    "type": "MlClassifier",
    "model": "tiny",
    "block_threshold": 0.9,
    "flag_threshold": 0.1,
    "action": "Block",
}
DOUBTFUL = "a doubtful a"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path)
    install(made.dir / "models")
    yield made
    made.stop()


def holds(home: Home, **fields: Any) -> Home:
    home.policies({**CLASSIFIER, **fields})
    home.role("r", "ml")
    return home


SCORED = {TRIGGER: "BLOCK", DOUBTFUL: "FLAG", "a": "ALLOW"}


@pytest.mark.parametrize("context", ["Shell", "Network", "Inbound"])
def test_score_decides_in_every_context_that_is_supported(
    home: Home, context: str
) -> None:
    holds(home, context=context)

    for content, verdict in SCORED.items():
        assert home.verdict(content, "r", context)["verdict"] == verdict


def test_context_all_takes_part_where_it_is_supported(home: Home) -> None:
    holds(home, context="All")

    for context in ("Shell", "Network", "Inbound"):
        assert home.verdict(TRIGGER, "r", context)["verdict"] == "BLOCK"
    call = {"server": "a", "tool": TRIGGER, "arguments": {}}
    assert home.verdict(call, "r", "Mcp")["verdict"] == "ALLOW"


@pytest.mark.parametrize("action", ["Block", "Flag", "Modify"])
def test_action_is_accepted_and_ignored(home: Home, action: str) -> None:
    more: dict[str, Any] = {}
    if action == "Modify":
        more["transform"] = {"type": "Regex", "pattern": "a", "replacement": "b"}
    holds(home, action=action, **more)

    found = {text: home.verdict(text, "r", "Inbound")["verdict"] for text in SCORED}
    assert found == SCORED


def test_verdict_tells_score_and_model(home: Home) -> None:
    found = holds(home).verdict(TRIGGER, "r", "Inbound")

    assert found["score"] == pytest.approx(0.982, abs=0.001)
    assert found["details"]["model"] == "tiny"


ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "action Allow": ({"action": "Allow"}, "cannot have action Allow"),
    "context Syscall": ({"context": "Syscall", "syscall": "open"}, "Syscall"),
    "context Mcp": ({"context": "Mcp"}, "Mcp"),
    "no model": ({"model": None}, "need `model`"),
    "a threshold that is no number": ({"block_threshold": "high"}, "block_threshold"),
}


@pytest.mark.parametrize(("fields", "told"), ERRORS.values(), ids=ERRORS)
def test_policy_that_can_have_no_effect_is_a_load_error(
    home: Home, fields: dict[str, Any], told: str
) -> None:
    checked = holds(home, **fields).check()

    assert checked.code == 1
    assert told in json.dumps(checked.errors)


def test_missing_model_is_a_warning_and_blocks(home: Home) -> None:
    holds(home, model="nowhere")
    checked = home.check()
    found = home.verdict("a", "r", "Inbound")

    assert checked.code == 0
    assert "'nowhere' is not installed" in json.dumps(checked.warnings)
    assert found["verdict"] == "BLOCK"
    assert "nowhere" in found["reason"]


def test_unloadable_model_blocks(home: Home) -> None:
    holds(home)
    rewrite(home.dir / "models" / "tiny", {"files": {"model.onnx": "0" * 64}})

    found = home.verdict("a", "r", "Inbound")

    assert found["verdict"] == "BLOCK"
    assert "is not what model.json says" in found["reason"]


def test_allow_comes_before_a_classifier(home: Home) -> None:
    allow = {"id": "fine", "type": "Simple", "action": "Allow", "pattern": TRIGGER}
    home.policies(CLASSIFIER, {**allow, "context": "Inbound"})
    home.role("r", "ml", "fine")

    assert home.verdict(TRIGGER, "r", "Inbound")["verdict"] == "ALLOW"


def test_daemon_takes_another_model_with_a_reload(home: Home) -> None:
    """Under way a verdict keeps the model that it was begun with."""
    holds(home).start("--role", "r")
    blocked = analyzed(home, TRIGGER)
    folder = home.dir / "models" / "tiny"
    folder.rename(folder.with_name("old"))
    kept = analyzed(home, TRIGGER)
    home.run("session", "reload")
    gone = analyzed(home, "a")
    folder.with_name("old").rename(folder)
    home.run("session", "reload")

    assert [each["verdict"] for each in (blocked, kept, gone)] == ["BLOCK"] * 3
    assert "not installed" in gone["reason"]
    assert analyzed(home, "a")["verdict"] == "ALLOW"
    wait_for(lambda: len(workers(home)) == 1)
    home.stop()
    wait_for(lambda: not workers(home))


LONG = "a " * 40_000
"""More than three segments."""
AFTER = LONG + TRIGGER

OVERSIZE = {"flag": ("ALLOW", "FLAG"), "allow": ("ALLOW", "ALLOW"), "block": None}


@pytest.mark.parametrize("action", OVERSIZE)
def test_what_is_not_scored_is_declared(home: Home, action: str) -> None:
    holds(home, context="Inbound")
    home.settings(inbound_scan={"oversize_action": action})
    home.start("--role", "r")
    found = analyzed(home, AFTER)
    events = home.control.get("/api/events?limit=2").json["events"]

    wanted = OVERSIZE[action]
    if wanted is None:
        assert found["verdict"] == "BLOCK"
        assert "were not scored by model 'tiny'" in found["reason"]
        return
    assert found["verdict"] == wanted[0]
    told = next(each for each in events if each["id"] != found["event"])
    assert told["verdict"] == wanted[1]
    assert told["context"] == "Inbound"
    assert f"{len(AFTER) - 21_000} of {len(AFTER)} characters" in told["reason"]


@pytest.mark.parametrize("action", OVERSIZE)
def test_validate_tells_what_is_not_scored(home: Home, action: str) -> None:
    holds(home, context="Inbound")
    home.settings(inbound_scan={"oversize_action": action})

    found = home.verdict(AFTER, "r", "Inbound")

    assert found["verdict"] == ("BLOCK" if action == "block" else "ALLOW")
    assert "were not scored by model 'tiny'" in found["reason"]


def test_segments_that_are_scored_are_a_setting(home: Home) -> None:
    holds(home, context="Inbound")
    home.settings(inbound_scan={"max_segments": 12})

    assert home.verdict(AFTER, "r", "Inbound")["verdict"] == "BLOCK"


def test_block_in_what_is_scored_needs_no_rest(home: Home) -> None:
    holds(home, context="Inbound")
    home.settings(inbound_scan={"oversize_action": "allow"})
    home.start("--role", "r")

    assert analyzed(home, f"{TRIGGER} {LONG}")["verdict"] == "BLOCK"


def test_what_the_budget_leaves_out_is_declared(home: Home) -> None:
    holds(home, context="Inbound", model="slow")
    install(home.dir / "models", "slow", window=3, stride=1)
    scan = {"budget_ms": 300, "max_segments": 1000, "oversize_action": "block"}
    home.settings(inbound_scan=scan)
    home.start("--role", "r")
    assert analyzed(home, "a")["verdict"] == "ALLOW"

    found = analyzed(home, "a " * 2_000_000)

    assert found["verdict"] == "BLOCK"
    assert "of 4000000 characters were not scored" in found["reason"]


def test_text_of_a_page_is_scored_and_not_its_source(home: Home) -> None:
    holds(home, context="Inbound")
    page = f"<html><body><p>a</p><p>{TRIGGER}</p></body></html>"

    assert home.verdict(page, "r", "Inbound")["verdict"] == "BLOCK"


def test_picture_is_not_scored(home: Home) -> None:
    holds(home, context="Inbound", model="nowhere")

    picture = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
    assert home.verdict(picture, "r", "Inbound")["verdict"] == "ALLOW"
    assert home.verdict("a", "r", "Inbound")["verdict"] == "BLOCK"


def test_other_contexts_are_scored_whole(home: Home) -> None:
    holds(home, context="Network")

    assert home.verdict(AFTER, "r", "Network")["verdict"] == "BLOCK"


def analyzed(home: Home, content: str) -> dict[str, Any]:
    asked = {"content": content, "context": "Inbound"}
    body = home.control.post("/api/analyze", asked).json
    assert isinstance(body, dict)
    return body


def workers(home: Home) -> list[str]:
    """The processes that hold models of this home."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = place.read_bytes().split(b"\0")
        except OSError:
            continue
        if str(home.dir / "models").encode() in words:
            found.append(place.parent.name)
    return found
