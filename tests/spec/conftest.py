"""Fixtures of the acceptance suite: homes, daemons, judges for tables, and a hub."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_process import HubProcess
from proxied import MakeLab, Proxied, Site, lab_maker, proxied, site
from spec.agent_home import write_agent
from spec.calling_agents import Agents
from spec.cases import Case, Judge, simple, write_cases
from spec.hub_client import Account, HubClient, client_of
from spec.hub_tokens import SECRET
from spec.redlane_home import Home
from supervised import Person, guarded


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """An empty home; a daemon that the test leaves behind is stopped."""
    home = Home(tmp_path_factory.mktemp("h"))
    yield home
    home.stop()


@pytest.fixture
def holding(home: Home) -> Home:
    """A running daemon that holds what is odd."""
    home.policies({"id": "flag", **simple("Flag", "odd")})
    home.role("agent", "flag")
    home.settings(review={"timeout_seconds": 30})
    home.start("--role", "agent")
    return home


@pytest.fixture(scope="module")
def table_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Home:
    """A home with the policies and roles of the module's CASES."""
    home = Home(tmp_path_factory.mktemp("table"))
    write_cases(home, request.module.CASES)
    return home


@pytest.fixture(scope="module")
def table_daemon(table_home: Home) -> Iterator[Home]:
    """The table's home with a running daemon."""
    try:
        table_home.start()
        yield table_home
    finally:
        table_home.stop()


@pytest.fixture(scope="module", params=["validate", "daemon"])
def judge(request: pytest.FixtureRequest, table_home: Home) -> Judge:
    """Judges a case of the table; validate and the daemon must agree on all."""
    if request.param == "validate":

        def validate(case: Case) -> dict[str, Any]:
            return table_home.verdict(case.content, case.id, case.context)

        return validate
    daemon: Home = request.getfixturevalue("table_daemon")

    def analyze(case: Case) -> dict[str, Any]:
        return daemon.control.analyze(
            case.content, case.context, role=case.id, hold=False
        )

    return analyze


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A running daemon whose agent may run all but what is `forbidden`."""
    home = Home(tmp_path_factory.mktemp("shell"))
    write_agent(home)
    try:
        home.start("--role", "agent")
        yield home
    finally:
        home.stop()


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """What a command touches that must not run."""
    return tmp_path / "canary"


@pytest.fixture(scope="session")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    """A hub with the settings it comes with; its tests make names of their own."""
    hub = HubProcess(tmp_path_factory.mktemp("hub"), secret=SECRET)
    try:
        hub.start()
        yield hub
    finally:
        hub.stop()


@pytest.fixture(scope="session")
def anyone(hub: HubProcess) -> HubClient:
    """Requests to that hub without a token."""
    return client_of(hub)


@pytest.fixture(scope="session")
def author(hub: HubProcess, anyone: HubClient) -> Account:
    """An approved account, which nobody changes."""
    account = anyone.register()
    hub.approve(account.email)
    return account


@pytest.fixture(scope="session")
def rival(hub: HubProcess, anyone: HubClient) -> Account:
    """Another approved account, which nobody changes."""
    account = anyone.register()
    hub.approve(account.email)
    return account


@pytest.fixture(scope="session")
def newcomer(anyone: HubClient) -> Account:
    """An account that nobody has approved, and nobody changes."""
    return anyone.register()


@pytest.fixture(scope="module")
def agents() -> Iterator[Agents]:
    with guarded(Person(None)) as place:
        place.start()
        yield Agents(place)


@pytest.fixture
def work(agents: Agents) -> Path:
    """`free` and `denied`, directories with one file each, `x`, and links to both."""
    agents.place.renew_work()
    for name in ("free", "denied"):
        (agents.work / name).mkdir()
        (agents.work / name / "x").write_text(name)
        (agents.work / f"to-{name}").symlink_to(name)
    (agents.work / "free" / "link").symlink_to(agents.work / "denied" / "x")
    (agents.work / "denied" / "link").symlink_to(agents.work / "free" / "x")
    return agents.work


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """An origin; tests tell their requests from others' by markers."""
    with site(tmp_path_factory.mktemp("origin")) as made:
        yield made


@pytest.fixture(scope="module")
def lab(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    place: Site,
) -> Iterator[Proxied]:
    """A daemon and its proxy with the module's POLICIES, ROLES and SETTINGS."""
    module = request.module
    settings = getattr(module, "SETTINGS", {})
    roles = getattr(module, "ROLES", {})
    base = tmp_path_factory.mktemp("lab")
    with proxied(base, place, module.POLICIES, roles, **settings) as made:
        yield made


@pytest.fixture(scope="module")
def make_lab(
    tmp_path_factory: pytest.TempPathFactory, place: Site
) -> Iterator[MakeLab]:
    """Makes further ones, each once for the module."""
    with lab_maker(lambda: tmp_path_factory.mktemp("lab"), place) as make:
        yield make
