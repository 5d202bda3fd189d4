"""Passwords that are known by what cannot be turned back into them."""

import pytest

from redlane.errors import UsageError
from redlane.model.password import hashed, is_hashed, is_password

PASSWORD = "a password of öurs"


def test_one_is_known_by_its_hash_and_no_other_is() -> None:
    known = hashed(PASSWORD)
    assert is_hashed(known)
    assert is_password(PASSWORD, known)
    assert not any(is_password(each, known) for each in ("", PASSWORD + " ", known))


def test_two_of_the_same_have_two_hashes() -> None:
    assert hashed(PASSWORD) != hashed(PASSWORD)


def test_a_short_one_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 12"):
        hashed("elevenchars")


def test_what_is_no_hash_knows_none() -> None:
    longer = f"{hashed(PASSWORD)}x"
    costly = hashed(PASSWORD).replace("m=65536", "m=1000000")
    for known in ("", PASSWORD, "$argon2id$v=19$m=65536,t=2,p=1$$", longer, costly):
        assert not is_hashed(known)
        assert not is_password(PASSWORD, known)
