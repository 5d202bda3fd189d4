"""What `redlane init` writes: with the policy of a model where that model is here."""

import json
from pathlib import Path

import pytest

from redlane.cli.starter import MODEL, Written, is_model_here, write_starter
from redlane.paths import Paths
from redlane.plugins import find_plugins
from redlane.policies.loading import load

ASKING = ("developer",)
"""The roles whose files name it; `strict` extends one of them."""
POLICY = "inbound-model"


def write(home: Path, *, with_model: bool, replace: bool = False) -> Written:
    return write_starter(home, replace=replace, with_model=with_model)


def asking(home: Path) -> set[str]:
    """The roles whose files have the model asked."""
    roles = (json.loads(each.read_text()) for each in (home / "roles").iterdir())
    return {each["name"] for each in roles if POLICY in each["policies"]}


def policy(home: Path) -> Path:
    return home / "policies" / f"{POLICY}.json"


@pytest.mark.parametrize("with_model", [True, False])
def test_starter_loads(tmp_path: Path, with_model: bool) -> None:  # noqa: FBT001
    write(tmp_path, with_model=with_model)

    paths = Paths(tmp_path, tmp_path / "none.json", tmp_path, tmp_path / "none.sock")
    loaded = load(paths, find_plugins())
    assert {each.subject for each in loaded.findings} == {"tls.intercept"}
    assert asking(tmp_path) == (set(ASKING) if with_model else set())
    assert policy(tmp_path).exists() is with_model
    assert (POLICY in loaded.ruleset.roles["strict"].policies) is with_model


def test_model_that_came_later_is_asked(tmp_path: Path) -> None:
    write(tmp_path, with_model=False)

    done = write(tmp_path, with_model=True)

    changed = {policy(tmp_path), *(tmp_path / "roles" / f"{r}.json" for r in ASKING)}
    assert (set(done.written), done.kept) == (changed, [])
    assert asking(tmp_path) == set(ASKING)


def test_model_that_is_gone_is_asked_no_more(tmp_path: Path) -> None:
    write(tmp_path, with_model=True)

    done = write(tmp_path, with_model=False)

    assert done.removed == [policy(tmp_path)]
    assert not policy(tmp_path).exists()
    assert asking(tmp_path) == set()


def test_what_was_changed_is_kept_whether_the_model_is_here_or_not(
    tmp_path: Path,
) -> None:
    write(tmp_path, with_model=True)
    role = tmp_path / "roles" / "developer.json"
    for changed in (role, policy(tmp_path)):
        changed.write_text("[]")

    done = write(tmp_path, with_model=False)

    assert set(done.kept) == {role, policy(tmp_path)}
    assert role.read_text() == policy(tmp_path).read_text() == "[]"


def test_force_puts_back_what_was_changed(tmp_path: Path) -> None:
    write(tmp_path, with_model=True)
    policy(tmp_path).write_text("[]")

    assert write(tmp_path, with_model=True, replace=True).written == [policy(tmp_path)]
    assert write(tmp_path, with_model=True) == Written()


def test_model_is_here_when_it_is_installed_or_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged: dict[str, Path] = {}
    monkeypatch.setattr("redlane.cli.starter.packaged_models", lambda: packaged)
    assert not is_model_here(tmp_path)

    folder = tmp_path / "models" / MODEL
    folder.mkdir(parents=True)
    (folder / "model.json").write_text("{}")
    assert is_model_here(tmp_path)

    packaged[MODEL] = folder
    assert is_model_here(tmp_path / "other")
