"""Scans give what one split gives, in rounds."""

import re

from redlane.decoding import scanning
from redlane.decoding.scanning import Table, replaced, rounds

PATTERN = re.compile("(<)([a-z])?")


class Upper(Table):
    def meaning(self, spelling: str) -> str:
        return spelling.upper()


def test_rounds_join_to_one_split() -> None:
    text = "x<ay<z" * scanning._PIECES
    found = list(rounds(PATTERN, text))
    assert len(found) > 1
    assert [each for part in found for each in part] == PATTERN.split(text)


def test_text_without_a_match_is_one_round() -> None:
    assert list(rounds(PATTERN, "plain")) == [["plain"]]
    assert list(rounds(PATTERN, "")) == [[""]]


def test_matches_are_looked_up_and_remembered() -> None:
    table = Upper()
    assert replaced(re.compile("([ab])"), table, "abcab") == "ABcAB"
    assert dict(table) == {"a": "A", "b": "B"}


def test_a_table_forgets_what_is_too_much() -> None:
    table = Upper()
    for number in range(scanning._KEPT + 100):
        assert table[f"x{number}"] == f"X{number}"
    assert len(table) == scanning._KEPT
