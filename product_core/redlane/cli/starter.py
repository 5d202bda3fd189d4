"""The starter policies, roles and settings, as far as they can be in force here."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from redlane.atomic import write_atomically
from redlane.errors import RedlaneError
from redlane.plugin_models import packaged_models

__all__ = ["MODEL", "STARTER", "Written", "is_model_here", "write_starter"]

STARTER = Path(__file__).parents[1] / "starter"
"""The starter files as shipped, laid out as in the home of Redlane."""
MODEL = "inbound"
"""The model that the starter has asked what comes back, where it is installed."""

_WITH_MODEL = STARTER / "with_model" / "inbound-model.json"
_BEFORE = b'    "inbound-invisible-text",\n'
_ADDED = b'    "inbound-model",\n'
"""What a role that asks the model has one line further."""


@dataclass(slots=True)
class Written:
    """Which files were written, kept since they are somebody's, and taken away."""

    written: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    removed: list[Path] = field(default_factory=list)


def is_model_here(home: Path) -> bool:
    """Whether the starter's model is installed, in `home` or as a package."""
    return (home / "models" / MODEL / "model.json").is_file() or (
        MODEL in packaged_models()
    )


def write_starter(home: Path, *, replace: bool, with_model: bool) -> Written:
    """Write what is missing below `home`.

    What was written before with a model, or without one, is as good as missing where
    that has changed. Each file appears whole or not at all. Raises RedlaneError when
    the directory cannot be written.
    """
    done = Written()
    for target, ours, wanted in _files(home, with_model=with_model):
        try:
            _put(target, ours, wanted, done, replace=replace)
        except OSError as error:
            reason = error.strerror or str(error)
            raise RedlaneError(f"{target} cannot be written: {reason}") from error
    return done


def _files(
    home: Path, *, with_model: bool
) -> Iterator[tuple[Path, set[bytes], bytes | None]]:
    """Each file: what we may have written there, and what is wanted, if anything."""
    for source in sorted(STARTER.rglob("*.json")):
        text = source.read_bytes()
        if source == _WITH_MODEL:
            yield (
                home / "policies" / source.name,
                {text},
                text if with_model else None,
            )
            continue
        asking = text.replace(_BEFORE, _BEFORE + _ADDED)
        wanted = asking if with_model else text
        yield home / source.relative_to(STARTER), {text, asking}, wanted


def _put(
    target: Path,
    ours: set[bytes],
    wanted: bytes | None,
    done: Written,
    *,
    replace: bool,
) -> None:
    found = target.read_bytes() if target.is_file() else None
    is_there = target.exists() or target.is_symlink()
    if found == wanted:
        return
    if is_there and found not in ours and not replace:
        done.kept.append(target)
    elif wanted is None:
        target.unlink()
        done.removed.append(target)
    else:
        write_atomically(target, wanted)
        done.written.append(target)
