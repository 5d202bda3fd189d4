"""Query strings: what they give, and what is refused."""

from contextlib import suppress
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.errors import InvalidInputError
from redlane_hub.wire.query import read_query


@dataclass(frozen=True)
class Search:
    q: str | None = None
    limit: int = 20
    flag: bool = False


READ = {
    "nothing": ("", Search()),
    "text": ("q=a", Search(q="a")),
    "empty text": ("q=", Search(q="")),
    "plus is a space": ("q=a+b", Search(q="a b")),
    "escapes": ("q=%C3%A9%26", Search(q="é&")),
    "raw percent": ("q=100%", Search(q="100%")),
    "NUL": ("q=%00", Search(q="\0")),
    "first of two": ("q=a&q=b", Search(q="a")),
    "unknown name": ("zzz=1&q=a", Search(q="a")),
    "name without value": ("q", Search(q="")),
    "integer": ("limit=7", Search(limit=7)),
    "negative": ("limit=-7", Search(limit=-7)),
    "escaped plus sign": ("limit=%2B7", Search(limit=7)),
    "leading zeros": ("limit=" + "0" * 5000 + "7", Search(limit=7)),
    "beyond 64 bits": ("limit=" + "9" * 5000, Search(limit=10**18 - 1)),
    "far below": ("limit=-" + "9" * 5000, Search(limit=1 - 10**18)),
    "true": ("flag=true", Search(flag=True)),
    "True": ("flag=True", Search(flag=True)),
    "1": ("flag=1", Search(flag=True)),
    "0": ("flag=0", Search(flag=False)),
}

REFUSED = {
    "no integer": ("limit=x", "'limit' must be an integer"),
    "empty integer": ("limit=", "'limit' must be an integer"),
    "fraction": ("limit=1.0", "'limit' must be an integer"),
    "underscore": ("limit=1_0", "'limit' must be an integer"),
    "space": ("limit=+1", "'limit' must be an integer"),
    "newline": ("limit=1%0A", "'limit' must be an integer"),
    "other digits": ("limit=%D9%A1", "'limit' must be an integer"),
    "sign alone": ("limit=-", "'limit' must be an integer"),
    "many zeros": ("limit=" + "0" * 200_000 + "x", "'limit' must be an integer"),
    "no boolean": ("flag=yes", "'flag' must be true or false"),
    "not UTF-8": ("q=%ff", "the query string is not valid UTF-8"),
    "not UTF-8 in a name": ("%ff=1", "the query string is not valid UTF-8"),
    "half a pair": ("q=%ed%a0%80", "the query string is not valid UTF-8"),
}


@pytest.mark.parametrize(("text", "value"), READ.values(), ids=READ)
def test_a_query_is_read(text: str, value: Search) -> None:
    assert read_query(Search, text) == value


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_query_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        read_query(Search, text)
    assert str(caught.value) == message


def test_without_a_form_a_query_is_not_looked_at() -> None:
    assert read_query(None, "limit=x&q=%ff") is None


@given(st.text(st.characters(max_codepoint=0x17F)))
def test_any_query_is_read_or_refused(text: str) -> None:
    with suppress(InvalidInputError):
        assert isinstance(read_query(Search, text), Search)
