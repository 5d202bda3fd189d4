"""Signed artifacts (hub API: Signature rules)."""

import hashlib
from typing import Any

import pytest
from nacl.signing import SigningKey
from spec.hub_client import Account, HubClient
from spec.hub_signing import Signer, content_hash, text64

CONTENT = '{"rule": "größer"}'
SIGNATURE_FIELDS = "signed", "key_fingerprint", "signature_valid"


@pytest.fixture(scope="module")
def signer(author: Account) -> Signer:
    return Signer.of(author)


def state(client: HubClient, made: dict[str, Any]) -> tuple[bool, str, bool | None]:
    """The three fields of a fetched artifact that tell of its signature."""
    answer = client.get(f"/api/v1/artifacts/{made['name']}/{made['version']}")
    assert answer.status == 200, answer
    signed, fingerprint, valid = (answer.json[name] for name in SIGNATURE_FIELDS)
    return signed, fingerprint, valid


def test_signed_publish_says_so(author: Account, signer: Signer) -> None:
    body = author.publish(content=CONTENT, **signer.sign(CONTENT))

    assert (body["signed"], body["key_fingerprint"]) == (True, signer.fingerprint)


def test_signature_is_valid_when_fetched(
    author: Account, signer: Signer, anyone: HubClient
) -> None:
    made = author.publish(content=CONTENT, **signer.sign(CONTENT))

    assert state(anyone, made) == (True, signer.fingerprint, True)


def test_artifact_without_a_signature_has_no_validity(
    author: Account, anyone: HubClient
) -> None:
    assert state(anyone, author.publish()) == (False, None, None)


def test_signature_of_a_revoked_key_is_no_longer_valid(
    author: Account, anyone: HubClient
) -> None:
    signer = Signer.of(author)
    made = author.publish(content=CONTENT, **signer.sign(CONTENT))
    assert state(anyone, made) == (True, signer.fingerprint, True)

    author.http.delete(f"/api/v1/me/signing-keys/{signer.fingerprint}")

    assert state(anyone, made) == (True, signer.fingerprint, False)


def test_revoking_one_key_leaves_the_others(
    author: Account, signer: Signer, anyone: HubClient
) -> None:
    made = author.publish(content=CONTENT, **signer.sign(CONTENT))
    other = Signer.of(author)

    author.http.delete(f"/api/v1/me/signing-keys/{other.fingerprint}")

    assert state(anyone, made)[2] is True


def wrong_messages() -> dict[str, bytes]:
    digest = content_hash(CONTENT)
    return {
        "raw-digest": hashlib.sha256(CONTENT.encode()).digest(),
        "content": CONTENT.encode(),
        "capitals": digest.upper().encode(),
        "newline": digest.encode() + b"\n",
        "utf-16": digest.encode("utf-16-le"),
        "hash-of-the-hash": content_hash(digest).encode(),
        "other-content": content_hash("{}").encode(),
        "without-white-space": content_hash(CONTENT.replace(" ", "")).encode(),
    }


@pytest.mark.parametrize("kind", wrong_messages())
def test_signature_is_over_the_text_of_the_hash(
    author: Account, signer: Signer, kind: str
) -> None:
    signature = signer.key.sign(wrong_messages()[kind]).signature

    answer = author.push(
        content=CONTENT,
        signature=text64(signature),
        key_fingerprint=signer.fingerprint,
    )

    assert answer.status == 400
    assert "signature" in answer.error


ORDER = 2**252 + 27742317777372353535851937790883648493


def malformed(good: str, raw: bytes) -> dict[str, str]:
    scalar = int.from_bytes(raw[32:], "little") + ORDER
    return {
        "empty": "",
        "words": "not base64",
        "no-padding": good.rstrip("="),
        "white-space": good + "\n",
        "63-bytes": text64(raw[:63]),
        "65-bytes": text64(raw + b"x"),
        "zeros": text64(bytes(64)),
        "hex": raw.hex(),
        "swapped-halves": text64(raw[32:] + raw[:32]),
        "not-canonical-scalar": text64(raw[:32] + scalar.to_bytes(32, "little")),
        "with-the-message": text64(raw + content_hash(CONTENT).encode()),
    }


@pytest.mark.parametrize("kind", malformed("", bytes(64)))
def test_malformed_signature_is_refused(
    author: Account, signer: Signer, kind: str
) -> None:
    signed = signer.key.sign(content_hash(CONTENT).encode())
    bad = malformed(text64(signed.signature), signed.signature)[kind]

    answer = author.push(
        content=CONTENT, signature=bad, key_fingerprint=signer.fingerprint
    )

    assert answer.status == 400
    assert answer.error


@pytest.mark.parametrize("left_out", ["signature", "key_fingerprint"])
@pytest.mark.parametrize("how", ["absent", "null"])
def test_signature_and_fingerprint_go_together(
    author: Account, signer: Signer, left_out: str, how: str
) -> None:
    fields: dict[str, Any] = signer.sign("{}") | {left_out: None}
    if how == "absent":
        del fields[left_out]

    answer = author.push(**fields)

    assert answer.status == 400
    assert answer.error


def test_key_must_be_known(author: Account) -> None:
    key = SigningKey.generate()
    stranger = Signer(key, hashlib.sha256(bytes(key.verify_key)).hexdigest())

    assert author.push(**stranger.sign("{}")).status == 400


def test_key_must_be_the_publishers_own(author: Account, rival: Account) -> None:
    assert author.push(**Signer.of(rival).sign("{}")).status == 400


def test_key_must_not_be_revoked(author: Account) -> None:
    signer = Signer.of(author)
    author.http.delete(f"/api/v1/me/signing-keys/{signer.fingerprint}")

    assert author.push(**signer.sign("{}")).status == 400


def test_keys_of_others_are_as_unknown_ones(author: Account, rival: Account) -> None:
    signed = Signer.of(rival).sign("{}")

    foreign = author.push(**signed)
    unknown = author.push(**(signed | {"key_fingerprint": "0" * 64}))

    neutral = foreign.error.replace(signed["key_fingerprint"], "0" * 64)
    assert neutral == unknown.error


def test_signature_holds_for_the_exact_bytes(
    author: Account, signer: Signer, anyone: HubClient
) -> None:
    content = ' {"b" : 1.0, "a" : "\\u00e9"} '

    made = author.publish(content=content, **signer.sign(content))

    assert made["content_hash"] == content_hash(content)
    assert state(anyone, made)[2] is True
