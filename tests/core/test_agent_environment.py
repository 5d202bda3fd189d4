"""What an agent finds in its environment, whatever is set there before."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from redlane.cli.agent_environment import agent_environment
from redlane.cli.wget import wget_settings

URL = "http://abc:token@127.0.0.1:4000"
SESSION: dict[str, Any] = {
    "id": "abc",
    "socket": "/run/control.sock",
    "shims": "/run/bin",
    "role": "guard",
}
BUNDLE, CERTIFICATE = "/ca/bundle.pem", "/ca/cert.pem"
BUNDLES = (
    *("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT"),
    *("GIT_SSL_CAINFO", "npm_config_cafile", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE"),
    *("DENO_CERT", "NIX_SSL_CERT_FILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"),
    *("BUNDLE_SSL_CA_CERT", "HTTPLIB2_CA_CERTS"),
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
)
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def offered(*, intercept: bool) -> dict[str, Any]:
    trust = (BUNDLE, CERTIFICATE) if intercept else (None, None)
    offer = dict(zip(("bundle", "authority"), trust, strict=True))
    return {**SESSION, "proxy": {"url": URL, **offer}}


@pytest.mark.parametrize("session", [SESSION, {**SESSION, "proxy": None}])
def test_without_a_proxy_the_users_own_stays(session: dict[str, Any]) -> None:
    environ = {"HTTP_PROXY": "http://corporate", "NO_PROXY": "*", "PATH": "/bin"}
    found = agent_environment(session, environ, bound=True)
    assert found.items() >= {"HTTP_PROXY": "http://corporate", "NO_PROXY": "*"}.items()
    assert (found["REDLANE_SESSION"], found["PATH"]) == ("abc", "/bin:/run/bin")


@pytest.mark.parametrize(
    ("bound", "path", "shell"),
    [(True, "/bin:/run/bin", "/bin/bash"), (False, "/run/bin:/bin", "/run/bin/bash")],
)
def test_shells_by_name_are_the_guarded_one_where_nothing_else_holds_them(
    *, bound: bool, path: str, shell: str
) -> None:
    found = agent_environment(SESSION, {"PATH": "/bin", "SHELL": "/x"}, bound=bound)
    assert (found["PATH"], found["SHELL"], found["CLAUDE_CODE_SHELL"]) == (
        *(path, shell),
        shell,
    )


def test_every_variable_of_a_proxy_is_the_sessions() -> None:
    names = [*PROXIES, *map(str.lower, PROXIES)]
    environ = dict.fromkeys(names, "http://elsewhere")
    environ |= {"NO_PROXY": "*", "no_proxy": "localhost"}

    found = agent_environment(offered(intercept=False), environ, bound=True)

    assert {found[name] for name in names} == {URL}
    assert (found["NO_PROXY"], found["no_proxy"]) == ("", "")


@pytest.mark.parametrize(
    "name",
    ["npm_config_proxy", "NPM_CONFIG_HTTPS_PROXY", "npm_config_noproxy", "PIP_PROXY"],
)
def test_a_programs_own_proxy_is_taken_out(name: str) -> None:
    environ = {name: "http://elsewhere"}
    found = agent_environment(offered(intercept=False), environ, bound=True)
    assert name not in found


def test_without_interception_trust_stays_as_it_is() -> None:
    environ = {"SSL_CERT_FILE": "/mine", "SSL_CERT_DIR": "/dir", "WGETRC": "/rc"}
    found = agent_environment(offered(intercept=False), environ, bound=True)
    assert found.items() >= environ.items()
    assert "NODE_EXTRA_CA_CERTS" not in found


def test_every_variable_of_trust_is_overridden(tmp_path: Path) -> None:
    environ = dict.fromkeys([*BUNDLES, "NODE_EXTRA_CA_CERTS"], "/other.pem")
    environ |= {"SSL_CERT_DIR": "/certs", "GIT_SSL_CAPATH": "/certs"}
    environ |= {"NPM_CONFIG_CAFILE": "/other.pem", "HOME": str(tmp_path)}

    found = agent_environment(offered(intercept=True), environ, bound=True)

    assert {found[name] for name in BUNDLES} == {BUNDLE}
    assert found["NODE_EXTRA_CA_CERTS"] == CERTIFICATE
    gone = {"SSL_CERT_DIR", "GIT_SSL_CAPATH", "NPM_CONFIG_CAFILE"}
    assert not gone & found.keys()
    assert "ca_certificate = /ca/bundle.pem" in Path(found["WGETRC"]).read_text()


def test_what_wget_was_told_is_kept_but_for_proxy_and_trust(tmp_path: Path) -> None:
    own = tmp_path / ".wgetrc"
    own.write_bytes(
        b"tries = 3\nCA-Certificate=/mine\nuse_proxy = off\nhttps_proxy=http://x\n"
        b"no proxy = *\nhttp_password = hunter2\n# \xff\nca_directory = /certs"
    )

    path = wget_settings(BUNDLE, {"HOME": str(tmp_path)})

    assert path is not None
    assert path.read_bytes() == (
        b"tries = 3\nhttp_password = hunter2\n# \xff\n"
        b"use_proxy = on\nca_certificate = /ca/bundle.pem\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.is_relative_to(tmp_path / ".cache" / "redlane")


def test_the_file_that_wgetrc_names_is_the_one_that_counts(tmp_path: Path) -> None:
    (tmp_path / ".wgetrc").write_text("tries = 3\n")
    other = tmp_path / "other"
    other.write_text("tries = 4\n")
    environ = {"HOME": str(tmp_path), "WGETRC": str(other)}

    path = wget_settings(BUNDLE, environ)

    assert path is not None
    assert path.read_text().startswith("tries = 4\n")
    # An agent that starts an agent: what is there already is not added again.
    again = wget_settings(BUNDLE, {**environ, "WGETRC": str(path)})
    assert again == path


def test_sessions_that_differ_have_files_of_their_own(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    one, other = wget_settings("/a", environ), wget_settings("/b", environ)
    assert one != other
    assert one is not None
    assert one == wget_settings("/a", environ)
    assert one.is_relative_to(tmp_path / "run" / "redlane-agents")


@pytest.mark.parametrize("environ", [{}, {"HOME": "/proc/none"}, {"HOME": "relative"}])
def test_where_no_file_can_be_kept_there_is_none(environ: dict[str, str]) -> None:
    assert wget_settings(BUNDLE, environ) is None


def test_a_link_in_the_place_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    path = wget_settings(BUNDLE, {"HOME": str(tmp_path)})
    assert path is not None
    for each in (path, path.with_name(f".{path.name}.{os.getpid()}")):
        each.unlink(missing_ok=True)
        each.symlink_to(victim)

    wget_settings(BUNDLE, {"HOME": str(tmp_path)})

    assert victim.read_text() == "mine"
    assert not path.is_symlink()


def test_certificates_that_the_user_adds_for_node_stay(tmp_path: Path) -> None:
    own, ours = tmp_path / "own.pem", tmp_path / "cert.pem"
    own.write_text("the user's\n")
    ours.write_text("the authority's\n")
    environ = {"NODE_EXTRA_CA_CERTS": str(own), "HOME": str(tmp_path)}
    given = offered(intercept=True)
    given["proxy"] |= {"authority": str(ours)}

    found = agent_environment(given, environ, bound=True)

    text = Path(found["NODE_EXTRA_CA_CERTS"]).read_text()
    assert text.split() == ["the", "user's", "the", "authority's"]
