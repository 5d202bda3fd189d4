"""The file that keeps the session table over a kill: written whole or not at all."""

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["load_records", "save_records", "write_whole"]

Record = dict[str, Any]

_NUMBERS = ("root_pid", "root_started", "reaper_pid", "reaper_started")


def load_records(file: Path) -> tuple[list[Record], str | None]:
    """The records of `file`, and what is wrong with it; no file is no problem.

    A file that does not read as a whole gives no records: half a table could leave a
    session under a role that it no longer has.
    """
    try:
        value = json.loads(file.read_bytes())
    except FileNotFoundError:
        return [], None
    except (OSError, ValueError, RecursionError) as error:
        return [], f"{file}: the sessions before this start are not known: {error}"
    records = value.get("sessions") if isinstance(value, dict) else None
    if not isinstance(records, list) or not all(map(_is_record, records)):
        return [], f"{file}: the sessions before this start are not known: no table"
    return records, None


def save_records(file: Path, records: Iterable[Record]) -> None:
    """Put `records` in the place of what the file held, in one step."""
    write_whole(file, json.dumps({"sessions": list(records)}, indent=1).encode())


def write_whole(file: Path, data: bytes) -> None:
    """Put `data` in the place of what the file held, in one step that lasts."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = file.with_name(f".{file.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with open(os.open(fresh, flags, 0o600), "wb") as stream:  # noqa: PTH123  # flags
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(file)


def _is_record(value: object) -> bool:
    """Whether every field is there and of its type."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("id"), str)
        and bool(value["id"])
        and all(isinstance(value.get(each), str) for each in ("label", "created"))
        and isinstance(value.get("frozen"), bool)
        and isinstance(value.get("paused", False), bool)
        and isinstance(value.get("supervised", True), bool)
        and value.get("state") in ("running", "ended")
        and isinstance(value.get("role"), str | None)
        and isinstance(value.get("restrictions"), str | None)
        and _are_names(value.get("filtered"))
        and _are_names(value.get("allowed", []))
        and isinstance(value.get("sandboxes", False), bool)
        and isinstance(value.get("places", False), bool)
        and isinstance(value.get("by_proxy", False), bool)
        and all(
            isinstance(value.get(each), int | None) and value.get(each) is not True
            for each in _NUMBERS
        )
    )


def _are_names(value: object) -> bool:
    """Whether it is a list of texts, or nothing."""
    if value is None:
        return True
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
