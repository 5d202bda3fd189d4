"""`python -m redlane.policies.write_schemas`: bring the shipped schemas up to date."""

import json
from pathlib import Path

from redlane.policies.schema import SCHEMAS

__all__ = ["rendered", "write_schemas"]

DIRECTORY = Path(__file__).parents[1] / "schemas"


def rendered() -> dict[str, str]:
    """The text of each schema file, by its name."""
    return {
        f"{kind}.schema.json": json.dumps(make(), indent=2, ensure_ascii=False) + "\n"
        for kind, make in SCHEMAS.items()
    }


def write_schemas(directory: Path = DIRECTORY) -> None:
    """Write every schema file."""
    directory.mkdir(exist_ok=True)
    for name, text in rendered().items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_schemas()
