"""Programs in other languages: the literal commands that they start.

Only literal strings in calls that start a process are found: a string that is printed
or compared is no command.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Sequence

from redlane.contexts.shell.expansion.scope import OutputTexts
from redlane.contexts.shell.grammar.ansi import decode_escapes
from redlane.contexts.shell.grammar.expansions import TooComplex
from redlane.contexts.shell.knowledge.inner import Code, Inner, Text, Words
from redlane.contexts.shell.knowledge.little_languages import commands_in_tcl

__all__ = [
    "commands_in_code",
    "interpreter_of",
    "unwrap_awk",
    "unwrap_interpreter",
    "unwrap_sed",
]

_INTERPRETERS = (
    (re.compile(r"(?:python|pypy|ipython)[0-9.]*"), "python", "c"),
    (re.compile(r"perl[0-9.]*"), "perl", "eE"),
    (re.compile(r"(?:ruby|irb|jruby)[0-9.]*"), "ruby", "e"),
    (re.compile(r"(?:node|nodejs|bun|deno|tsx|ts-node)"), "node", "ep"),
    (re.compile(r"php[0-9.]*"), "php", "rBE"),
    (re.compile(r"(?:lua[0-9.]*|luajit)"), "lua", "e"),
    (re.compile(r"(?:tclsh|wish|expect)[0-9.]*"), "tcl", "c"),
    (re.compile(r"(?:emacs|osascript|rscript|julia|guile|scheme)"), "other", "e"),
)
_LONG = frozenset({"--eval", "--print", "--execute", "eval"})
_STRING = re.compile(
    r"""(?:\b[rRbBfFuU]{1,2})?(?:'''(?P<t1>.*?)'''|\"\"\"(?P<t2>.*?)\"\"\""""
    r"""|'(?P<s1>(?:[^'\\]|\\.)*)'|"(?P<s2>(?:[^"\\]|\\.)*)"|`(?P<s3>(?:[^`\\]|\\.)*)`"""
    r"""|q[qwx]?\{(?P<s4>[^}]*)\}|q[qx]?\((?P<s5>[^)]*)\))""",
    re.DOTALL,
)
_CALL = re.compile(
    r"\b(?:system|popen[234]?|exec|execSync|execFile|execFileSync|spawn|spawnSync|"
    r"execute|shell_exec|passthru|proc_open|pcntl_exec|getoutput|getstatusoutput|"
    r"check_output|check_call|run|call|Popen|exec[lv]p?e?|posix_spawnp?|spawn[lv]p?e?|"
    r"create_subprocess_(?:shell|exec)|shell-command(?:-to-string)?|startfile|pty\.spawn|"
    r"do shell script|open|capture[23]e?|IO\.popen|pipe_from|\$)\s*[(\s]\s*(?=[\[(]*\s*"
    r"(?:\w+\s*=\s*)?(?:[rRbBfFuU]{0,2}['\"`]|q[qwx]?[({]|%[wWx]))"
)
_BACKQUOTED = re.compile(r"`((?:[^`\\]|\\.)+)`|(?:%x|qx)[({\[/|!]([^)}\]/|!]+)")
_BETWEEN = re.compile(r"\s*(?P<joint>[+.]?)\s*(?P<comma>,?)\s*[\[(]*\s*")
_ENCODED = re.compile(
    r"(?:b64decode|decode64|atob|base64_decode|decode_base64|fromhex|Buffer\.from)"
    r"\s*\(\s*b?['\"]([A-Za-z0-9+/=_-]+)['\"]"
)
_MOST_CALLS = 200
_MOST_LITERALS = 16
_LONGEST_SED = 4096
_DYNAMIC = re.compile(
    r"\b(?:system|popen|Popen|run|call|check_output|check_call|getoutput|execSync|exec)"
    r"\s*\(\s*[A-Za-z_$]\w*\s*[,)]"
)
_SED_RUNS = re.compile(r"(?:^|[;{}0-9$/])[ \t]*e[ \t]*(?:$|[;}])")
_PERL_PIPE = re.compile(r"\bopen\s*\(?[^;\"']*[\"']((?:[^\"']*\|)|(?:\|[^\"']*))[\"']")


def interpreter_of(name: str) -> tuple[str, str] | None:
    """The language of a command's name, and its options that take code."""
    for pattern, language, options in _INTERPRETERS:
        if pattern.fullmatch(name):
            return language, options
    return None


def unwrap_interpreter(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """The code in `-c`, `-e` and the like, or else on the input."""
    name = argv[0].rpartition("/")[2]
    language, options = interpreter_of(name) or ("other", "e")
    operand = False
    for place, word in enumerate(argv[1:], 1):
        taken = re.fullmatch(rf"-[A-Za-z0-9]*?[{options or '_'}](.*)", word, re.DOTALL)
        following = argv[place + 1 : place + 2]
        if word in _LONG:
            yield from (Code(language, each) for each in following)
            return
        if word.startswith("--eval="):
            yield Code(language, word.partition("=")[2])
            return
        if taken:
            code = [taken[1]] if taken[1] else list(following)
            yield from (Code(language, each) for each in code)
            if code:
                return
        operand = operand or (not word.startswith("-") and word != "/dev/stdin")
    if not operand:
        yield from (Code(language, text) for text in stdin.texts())


def commands_in_code(code: Code) -> Iterable[Inner]:
    """What the literal calls in a program start."""
    text = code.text
    for place, found in enumerate(_CALL.finditer(text)):
        if place >= _MOST_CALLS:
            break
        strings = _strings(text, found.end())
        if strings:
            yield Text(strings[0], ("sh",))
            if len(strings) > 1:
                yield Words(tuple(strings))
    yield from _calls_by_form(code)
    if _ENCODED.search(text) and re.search(
        r"system|exec|popen|spawn|subproc|run", text
    ):
        yield from _decoded(text)


def _calls_by_form(code: Code) -> Iterable[Inner]:
    """Calls of what is worked out, and quotes that are calls."""
    text = code.text
    if code.language == "tcl":
        yield from commands_in_tcl(text)
    if _DYNAMIC.search(text):
        yield from _literals(text)
    if code.language == "perl":
        for found in _PERL_PIPE.finditer(text):
            yield Text(found[1].strip("| "), ("sh",))
    if code.language in ("perl", "ruby", "php"):
        for found in _BACKQUOTED.finditer(text):
            yield Text(found[1] or found[2], ("sh",))


def _literals(text: str) -> Iterable[Inner]:
    """Every text that could be a command: one that is not there is called."""
    found: dict[str, None] = {}
    for each in _STRING.finditer(text):
        value = decode_escapes(next(one for one in each.groups() if one is not None))
        if " " in value and len(found) < _MOST_LITERALS:
            found[value] = None
    yield from (Text(each, ("sh",)) for each in found)


def _strings(text: str, pos: int) -> list[str]:
    """The literal strings from `pos` on, joined where the code joins them."""
    strings: list[str] = []
    joins = False
    while True:
        between = _BETWEEN.match(text, pos)
        comma = bool(between and between["comma"])
        if between:
            pos = between.end()
        found = _STRING.match(text, pos)
        if not found:
            return strings
        value = decode_escapes(
            next(each for each in found.groups() if each is not None)
        )
        if strings and not comma and joins:
            strings[-1] += value
        elif strings and not comma:
            return strings
        else:
            strings.append(value)
        joins = True
        pos = found.end()


def _decoded(text: str) -> Iterable[Inner]:
    for encoded in _ENCODED.findall(text):
        for decode in (bytes.fromhex, base64.b64decode):
            try:
                yield Text(decode(encoded).decode(errors="replace"), ("sh",))
                break
            except (ValueError, binascii.Error):
                continue


def unwrap_sed(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """GNU sed's command `e` and its flag `e` of `s`, which run lines of the input."""
    runs_lines = False
    for script in (line for word in argv[1:] for line in word.splitlines()):
        if len(script) > _LONGEST_SED:
            raise TooComplex("a line of a sed script is too long")
        for found in re.finditer(
            r"(?:^|[;{}\n0-9$/])\s*e\s+([^\n]+)|s(.)(?:(?!\2).)*\2((?:(?!\2).)+)\2\w*e",
            script,
        ):
            yield Text(found[1] or found[3], ("sh",))
            runs_lines = runs_lines or found[1] is None
        runs_lines = runs_lines or _SED_RUNS.search(script) is not None
    if runs_lines:
        yield from _lines(stdin)


def _lines(stdin: OutputTexts) -> Iterable[Inner]:
    for text in stdin.texts():
        yield from (Text(line, ("sh",)) for line in text.splitlines())


def unwrap_awk(argv: Sequence[str], stdin: OutputTexts) -> Iterable[Inner]:
    """`system("…")`, `"…" | getline` and `print | "…"` in an awk program.

    With a command that is no literal, or a shell to print to, any literal may be one.
    """
    if any(re.search(r"system\s*\(\s*\$", program) for program in argv[1:]):
        yield from _lines(stdin)
    for program in argv[1:]:
        if re.search(r'system\s*\(\s*[^")\s]|\|&?\s*"(?:\S*/)?(?:ba|da)?sh\b', program):
            found_all = re.findall(r'"((?:[^"\\]|\\.)*)"', program)
            for each in dict.fromkeys((*found_all, "".join(found_all))):
                yield Text(decode_escapes(each), ("sh",))
        for found in re.finditer(
            r'system\s*\(\s*"((?:[^"\\]|\\.)*)"|"((?:[^"\\]|\\.)*)"\s*\|&?\s*getline'
            r'|\|&?\s*"((?:[^"\\]|\\.)*)"',
            program,
        ):
            text = next(each for each in found.groups() if each is not None)
            yield Text(decode_escapes(text), ("sh",))
