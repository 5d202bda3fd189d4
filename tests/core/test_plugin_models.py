"""Models that are packages are found, and nothing of them is run."""

import sys
from pathlib import Path

import pytest
from site_packages import write_distribution

from redlane.model.plugin_api import MODELS_GROUP
from redlane.plugin_models import MANIFEST, packaged_models


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def model_package(site: Path, name: str, entry: str) -> Path:
    """A package of a model, with an entry point of it."""
    folder = site / name.replace("-", "_")
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('was run')\n")
    (folder / MANIFEST).write_text("{}")
    points = {"entry_points.txt": f"[{MODELS_GROUP}]\n{entry}\n"}
    write_distribution(site, name, files=points)
    return folder


def test_model_is_where_its_package_is(site: Path) -> None:
    folder = model_package(site, "model-a", "guard-a = model_a")

    assert packaged_models()["guard-a"] == (folder,)
    assert "model_a" not in sys.modules


def test_every_package_that_claims_a_name_is_told(site: Path) -> None:
    folders = {
        model_package(site, name, f"guard-a = {name.replace('-', '_')}")
        for name in ("model-z", "model-b")
    }
    assert set(packaged_models()["guard-a"]) == folders


def test_package_without_a_manifest_is_no_model(site: Path) -> None:
    (model_package(site, "model-a", "guard-a = model_a") / MANIFEST).unlink()

    assert "guard-a" not in packaged_models()


@pytest.mark.parametrize(
    "value", ["not_there", "model_a.part", "model_a:made", "os", "sys", "json.tool"]
)
def test_what_is_no_package_of_its_own_is_no_model(site: Path, value: str) -> None:
    model_package(site, "model-a", f"guard-a = {value}")

    assert "guard-a" not in packaged_models()
    assert "model_a" not in sys.modules
