"""The authority of TLS interception: its files, whose they are, and what they hold."""

import datetime as dt
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cryptography")

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from redlane.contexts.network.authority import Authority, trusted_certificates
from redlane.errors import RedlaneError
from redlane.proxy import authority as program

FILES = ("key.pem", "cert.pem", "bundle.pem")


@pytest.fixture
def trusted(tmp_path: Path) -> Path:
    path = tmp_path / "system.crt"
    path.write_text("# what the machine trusts")
    return path


@pytest.fixture
def authority(tmp_path: Path, trusted: Path) -> Authority:
    return Authority(tmp_path / "ca", trusted)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def run(directory: Path, action: str, *options: str) -> tuple[int, Any]:
    words = [sys.executable, "-I", "-m", "redlane.proxy.authority"]
    done = subprocess.run(
        [*words, "--directory", directory, *options, action],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


def test_the_first_use_makes_it_and_the_next_keeps_it(authority: Authority) -> None:
    assert authority.create()
    before = authority.key.read_bytes()

    assert not authority.create()
    assert authority.key.read_bytes() == before


def test_key_and_certificate_belong_together(authority: Authority) -> None:
    authority.create()
    pem = authority.key.read_bytes()
    key = load_pem_private_key(pem, None)
    certificate = x509.load_pem_x509_certificate(authority.certificate.read_bytes())

    assert key.public_key() == certificate.public_key()
    assert x509.load_pem_x509_certificate(pem) == certificate
    basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert basic.critical
    assert (basic.value.ca, basic.value.path_length) == (True, 0)
    now = dt.datetime.now(dt.UTC)
    assert certificate.not_valid_before_utc < now - dt.timedelta(hours=1)


def test_the_bundle_is_the_certificate_behind_the_machines(
    authority: Authority,
) -> None:
    authority.create()
    text = authority.bundle.read_text()
    assert text == f"{authority.trusted.read_text()}\n" + (
        authority.certificate.read_text()
    )


def test_the_key_is_its_owners_alone_and_the_rest_for_everybody(
    authority: Authority,
) -> None:
    before = os.umask(0)
    try:
        authority.create()
        made = [mode(authority.directory / name) for name in FILES]
        os.umask(0o077)
        authority.regenerate()
    finally:
        os.umask(before)
    assert made == [0o600, 0o644, 0o644]
    assert [mode(authority.directory / name) for name in FILES] == made
    assert mode(authority.directory) == 0o755


def test_regenerating_makes_another_of_another_name(authority: Authority) -> None:
    authority.create()
    before = x509.load_pem_x509_certificate(authority.certificate.read_bytes())

    assert authority.regenerate()

    after = x509.load_pem_x509_certificate(authority.certificate.read_bytes())
    assert after.subject != before.subject
    assert authority.certificate.read_text() in authority.bundle.read_text()


@pytest.mark.parametrize("name", FILES[1:])
def test_a_file_that_was_changed_is_made_again(authority: Authority, name: str) -> None:
    authority.create()
    path = authority.directory / name
    whole = path.read_bytes()
    path.write_text("other")

    assert not authority.create()

    assert path.read_bytes() == whole


def test_what_the_machine_trusts_now_is_in_the_bundle(
    authority: Authority, trusted: Path
) -> None:
    authority.create()
    trusted.write_text("# another\n")

    authority.create()

    assert authority.bundle.read_text().startswith("# another\n-----BEGIN")


def test_a_key_that_others_could_read_is_trusted_no_more(authority: Authority) -> None:
    authority.create()
    authority.key.chmod(0o640)
    before = authority.certificate.read_bytes()

    assert authority.create()

    assert mode(authority.key) == 0o600
    assert authority.certificate.read_bytes() != before


@pytest.mark.parametrize("text", ["", "torn", "-----BEGIN RSA PRIVATE KEY-----\n"])
def test_a_torn_key_is_made_again(authority: Authority, text: str) -> None:
    authority.create()
    authority.key.write_text(text)

    assert authority.create()
    assert load_pem_private_key(authority.key.read_bytes(), None)


def test_a_key_with_the_certificate_of_another_is_made_again(
    authority: Authority,
) -> None:
    authority.create()
    key = authority.key.read_bytes().partition(b"-----BEGIN CERTIFICATE")[0]
    authority.regenerate()
    authority.key.write_bytes(key + authority.certificate.read_bytes())

    assert authority.create()


def test_links_are_not_followed(authority: Authority, tmp_path: Path) -> None:
    authority.directory.mkdir()
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in FILES:
        (authority.directory / name).symlink_to(victim)
        (authority.directory / f"{name}.new").symlink_to(victim)

    assert authority.create()

    assert victim.read_text() == "mine"
    assert not any((authority.directory / name).is_symlink() for name in FILES)


def test_a_directory_behind_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "ca").symlink_to(tmp_path / "elsewhere")

    status, told = run(tmp_path / "ca", "create")

    assert status == 1
    assert str(tmp_path / "ca") in told["error"]
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_directory_that_others_can_write_to_is_refused(authority: Authority) -> None:
    authority.directory.mkdir()
    authority.directory.chmod(0o777)

    with pytest.raises(RedlaneError, match="others can write"):
        authority.create()


def test_a_place_that_is_no_directory_is_told_in_one_line(
    authority: Authority,
) -> None:
    authority.directory.write_text("")

    with pytest.raises(RedlaneError, match=r"/ca: Not a directory$"):
        authority.create()


@pytest.mark.root
def test_what_root_makes_belongs_to_whose_the_place_is(tmp_path: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("NOT TESTED: only root makes files for another")
    place = tmp_path / "state"
    place.mkdir()
    os.chown(place, 61000, 61000)
    authority = Authority(place / "ca", tmp_path / "none")

    authority.create()

    owners = {path.stat().st_uid for path in (authority.directory, *place.glob("*/*"))}
    assert owners == {61000}
    assert not authority.create()


def test_two_at_once_make_one(authority: Authority) -> None:
    made: list[bool] = []
    threads = [
        threading.Thread(target=lambda: made.append(authority.create()))
        for _ in range(3)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(made) == [False, False, True]


def test_one_that_ends_soon_is_made_again(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    with program.opened(authority.directory) as store:
        monkeypatch.setattr(program, "_LIFE", dt.timedelta(days=20))
        assert program.create(store, None, fresh=False)
        monkeypatch.undo()
        assert program.create(store, None, fresh=False)
        assert not program.create(store, None, fresh=False)


def test_what_to_trust_is_named_by_the_environment_or_the_machines(
    tmp_path: Path, trusted: Path
) -> None:
    assert trusted_certificates({"SSL_CERT_FILE": str(trusted)}) == trusted
    machines = trusted_certificates({})
    assert trusted_certificates({"SSL_CERT_FILE": ""}) == machines
    assert trusted_certificates({"SSL_CERT_FILE": str(tmp_path / "no")}) == machines
    assert machines.is_absolute()
