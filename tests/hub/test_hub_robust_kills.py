"""A hub that is killed with SIGKILL keeps what it acknowledged, and nothing half."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_process import HubProcess
from hub_rounds import VICTIMS, Attack
from hub_witness import Publisher, talk_to


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    process = HubProcess(tmp_path)
    yield process
    process.stop(9)
    # Shown with a test that fails: what the hub itself says of it.
    sys.stderr.write(process.errors[-10_000:])


def attack(hub: HubProcess, rounds: int, seed: int) -> Attack:
    made = Attack(hub, seed)
    for victim in VICTIMS:
        # Half of the rounds with one process.
        for _ in range(rounds // 2 if victim == "alone" else rounds // 6):
            made.round(victim)
    return made


def check_everything(made: Attack) -> None:
    for each in made.witnesses:
        if isinstance(each, Publisher):
            with talk_to(made.hub, each.member) as talk:
                each.check_all(talk)


def test_what_was_acknowledged_survives_six_kills(hub: HubProcess) -> None:
    made = attack(hub, 6, seed=1)
    check_everything(made)
    assert made.tally.count > 10


@pytest.mark.soak
@pytest.mark.timeout(1500)
def test_what_was_acknowledged_survives_two_hundred_kills(hub: HubProcess) -> None:
    made = attack(hub, 204, seed=2)
    check_everything(made)
    done = hub.command("restore", "--check", str(hub.database))
    assert done.returncode == 0, done.stdout
    assert made.tally.count > 1000
