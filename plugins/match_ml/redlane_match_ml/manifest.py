"""A model's folder: `model.json`, and the files whose digests it holds.

Nothing in it is ever run: it holds a graph of ONNX's own operators, tables and numbers.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from redlane.api import packaged_models
from redlane_match_ml.errors import ModelError

__all__ = [
    "CASCADE",
    "KINDS",
    "MANIFEST",
    "NGRAMS",
    "SEQUENCE",
    "Calibration",
    "Manifest",
    "Screen",
    "check_files",
    "check_name",
    "folder_of",
    "read_files",
    "read_manifest",
]

MANIFEST = "model.json"
SEQUENCE = "onnx-sequence"
"""A sequence classifier as Hugging Face exports it, and its tokenizer."""
NGRAMS = "onnx-ngrams"
"""Numbers for n-grams, summed for each window: without a tokenizer, and small."""
CASCADE = "onnx-cascade"
"""Both: the first one is asked about what the second one finds doubtful."""
KINDS = (SEQUENCE, NGRAMS, CASCADE)

MOST_MANIFEST_BYTES = 256 * 1024
MOST_FILE_BYTES = 4 * 1024**3
MOST_WINDOW = 8192
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_PIECE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Calibration:
    """What makes a probability of a model's: of its log-odds, times `scale`."""

    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Screen:
    """The windows of a cascade's first model, and the score that is doubtful."""

    window: int
    stride: int
    score: float


@dataclass(frozen=True, slots=True)
class Manifest:
    """What `model.json` says.

    The probability of the label `positive` is the score. A text is scored in windows
    of `window` tokens that begin `stride` tokens apart. `files` are names and their
    SHA-256 in hex.
    """

    name: str
    version: str
    kind: str
    labels: tuple[str, ...]
    positive: str
    window: int
    stride: int
    licence: str
    source: str
    files: Mapping[str, str]
    calibration: Calibration = Calibration()
    screen: Screen | None = None

    def document(self) -> dict[str, object]:
        """The same as `model.json` has it."""
        document = asdict(replace(self, files=dict(self.files)))
        if self.calibration == Calibration():
            del document["calibration"]
        if self.screen is None:
            del document["screen"]
        return {**document, "labels": list(self.labels)}


def check_name(name: str) -> None:
    """Raise ModelError for what is no name of a model, or of a file of one."""
    if not _NAME.fullmatch(name):
        raise ModelError(f"{name!r} is no model's name: letters, digits, `.`, `_`, `-`")


def folder_of(models: Path, name: str) -> Path:
    """The folder of an installed model, or else of a packaged one.

    Raises ModelError for a name of none, or of several packages.
    """
    check_name(name)
    folder = models / name
    if (folder / MANIFEST).is_file():
        return folder
    packaged = packaged_models().get(name, ())
    if not packaged:
        raise ModelError(f"model {name!r} is not installed in {models}")
    if len(packaged) > 1:
        listed = " and ".join(map(str, packaged))
        raise ModelError(f"model {name!r} is in {listed}: uninstall all but one")
    return packaged[0]


def read_manifest(folder: Path) -> Manifest:
    """What a folder's `model.json` says; raises ModelError for what is wrong in it."""
    place = folder / MANIFEST
    try:
        with place.open("rb") as file:
            data = file.read(MOST_MANIFEST_BYTES + 1)
        if len(data) > MOST_MANIFEST_BYTES:
            raise ModelError(f"{place}: longer than {MOST_MANIFEST_BYTES} bytes")
        document = json.loads(data)
    except OSError as error:
        raise ModelError(f"{place}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{place}: no JSON: {error}") from error
    try:
        return _manifest(document)
    except ModelError as error:
        raise ModelError(f"{place}: {error}") from None


def read_files(folder: Path, manifest: Manifest) -> dict[str, bytes]:
    """Every file of a model, each with the bytes that its digest is of."""
    return {name: _read(folder / name, each) for name, each in manifest.files.items()}


def check_files(folder: Path, manifest: Manifest) -> None:
    """Raise ModelError when a file of a model is not what its digest is of."""
    for name, digest in manifest.files.items():
        _read(folder / name, digest)


def _read(place: Path, digest: str) -> bytes:
    try:
        with place.open("rb") as file:
            length = os.fstat(file.fileno()).st_size
            if length > MOST_FILE_BYTES:
                raise ModelError(f"{place}: longer than {MOST_FILE_BYTES} bytes")
            data = file.read(length + 1)
    except OSError as error:
        raise ModelError(f"{place}: {error.strerror}") from error
    if hashlib.sha256(data).hexdigest() != digest:
        raise ModelError(
            f"{place} is not what {MANIFEST} says: install the model again"
        )
    return data


def _manifest(document: Any) -> Manifest:  # noqa: ANN401  # any JSON
    if not isinstance(document, dict):
        raise ModelError("must be an object")
    labels = _strings(document.get("labels"))
    positive = _text(document, "positive")
    if positive not in labels:
        raise ModelError(f"`positive` is {positive!r}, which is none of `labels`")
    kind = _text(document, "kind")
    if kind not in KINDS:
        raise ModelError(f"`kind` is {kind!r}: known are {', '.join(KINDS)}")
    window, stride = _windows(document)
    return Manifest(
        name=_text(document, "name"),
        version=_text(document, "version"),
        kind=kind,
        labels=labels,
        positive=positive,
        window=window,
        stride=stride,
        licence=_text(document, "licence"),
        source=_text(document, "source"),
        files=_files(document.get("files")),
        calibration=_calibration(document.get("calibration")),
        screen=_screen(document.get("screen")),
    )


def _strings(value: Any) -> tuple[str, ...]:  # noqa: ANN401  # any JSON
    is_right = isinstance(value, list) and value
    if not is_right or not all(isinstance(each, str) and each for each in value):
        raise ModelError("`labels` must be an array of strings that are not empty")
    return tuple(value)


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or not value:
        raise ModelError(f"`{name}` must be a string that is not empty")
    return value


def _windows(document: Mapping[str, Any]) -> tuple[int, int]:
    window = _count(document, "window")
    stride = _count(document, "stride")
    if stride > window:
        raise ModelError(
            "`stride` is more than `window`: words between would be missed"
        )
    return window, stride


def _count(document: Mapping[str, Any], name: str) -> int:
    value = document.get(name)
    if type(value) is not int or not 0 < value <= MOST_WINDOW:
        raise ModelError(f"`{name}` must be a whole number from 1 to {MOST_WINDOW}")
    return value


def _files(value: Any) -> Mapping[str, str]:  # noqa: ANN401  # any JSON
    if not isinstance(value, dict) or not value:
        raise ModelError("`files` must be an object: names and their SHA-256")
    for name, digest in value.items():
        if not _NAME.fullmatch(name) or name == MANIFEST:
            raise ModelError(f"`files` has {name!r}, which is no name of a file here")
        if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise ModelError(f"`files`: {name!r} needs its SHA-256 in 64 hex digits")
    return MappingProxyType(dict(value))


def _calibration(value: Any) -> Calibration:  # noqa: ANN401  # any JSON
    if value is None:
        return Calibration()
    if not isinstance(value, dict):
        raise ModelError("`calibration` must be an object: `scale` and `offset`")
    numbers = {"scale": 1.0, "offset": 0.0}
    for name, number in value.items():
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if name not in numbers or not is_number or not abs(number) < _PIECE:
            raise ModelError("`calibration` has `scale` and `offset`, both numbers")
        numbers[name] = float(number)
    if numbers["scale"] <= 0:
        raise ModelError("`calibration`: `scale` must be above 0")
    return Calibration(**numbers)


def _screen(value: Any) -> Screen | None:  # noqa: ANN401  # any JSON
    if value is None:
        return None
    score = value.get("score") if isinstance(value, dict) else None
    is_number = isinstance(score, int | float) and not isinstance(score, bool)
    if score is None or not is_number or not 0 <= score <= 1:
        raise ModelError(
            "`screen` must have `window`, `stride` and a `score` of 0 to 1"
        )
    return Screen(*_windows(value), float(score))
