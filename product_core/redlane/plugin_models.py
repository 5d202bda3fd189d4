"""Classifier models that are packages: each is the folder of a model."""

from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

from redlane.model.plugin_api import MODELS_GROUP
from redlane.plugin_points import entry_points_of

__all__ = ["MANIFEST", "packaged_models"]

MANIFEST = "model.json"
"""What makes a folder one of a model."""


def packaged_models() -> dict[str, tuple[Path, ...]]:
    """The folders of each, by the name of the model; nothing of them is run.

    Of several folders that claim a name none is to be trusted. What holds no model is
    left out.
    """
    found: dict[str, dict[Path, None]] = defaultdict(dict)
    for _, point in entry_points_of(MODELS_GROUP)[0]:
        folder = _folder(point.value)
        if folder is not None and (folder / MANIFEST).is_file():
            found[point.name][folder] = None
    return {name: tuple(folders) for name, folders in found.items()}


def _folder(package: str) -> Path | None:
    """Where a package is; looking for one inside of another would run that one."""
    if not package.isidentifier():
        return None
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        return None
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None
