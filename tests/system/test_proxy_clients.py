"""Real clients get through the proxy what they get directly, where all is allowed."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from origins.git_http import GitHttp
from origins.shelves import fill_npm, fill_pip
from proxied import Proxied, Site, proxied, site
from spec.cases import simple
from spec.redlane_home import Ran

CLIENTS = Path(__file__).parents[1] / "origins" / "clients.py"
INERT = {"inert": simple("Block", "no client has ever said this")}
AUTHORITY_VARIABLES = (
    *("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT"),
    *("GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "npm_config_cafile"),
)


@dataclass(frozen=True)
class Client:
    """A bash script that uses a program; `slow` ones run in the whole suite only."""

    id: str
    needs: str
    script: str
    slow: bool = False


CURL = "curl -sS --max-time 60 --suppress-connect-headers"
SHOW = r"-w '\n%{http_version} %{http_code}\n'"
HEADS = "| tr -d '\\r' | grep -iv -e ^date: -e ^server: -e '^HTTP/' | sort"

TABLE = [
    Client("curl-h1", "curl", f"{CURL} --http1.1 {SHOW} $HTTPS/text"),
    Client("curl-h2", "curl", f"{CURL} --http2 {SHOW} $HTTPS/text"),
    Client("curl-plain", "curl", f"{CURL} {SHOW} $HTTP/text"),
    Client("curl-redirect", "curl", f'{CURL} -L {SHOW} "$HTTPS/redirect?to=/text"'),
    Client(
        "curl-redirect-across",
        "curl",
        f'{CURL} -L {SHOW} "$HTTPS/redirect?to=$HTTP/text"',
    ),
    Client("curl-post", "curl", f"{CURL} -d a=b -H 'X-Mine: 1' {SHOW} $HTTPS/echo"),
    Client("curl-put", "curl", f"{CURL} -T $DATA/small {SHOW} $HTTPS/echo"),
    Client(
        "curl-chunked-upload",
        "curl",
        f"cat $DATA/large | {CURL} --http1.1 -T - {SHOW} $HTTPS/echo",
    ),
    Client(
        "curl-100-continue",
        "curl",
        f"{CURL} --http1.1 --expect100-timeout 30 -H 'Expect: 100-continue'"
        f" --data-binary @$DATA/small {SHOW} $HTTPS/echo $HTTP/echo",
    ),
    Client(
        "curl-upload-h2",
        "curl",
        f"{CURL} --http2 --data-binary @$DATA/large {SHOW} $HTTPS/echo",
    ),
    Client("curl-head", "curl", f"{CURL} --http1.1 -I $HTTPS/text {HEADS}"),
    Client("curl-delete", "curl", f"{CURL} -X DELETE {SHOW} $HTTPS/echo"),
    Client("curl-options", "curl", f"{CURL} -X OPTIONS {SHOW} $HTTPS/echo"),
    Client("curl-basic-auth", "curl", f"{CURL} -u me:secret {SHOW} $HTTPS/auth"),
    Client("curl-no-auth", "curl", f"{CURL} {SHOW} $HTTPS/auth"),
    Client("curl-404", "curl", f"{CURL} -f {SHOW} $HTTPS/nowhere"),
    Client("curl-204", "curl", f"{CURL} {SHOW} $HTTPS/empty"),
    Client("curl-chunked", "curl", f"{CURL} --http1.1 {SHOW} $HTTPS/chunked"),
    Client("curl-chunked-plain", "curl", f"{CURL} {SHOW} $HTTP/chunked"),
    Client("curl-range", "curl", f"{CURL} -r 100-199 $HTTPS/range | sha256sum"),
    Client(
        "curl-resume",
        "curl",
        f"{CURL} -r 0-999 -o part $HTTPS/range; {CURL} -C - -o part $HTTPS/range",
    ),
    Client("curl-headers", "curl", f"{CURL} --http2 -D - $HTTPS/headers {HEADS}"),
    *(
        Client(
            f"curl-{coding.replace(' ', '-')}",
            "curl",
            f'{CURL} --compressed {SHOW} "$HTTPS/encoded?coding={coding}"',
        )
        for coding in ("gzip", "br", "zstd", "deflate", "gzip,br")
    ),
    Client(
        "curl-gzip-as-it-comes",
        "curl",
        f"{CURL} -H 'Accept-Encoding: gzip' \"$HTTPS/encoded?coding=gzip\" | sha256sum",
    ),
    Client("curl-wrong-type", "curl", f"{CURL} $HTTPS/wrong-type | sha256sum"),
    Client("curl-wrong-coding", "curl", f"{CURL} $HTTPS/wrong-coding | sha256sum"),
    Client("curl-odd-target", "curl", f'{CURL} "$HTTPS/echo?a=%2F%2f&b=ü&&c"'),
    Client(
        "curl-kept-alive", "curl", f"{CURL} {SHOW} $HTTPS/text $HTTPS/echo $HTTPS/json"
    ),
    Client(
        "curl-200-megabytes",
        "curl",
        f'{CURL} "$HTTPS/big?bytes=209715200" | sha256sum',
        slow=True,
    ),
    Client(
        "curl-20-megabytes-up",
        "curl",
        f"{CURL} --data-binary @$DATA/huge {SHOW} $HTTPS/echo",
        slow=True,
    ),
    Client("wget", "wget", "wget -q -O - $HTTPS/text; wget -q -O - $HTTP/text"),
    Client("wget-post", "wget", "wget -q -O - --post-data=a=b $HTTPS/echo"),
    Client("wget-range", "wget", "wget -q $HTTPS/range"),
    Client("git-clone", "git", "git clone -q $HTTPS/git/read.git d && ls d"),
    Client("git-clone-plain", "git", "git clone -q $HTTP/git/read.git d && ls d"),
    Client(
        "git-shallow",
        "git",
        "git clone -q --depth 1 $HTTPS/git/read.git d && git -C d log --format=%H",
    ),
    Client(
        "git-push",
        "git",
        "git clone -q $HTTPS/git/write.git d && cd d && cp $DATA/large . &&"
        " git add large && git commit -qm more && git push -q origin HEAD:$BRANCH &&"
        " git ls-remote origin $BRANCH",
    ),
    Client(
        "pip",
        "python3",
        "$PYTHON -m pip download -q --disable-pip-version-check --no-cache-dir"
        " --no-deps --index-url $HTTPS/simple/ greeting",
    ),
    Client(
        "npm",
        "npm",
        "npm install --silent --no-audit --no-fund --no-update-notifier"
        " --registry $HTTPS/npm --cache $HOME/npm-cache greeting &&"
        " rm -rf $HOME/npm-cache && node -p 'require(\"greeting\")()'",
        slow=True,
    ),
    *(
        Client(name, "python3", f"$PYTHON $CLIENTS {name} $HTTP $HTTPS")
        for name in (
            *("urllib", "requests", "httpx", "httpx-h2", "aiohttp"),
            *("websockets", "websocket-client"),
        )
    ),
    Client(
        "undici", "node", "node --no-warnings $UNDICI/fetch.mjs $HTTP $HTTPS", slow=True
    ),
]
UNDICI = """\
import { EnvHttpProxyAgent, fetch, setGlobalDispatcher } from 'undici'
setGlobalDispatcher(new EnvHttpProxyAgent())
for (const base of process.argv.slice(2)) {
  for (const path of ['/text', '/chunked', '/encoded?coding=br', '/range']) {
    const answer = await fetch(base + path)
    const body = Buffer.from(await answer.arrayBuffer())
    console.log(answer.status, body.length, body.toString('base64').slice(-40))
  }
  const body = 'x'.repeat(70000)
  const answer = await fetch(base + '/echo', { method: 'POST', body })
  console.log(await answer.text())
}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    base = tmp_path_factory.mktemp("origin")
    with site(base) as made:
        _lay(base, made)
        yield made


def _lay(base: Path, made: Site) -> None:
    """Repositories, packages and pages."""
    for name in ("read", "write"):
        _repository(base / "git" / f"{name}.git")
    made.origin.git = GitHttp(base / "git")
    fill_pip(made.origin)
    fill_npm(made.origin, made.https)
    serve = made.origin.serve
    serve("/wrong-type", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "text/html")
    serve("/wrong-coding", b"not compressed at all", content_encoding="gzip")
    serve("/headers", b"x", x_long="y" * 4000, set_cookie="a=b; Path=/")
    serve("/empty", b"", None, status=204)


def _repository(path: Path) -> None:
    git = ["git", "-C", str(path)]
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    work = path.with_suffix("")
    work.mkdir(parents=True)
    for number in range(20):
        (work / f"file{number}").write_text(f"{number}\n" * 1000)
    environment = {"PATH": os.defpath, "HOME": str(work), "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (
        ["git", "init", "-q", "-b", "main", str(work)],
        ["git", "-C", str(work), "add", "."],
        ["git", "-C", str(work), *identity, "commit", "-qm", "first"],
        ["git", "clone", "-q", "--bare", str(work), str(path)],
        [*git, "config", "http.receivepack", "true"],
    ):
        subprocess.run(words, env=environment, check=True, capture_output=True)


@pytest.fixture(scope="module")
def lab(place: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    base = tmp_path_factory.mktemp("lab")
    roles = {"all": ["inert"]}
    with proxied(base, place, INERT, roles, tls={"intercept": True}) as made:
        data = base / "data"
        data.mkdir()
        for name, size in (("small", 100), ("large", 2_000_000), ("huge", 20_000_000)):
            (data / name).write_bytes(b"0123456789" * (size // 10))
        made.home.env |= {
            "HTTP": place.http,
            "HTTPS": place.https,
            "DATA": str(data),
            "PYTHON": sys.executable,
            "CLIENTS": str(CLIENTS),
            "UNDICI": str(base / "undici"),
        }
        _identity(made)
        yield made


def _identity(lab: Proxied) -> None:
    lines = "[user]\n\tname = A\n\temail = a@example.com\n"
    (lab.home.user / ".gitconfig").write_text(lines)


def _install_undici(directory: Path) -> None:
    """Undici itself, that node comes with but does not give away."""
    words = ["npm", "install", "--silent", "--no-audit", "--no-fund", "undici@6"]
    directory.mkdir(exist_ok=True)
    try:
        subprocess.run(
            words, cwd=directory, check=True, timeout=60, capture_output=True
        )
    except (OSError, subprocess.SubprocessError):
        pytest.skip("NOT TESTED: npm cannot install undici")
    (directory / "fetch.mjs").write_text(UNDICI)


def _directly(lab: Proxied, script: str, work: Path, branch: str) -> Ran:
    bundle = str(lab.site.authority.bundle)
    wgetrc = lab.home.user / "direct.wgetrc"
    wgetrc.write_text(f"ca_certificate = {bundle}\n")
    authority = dict.fromkeys(AUTHORITY_VARIABLES, bundle)
    env = {**authority, "WGETRC": str(wgetrc), "BRANCH": branch}
    words, bash = ("-c", script), Path("/bin/bash")
    return lab.home.run(*words, program=bash, env=env, cwd=work)


def _through(lab: Proxied, script: str, work: Path, branch: str) -> Ran:
    """The same in a session whose caller has set other authorities."""
    wrong = dict.fromkeys(AUTHORITY_VARIABLES[1:], "/nonexistent/authority.pem")
    env = {**wrong, "BRANCH": branch, "NO_PROXY": "*", "no_proxy": "*"}
    return lab.run("/bin/bash", "-c", script, role="all", env=env, cwd=work)


def _tree(work: Path) -> dict[str, str]:
    """What was left behind, but for git's own files."""
    files = [each for each in work.rglob("*") if each.is_file()]
    return {
        str(each.relative_to(work)): hashlib.sha256(each.read_bytes()).hexdigest()
        for each in files
        if ".git" not in each.parts
    }


@pytest.mark.parametrize(
    "client",
    [
        pytest.param(each, id=each.id, marks=[pytest.mark.slow] if each.slow else [])
        for each in TABLE
    ],
)
def test_a_client_gets_what_it_gets_directly(
    lab: Proxied, tmp_path: Path, client: Client
) -> None:
    if shutil.which(client.needs) is None:
        pytest.skip(f"NOT TESTED: {client.needs} is not installed")
    if client.id == "undici":
        _install_undici(Path(lab.home.env["UNDICI"]))
    works = tmp_path / "direct" / "work", tmp_path / "proxied" / "work"
    for each in works:
        each.mkdir(parents=True)

    direct = _directly(lab, client.script, works[0], f"{client.id}-direct")
    seen = _judged(lab)
    proxied = _through(lab, client.script, works[1], f"{client.id}-proxied")

    assert direct.code == 0 or client.id == "curl-404", direct
    assert direct.out or _tree(works[0]), direct
    assert _same(proxied, "proxied") == _same(direct, "direct")
    assert _tree(works[1]) == _tree(works[0])
    assert _judged(lab) - seen


def _judged(lab: Proxied) -> set[str]:
    """The requests that the proxy has had judged."""
    rows = lab.home.control.rows("/api/events?context=Network&limit=1000")
    return {each["id"] for each in rows}


def _same(ran: Ran, branch: str) -> Ran:
    """Without what must differ: the branch, and when its commit was made."""
    lines = [
        f"pushed {name.removesuffix(branch)}" if tab else line
        for line in ran.out.splitlines()
        for _, tab, name in [line.partition("\trefs/heads/")]
    ]
    return Ran(ran.code, "\n".join(lines), ran.err)
