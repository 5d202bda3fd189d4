"""Classifier models that are packages: each is the folder of a model."""

from importlib.util import find_spec
from pathlib import Path

from redlane.model.plugin_api import MODELS_GROUP
from redlane.plugin_points import entry_points_of

__all__ = ["packaged_models"]


def packaged_models() -> dict[str, Path]:
    """The folder of each, by the name of the model; nothing of it is run.

    One whose package is not there is left out. Of several of a name it is that of the
    distribution whose name comes first.
    """
    found: dict[str, Path] = {}
    for _, point in entry_points_of(MODELS_GROUP)[0]:
        folder = _folder(point.value)
        if folder is not None:
            found.setdefault(point.name, folder)
    return found


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
