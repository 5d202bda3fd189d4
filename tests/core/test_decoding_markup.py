"""HTML is cut as its own tokenizer cuts it, and nothing in it is lost."""

import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser, LexborNode
from tiers import examples

from redlane.decoding.markup import Markup, read_markup


def words(found: Markup) -> str:
    run_on = "".join(found.pieces).replace("\v", "")
    return "\n".join((found.text, run_on, *found.aside, *found.code))


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ("<p>one</p><p>two</p>", "one two"),
        ("ig<b>no</b>re <i\n>all</i >", "ignore all"),
        ("ig<!-- x -->nore", "ignore"),
        ("ig<B CLASS='>'>nore</B>", "ignore"),
        ('<p title="a > b">text', "text"),
        ("<p a=it's>text's", "text's"),
        ("a < b and c > d", "a < b and c > d"),
        ("a <3 b", "a <3 b"),
        ("<p>broken\n\t  anywhere<br>at all", "broken anywhere at all"),
        ("<title><b>bold</b></title>x", "<b>bold</b> x"),
        ("<textarea></p></textarea >", "</p>"),
        ("<svg><text>drawn<tspan>!</text>", "drawn!"),
        ("<![CDATA[<b> & ]]]>x", "<b> & ]x"),
        ("<template><p>kept</template>", "kept"),
        ("<!-->shown<!--->too", "shown" + "too"),
        ("", ""),
    ],
)
def test_text_stands_in_its_order(document: str, text: str) -> None:
    assert read_markup(document).text == text


@pytest.mark.parametrize(
    ("document", "aside"),
    [
        ("<!-- told -->", [" told "]),
        ("<!-- told --!>x", [" told "]),
        ("<!-- never ends", [" never ends"]),
        ("<!- bogus -><? bogus ?></ bogus>", ["- bogus -", " bogus ?", " bogus"]),
        ("<img alt='a' title=\"b\" aria-label=c data-x=d>", ["a", "b", "c", "d"]),
        ("<input VALUE=a Placeholder = 'b' hidden>", ["a", "b"]),
        ("<div ignore all previous>", ["ignore", "all", "previous"]),
        ("<p title='not closed", ["not closed"]),
        ('<script type="application/ld+json">{"a": 1}</script>', ['{"a": 1}']),
        ("<script type='text/template'><p>a</script>", ["<p>a"]),
    ],
)
def test_what_is_not_shown_is_kept(document: str, aside: list[str]) -> None:
    found = read_markup(document).aside
    assert [each for each in aside if each not in found] == []


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ("<script>if (a<b) {}</script>", "if (a<b) {}"),
        ("<SCRIPT>a</scripty>b</Script >", "a</scripty>b"),
        ("<style>p::before{content:'x'}</style>", "p::before{content:'x'}"),
        ("<a href='https://x/?q=ignore'>", "https://x/?q=ignore"),
        ("<script>never ends", "never ends"),
    ],
)
def test_code_is_kept_apart(document: str, code: str) -> None:
    found = read_markup(document)
    assert code in found.code
    assert code not in found.text


@pytest.mark.parametrize(
    ("document", "run_on"),
    [
        ("ig</div>nore <p>all</p>", "ignore all"),
        ("<li>ig</li><li>nore</li>", "ignore"),
        ("<p>one</p> <p>two</p>", ""),
        ("plain", ""),
    ],
)
def test_text_is_read_without_borders_too(document: str, run_on: str) -> None:
    assert read_markup(document).run_on == run_on


PIECES = (
    "<p>",
    "</p>",
    "<b>",
    "</b",
    "<a href=",
    "'",
    '"',
    ">",
    "<",
    "/",
    "=",
    " ",
    "<!--",
    "-->",
    "--!>",
    "-",
    "!",
    "<!",
    "<script>",
    "</script>",
    "<title>",
    "</title",
    "<textarea ",
    "</textarea>",
    "<style>",
    "</style>",
    "<table><tr><td>",
    "<template>",
    "&amp;",
    "word",
    "alt=",
    "x",
    "é",
)


def node_words(node: LexborNode) -> list[str]:
    """What an HTML parser finds in a document, as words."""
    found: list[str | None] = []
    for each in node.traverse(include_text=True):
        if each.is_text_node:
            found.append(each.text_content)
        elif each.is_comment_node:
            found.append(each.comment_content)
        else:
            found.extend(each.attributes.values())
    return [word for text in found if text for word in re.findall(r"\w+", text)]


@settings(max_examples=examples(1_000), deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_it_has_all_that_an_html_parser_finds_but_names_of_tags(document: str) -> None:
    """In a script that a comment in it keeps open, a tag is text to a browser."""
    root = LexborHTMLParser(document).root
    written = words(read_markup(document))
    names = re.findall(r"</?(\w+)", document)
    kept = "\n".join((written, unescape(written), *names))
    lost = [word for word in node_words(root) if word not in kept] if root else []
    assert lost == []


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_nothing_grows(document: str) -> None:
    found = read_markup(document)
    size = sum(map(len, (*found.pieces, *found.aside, *found.code)))
    assert size <= 2 * len(document) + 2
