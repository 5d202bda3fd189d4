"""Random shell scripts: mostly well-formed, now and then with a stray mark."""

import random

__all__ = ["script"]

WORDS = [
    "a",
    "b",
    "-x",
    "c2",
    "~",
    "a\\ b",
    "x=1",
    "#",
    "]]",
    "in",
    "esac",
    "done",
    "}",
]
SINGLE = ["a;b", "$(c3)", "`c3`", "x y", "\\", "a\nb", "# x", "(", "E"]
DOUBLE = ["a;b", "x y", "'", '\\"', "a\nb", "`c3 q`", "$x", "(", "\\\\"]
BACKQUOTED = ["a", "'b'", "\\`c3 n\\`", "\\\\", '"q"']
SUMS = ["1+2", "1<<2", "$(c3 s; echo 1)", "(1)", "x"]
NAMES = ["c1", "c2", "c3", "'c1'", "c\\4", "$x", '"c2"', 'c$y"3"', "$(echo c3)"]
BODIES = [
    "c3 body\n", "it's\n", '"q\n', "$(c4 inside)\n", "\\\nE \n", "`c4 quoted`\n",
    "\tEx\n", ")\n", "", "\\\\\n", "$x ${x:-$(c2 d)}\n", "joined\\\nE\n",
]  # fmt: skip
STRAY = [
    "'", '"', "`", "$(", ")", "(", "{ ", "; }", "\n", "E\n", "<<E ", "<<'E' ", "#",
    "\\", "\\\n", "; ", " && ", " | ", " & ", "((", "))", "$((", "${x:-", "}", "$'",
    "]", ";; ", " esac ", "fi ", "; done ", "f() ", "[[ ", "<(", "<<<", "c1 a",
    "eval ", "x=", "&> o ", "> o ",
]  # fmt: skip


def script(chance: random.Random, *, braces: bool) -> str:
    """A script; `braces` says that the shell expands `{a,b}`."""
    text = _Grammar(chance, braces=braces).command(chance.randint(1, 4))
    for _ in range(chance.choice([0, 0, 1, 2])):
        place = chance.randint(0, len(text))
        text = text[:place] + chance.choice(STRAY) + text[place:]
    return text


class _Grammar:
    def __init__(self, chance: random.Random, *, braces: bool) -> None:
        self._chance = chance
        self._braces = braces

    def _pick(self, choices: list[str]) -> str:
        return self._chance.choice(choices)

    def word(self, depth: int) -> str:
        if depth <= 0 or self._chance.random() < 1 / 3:
            return self._pick(WORDS)
        inner = self.word(depth - 1)
        operator = self._pick([":-", "-", ":+", "+", ":=", "#", "%", "/"])
        ansi = self._pick(["a", "\\'", "\\x63"])
        return self._pick(
            [
                f"'{self._pick(SINGLE)}'",
                f'"{self._pick(DOUBLE)}"',
                f'"$(c2 {inner})"',
                f'"${{x:-{inner}}}"',
                f"$({self.command(depth - 1)})",
                f"`c2 {self._pick(BACKQUOTED)}`",
                f"${{x{operator}{inner}}}",
                f"$(({self._pick(SUMS)}))",
                f"{{a,{inner}}}" if self._braces else "a",
                f"<({self.command(depth - 1)})" if self._braces else "b",
                f"$'{ansi}'" if self._braces else "c",
                inner + self.word(depth - 1),
                "$x$y",
            ]
        )

    def simple(self, depth: int) -> str:
        before = self._pick(["", "", "", "x=c2 ", f"y={self.word(depth - 1)} ", "! "])
        text = before + self._pick(NAMES)
        for _ in range(self._chance.randint(0, 3)):
            text += self._pick([" ", "  ", "\t", " \\\n"]) + self.word(depth - 1)
        after = [" > o", " 2>&1", " < /dev/null", " >> o 2>o2"]
        return text + (self._pick(after) if self._chance.random() < 1 / 7 else "")

    def document(self) -> str:
        written = self._pick(["E", "'E'", "\\E", '"E"'])
        operator = self._pick(["<<", "<<-"])
        reader = self._pick(["cat", "bash", "sh", "c1", "while read l; do c2 $l; done"])
        after = self._pick(["", " && c3 after", "; c2 x", " # it's", " | sh"])
        tab = self._pick(["", "\t"]) if operator == "<<-" else ""
        return f"{reader} {operator}{written}{after}\n{self._pick(BODIES)}{tab}E\n"

    def command(self, depth: int) -> str:
        if depth <= 0 or self._chance.random() < 1 / 4:
            return self.simple(depth)
        one, two = self.command(depth - 1), self.command(depth - 1)
        word = self.word(depth - 1)
        joint = self._pick(["; ", " && ", " || ", " | ", "\n", "; # it's\n", " &\n"])
        pattern = self._pick(["b", "'x)'", "*", "y"])
        end = self._pick([";; esac", "\nesac", ";;\nesac"])
        value = self._pick(["c2", "'c3 v'", "$(echo c4)", "c"])
        string = self._pick(["'c3 s; c2'", '"c1 $x"', "'\"$@\"' x c4 p", "'$1 q' x c3"])
        evaluated = self._pick(["'c3 ev'", "c3"])
        printed = self._pick(["'c3 piped'", "c2", "$x"])
        reader = self._pick(["sh", "bash", "cat | bash", "{ read v; $v r; }"])
        return self._pick(
            [
                f"{one}{joint}{two}",
                f"( {one} )",
                f"{{ {one}; }}",
                f"if {one}; then {two}; else {one}; fi",
                f"case {word} in a|{pattern}) {one} ;; *) {two}{end}",
                f"for i in {word} c2; do {one}; $i z; done",
                f"f() {{ {one}; }}; f {word}",
                self.document(),
                f"eval {word} {evaluated}",
                f"{self._pick(['sh', 'bash'])} -c {string}",
                f"[[ {word} == a ]] && {one}" if self._braces else two,
                f"(({self._pick(['1<<2', 'x=1'])})); {one}" if self._braces else one,
                f"x={value}; {one}",
                f"echo {printed} | {reader}",
                f"while {one}; false; do {two}; done",
            ]
        )
