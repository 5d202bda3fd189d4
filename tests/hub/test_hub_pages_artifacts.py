"""The pages of what is published."""

import json
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from hub_instance import Running, new_hub
from hub_pages import Page, publish, read
from nacl.signing import SigningKey

from redlane_hub.store import accounts

ADA = "ada@example.org"
BOB = "bob@example.org"
EVE = "eve@example.org"
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "<!-- --><style>*{display:none}</style>",
    "javascript:alert(1)",
    "&lt;b&gt;",
    "</textarea></title><svg onload=alert(1)>",
]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Running]:
    made = new_hub(tmp_path)
    yield made
    made.close()


def test_list_shows_what_is_public_newest_first(hub: Running) -> None:
    ada = hub.register(ADA)
    publish(hub, ada, "first", description="for a start")
    publish(hub, ada, "second", tags=["shell"], artifact_type="artifact")
    publish(hub, ada, "hidden", visibility="private")
    publish(hub, ada, "unfinished", visibility="draft")
    yanked = publish(hub, ada, "withdrawn")
    hub.call("POST", f"/api/v1/artifacts/{yanked['id']}/yank", ada, json={})
    page = read(hub, "/")
    places = [each for each in page.links() if each.startswith("/artifacts/")]
    assert places == ["/artifacts/second/1.0", "/artifacts/first/1.0"]
    assert "for a start" in page.text
    assert "hidden" not in page.text
    assert "/?tag=shell" in page.links()


def test_token_shows_nobody_more_on_pages(hub: Running) -> None:
    ada = hub.register(ADA)
    publish(hub, ada, "hidden", visibility="private")
    for path in ("/artifacts/hidden", "/artifacts/hidden/1.0"):
        assert hub.call("GET", path, ada).status_code == 404
    assert "hidden" not in hub.call("GET", "/", ada).text


def test_nothing_published_is_said(hub: Running) -> None:
    assert "Nothing is published yet." in read(hub, "/").text
    assert "Nothing public matches." in read(hub, "/?q=zebra").text


def test_search_is_by_text_or_tag(hub: Running) -> None:
    ada = hub.register(ADA)
    publish(hub, ada, "alpha", description="Guards SHELLS", tags=["shell"])
    publish(hub, ada, "beta", description="guards mail", tags=["mail"])
    assert "alpha" in read(hub, "/?q=shells").text
    assert "beta" not in read(hub, "/?q=shells").text
    tagged = read(hub, "/?tag=mail&q=shells")
    assert "beta" in tagged.text
    assert "alpha" not in tagged.text
    assert tagged.all("input")[0]["value"] == ""
    assert read(hub, "/?q=shells").all("input")[0]["value"] == "shells"


def test_pages_of_a_list_lead_to_each_other(hub: Running) -> None:
    ada = hub.register(ADA)
    for number in range(21):
        publish(hub, ada, f"policy-{number}", tags=["a&b=c"])
    first = read(hub, "/?tag=a%26b%3Dc")
    assert "/?tag=a%26b%3Dc&page=2" in first.links()
    assert "policy-0" not in first.text
    second = read(hub, "/?tag=a%26b%3Dc&page=2")
    assert "policy-0" in second.text
    assert "/?tag=a%26b%3Dc&page=1" in second.links()
    assert "/?tag=a%26b%3Dc&page=3" not in second.links()
    assert "nothing on this page" in read(hub, "/?page=3").text


@pytest.mark.parametrize(
    "number", ["0", "-1", "x", "", "1.5", "9" * 30, "٣", "%00", "999999999"]
)
def test_any_number_of_a_page_is_some_page(hub: Running, number: str) -> None:
    publish(hub, hub.register(ADA))
    read(hub, f"/?page={number}")
    found = hub.call("GET", f"/artifacts/starter?page={number}")
    assert found.status_code in {200, 404}


def test_name_lists_its_versions_newest_first(hub: Running) -> None:
    ada = hub.register(ADA, recognise=True)
    publish(hub, ada, version="1.0")
    old = publish(hub, ada, version="1.1+build")
    publish(hub, ada, version="2.0", visibility="private")
    hub.call("POST", f"/api/v1/artifacts/{old['id']}/yank", ada, json={})
    page = read(hub, "/artifacts/starter")
    versions = [each for each in page.links() if each.startswith("/artifacts/starter/")]
    assert versions == ["/artifacts/starter/1.1%2Bbuild", "/artifacts/starter/1.0"]
    assert "yanked" in page.text
    assert "recognised publisher" in page.text
    assert "Different accounts" not in page.text
    assert "2.0" not in page.text
    assert read(hub, versions[0])


def test_many_versions_are_paged(hub: Running) -> None:
    ada = hub.register(ADA)
    for number in range(21):
        publish(hub, ada, version=f"v{number}")
    first = read(hub, "/artifacts/starter")
    assert "/artifacts/starter?page=2" in first.links()
    assert "Different accounts" not in first.text
    assert "v0" in read(hub, "/artifacts/starter?page=2").text


def test_name_that_several_publish_is_warned_of(hub: Running) -> None:
    publish(hub, hub.register(ADA), version="0.1")
    eve = hub.register(EVE)
    for number in range(20):
        publish(hub, eve, version=f"1.{number}")
    for path in ("/artifacts/starter", "/artifacts/starter?page=2"):
        page = read(hub, path)
        assert "Different accounts published versions of this name." in page.text
    assert ADA in page.text


def test_artifact_shows_what_one_needs_to_judge_it(hub: Running) -> None:
    ada = hub.register(ADA)
    publish(hub, ada, "base", "0.1+x")
    made = publish(
        hub,
        ada,
        content='{"b":1.50,"a":[1e3,"é"]}',
        description="What it\nis for",
        tags=["shell", "mail & more"],
        dependencies=[
            {"name": "base", "version": "0.1+x"},
            {"name": "base", "version": "0.1+x", "required": False},
        ],
    )
    page = read(hub, "/artifacts/starter/1.0")
    assert f"Owner {ADA} not recognised" in page.text
    assert made["content_hash"] in page.text
    assert "redlane hub pull starter@1.0" in page.text
    assert "/artifacts/base/0.1%2Bx" in page.links()
    assert "optional" in page.text
    assert "/?tag=mail%20%26%20more" in page.links()
    assert "/api/v1/artifacts/starter/1.0" in page.links()
    assert "Nobody has endorsed this version." in page.text
    content = "".join(page.words)
    assert '{\n  "b": 1.50,\n  "a": [\n    1e3,\n    "é"\n  ]\n}' in content


def test_set_calls_its_dependencies_members(hub: Running) -> None:
    ada = hub.register(ADA)
    publish(hub, ada, "base")
    members = [{"name": "base", "version": "1.0"}]
    publish(hub, ada, artifact_type="set", dependencies=members)
    page = read(hub, "/artifacts/starter/1.0")
    assert "Members" in page.text
    assert "set" in read(hub, "/").text


def test_looking_counts_no_download(hub: Running) -> None:
    publish(hub, hub.register(ADA))
    for path in ("/", "/artifacts/starter", "/artifacts/starter/1.0"):
        read(hub, path)
    fetched = hub.call("GET", "/api/v1/artifacts/starter/1.0").json
    assert fetched["downloads"] == 1
    assert "Downloads 1 " in read(hub, "/artifacts/starter/1.0").text


def new_key(hub: Running, token: str) -> tuple[str, SigningKey]:
    key = SigningKey.generate()
    body = {"public_key": b64encode(bytes(key.verify_key)).decode()}
    made = hub.call("POST", "/api/v1/me/signing-keys", token, json=body).json
    fingerprint: str = made["fingerprint"]
    return fingerprint, key


def test_signature_is_told_in_words(hub: Running) -> None:
    ada = hub.register(ADA)
    fingerprint, key = new_key(hub, ada)
    digest = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    signature = b64encode(key.sign(digest.encode()).signature).decode()
    publish(hub, ada, signature=signature, key_fingerprint=fingerprint)
    publish(hub, ada, version="unsigned")
    path = "/artifacts/starter/1.0"
    assert "valid Signed by its owner" in read(hub, path).text
    assert fingerprint in read(hub, path).text
    assert "none Published without a signature" in (
        read(hub, "/artifacts/starter/unsigned").text
    )
    hub.call("DELETE", f"/api/v1/me/signing-keys/{fingerprint}", ada)
    assert "does not count Signed, but the key was revoked" in read(hub, path).text
    assert "key revoked" in read(hub, "/artifacts/starter").text
    with hub.database.transaction() as connection:
        connection.execute("DELETE FROM signing_keys")
    assert "does not verify Signed, but" in read(hub, path).text


def test_yanked_artifact_says_so_and_why(hub: Running) -> None:
    ada = hub.register(ADA)
    made = publish(hub, ada)
    path = f"/api/v1/artifacts/{made['id']}/yank"
    hub.call("POST", path, ada, json={"reason": "lets <b>all</b> through"})
    page = read(hub, "/artifacts/starter/1.0")
    assert "Yanked by its owner. The reason given: lets <b>all</b>" in page.text
    hub.call("POST", path, ada, json={})
    text = read(hub, "/artifacts/starter/1.0").text
    assert "Yanked by its owner. No reason was given." in text


def test_self_endorsement_is_named_and_not_counted(hub: Running) -> None:
    ada, bob = hub.register(ADA), hub.register(BOB, recognise=True)
    made = publish(hub, ada)
    path = f"/api/v1/artifacts/{made['id']}/endorsements"
    hub.call("POST", path, ada, json={"level": "official"})
    page = read(hub, "/artifacts/starter/1.0")
    assert "By no other account. A self-endorsement says nothing" in page.text
    assert f"{ADA} not recognised self-endorsement official" in page.text
    hub.call("POST", path, bob, json={"level": "trusted_author"})
    page = read(hub, "/artifacts/starter/1.0")
    assert "By 1 other account, 1 of them recognised." in page.text
    assert f"{BOB} recognised publisher trusted author" in page.text
    assert page.text.count("self-endorsement ") == 2


def test_more_endorsements_than_fit_are_counted(hub: Running) -> None:
    made = publish(hub, hub.register(ADA))
    path = f"/api/v1/artifacts/{made['id']}/endorsements"
    for number in range(101):
        hub.call("POST", path, hub.register(f"u{number}@example.org"), json={})
    page = read(hub, "/artifacts/starter/1.0")
    assert "By 101 other accounts, none of them recognised." in page.text
    assert "And 1 more." in page.text


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_texts_are_only_texts(hub: Running, text: str) -> None:
    ada = hub.register(ADA)
    tag = text[:64]
    made = publish(
        hub, ada, description=text, tags=[tag], content=json.dumps({text: [text]})
    )
    hub.call("POST", f"/api/v1/artifacts/{made['id']}/yank", ada, json={"reason": text})
    publish(hub, ada, "listed", description=text, tags=[tag])
    # Page refuses elements and attributes that no template has.
    assert text in read(hub, "/").text
    assert tag in read(hub, "/").text
    page = read(hub, "/artifacts/starter/1.0")
    assert page.text.count(text) >= 2
    assert json.dumps(text) in page.text
    found = hub.call("GET", "/", params={"q": text})
    assert text in Page(found.text).text
    assert text in Page(hub.call("GET", "/", params={"tag": text}).text).text


def test_hostile_address_of_an_owner_is_only_a_text(hub: Running) -> None:
    ada = hub.register(ADA)
    address = "<script>alert(1)</script>\u202e@example.org"
    publish(hub, ada)
    with hub.database.transaction() as connection:
        me = hub.call("GET", "/api/v1/me", ada).json["id"]
        accounts.set_email(connection, me, address)
    for path in ("/", "/artifacts/starter", "/artifacts/starter/1.0"):
        assert "<script>alert(1)</script>⟨U+202E⟩@" in read(hub, path).text


def test_what_cannot_be_seen_is_spelled_out(hub: Running) -> None:
    ada = hub.register(ADA)
    publish(
        hub,
        ada,
        description="safe\u202egnp.exe\u0007\u200b",
        tags=["a\u2066b"],
        content=json.dumps({"x": "\u202e\u0007"}, ensure_ascii=False).replace(
            "\u0007", "\\u0007"
        ),
    )
    for path in ("/", "/artifacts/starter/1.0"):
        page = read(hub, path)
        assert "safe⟨U+202E⟩gnp.exe⟨U+0007⟩⟨U+200B⟩" in page.text
        assert "a⟨U+2066⟩b" in page.text
    assert '"\\u202e\\u0007"' in read(hub, "/artifacts/starter/1.0").text


@pytest.mark.parametrize(
    "path",
    [
        "/artifacts/missing",
        "/artifacts/missing/1.0",
        "/artifacts/starter/2.0",
        "/artifacts/STARTER/1.0",
        "/artifacts/%3Cscript%3E/1",
        "/static/style.css",
        "/static/style.000000000000.css",
    ],
)
def test_what_is_not_there_is_a_page_too(hub: Running, path: str) -> None:
    publish(hub, hub.register(ADA))
    page = read(hub, path, 404)
    assert "Not found" in page.text
    assert "script" not in page.text


def test_private_and_missing_look_the_same(hub: Running) -> None:
    publish(hub, hub.register(ADA), "hidden", visibility="draft")
    hidden = hub.call("GET", "/artifacts/hidden/1.0")
    missing = hub.call("GET", "/artifacts/missing/1.0")
    assert hidden.content == missing.content
    assert dict(hidden.headers) == dict(missing.headers)


def test_dependency_on_something_private_is_a_link_to_nothing(hub: Running) -> None:
    ada = hub.register(ADA)
    publish(hub, ada, "inner", visibility="private")
    publish(hub, ada, dependencies=[{"name": "inner", "version": "1.0"}])
    assert "/artifacts/inner/1.0" in read(hub, "/artifacts/starter/1.0").links()
    read(hub, "/artifacts/inner/1.0", 404)


def test_damaged_content_is_not_shown(hub: Running) -> None:
    publish(hub, hub.register(ADA))
    with hub.database.transaction() as connection:
        connection.execute("UPDATE contents SET content = ?", (b"[]",))
    assert hub.call("GET", "/artifacts/starter/1.0").status_code == 500


def test_links_start_where_the_hub_is_reached(tmp_path: Path) -> None:
    hub = new_hub(tmp_path, public_url="https://example.org/redlane/")
    publish(hub, hub.register(ADA))
    for path in ("/", "/artifacts/starter", "/artifacts/starter/1.0"):
        page = read(hub, path)
        links = [*page.links(), *(each["href"] for each in page.all("link"))]
        assert {each for each in links if not each.startswith("#")}
        assert all(each.startswith(("/redlane/", "#")) for each in links)
    hub.close()
