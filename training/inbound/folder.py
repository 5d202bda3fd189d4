"""What a model that is made here says of itself."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

from redlane_match_ml.manifest import MANIFEST, Screen

__all__ = ["LABELS", "describe"]

LABELS = ("ordinary", "injection")
_NAME = "inbound"
_VERSION = "1"


def describe(
    folder: Path,
    kind: str,
    window: int,
    stride: int,
    screen: Screen | None = None,
) -> None:
    """Write the model.json of the files in a folder."""
    files = sorted(each for each in folder.iterdir() if each.name != MANIFEST)
    document: dict[str, object] = {
        "name": _NAME,
        "version": _VERSION,
        "kind": kind,
        "labels": LABELS,
        "positive": LABELS[1],
        "window": window,
        "stride": stride,
        "licence": "Apache-2.0",
        "source": "made of the texts in training/ of Redlane",
        "files": {
            each.name: hashlib.sha256(each.read_bytes()).hexdigest() for each in files
        },
    }
    if screen is not None:
        document["screen"] = asdict(screen)
    (folder / MANIFEST).write_text(json.dumps(document, indent=2) + "\n")
