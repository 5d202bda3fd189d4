r"""Replacing a million bytes' worth of matches, and what the standard library takes.

    .venv/bin/python benchmarks/substitution.py

Both are given bytes and make bytes, and mean characters by `.` and `\w`: `re.sub` with
what it takes to decode and to encode. Ratios are between figures of the same run.
"""

import re
from functools import partial

from measure import duration, print_table, ratio, timed

from redlane.patterns import compile_pattern, substitute

SIZE = 1_000_000
CASES = (
    ("a", "b", "a"),
    ("ab", "x", "ab-"),
    ("[a-z]", "", "ab-"),
    (r"\w", "<$0>", "ab-"),
    (r"\w", "x", "Привет, мир "),
    (".", "xy", "ab-"),
    ("a|b", "x", "ab-"),
    (r"\d\d", "x", "12"),
    (r"\w+", "x", "a b "),
    (r"\w+", "<$0>", "the quick brown fox "),
    (r"-?\d+", "x", "7 and -42, "),
    (r"\w\w", "x", "Привет, мир "),
    (r"\s+$|e", "", "the quick brown fox "),
    ("", "-", "ab-"),
    ("x*", "-", "ab-"),
    ("(a)", "$1$1", "a"),
    (r"(\w+) (\w+)", "$2 $1", "the quick brown fox "),
    ("tok_[0-9a-f]+", "[token]", "GET / tok_0123456789abcdef HTTP/1.1\r\n"),
)
"""The pattern, the replacement, and what the text is made of."""


def main() -> None:
    """Print the table."""
    rows = []
    for pattern, replacement, piece in CASES:
        text = (piece * (SIZE // len(piece.encode()))).encode()
        theirs = re.sub(r"\$(\d)", r"\\g<\1>", replacement)
        ours = partial(substitute, compile_pattern(pattern), replacement, text)
        peer = partial(standard, re.compile(pattern), theirs, text)
        if ours() != peer():
            raise ValueError(pattern)
        count = len(re.findall(pattern, text.decode()))
        taken, peers = timed(ours).p50, timed(peer).p50
        row = (ascii(pattern), ascii(replacement), f"{count:,}")
        row += (duration(taken), duration(peers), ratio(taken, peers))
        rows.append(row)
    print(f"A Regex transform of {SIZE:,} bytes\n")
    heads = ("pattern", "replacement", "matches", "ours", "`re.sub`", "we take")
    print_table(heads, rows)


def standard(pattern: re.Pattern[str], replacement: str, text: bytes) -> bytes:
    """What the standard library makes of it."""
    return pattern.sub(replacement, text.decode()).encode()


if __name__ == "__main__":
    main()
