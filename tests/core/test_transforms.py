"""A Modify rewrites the content whole, or there is an error and no content at all."""

import time
from collections.abc import Callable

import pytest

from redlane.engine.transforms import TransformError, apply
from redlane.errors import ContentError
from redlane.model.content import Content, Reader, TextContent
from redlane.model.policy import Action, Context, Transform, TransformType


def regex(pattern: str, replacement: str = "") -> Transform:
    return Transform(TransformType.REGEX, pattern=pattern, replacement=replacement)


def command(line: str) -> Transform:
    return Transform(TransformType.EXECUTABLE, command=line)


def shell(script: str) -> Transform:
    return command(f"sh -c '{script}'")


def rewrite(transform: Transform, text: bytes) -> bytes:
    rewritten = apply(transform, TextContent(Context.NETWORK, text))
    assert rewritten.context is Context.NETWORK
    return rewritten.data


REWRITTEN = {
    "every match": (regex("a", "b"), b"a-a-a", b"b-b-b"),
    "an empty replacement strips": (regex("secret ?"), b"a secret key", b"a key"),
    "groups": (regex("(?P<x>a)(b)", "$2${1}${x}$$"), b"ab", b"baa$"),
    "text is UTF-8": (regex("ü.", "y"), "xüäz".encode(), b"xyz"),
    "what is not UTF-8 is matched": (regex("a.b", "y"), b"a\xffb", b"y"),
    "nothing to change": (regex("nothing", "y"), b"same", b"same"),
    "a program's output": (command("tr a-z A-Z"), b"abc", b"ABC"),
    "bytes as they come": (command("cat"), b"\0\xff\r\n\n", b"\0\xff\r\n\n"),
    "no output is empty content": (command("true"), b"abc", b""),
    "no newline is added or taken": (shell(r'printf "a\n\n"'), b"", b"a\n\n"),
    "what is said on standard error": (shell("cat; echo no >&2"), b"abc", b"abc"),
    "input that nobody reads": (shell("echo x"), b"a" * 16_000_000, b"x\n"),
    "large content": (command("cat"), b"a" * 16_000_000, b"a" * 16_000_000),
    "what stays behind": (shell("echo x; sleep 60 &"), b"", b"x\n"),
}


@pytest.mark.parametrize(
    ("transform", "text", "expected"), REWRITTEN.values(), ids=REWRITTEN
)
def test_content_is_rewritten(
    transform: Transform, text: bytes, expected: bytes
) -> None:
    assert rewrite(transform, text) == expected


FAILING = {
    "non-zero exit": (shell("cat; exit 1"), "'sh' exited with status 1"),
    "status 127": (shell("cat; exit 127"), "'sh' exited with status 127"),
    "killed": (shell("cat; kill -9 $$"), "'sh' was killed by SIGKILL"),
    "missing": (command("no-such-program"), "could not be started: No such file"),
    "a directory": (command("/etc"), "could not be started: Permission denied"),
    "empty": (command(" "), "the command is empty"),
    "quotes": (command("cat 'x"), "a single quote is never closed"),
    "too much output": (command("cat /dev/zero"), "wrote more than 16 MiB"),
    "no pattern": (regex("(?=a)"), "look-ahead"),
    "no such group": (regex("a", "$1"), "group"),
    "endless growth": (regex("", "x" * 100_000), "grow"),
}


@pytest.mark.parametrize(("transform", "reason"), FAILING.values(), ids=FAILING)
def test_failure_is_an_error_and_never_the_original(
    transform: Transform, reason: str
) -> None:
    with pytest.raises(TransformError) as failure:
        rewrite(transform, b"content " * 10_000)
    assert reason in str(failure.value)
    assert "\n" not in str(failure.value)


def test_program_has_five_seconds() -> None:
    start = time.monotonic()
    # A little may be gone before the start; later the program would have exited.
    with pytest.raises(TransformError, match=r"did not exit within (5|4\.\d) seconds"):
        rewrite(shell("cat; sleep 20"), b"content")
    assert time.monotonic() - start > 4.9


class Texts(Content):
    """A content of many texts, as a tool call is."""

    def __init__(self, *texts: bytes) -> None:
        self.context = Context.MCP
        self.texts = texts
        self.data = b" ".join(texts)

    def views(self, action: Action, reader: Reader) -> tuple[bytes, ...]:
        del action, reader
        return self.texts

    def rewritten(self, change: Callable[[bytes], bytes]) -> "Texts":
        changed = Texts(*map(change, self.texts))
        if b"refused" in changed.texts:
            raise ContentError("not this")
        return changed


@pytest.mark.parametrize("transform", [regex("a", "b"), command("tr a b")])
def test_each_text_of_a_content_is_rewritten(transform: Transform) -> None:
    assert apply(transform, Texts(b"a", b"aa", b"c")).data == b"b bb c"


def test_one_text_that_fails_fails_the_whole() -> None:
    with pytest.raises(TransformError, match="exited with status 1"):
        apply(command("grep a"), Texts(b"a", b"b"))


def test_five_seconds_are_for_all_texts_together() -> None:
    with pytest.raises(TransformError, match="seconds"):
        apply(command("sleep 2"), Texts(*[b"x"] * 10))


def test_content_that_refuses_its_new_form_is_a_failed_transform() -> None:
    with pytest.raises(TransformError, match="not this"):
        apply(regex("a", "refused"), Texts(b"a"))
