"""What a model that is made here says of itself."""

import hashlib
import json
from pathlib import Path

from redlane_match_ml.manifest import MANIFEST

__all__ = ["LABELS", "describe"]

LABELS = ("ordinary", "injection")
_NAME = "inbound"


def describe(folder: Path, kind: str, version: str, window: int, stride: int) -> None:
    """Write the model.json of the files in a folder."""
    files = sorted(each for each in folder.iterdir() if each.name != MANIFEST)
    document = {
        "name": _NAME,
        "version": version,
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
    (folder / MANIFEST).write_text(json.dumps(document, indent=2) + "\n")
