"""A hub that was restored from a backup answers as the one that was backed up."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hub_instance import Running, new_hub
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from redlane_hub.clock import system_clock
from redlane_hub.services.backup import back_up
from redlane_hub.services.restore import restore

SECRET = "the secret that both hubs have in common"

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abcé", max_size=3), inner),
    max_leaves=5,
)
publications = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["guard", "Mask.keys", "no-push"]),
            "version": st.sampled_from(["1", "1.0.0+b", "2"]),
            "content": json_values.map(lambda value: json.dumps(value, indent=1)),
            "visibility": st.sampled_from(["public", "private", "draft"]),
            "tags": st.lists(st.sampled_from(["git", "ÄÖ", "x y"]), max_size=2),
            "description": st.none() | st.sampled_from(["Straße", "plain"]),
        }
    ),
    max_size=6,
)


def ignore(_done: int, _total: int) -> None:
    pass


def answers(running: Running, token: str, names: list[tuple[str, str]]) -> list[Any]:
    asked: list[Any] = []
    for viewer in (None, token):
        for query in ("", "?q=STRASSE", "?tag=git", "?limit=2&offset=1"):
            found = running.call("GET", f"/api/v1/artifacts/search{query}", viewer)
            assert found.status_code == 200
            asked.append(found.json)
        for name, version in names:
            path = f"/api/v1/artifacts/{name}/{version}"
            asked.append(running.call("GET", path, viewer).text)
            asked.append(running.call("GET", f"{path}/resolve", viewer).json)
    asked.append(running.call("GET", "/api/v1/me", token).json)
    asked.append(running.call("GET", "/api/v1/me/signing-keys", token).json)
    return asked


@settings(max_examples=examples(12), deadline=None)
@given(published=publications, yanked=st.sets(st.integers(0, 5)))
def test_a_restored_hub_answers_as_the_one_that_was_backed_up(
    published: list[dict[str, Any]], yanked: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        first, second = Path(name, "first"), Path(name, "second")
        first.mkdir()
        second.mkdir()
        running = new_hub(first, secret=SECRET)
        token = running.register("ada@example.org")
        for number, each in enumerate(published):
            made = running.call("POST", "/api/v1/artifacts", token, json=each)
            if made.status_code == 201 and number in yanked:
                path = f"/api/v1/artifacts/{made.json['id']}/yank"
                assert running.call("POST", path, token, json={}).status_code == 204
        back_up(running.database, first / "copy.db", ignore)
        restore(
            first / "copy.db", second / "hub.db", ignore, system_clock, replace=False
        )
        restored = new_hub(second, secret=SECRET)
        restored.clock.now = running.clock.now
        names = [(each["name"], each["version"]) for each in published]
        try:
            assert answers(restored, token, names) == answers(running, token, names)
        finally:
            running.close()
            restored.close()
