"""Whatever a configuration says and however it is written: it comes back."""

import json
import tomllib

from hypothesis import given
from hypothesis import strategies as st
from mcp_configurations import PROGRAM

from redlane.mcp_clients.clients import CLIENTS
from redlane.mcp_clients.rewriting import Rewritten, give_back, put_through


def ours(command: str) -> bool:
    return command in {"redlane", PROGRAM}


def through(text: str, client: str) -> Rewritten:
    return put_through(text, CLIENTS[client], PROGRAM, ours)


def back(text: str, client: str, done: Rewritten) -> str:
    return give_back(text, CLIENTS[client], done.wrapped, ours).text


WORDS = st.text(max_size=8)
SPACE = st.sampled_from(["", " ", "\n", "\r\n\t", " // c\n", "/* ] } */", "\n    "])
COMMA = st.sampled_from(["", ","])
OTHERS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2)
    ),
    max_leaves=4,
)
SERVERS = st.dictionaries(
    st.text(max_size=6),
    st.fixed_dictionaries(
        {"command": WORDS},
        optional={"args": st.lists(WORDS, max_size=3), "env": OTHERS, "x y": OTHERS},
    ),
    max_size=3,
)


def written(draw: st.DrawFn, value: object) -> str:
    """JSON with white space, comments and trailing commas anywhere."""
    before, after = draw(SPACE), draw(SPACE)
    if isinstance(value, dict):
        pairs = [
            f"{draw(SPACE)}{json.dumps(name)}{draw(SPACE)}:{written(draw, each)}"
            for name, each in value.items()
        ]
        inside = f"{','.join(pairs)}{draw(COMMA) if pairs else ''}{draw(SPACE)}"
        return f"{before}{{{inside}}}{after}"
    if isinstance(value, list):
        items = [written(draw, each) for each in value]
        inside = f"{','.join(items)}{draw(COMMA) if items else ''}{draw(SPACE)}"
        return f"{before}[{inside}]{after}"
    return f"{before}{json.dumps(value, ensure_ascii=draw(st.booleans()))}{after}"


@st.composite
def configurations(draw: st.DrawFn) -> tuple[str, dict[str, object]]:
    document = {"other": draw(OTHERS), "mcpServers": draw(SERVERS), "end": draw(OTHERS)}
    return draw(st.sampled_from(["", "\ufeff"])) + written(draw, document), document


@given(configurations())
def test_json_differs_in_servers_alone_and_comes_back(
    made: tuple[str, dict[str, object]],
) -> None:
    text, document = made
    done = through(text, "claude")
    after = CLIENTS["claude"].syntax.parse(done.text).plain()

    assert isinstance(after, dict)
    assert {**after, "mcpServers": None} == {**document, "mcpServers": None}
    _check_servers(after["mcpServers"], document["mcpServers"], done)
    assert back(done.text, "claude", done) == text
    assert through(done.text, "claude").wrapped == ()


def _check_servers(after: object, before: object, done: Rewritten) -> None:
    assert isinstance(after, dict)
    assert isinstance(before, dict)
    wrapped = {each.place[-1]: each for each in done.wrapped}
    assert list(after) == list(before)
    for name, server in before.items():
        meant = dict(server)
        if name in wrapped:
            own = [server["command"], *server.get("args", [])]
            meant["command"], *rest = wrapped[name].words
            meant["args"] = [*rest, *own]
        assert after[name] == meant


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


TOML_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
TOML_STYLE = st.sampled_from(["table", "dotted", "inline"])
BREAK = st.sampled_from(["\n", "\r\n"])


@st.composite
def toml_configurations(draw: st.DrawFn) -> str:
    end, blank = draw(BREAK), draw(st.sampled_from(["", "  ", "\t"]))
    comment = draw(st.sampled_from(["", ' # "note" [x]']))
    lines, tables = ["model = 'x' # y"], []
    for name in draw(st.lists(TOML_TEXT, max_size=3, unique=True)):
        command = f"{blank}command = {_toml(draw(TOML_TEXT))}"
        items = draw(st.none() | st.lists(TOML_TEXT, max_size=3))
        items_text = f"[{','.join(map(_toml, items))}]" if items is not None else None
        pairs = [command.strip(), "on = true"]
        if items_text is not None:
            pairs.insert(draw(st.integers(0, 2)), f"args = {items_text}")
        match draw(TOML_STYLE):
            case "table":
                tables += [f"[mcp_servers . {_toml(name)}]{comment}"]
                tables += [f"{blank}{each}{comment}" for each in pairs]
            case "dotted":
                lines += [
                    f"mcp_servers.{_toml(name)}.{each}{comment}" for each in pairs
                ]
            case _:
                lines += [
                    f"mcp_servers.{_toml(name)} = {{ {', '.join(pairs)} }}{comment}"
                ]
    last = draw(st.sampled_from(["", end]))
    return draw(st.sampled_from(["", "\ufeff"])) + end.join([*lines, *tables]) + last


@given(toml_configurations())
def test_toml_differs_in_servers_alone_and_comes_back(text: str) -> None:
    done = through(text, "codex")
    before = tomllib.loads(text.removeprefix("\ufeff"))
    after = tomllib.loads(done.text.removeprefix("\ufeff"))

    assert {**after, "mcp_servers": 0} == {**before, "mcp_servers": 0}
    _check_servers(after.get("mcp_servers", {}), before.get("mcp_servers", {}), done)
    assert back(done.text, "codex", done) == text
    assert through(done.text, "codex").wrapped == ()
