"""Publishing with a signature: which are kept, and what is refused."""

from pathlib import Path

import pytest
from hub_instance import Running, new_hub
from hub_publisher import Publisher, base64_text, error, new_publisher, row_of


def test_signature_is_verified_and_kept(running: Running, ann: Publisher) -> None:
    ann.register_key()
    signed = ann.signature("[1]")
    made = ann.publish(content="[1]", **signed)
    assert made.json["signed"]
    row = row_of(running)
    assert base64_text(row["signature"]) == signed["signature"]
    assert row["key_fingerprint"] == ann.fingerprint


def test_signature_of_other_content_is_refused(ann: Publisher) -> None:
    ann.register_key()
    status, told = error(ann.publish(content="[2]", **ann.signature("[1]")))
    assert status == 400
    assert told.startswith("'signature' does not verify against the content's hash")


SIGNATURES = {
    "words": ("no base64", "'signature' is not valid base64"),
    "empty": ("", "'signature' must be 64 bytes, not 0"),
    "short": (base64_text(bytes(63)), "'signature' must be 64 bytes, not 63"),
    "zeros": (base64_text(bytes(64)), "'signature' does not verify"),
}


@pytest.mark.parametrize(("text", "message"), SIGNATURES.values(), ids=SIGNATURES)
def test_bad_signature_is_refused(ann: Publisher, text: str, message: str) -> None:
    ann.register_key()
    fields = {"signature": text, "key_fingerprint": ann.fingerprint}
    status, told = error(ann.publish(**fields))
    assert status == 400
    assert told.startswith(message)


def test_key_must_be_ones_own_and_active(ann: Publisher, bob: Publisher) -> None:
    unusable = (400, "'key_fingerprint' is no registered, unrevoked key of yours")
    signed = ann.signature("{}")
    assert error(ann.publish(**signed)) == unusable
    ann.register_key()
    assert error(bob.publish(**signed)) == unusable
    ann.revoke_key()
    assert error(ann.publish(**signed)) == unusable


def test_hub_may_require_signatures(tmp_path: Path) -> None:
    strict = new_hub(tmp_path, require_signatures=True)
    ann = new_publisher(strict)
    ann.register_key()
    status, told = error(ann.publish())
    assert (status, told[:31]) == (400, "this hub requires a signature: ")
    assert ann.publish(**ann.signature("{}")).status_code == 201
    strict.close()
