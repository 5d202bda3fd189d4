"""What every page's answer carries, and the files that pages need."""

import re
from collections.abc import Iterator

import pytest
from hub_instance import Running, new_hub
from hub_pages import publish, read

PAGES = [
    "/",
    "/artifacts/starter",
    "/artifacts/starter/1.0",
    "/artifacts/missing",
    "/artifacts/missing/1.0",
    "/reset-password?token=abc",
    "/reset-password",
    "/checkout/success",
    "/checkout/cancel",
    "/static/missing",
]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = new_hub(tmp_path_factory.mktemp("hub"))
    publish(made, made.register("ada@example.org"))
    yield made
    made.close()


@pytest.mark.parametrize("path", PAGES)
def test_page_lets_a_browser_do_nothing_else(hub: Running, path: str) -> None:
    headers = hub.call("GET", path).headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["content-type"] == "text/html; charset=utf-8"
    assert "set-cookie" not in headers


@pytest.mark.parametrize(
    ("name", "media_type"),
    [("style", "text/css; charset=utf-8"), ("favicon", "image/svg+xml")],
)
def test_assets_are_kept_for_a_year_under_a_name_that_changes(
    hub: Running, name: str, media_type: str
) -> None:
    links = [each["href"] for each in read(hub, "/").all("link")]
    (path,) = [each for each in links if name in each]
    assert re.fullmatch(rf"/static/{name}\.[0-9a-f]{{12}}\.(css|svg)", path)
    found = hub.call("GET", path)
    assert found.status_code == 200
    assert found.headers["content-type"] == media_type
    assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert "http" not in found.text.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "@import" not in found.text
    assert "url(" not in found.text


def test_checkout_pages_say_what_happened(hub: Running) -> None:
    assert "Thank you" in read(hub, "/checkout/success").text
    assert "Nothing was charged" in read(hub, "/checkout/cancel").text


def test_unknown_routes_outside_the_pages_stay_json(hub: Running) -> None:
    found = hub.call("GET", "/api/v1/nothing")
    assert found.status_code == 404
    assert found.json.keys() == {"error"}


def test_pages_are_not_in_the_public_document(hub: Running) -> None:
    paths = hub.call("GET", "/api/v1/openapi.json").json["paths"]
    assert all(path.startswith("/api/v1/") or path == "/health" for path in paths)


CONTRAST = 4.5
"""What WCAG's level AA asks of text."""

PAIRS = [
    *[(name, "ground") for name in ("text", "muted", "link", "accent", "bad")],
    *[(name, "raised") for name in ("text", "muted", "link")],
    *[(name, "raised") for name in ("string", "number", "word")],
    *[(name, f"{name}-ground") for name in ("ok", "bad", "note")],
    ("ground", "link"),
]


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("front", "back"), PAIRS)
def test_colours_can_be_told_apart(
    hub: Running, scheme: int, front: str, back: str
) -> None:
    links = [each["href"] for each in read(hub, "/").all("link")]
    css = hub.call("GET", next(each for each in links if "style" in each)).text
    roots = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", roots[scheme]))
    lighter, darker = sorted(
        (luminance(colours[front]), luminance(colours[back])), reverse=True
    )
    assert (lighter + 0.05) / (darker + 0.05) >= CONTRAST
