"""What one account can make others read, or the hub keep, is bounded."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_instance import Running, new_hub
from hub_publisher import Publisher, new_publisher

from redlane_hub.identifiers import new_id
from redlane_hub.model import SigningKey
from redlane_hub.services.keys import MOST_KEYS
from redlane_hub.store import keys

MOMENT = "2020-01-01T00:00:00.000000Z"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


def test_an_account_has_no_more_keys_than_a_list_can_show(running: Running) -> None:
    ann, bob = new_publisher(running), new_publisher(running, "bob@example.com")
    me = running.call("GET", "/api/v1/me", ann.token).json["id"]
    with running.database.transaction() as connection:
        for number in range(MOST_KEYS - 1):
            made = f"{number:064}"
            key = SigningKey(new_id(), me, made, bytes(32), None, MOMENT, None)
            keys.insert(connection, key)
            keys.revoke(connection, me, made, MOMENT)
    assert ann.register_key().status_code == 201
    # That it exists is told first, as the specification's list has it.
    assert ann.register_key().status_code == 409
    one_more = Publisher(running, ann.token, ann.email).register_key()
    assert (one_more.status_code, one_more.json) == (
        400,
        {
            "error": f"an account may have at most {MOST_KEYS} signing keys, "
            "revoked ones included"
        },
    )
    assert len(ann.listed_keys()) == MOST_KEYS
    assert bob.register_key().status_code == 201


@pytest.mark.parametrize(("extra", "status"), [(0, 201), (1, 400)])
def test_a_schema_is_no_larger_than_a_content(
    tmp_path: Path, extra: int, status: int
) -> None:
    most = 1000
    running = new_hub(tmp_path, max_content_bytes=most)
    ann = new_publisher(running)
    schema = {"title": ""}
    room = most - len('{"title": ""}') + extra
    schema["title"] = "é" * (room // 2) + "a" * (room % 2)
    answer = ann.publish(schema=schema)
    assert answer.status_code == status
    if extra:
        said = f"'schema' must have at most {most} bytes, not {most + extra}"
        assert answer.json == {"error": said}
    running.close()
