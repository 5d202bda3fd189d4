"""The pages in a real browser: without scripts, on a phone, in the dark."""

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest
from hub_instance import PASSWORD, new_hub
from hub_pages import live_token, publish
from hub_process import HubProcess
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

CHROMIUM = shutil.which("chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
EMAIL = "ada@example.org"
NEW = "a new pass phrase"
LONG_NAME = "n" * 128
LONG_VERSION = "v" * 64
PATHS = [
    "/",
    "/?tag=shell",
    "/artifacts/starter",
    f"/artifacts/{LONG_NAME}",
    f"/artifacts/{LONG_NAME}/{LONG_VERSION}",
    "/artifacts/starter/1.0",
    "/artifacts/missing",
    "/reset-password?token=abc",
    "/checkout/success",
]

pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is missing: run packaging/test-packages.sh"
)


@dataclass
class Site:
    """A hub that serves, and reset tokens that live."""

    process: HubProcess
    tokens: list[str]

    @property
    def url(self) -> str:
        return f"http://{self.process.host}:{self.process.port}"


@dataclass
class Watched:
    """A browser's page, and what went wrong or elsewhere on it."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)

    def hear(self, message: ConsoleMessage) -> None:
        """Mind errors and warnings; hints to the developer are others."""
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)

    def miss(self, request: Request) -> None:
        """Mind what failed, unless the browser had already gone elsewhere."""
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"{request.url}: {request.failure}")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("site")
    hub = new_hub(directory)
    hub.clock.now = datetime.now(UTC)
    ada = hub.register(EMAIL, recognise=True)
    bob = hub.register(f"{'b' * 60}@{'d' * 60}.example.org")
    content = {"pattern": "x" * 500, "n": [1, 2.5, None, True], "script": "<script>"}
    made = publish(
        hub,
        ada,
        content=json.dumps(content),
        description="Guards a shell.\nWith two lines.",
        tags=["shell", "<b>bold</b>"],
    )
    publish(
        hub,
        bob,
        LONG_NAME,
        LONG_VERSION,
        description="d" * 1000,
        tags=["t" * 64, *(f"tag-{number}" for number in range(19))],
        dependencies=[{"name": "starter", "version": "1.0"}],
    )
    publish(hub, bob, version="1.1")
    for token in (ada, bob):
        path = f"/api/v1/artifacts/{made['id']}/endorsements"
        hub.call("POST", path, token, json={})
    hub.call("POST", f"/api/v1/artifacts/{made['id']}/yank", ada, json={"reason": "r"})
    other = hub.register("bob@example.org")
    assert other
    tokens = [live_token(hub, EMAIL), live_token(hub, "bob@example.org")]
    hub.close()
    process = HubProcess(directory)
    process.start()
    yield Site(process, tokens)
    process.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield made
        made.close()


@contextmanager
def watched(
    browser: Browser,
    *,
    width: int = 1000,
    scheme: Literal["light", "dark"] = "light",
    scripts: bool = False,
) -> Iterator[Watched]:
    """A page without scripts, of which nothing may be complained in the end."""
    context = browser.new_context(
        java_script_enabled=scripts,
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
    )
    page = context.new_page()
    made = Watched(page)
    page.on("console", made.hear)
    page.on("pageerror", lambda error: made.complaints.append(str(error)))
    page.on("requestfailed", made.miss)
    page.on("request", lambda request: made.requests.append(request))  # noqa: PLW0108  # a builtin cannot be marked
    yield made
    context.close()


def without_statuses(complaints: list[str]) -> list[str]:
    """All but what the console says of an answer's own 4xx."""
    return [each for each in complaints if "status of 4" not in each]


def test_password_is_reset_without_scripts(site: Site, browser: Browser) -> None:
    token = site.tokens[0]
    with watched(browser) as seen:
        page = seen.page
        page.goto(f"{site.url}/reset-password?token={token}")
        field = page.get_by_label("New password")
        field.fill("short")
        page.get_by_role("button", name="Set password").click()
        assert page.url == f"{site.url}/reset-password"
        assert "8" in page.get_by_role("alert").inner_text()
        field.fill(NEW)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="Your password was changed").wait_for()
        assert without_statuses(seen.complaints) == []
    for password, status in ((PASSWORD, 401), (NEW, 200)):
        assert log_in(browser, site, password) == status
    sent = [each for each in seen.requests if token in each.url]
    assert len(sent) == 1
    assert not [each for each in seen.requests if each.headers.get("referer")]


def log_in(browser: Browser, site: Site, password: str) -> int:
    context = browser.new_context()
    answer = context.request.post(
        f"{site.url}/api/v1/login", data={"email": EMAIL, "password": password}
    )
    context.close()
    return answer.status


def test_no_page_breaks_its_own_policy_or_order(site: Site, browser: Browser) -> None:
    with watched(browser, scripts=True) as seen:
        for path in PATHS:
            seen.page.goto(site.url + path)
            levels = seen.page.evaluate(
                "[...document.querySelectorAll('h1,h2,h3,h4,h5,h6')]"
                ".map(each => +each.tagName[1])"
            )
            assert levels[0] == 1
            assert set(levels[1:]) <= {2}
            for role in ("banner", "main", "contentinfo"):
                assert seen.page.get_by_role(role).count() == 1  # type: ignore[arg-type]  # a role
        assert without_statuses(seen.complaints) == []
    assert all(each.url.startswith(f"{site.url}/") for each in seen.requests)
    styled = [each for each in seen.requests if each.resource_type == "stylesheet"]
    assert styled


def test_policy_stops_a_script_that_slipped_in(site: Site, browser: Browser) -> None:
    with watched(browser, scripts=True) as seen:
        seen.page.goto(site.url)
        seen.page.evaluate(
            """() => {
                const made = document.createElement('script');
                made.textContent = 'document.title = "broken"';
                document.body.append(made);
            }"""
        )
        assert seen.page.title() != "broken"
        assert "Content Security Policy" in seen.complaints[0]


def test_nothing_is_wider_than_the_screen(site: Site, browser: Browser) -> None:
    with watched(browser) as seen:
        for path in PATHS:
            seen.page.goto(site.url + path)
            for width in (320, 360, 1000):
                seen.page.set_viewport_size({"width": width, "height": 800})
                found = seen.page.evaluate("document.documentElement.scrollWidth")
                assert (path, found) == (path, width)


@pytest.mark.parametrize("width", [360, 1000])
def test_tables_stay_tables_on_a_phone(
    site: Site, browser: Browser, width: int
) -> None:
    with watched(browser, width=width) as seen:
        seen.page.goto(f"{site.url}/artifacts/starter/1.0")
        table = seen.page.get_by_role("table", name="Endorsements, newest first")
        assert table.get_by_role("rowheader").count() == 2
        assert table.get_by_role("columnheader").all_inner_texts()[0] == "By"


def test_keyboard_reaches_the_content_first(site: Site, browser: Browser) -> None:
    with watched(browser) as seen:
        page = seen.page
        page.goto(site.url)
        page.keyboard.press("Tab")
        skip = page.get_by_role("link", name="Skip to the content")
        box = skip.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        outline = skip.evaluate("each => getComputedStyle(each).outlineStyle")
        assert outline == "solid"
        page.keyboard.press("Enter")
        page.wait_for_url("**/#main")


def test_search_finds_by_form(site: Site, browser: Browser) -> None:
    with watched(browser) as seen:
        page = seen.page
        page.goto(site.url)
        page.get_by_label("Search names and descriptions").fill(LONG_NAME[:9])
        button = page.get_by_role("button", name="Search")
        box = button.bounding_box()
        assert box is not None
        assert box["height"] < 50, "its word is broken"
        button.click()
        page.get_by_role("link", name=re.compile(LONG_NAME)).click()
        page.get_by_role("link", name="starter@1.0").click()
        assert page.get_by_role("heading", level=1).inner_text() == "starter@1.0"
        assert "Yanked by its owner." in page.get_by_role("note").inner_text()


def colours(page: Page) -> tuple[list[float], list[float]]:
    """The brightness of the text and of the ground."""
    found: list[Any] = page.evaluate(
        "(style => [style.color, style.backgroundColor])"
        "(getComputedStyle(document.body))"
    )
    made = [[float(part) for part in re.findall(r"[\d.]+", each)] for each in found]
    return made[0], made[1]


def test_pages_are_light_or_dark_as_the_reader_likes(
    site: Site, browser: Browser, tmp_path: Path
) -> None:
    shots = set()
    for scheme in ("light", "dark"):
        with watched(browser, scheme=scheme) as seen:
            seen.page.goto(f"{site.url}/artifacts/starter/1.0")
            text, ground = colours(seen.page)
            assert (sum(text) < sum(ground)) is (scheme == "light")
            path = tmp_path / f"{scheme}.png"
            seen.page.screenshot(path=path, full_page=True)
            shots.add(path.read_bytes())
    assert len(shots) == 2
