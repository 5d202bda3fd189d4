"""Real agents, played by a scripted model, do under `redlane run` what they do alone.

What the starter role `developer` refuses is refused to each, by its shell and by its
own tools, and the model is told.
"""

import functools
import pwd
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import pytest
from agents.agent import Agent
from agents.ground import SECRET, STARTUP, Played, play
from agents.node_agents import NODE_AGENTS
from agents.other_agents import OTHERS
from agents.programs import programs_of
from agents.scripts import NEW, Script, allowed, refused
from calls_home import needs_filters
from supervised import PEOPLE, Person, person_named

# Installing has its own time.
pytestmark = [
    needs_filters,
    pytest.mark.slow,
    pytest.mark.timeout(300, func_only=True),
]

ROOT = Path(__file__).parents[2]
AGENTS: dict[str, Agent] = {each.name: each for each in (*NODE_AGENTS, *OTHERS)}

Way = Literal["alone", "held"]
WAYS: tuple[Way, ...] = ("alone", "held")
Play = Callable[[Script, Way], Played]


@pytest.fixture(scope="module")
def installed() -> Iterator[Callable[[Agent], Path]]:
    """Where an agent is; it is installed when it is first asked for."""
    with ExitStack() as stack:

        @functools.cache
        def where(kind: str, packages: tuple[str, ...]) -> Path | str:
            (agent, *_) = (
                each
                for each in AGENTS.values()
                if (each.kind, each.packages) == (kind, packages)
            )
            try:
                return stack.enter_context(programs_of(agent, ROOT / ".run"))
            except OSError as error:
                return str(error)

        def found(agent: Agent) -> Path:
            place = where(agent.kind, agent.packages)
            if isinstance(place, str):
                pytest.skip(f"NOT TESTED: {agent.name} cannot be installed: {place}")
            return place

        yield found


@pytest.fixture(scope="module", params=AGENTS)
def agent(request: pytest.FixtureRequest) -> Agent:
    return AGENTS[request.param]


@pytest.fixture(scope="module", params=PEOPLE)
def played(
    request: pytest.FixtureRequest,
    agent: Agent,
    installed: Callable[[Agent], Path],
) -> Play:
    """Plays a script with an agent, once, however many tests look at it."""
    person = person_named(request.param)
    if agent.wants_account and person.uid is not None:
        # One of those that each Debian has, and nobody uses.
        person = Person(pwd.getpwnam("games").pw_uid)
    programs = installed(agent)

    @functools.cache
    def once(script: Script, way: Way) -> Played:
        return play(agent, person, programs, script, held=way == "held")

    return once


def test_what_is_allowed_ends_as_it_does_alone(agent: Agent, played: Play) -> None:
    for way in WAYS:
        done = played(allowed, way)
        assert done.ran.code == 0, done
        assert "hello-from-a-command" in done.told["shell"], done
        assert "notes.txt" in done.told["shell"]
        assert done.written is not None, done
        assert done.written.rstrip() == NEW.rstrip()
        assert "the note says 4711" in done.told["read"], done
    if agent.is_terse:
        assert played(allowed, "held").ran.out == played(allowed, "alone").ran.out


def test_nothing_of_what_is_allowed_is_refused(agent: Agent, played: Play) -> None:
    blocked = played(allowed, "held").blocked
    assert [each for each in blocked if not re.search(agent.does_without, each)] == []


def test_forbidden_command_is_stopped_and_the_model_told_why(played: Play) -> None:
    told = played(refused, "held").told["forbidden command"]
    assert re.search("redlane: blocked: policy .*shell-read-credentials", told), told


def test_file_outside_stays_as_it_is_and_the_model_gets_an_error(
    agent: Agent, played: Play
) -> None:
    done = played(refused, "held")
    assert done.startup == STARTUP
    assert re.search(agent.refused, done.told["outside"]), done.told
    assert "redlane: refused" in done.told["outside by a program"], done.told


def test_hidden_file_is_not_read_and_the_model_gets_an_error(
    agent: Agent, played: Play
) -> None:
    done = played(refused, "held")
    assert SECRET not in done.seen
    assert re.search(agent.refused, done.told["hidden"]), done.told
    assert re.search("redlane: (refused|blocked)", done.told["hidden by a program"])


def test_agent_goes_on_after_refusals(played: Play) -> None:
    done = played(refused, "held")
    assert done.ran.code == 0, done
    assert STARTUP.strip() in done.told["look"], done.told
    assert "still-at-work" in done.told["afterwards"], done.told


def test_all_of_it_goes_through_alone(agent: Agent, played: Play) -> None:
    """What is refused above is refused by Redlane, and not by the agent."""
    done = played(refused, "alone")
    assert SECRET in done.told["forbidden command"], done.told
    assert SECRET in done.told["hidden"], done.told
    if not agent.is_boxed:
        assert "evil" in done.startup, done.told
