"""Settings: where they come from, which one counts, and what is refused."""

from base64 import b64encode
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redlane_hub.errors import OperatorError
from redlane_hub.settings import Settings, environment_name, load_settings

SEED = b64encode(bytes(32)).decode()


def config(directory: Path, text: str) -> Path:
    path = directory / "hub.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_anything_the_defaults_count() -> None:
    found = load_settings({}, {})
    assert found == Settings()
    assert found.max_content_bytes == 262_144
    assert found.require_signatures is False
    assert found.trusted_proxies == ()
    assert found.database_path == Path("hub.db")


SOURCES = {
    "none": ({}, {}, "", "hub.db"),
    "file": ({}, {}, 'database = "f"', "f"),
    "environment": ({}, {"REDLANE_HUB_DATABASE": "e"}, 'database = "f"', "e"),
    "option": ({"database": "o"}, {"REDLANE_HUB_DATABASE": "e"}, "", "o"),
    "option not given": ({"database": None}, {"REDLANE_HUB_DATABASE": "e"}, "", "e"),
    "empty variable": ({}, {"REDLANE_HUB_DATABASE": ""}, 'database = "f"', "f"),
}


@pytest.mark.parametrize(
    ("options", "environment", "text", "database"), SOURCES.values(), ids=SOURCES
)
def test_the_nearer_source_counts(
    tmp_path: Path,
    options: dict[str, object],
    environment: dict[str, str],
    text: str,
    database: str,
) -> None:
    found = load_settings(options, environment, config(tmp_path, text))
    assert found.database == database


TEXTS: dict[str, tuple[str, str, object]] = {
    "text": ("smtp_url", "smtp://127.0.0.1:2525", "smtp://127.0.0.1:2525"),
    "number": ("max_content_bytes", "1000", 1000),
    "1": ("require_signatures", "1", True),
    "TRUE": ("require_signatures", "TRUE", True),
    "0": ("require_signatures", "0", False),
    "no": ("require_signatures", "no", False),
    "list": ("trusted_proxies", "127.0.0.1, ::1,", ("127.0.0.1", "::1")),
    "spaces in a secret": ("secret", " a b ", " a b "),
    "key": ("subscription_key", SEED, SEED),
}


@pytest.mark.parametrize(("name", "text", "value"), TEXTS.values(), ids=TEXTS)
def test_a_variable_is_read_as_the_type_of_its_setting(
    name: str, text: str, value: object
) -> None:
    found = load_settings({}, {environment_name(name): text})
    assert getattr(found, name) == value
    assert type(getattr(found, name)) is type(value)


def test_a_file_has_types_of_its_own(tmp_path: Path) -> None:
    text = 'workers = 2\nrequire_signatures = true\ntrusted_proxies = ["::1"]\n'
    found = load_settings({}, {}, config(tmp_path, text))
    assert (found.workers, found.require_signatures) == (2, True)
    assert found.trusted_proxies == ("::1",)


REFUSED = {
    "word for number": ("max_content_bytes", "many", "must be a whole number"),
    "negative": ("max_content_bytes", "-1", "must be a whole number"),
    "other digits": ("max_content_bytes", "\u0661", "must be a whole number"),
    "endless digits": ("max_content_bytes", "9" * 5000, "must be a whole number"),
    "zero": ("max_content_bytes", "0", "must be 1 or more"),
    "no workers": ("workers", "0", "REDLANE_HUB_WORKERS must be 1 to 64"),
    "workers without end": ("workers", "100000", "REDLANE_HUB_WORKERS must be 1 to 64"),
    "word for boolean": ("require_signatures", "maybe", "must be 1 or 0"),
    "log level": ("log_level", "loud", "must be debug, info, warning or error"),
    "no address": ("public_url", "hub.example.org", "REDLANE_HUB_PUBLIC_URL must be"),
    "other scheme": (
        "public_url",
        "ftp://hub.example.org",
        "REDLANE_HUB_PUBLIC_URL must be",
    ),
    "no host": ("public_url", "https://", "REDLANE_HUB_PUBLIC_URL must be"),
    "port": ("public_url", "https://h:99999", "REDLANE_HUB_PUBLIC_URL must be"),
    "bracket": ("public_url", "https://[::1", "REDLANE_HUB_PUBLIC_URL must be"),
    "mail server": ("smtp_url", "http://h", "REDLANE_HUB_SMTP_URL must be"),
    "proxy": ("trusted_proxies", "localhost", "'localhost' is no IP address"),
    "seed": (
        "subscription_key",
        "short",
        "REDLANE_HUB_SUBSCRIPTION_KEY must be base64",
    ),
    "seed of 31 bytes": (
        "subscription_key",
        b64encode(bytes(31)).decode(),
        "REDLANE_HUB_SUBSCRIPTION_KEY must be base64",
    ),
}


@pytest.mark.parametrize(("name", "text", "message"), REFUSED.values(), ids=REFUSED)
def test_a_value_that_cannot_work_is_refused(
    name: str, text: str, message: str
) -> None:
    with pytest.raises(OperatorError) as caught:
        load_settings({}, {environment_name(name): text})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


FILES = {
    "unknown": ("databse = 'x'", "unknown setting 'databse'"),
    "table": ("[hub]\ndatabase = 'x'", "unknown setting 'hub'"),
    "not TOML": ("database", "not valid TOML"),
    "text for number": ("workers = 'x'", "'workers' must be a whole number"),
    "boolean for number": ("workers = true", "'workers' must be a whole number"),
    "fraction": ("workers = 1.5", "'workers' must be a whole number"),
    "number for boolean": ("require_signatures = 1", "must be 1 or 0"),
    "number for text": ("database = 1", "'database' must be a text"),
    "text for list": ("trusted_proxies = 1", "must be a list of texts"),
    "numbers in list": ("trusted_proxies = [1]", "must hold texts"),
}


@pytest.mark.parametrize(("text", "message"), FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_used_is_named(
    tmp_path: Path, text: str, message: str
) -> None:
    path = config(tmp_path, text)
    with pytest.raises(OperatorError) as caught:
        load_settings({}, {}, path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match=r"gone\.toml: No such file"):
        load_settings({}, {}, tmp_path / "gone.toml")


def test_a_file_in_another_encoding_is_named(tmp_path: Path) -> None:
    path = tmp_path / "hub.toml"
    path.write_bytes("# é".encode("latin-1"))
    with pytest.raises(OperatorError, match=r"hub\.toml: not valid TOML"):
        load_settings({}, {}, path)


ADDRESSES = {
    "public": ({"public_url": "https://h/hub/"}, "https://h/hub"),
    "listening": ({"listen": "127.0.0.1:80"}, "http://127.0.0.1:80"),
}


@pytest.mark.parametrize(("given_", "address"), ADDRESSES.values(), ids=ADDRESSES)
def test_links_start_with_the_address_without_a_slash(
    given_: dict[str, Any], address: str
) -> None:
    assert Settings(**given_).base_url == address


def test_every_setting_has_its_help() -> None:
    assert all(each.metadata["help"] for each in fields(Settings))


@given(
    st.dictionaries(
        st.sampled_from([environment_name(each.name) for each in fields(Settings)]),
        st.text(),
    )
)
def test_any_environment_is_read_or_refused_in_one_line(
    environment: dict[str, str],
) -> None:
    try:
        load_settings({}, environment)
    except OperatorError as error:
        assert "\n" not in str(error)  # noqa: PT017  # only where it is raised
