"""Every method does at a real hub what its name says, and refusals have its words."""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Iterator

import pytest
from hostile_hub import HostileHub, json_answer
from hub_mail_server import MailServer, mail_server
from hub_payment_provider import PAGE, Provider, session
from hub_process import HubProcess
from nacl.signing import SigningKey

from redlane.hubclient import (
    Dependency,
    Hub,
    HubRefusedError,
    Members,
    Release,
    Resolution,
    Resolved,
)

PASSWORD = "correct horse"
NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def post() -> Iterator[MailServer]:
    with mail_server() as made:
        yield made


@pytest.fixture(scope="module")
def address(
    post: MailServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A hub where ada may publish, and bob may not."""
    with Provider.answering(session()) as provider:
        process = HubProcess(
            tmp_path_factory.mktemp("hub"),
            smtp_url=post.url,
            payment_api_url=provider.url,
            payment_api_key="k",
            payment_price="p",
            payment_webhook_secret="s",
        )
        process.start()
        try:
            found = f"http://{process.host}:{process.port}"
            with Hub(found) as hub:
                for name in ("ada", "bob"):
                    hub.register(f"{name}@example.org", PASSWORD)
            process.approve("ada@example.org")
            yield found
        finally:
            process.stop()


def logged_in(address: str, name: str) -> Iterator[Hub]:
    with Hub(address) as hub:
        hub.login(f"{name}@example.org", PASSWORD)
        yield hub


@pytest.fixture(scope="module")
def ada(address: str) -> Iterator[Hub]:
    yield from logged_in(address, "ada")


@pytest.fixture(scope="module")
def bob(address: str) -> Iterator[Hub]:
    yield from logged_in(address, "bob")


def test_account_from_its_making_to_another_password(
    address: str, post: MailServer
) -> None:
    with Hub(address) as hub:
        made = hub.register("cyd@example.org", PASSWORD)
        login = hub.login("cyd@example.org", PASSWORD)
        assert (login.token, login.is_endorsed) == (hub.token, False)
        assert not login.require_email_update
        me = hub.me()
        assert (me.id, me.email, me.is_approved) == (made.id, made.email, False)
        assert hub.account(made.id) == me
        assert hub.set_email(" Dee@example.org").email == "dee@example.org"
        assert hub.token != login.token
        assert hub.me().email == "dee@example.org"
        hub.set_password(PASSWORD, "battery staple")
        hub.request_reset("dee@example.org")
        (letter,) = post.wait()
        hub.confirm_reset(letter.token, "third password")
        assert hub.login("dee@example.org", "third password").email == letter.to


def test_key_from_its_making_to_its_end(ada: Hub) -> None:
    private = SigningKey.generate()
    public = bytes(private.verify_key)
    key = ada.add_key(b64encode(public).decode(), "laptop")
    assert (key.fingerprint, key.label) == (
        hashlib.sha256(public).hexdigest(),
        "laptop",
    )
    digest = hashlib.sha256(b"[1]").hexdigest()
    signature = b64encode(private.sign(digest.encode()).signature).decode()
    made = ada.publish(
        Release(
            "signed", "1", "[1]", signature=signature, key_fingerprint=key.fingerprint
        )
    )
    assert (made.signed, made.content_hash) == (True, digest)
    assert ada.artifact("signed", "1").signature_valid is True
    ada.revoke_key(key.fingerprint)
    (listed,) = ada.keys()
    assert (listed.id, listed.user_id) == (key.id, ada.me().id)
    assert listed.revoked_at is not None
    assert ada.artifact("signed", "1").signature_valid is False


def test_artifact_is_found_as_it_was_published(ada: Hub, address: str) -> None:
    release = Release(
        "a-policy",
        "1.0",
        '{"a": ["ü"]}',
        "Keeps history",
        ("git", "safe"),
        schema={"type": "object"},
    )
    made = ada.publish(release)
    with Hub(address) as anybody:
        found = anybody.artifact("a-policy", "1.0")
        (summary,) = anybody.search("HISTORY").results
        assert [*anybody.every(tag="safe")] == [summary]
    assert (found.id, found.name, found.version) == (made.id, "a-policy", "1.0")
    assert (found.content, found.content_schema) == ({"a": ["ü"]}, {"type": "object"})
    assert (found.description, found.tags) == (release.description, release.tags)
    assert (found.signed, found.signature_valid, found.downloads) == (False, None, 1)
    assert summary.owner == found.owner == made.owner == "ada@example.org"


def test_pages_are_the_newest_first(ada: Hub) -> None:
    for each in ("1", "3", "2"):
        ada.publish(Release("paged", each, "1"))
    found = [ada.search("paged", limit=2, offset=each) for each in (0, 2)]
    versions = [[each.version for each in page.results] for page in found]
    assert versions == [["2", "3"], ["1"]]
    assert ada.newest("paged").version == "2"


def test_set_names_what_it_needs(ada: Hub) -> None:
    for each in ("leaf", "other"):
        ada.publish(Release(each, "1", "1"))
    needs = (Dependency("leaf", "1", required=False),)
    ada.publish(Release("branch", "1", "1", dependencies=needs))
    members = (Dependency("branch", "1", required=True),)
    ada.publish(Release("tree", "1", "1", artifact_type="set", dependencies=members))
    assert ada.members("tree", "1") == Members("tree", "1", members)
    walk = (
        Resolved("branch", "1", required=True, depth=1, found=True),
        Resolved("leaf", "1", required=False, depth=2, found=True),
    )
    assert ada.resolve("tree", "1") == Resolution("tree@1", walk)


def test_yanked_artifact_is_off_the_lists_until_it_is_put_back(ada: Hub) -> None:
    old, new = (ada.publish(Release("yanked", each, "1")) for each in "12")
    ada.yank(new.id, "unsafe")
    found = ada.artifact("yanked", "2")
    assert (found.yanked, found.yanked_reason) == (True, "unsafe")
    assert ada.newest("yanked").id == old.id
    ada.unyank(new.id)
    assert ada.newest("yanked").id == new.id
    ada.yank(new.id)
    assert ada.artifact("yanked", "2").yanked_reason is None


def test_endorsement_from_its_making_to_its_end(ada: Hub) -> None:
    artifact = ada.publish(Release("endorsed", "1", "1")).id
    made = ada.endorse(artifact, "official")
    assert (made.artifact_id, made.level) == (artifact, "official")
    assert (made.email, made.user_id) == ("ada@example.org", ada.me().id)
    assert ada.endorsements(artifact) == (made,)
    ada.withdraw(artifact, made.id)
    assert ada.endorsements(artifact) == ()
    assert ada.endorse(artifact).level == "verified"


def test_subscription_is_told_and_paid_elsewhere(ada: Hub) -> None:
    status = ada.subscription()
    assert (status.subscription_id, status.updated_at) == (None, None)
    assert ada.checkout() == PAGE


REFUSED: dict[str, tuple[Callable[[Hub], object], int, str]] = {
    "taken": (
        lambda hub: hub.register("ada@example.org", PASSWORD),
        *(409, "email 'ada@example.org' is already registered"),
    ),
    "wrong password": (
        lambda hub: hub.login("bob@example.org", "wrong"),
        *(401, "invalid credentials"),
    ),
    "used link": (
        lambda hub: hub.confirm_reset("x", PASSWORD),
        *(400, "invalid or expired reset token"),
    ),
    "not approved": (
        lambda hub: hub.publish(Release("b", "1", "1")),
        *(403, "your account is pending admin approval"),
    ),
    "no user": (lambda hub: hub.account(NOBODY), 404, "user not found"),
    "no key": (
        lambda hub: hub.revoke_key("0" * 64),
        *(404, "signing key not found or already revoked"),
    ),
}


@pytest.mark.parametrize(("ask", "status", "words"), REFUSED.values(), ids=REFUSED)
def test_refusal_is_worded_by_the_hub(
    bob: Hub, ask: Callable[[Hub], object], status: int, words: str
) -> None:
    with pytest.raises(HubRefusedError) as found:
        ask(bob)
    assert (found.value.status, str(found.value)) == (status, f"the hub says: {words}")


def test_refusal_in_plain_text_is_read(ada: Hub) -> None:
    with pytest.raises(HubRefusedError, match="the hub says: ") as found:
        ada.account("no-uuid")
    assert found.value.status == 400


def test_nobody_in_particular_has_no_account(address: str) -> None:
    with Hub(address) as hub, pytest.raises(HubRefusedError) as found:
        hub.me()
    assert found.value.status == 401


def test_newest_of_what_is_not_there_is_refused(ada: Hub) -> None:
    ada.publish(Release("longer-name", "1", "1", "of longer"))
    with pytest.raises(HubRefusedError) as found:
        ada.newest("longer")
    assert found.value.status == 404


def test_hub_that_answers_is_alive(address: str) -> None:
    with Hub(address) as hub, Hub("http://127.0.0.1:1") as nobody:
        assert (hub.is_alive(), nobody.is_alive()) == (True, False)


def test_search_goes_on_until_a_page_is_short() -> None:
    one = {
        **dict.fromkeys(("id", "name", "version", "owner", "created_at"), "x"),
        **dict.fromkeys(("visibility", "artifact_type", "description"), "x"),
        **dict.fromkeys(("owner_is_endorsed", "yanked"), False),
        "tags": [],
        "downloads": 0,
    }
    pages = [json_answer({"results": [one] * each, "total": 1}) for each in (100, 3)]
    with HostileHub(*pages) as there, Hub(there.address) as hub:
        assert len([*hub.every("x y&z", "t")]) == 103
    asked = [each.target.partition("?")[2] for each in there.sent]
    assert asked == [f"limit=100&offset={each}&q=x+y%26z&tag=t" for each in (0, 100)]
