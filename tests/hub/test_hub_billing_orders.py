"""The provider's events in every order, at the same time, and whole or not at all."""

import itertools
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import hub_payment_provider as provider
import pytest
from hub_billing import SUBSCRIPTION, make, status, tell, user_id
from hub_instance import Running
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Running]:
    made = make(tmp_path)
    yield made
    made.close()


def story(user: str) -> list[bytes]:
    """A renewal that failed, an end, and a new subscription by the same customer."""
    return [
        provider.subscription("evt_1", "created", 10, "incomplete"),
        provider.subscription("evt_2", "updated", 10, "active"),
        provider.checkout("evt_3", 11, user, paid=True),
        provider.subscription("evt_4", "updated", 20, "past_due"),
        provider.subscription("evt_5", "deleted", 30, "canceled"),
        provider.subscription("evt_6", "created", 40, "trialing", name="sub_2"),
    ]


def end_of(hub: Running, bodies: list[bytes]) -> dict[str, object]:
    token = hub.register("ada@example.com")
    user = user_id(hub, token)
    for body in bodies:
        tell(hub, body.replace(b"USER", user.encode()))
    found = hub.call("GET", SUBSCRIPTION, token).json
    return {name: found[name] for name in ("status", "subscription_id")}


@settings(max_examples=examples(25), deadline=None)
@given(order=st.permutations(range(6)), twice=st.integers(0, 5))
def test_every_order_of_arrival_ends_the_same(order: list[int], twice: int) -> None:
    bodies = story("USER")
    with tempfile.TemporaryDirectory() as directory:
        hub = make(Path(directory))
        arrived = [bodies[place] for place in order]
        arrived.insert(twice, bodies[5 - twice])
        found = end_of(hub, arrived)
        hub.close()
    assert found == {"status": "trialing", "subscription_id": "sub_2"}


def test_three_events_in_every_order(tmp_path: Path) -> None:
    bodies = [
        provider.checkout("evt_1", 10, "USER"),
        provider.subscription("evt_2", "updated", 10, "active"),
        provider.subscription("evt_3", "deleted", 10, "active"),
    ]
    for place, order in enumerate(itertools.permutations(bodies)):
        directory = tmp_path / str(place)
        directory.mkdir()
        hub = make(directory)
        found = end_of(hub, list(order))
        hub.close()
        assert found == {"status": "canceled", "subscription_id": "sub_1"}


def test_events_at_the_same_time_are_all_taken(hub: Running) -> None:
    token = hub.register("ada@example.com")
    bodies = [provider.checkout("evt_0", 1, user_id(hub, token))]
    bodies += [
        provider.subscription(f"evt_{number}", "updated", number, "active")
        for number in range(1, 30)
    ]
    bodies.append(provider.subscription("evt_99", "deleted", 99, "canceled"))
    answers: list[int] = []

    def send(share: list[bytes]) -> None:
        answers.extend(tell(hub, body).status_code for body in share)
        hub.database.close()

    threads = [
        threading.Thread(target=send, args=(bodies[at:] + bodies[:at],))
        for at in (0, 10, 20, 30)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert set(answers) == {200}
    assert status(hub, token) == ("canceled", "sub_1")
    count = hub.database.reading().execute("SELECT count(*) FROM payment_events")
    assert count.fetchone()[0] == len(bodies)


def test_event_is_kept_whole_or_not_at_all(hub: Running) -> None:
    token = hub.register("ada@example.com")
    user = user_id(hub, token)
    hub.database.reading().execute("DROP TABLE subscriptions")
    assert tell(hub, provider.checkout("evt_1", 1, user)).status_code == 500
    count = hub.database.reading().execute("SELECT count(*) FROM payment_events")
    assert count.fetchone()[0] == 0
