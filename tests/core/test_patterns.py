import re
import unicodedata

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from redlane.patterns import (
    PatternError,
    compile_pattern,
    translate,
)
from redlane.patterns.compiled import _most_instructions
from redlane.patterns.dialect import translate_as

CIRCLED = {
    *range(0x24B6, 0x24EA),
    *range(0x1F130, 0x1F14A),
    *range(0x1F150, 0x1F16A),
    *range(0x1F170, 0x1F18A),
}
JOINERS = {0x200C, 0x200D}
SEPARATORS = {0x1C, 0x1D, 0x1E, 0x1F}
EDGES = {0, 9, 10, 11, 13, 14, 32, 0x7F, 0x80, 0x85, 0xA0, 0x130, 0x131, 0x17F, 0x212A}
SAMPLE = sorted(
    EDGES
    | CIRCLED
    | JOINERS
    | {0x2000, 0x200A, 0x200B, 0x2028, 0x202F, 0x205F, 0x3000, 0xFEFF, 0x10FFFF}
    | {code for code in range(0, 0x30000, 37) if not 0xD800 <= code < 0xE000}
)


def matches(pattern: str, text: str) -> bool:
    return compile_pattern(pattern).search(text.encode())


def is_word(character: str) -> bool:
    category = unicodedata.category(character)
    return (
        category[0] in "LM"
        or category in {"Nd", "Nl", "Pc"}
        or ord(character) in JOINERS | CIRCLED
    )


def is_space(character: str) -> bool:
    """What `re` calls space, less the four separators that Unicode does not."""
    return bool(re.match(r"\s", character)) and ord(character) not in SEPARATORS


@pytest.mark.parametrize(
    ("letter", "belongs"),
    [("d", lambda each: bool(re.match(r"\d", each))), ("s", is_space), ("w", is_word)],
)
def test_shorthand_is_the_class_of_unicode(letter: str, belongs: object) -> None:
    assert callable(belongs)
    forms = {
        f"\\{letter}": True,
        f"[\\{letter}]": True,
        f"[^\\{letter.upper()}]": True,
        f"\\{letter.upper()}": False,
        f"[^\\{letter}]": False,
        f"[\\{letter.upper()}]": False,
        f"(?i)[^\\{letter.upper()}]": True,
        f"(?i)[^\\{letter}]": False,
    }
    exact = {form: re2.compile(translate(form).encode()) for form in forms}
    for code in SAMPLE:
        character = chr(code)
        if unicodedata.category(character) == "Cn":
            continue  # assigned since this interpreter's tables were made
        for form, positive in forms.items():
            found = exact[form].search(character.encode()) is not None
            assert found is (belongs(character) is positive), (form, hex(code))


@pytest.mark.parametrize(
    "pattern",
    [
        *(f"{flag}\\{letter}" for letter in "dwsDWS" for flag in ("", "(?i)")),
        *(f"{flag}[\\{letter}_k]" for letter in "dwsDWS" for flag in ("", "(?i)")),
        *(f"{flag}[^\\{letter}_k]" for letter in "dwsDWS" for flag in ("", "(?i)")),
        r"[^\W\d_]",
        r"[\S\d]",
    ],
)
def test_loose_spelling_matches_what_the_exact_does_and_is_exact_in_ascii(
    pattern: str,
) -> None:
    loose = re2.compile(translate_as(pattern, loose=True).text.encode())
    exact = re2.compile(translate(pattern).encode())
    for code in SAMPLE:
        text = chr(code).encode()
        found = loose.search(text) is not None, exact.search(text) is not None
        assert found[0] if found[1] else (code > 0x7F or not found[0]), hex(code)


ATOMS = st.sampled_from(
    [
        "a", "b", "0", "_", " ", "-", "é", ".", r"\.", r"\d", r"\w", r"\s", r"\D",
        r"\W", r"\S", r"\x41", r"\n", "[ab]", "[^ab]", r"[\w-]", r"[^\W_]", r"[\s\d]",
        r"[^\d.]", "[a-f0-9]", "[]a]", "[^]a]", r"[\]\\-]", "^", "$", r"\A", r"\b",
    ]
)  # fmt: skip
REPEATS = st.sampled_from(
    ["", "", "*", "+", "?", "*?", "{2}", "{1,3}", "{0,2}?", "{,x"]
)


def grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map("|".join).map("(?:{})".format),
        st.tuples(inner.map("({})".format), REPEATS).map("".join),
        inner.map("(?i:{})".format),
    )


ATOM = st.tuples(ATOMS, REPEATS).map("".join)
PATTERNS = st.recursive(ATOM, grouped, max_leaves=8)
ASCII_TEXT = st.text(st.sampled_from("abAB019_-. \n\t\x0b]\\é"), max_size=12)


@settings(deadline=None)
@given(PATTERNS, st.text(st.sampled_from("abAB01_-. \n\t]\\{,x"), max_size=12))
def test_ascii_text_matches_as_in_re(pattern: str, text: str) -> None:
    try:
        peer = re.compile(pattern)
        compiled = compile_pattern(pattern)
    except (re.error, PatternError):
        return
    if "$" in pattern:
        text = text.rstrip("\n")  # there `$` also matches before a last line break
    assert compiled.search(text.encode()) is (peer.search(text) is not None)


@settings(deadline=None)
@given(PATTERNS, ASCII_TEXT)
def test_each_form_matches_wherever_the_next_does(pattern: str, text: str) -> None:
    try:
        compiled = compile_pattern(pattern)
        exact = re2.compile(translate(pattern).encode())
    except PatternError:
        return
    data = text.encode()
    found = exact.search(data) is not None
    assert compiled.search(data) is found
    if found:
        assert re2.search(compiled.loose, data)
        assert re2.search(compiled.outline, data)
        assert compiled.confirms(data)


@settings(deadline=None)
@given(PATTERNS)
def test_bound_of_the_program_holds(pattern: str) -> None:
    """Nothing that is compiled late can turn out too large then."""
    try:
        loose = translate_as(pattern, loose=True)
        engines = [re2.compile(loose.text), re2.compile(translate(pattern))]
    except PatternError:
        return
    for engine, classes in zip(engines, (0, loose.classes), strict=True):
        assert engine.programsize <= _most_instructions(loose, classes)


REFUSED = {
    "look-ahead": ["a(?=b)"],
    "negative look-ahead": ["a(?!b)"],
    "look-behind": ["(?<=a)b"],
    "negative look-behind": ["(?<!a)b"],
    "backreference": [r"(a)\1", r"(?P<n>a)(?P=n)", r"(a)\k<1>", r"(a)\g{1}", r"\12"],
    "atomic group": ["(?>a+)b"],
    "possessive repeat": ["a++b", "a*+b", "a?+b", "a{2}+b"],
    "conditional": ["(a)?(?(1)b|c)"],
    "recursion": [r"\((?R)*\)", "(?1)", "(?&n)", "(?P>n)"],
    "comment": ["a(?#b)c"],
    "free-spacing flag x": ["(?x) a", "(?ix:a )", "(?xi-s)a"],
    "flag for ASCII classes": [r"(?a)\w", r"(?-u)\w", r"(?i-u:\w)"],
    "quoted group name": ["(?'n'a)"],
    "repeat": ["a{1001}", "((a{100}){100}){100}"],
    "repeat of a repeat": ["a**", "a{2}{3}"],
    "repeat of nothing": ["*a", "a|+", "({3})"],
    "is a repeat to some and plain text to others": [
        "a{,2}",
        "a{01}",
        "a{1,02}",
        "a{4000000000}",
    ],
    "set operation": ["[a&&b]", r"[\w--\d]", "[a~~b]"],
    "followed by a class": [r"[+-\d]", r"[a-\pL]"],
    "unknown escape": [r"\q", r"\i", r"\y", r"[\q]"],
    "escape in a class": [r"[\b]"],
    "single byte": [r"\C"],
    "end of text": [r"a\Z"],
    "end of a quotation": [r"a\Eb"],
    "word boundary": [r"\b{start}a"],
    "half a surrogate pair": ["\ud800", r"\ud800", r"\udc00\ud800"],
    "has not the digits": [r"\u12", r"\U0001", r"\u{}", r"[\u]"],
    "two groups are named": ["(?P<n>a)(?P<n>b)", "(?<n>a)|(?P<n>b)"],
    "group name": ["(?P<a b>c)"],
    "range or class name": ["[z-a]", r"\p{Nonsense}", "[[:nonsense:]]"],
    "never closed": ["(a", "[a", "[", "[]", "[^]", "((a)", r"[a\]"],
    "closes nothing": ["a)"],
    "lone backslash": ["a\\", "(?i)\\"],
    "group ": ["(?i-:a)", "(?", "(?i", "(?z)a"],
    "it is too large": [r"\w{1000}\w{1000}", r"(\w\d\w\d\w\d\w){999}"],
}


@pytest.mark.parametrize(
    ("named", "pattern"),
    [(named, pattern) for named, patterns in REFUSED.items() for pattern in patterns],
    ids=ascii,
)
def test_refusal_names_the_construct_on_one_line(named: str, pattern: str) -> None:
    with pytest.raises(PatternError) as refused:
        compile_pattern(pattern)
    message = str(refused.value)
    assert named in message
    assert message.isprintable()
    assert len(message) < 200


ACCEPTED = [
    (r"\u0041", "A"),
    (r"[\u0041-\u0043]", "B"),
    (r"\u{1F600}", "\U0001f600"),
    (r"\U0001F600", "\U0001f600"),
    (r"\ud83d\ude00", "\U0001f600"),
    (r"\x{1F600}", "\U0001f600"),
    (r"\x41\101\0", "AA\0"),
    ("a\0b", "a\0b"),
    (r"(?u)\w", "é"),
    (r"(?iu:É)", "é"),
    (r"(?P<n>a)(?<m>b)", "ab"),
    (r"\Q(?=\d[\E+", "(?=\\d[["),
    (r"\Qa\d", "a\\d"),
    (r"\pL\p{Greek}\PL\p{^L}", "aω11"),
    (r"[\w-]", "-"),
    (r"[\d-z]", "-"),
    (r"[\s-z]", "-"),
    (r"[-\w]", "-"),
    (r"[\W-]", "-"),
    (r"[a-]", "-"),
    ("[[:alpha:]-]", "-"),
    ("[[.]", "["),
    ("x{", "x{"),
    ("x{a}", "x{a}"),
    ("x{1,a}", "x{1,a}"),
    (r"x\{2}", "x{2}"),
    (r"\_\<\@", "_<@"),
    ("(?i)straße", "STRAßE"),
    ("(?i)k", "\u212a"),
    (r"\s", "\u00a0"),
    (r"rm\s+-rf", "rm\u00a0-rf"),
    (r"\d", "\u0664"),
    (r"rm .-rf", "rm \ufffd-rf"),
    (r"(?m)^b$", "a\nb\nc"),
    (r"(?s)a.b", "a\nb"),
    (r"a\z", "ba"),
    ("", ""),
]


@pytest.mark.parametrize(("pattern", "text"), ACCEPTED, ids=ascii)
def test_accepted_pattern_matches(pattern: str, text: str) -> None:
    assert matches(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a$", "a\n"),
        ("a.b", "a\nb"),
        (r"\w", "\u00a0"),
        (r"[\d-z]", "5".replace("5", "m")),
        (r"[^\W\d_]", "5"),
        (r"^\w$", "\u2014"),
        (r"^\S$", "\u3000"),
        (r"^[^\s]$", "\u2028"),
    ],
    ids=ascii,
)
def test_pattern_does_not_match(pattern: str, text: str) -> None:
    assert not matches(pattern, text)


def test_translation_spells_classes_out() -> None:
    assert translate(r"a\d[\d.]\D\\d\Q\d\E") == (
        r"a[\p{Nd}][\p{Nd}.][^\p{Nd}]\\d\Q\d\E"
    )


def test_each_form_is_compiled_when_it_is_needed() -> None:
    compiled = compile_pattern(r"a\w{3}")
    assert not compiled.search(b"b")
    assert "_exact_engine" not in vars(compiled)
    assert not compiled.search("a\u2014\u2014\u2014".encode())
    assert compiled.search("aéèê".encode())
    assert compiled.outline == rb"a[_0-9A-Za-z\x{80}-\x{10FFFF}]+"
