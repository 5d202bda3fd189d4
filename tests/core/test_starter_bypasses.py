"""The role developer against ways round it, and against a day of ordinary work."""

import json
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from redlane.cli.starter import STARTER
from redlane.contexts.parse import parse_content
from redlane.engine.judge import judge
from redlane.model.policy import Context
from redlane.model.verdict import Decision, Verdict
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loaded import Loaded
from redlane.policies.loading import load

DATA = Path(__file__).parents[1] / "data"
FAMILIES: list[dict[str, Any]] = json.loads(
    (DATA / "shell_bypasses.json").read_text("utf-8")
)
EVERYDAY: list[str] = json.loads((DATA / "everyday_commands.json").read_text("utf-8"))
STOPPED = {Decision.BLOCK, Decision.FLAG}


@cache
def starter() -> Loaded:
    paths = Paths(STARTER, STARTER / "none.json", STARTER, STARTER / "none.sock")
    return load(paths, find_plugins())


def verdict(text: str, context: Context = Context.SHELL) -> Verdict:
    content = parse_content(context, text.encode(), "/nowhere")
    return judge(starter().ruleset, "developer", [content])


def members(key: str) -> list[Any]:
    return [
        pytest.param(command, id=f"{family['family']}: {command}")
        for family in FAMILIES
        for command in family[key]
    ]


@pytest.mark.parametrize("command", members("payloads"))
def test_way_round_is_blocked_or_held(command: str) -> None:
    assert verdict(command).decision in STOPPED


@pytest.mark.parametrize("command", members("twins"))
def test_harmless_twin_goes_on(command: str) -> None:
    assert verdict(command).decision is Decision.ALLOW


@pytest.mark.parametrize("command", EVERYDAY)
def test_ordinary_command_goes_on_unchanged(command: str) -> None:
    assert verdict(command).decision is Decision.ALLOW


SAID = {
    "password": ("mysql --password=hunter2 db", "mysql --password=REDACTED db"),
    "password word": ("x --password hunter2", "x --password REDACTED"),
    "variable": ("DB_PASSWORD='s3cret!x' ./run", "DB_PASSWORD='REDACTED' ./run"),
    "json": ('\'{"token": "abc123def"}\' x', '\'{"token": "REDACTED"}\' x'),
    "header": (
        "'Authorization: Bearer abcdef0123456789abcdef' x",
        "'Authorization: Bearer REDACTED' x",
    ),
    "address": (
        "git clone https://me:s3cretpass@x/r",
        "git clone https://me:REDACTED@x/r",
    ),
    "user": ("curl -u me:s3cretpass https://x", "curl -u me:REDACTED https://x"),
    "key": ("aws_x AKIAABCDEFGHIJKLMNOP", "aws_x REDACTED"),
}


@pytest.mark.parametrize(("text", "rewritten"), SAID.values(), ids=SAID)
def test_secret_that_is_shown_is_taken_out_and_nothing_else(
    text: str, rewritten: str
) -> None:
    found = verdict(f"echo {text}")
    assert found.decision is Decision.MODIFY
    assert found.content == f"echo {rewritten}".encode()


@pytest.mark.parametrize("text", [each for each, _ in SAID.values()], ids=SAID)
@pytest.mark.parametrize("form", ["run {}", "echo {} >> .env", "export A=1; x {}"])
def test_secret_that_something_works_with_stays(form: str, text: str) -> None:
    assert verdict(form.format(text)).decision is Decision.ALLOW


PLACEHOLDERS = (
    'mysql --password="$DB_PASSWORD" db',
    'curl -H "Authorization: Bearer $TOKEN" x',
    "psql postgres://postgres:postgres@localhost/app",
    "grep -n 'password=' src/settings.py",
    "python train.py --max_tokens 16384",
    "docker run -e POSTGRES_PASSWORD=postgres db",
)


@pytest.mark.parametrize("command", PLACEHOLDERS)
def test_what_only_names_a_secret_stays(command: str) -> None:
    assert verdict(command).decision is Decision.ALLOW


REQUEST = "POST https://x.example/v1 HTTP/1.1\n{headers}\n\n{body}"
TOKEN = "ghp_" + "a1B2" * 9
PRIVATE = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj"


def in_base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def does_not_leave(text: str) -> bool:
    """Whether a request is blocked if the key is encoded, or else goes without it."""
    found = verdict(text, Context.NETWORK)
    is_plain = TOKEN in text or PRIVATE in text
    kept = (TOKEN.encode(), PRIVATE.encode())
    assert found.policy == "redact-secrets-network"
    assert found.decision is (Decision.MODIFY if is_plain else Decision.BLOCK)
    return not is_plain or not any(each in (found.content or b"") for each in kept)


@pytest.mark.parametrize(
    "body",
    [
        f'{{"note": "{TOKEN}"}}',
        f'{{"text":"key: {TOKEN}"}}',
        f"the key: {TOKEN}",
        f"a=1&b={TOKEN}",
        in_base64(f"key {TOKEN}"),
        f'{{"data": "{in_base64(in_base64(TOKEN))}"}}',
        f'{{"data": "{TOKEN.encode().hex()}"}}',
        '{"text": "' + "".join(f"\\u{ord(each):04x}" for each in TOKEN) + '"}',
        f'{{"note": "-----BEGIN PRIVATE KEY-----\\n{PRIVATE}"}}',
    ],
)
def test_secret_in_a_body_does_not_leave(body: str) -> None:
    text = REQUEST.format(headers="host: x.example", body=body)
    assert does_not_leave(text)


@pytest.mark.parametrize(
    "line",
    [
        f"GET https://x.example/?q={TOKEN} HTTP/1.1\n\n",
        f"GET https://x.example/?q={in_base64(TOKEN)[:-1]} HTTP/1.1\n\n",
        f"GET https://x.example/{TOKEN}/a HTTP/1.1\n\n",
        f"GET https://x.example/ HTTP/1.1\nx-note: {TOKEN}\n\n",
        f"GET https://x.example/ HTTP/1.1\nauthorization: a\nreferer: {TOKEN}\n\n",
    ],
)
def test_secret_in_a_line_or_a_header_does_not_leave(line: str) -> None:
    assert does_not_leave(line)


@pytest.mark.parametrize(
    "url",
    [
        f"https://{TOKEN}@x.example/r.git",
        "https://x.example/?X-Amz-Credential=AKIAABCDEFGHIJKLMNOP%2F20260101%2Fs3",
        "https://x.example/?key=AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    ],
)
def test_address_with_its_own_credentials_goes_on(url: str) -> None:
    text = f"GET {url} HTTP/1.1\n\n"
    assert verdict(text, Context.NETWORK).decision is Decision.ALLOW


@pytest.mark.parametrize(
    "header",
    [
        f"authorization: Bearer {TOKEN}",
        f"authorization: Basic {in_base64(f'x-access-token:{TOKEN}')}",
        f"cookie: a=b; session={TOKEN}",
        f"x-api-key: {TOKEN}",
    ],
)
def test_credentials_of_a_request_stay(header: str) -> None:
    text = REQUEST.format(headers=header, body="{}")
    assert verdict(text, Context.NETWORK).decision is Decision.ALLOW


METADATA = (
    "GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\n\n",
    "GET http://2852039166/ HTTP/1.1\n\n",
    "GET http://[::ffff:169.254.169.254]/ HTTP/1.1\n\n",
    "GET http://0xa9fea9fe/ HTTP/1.1\n\n",
    "CONNECT metadata.google.internal:80 HTTP/1.1\n\n",
    "GET http://me@169.254.169.254./ HTTP/1.1\n\n",
)


@pytest.mark.parametrize("request_text", METADATA)
def test_metadata_service_is_out_of_reach(request_text: str) -> None:
    assert verdict(request_text, Context.NETWORK).decision is Decision.BLOCK


HARMFUL_CALLS = {
    "key file": {"path": "/home/me/.ssh/id_rsa"},
    "shadow": {"path": "../../../../etc/shadow"},
    "delete": {"command": "rm -rf ~"},
    "metadata": {"url": "http://169.254.169.254/latest/"},
    "metadata as a number": {"url": "http://2852039166/"},
    "start-up file": {"path": "/home/me/.bashrc", "content": "x"},
    "encoded climb": {"path": "%2e%2e%2f%2e%2e%2fetc%2fpasswd"},
    "git hook": {"path": "/repo/.git/hooks/pre-commit", "content": "x"},
    "drop": {"query": "DROP TABLE users"},
}
BENIGN_CALLS = {
    "read": {"path": "src/main.py"},
    "write": {"path": "docs/a.md", "content": "never read ~/.ssh/id_rsa or rm -rf ~"},
    "query": {"query": "select * from users where note = 'drop table'"},
    "fetch": {"url": "https://example.com/169.254.169.254.html"},
    "relative": {"path": "../shared/readme.md"},
    "public key": {"path": "/home/me/.ssh/id_rsa.pub"},
    "search": {"pattern": "password", "path": "."},
    "run": {"command": "npm test"},
}


def call(arguments: dict[str, str]) -> str:
    return json.dumps({"server": "files", "tool": "use", "arguments": arguments})


@pytest.mark.parametrize("arguments", HARMFUL_CALLS.values(), ids=HARMFUL_CALLS.keys())
def test_harmful_tool_call_is_blocked(arguments: dict[str, str]) -> None:
    assert verdict(call(arguments), Context.MCP).decision is Decision.BLOCK


@pytest.mark.parametrize("arguments", BENIGN_CALLS.values(), ids=BENIGN_CALLS.keys())
def test_ordinary_tool_call_goes_on(arguments: dict[str, str]) -> None:
    assert verdict(call(arguments), Context.MCP).decision is Decision.ALLOW


def test_secret_in_a_tool_call_is_taken_out() -> None:
    found = verdict(call({"body": "the key is AKIAABCDEFGHIJKLMNOP"}), Context.MCP)
    assert found.decision is Decision.MODIFY
    assert found.content is not None
    assert b"AKIA" not in found.content
