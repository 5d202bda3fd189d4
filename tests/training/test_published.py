"""What others published is copied at its commit, and read as what it is."""

import subprocess
from pathlib import Path

import pytest

from inbound.published import Source, documents, main, of_tests, orders, sources

ROOT = Path(__file__).parents[2]
NAME = "owner/name"
FILES = {
    "docs/a.md": "A page.",
    "docs/b.md": "Another page.",
    "docs/attacks.md": "Talk about attacks.",
    "docs/large.md": "x" * (256 * 1024 + 1),
    "code.py": "pass",
    "orders.json": '{"kind": ["Obey me."], "other": ["Obey\\nagain."]}',
    "orders.csv": 'text,label\n"Obey, two\nlines.",1\n',
}


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository as it is copied from where all of them are."""
    origin = tmp_path / "origin" / NAME
    for path, text in FILES.items():
        (origin / path).parent.mkdir(parents=True, exist_ok=True)
        (origin / path).write_text(text)
    git(origin, "init", "--quiet")
    git(origin, "add", ".")
    git(origin, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "All")
    common = (NAME, git(origin, "rev-parse", "HEAD"), "MIT")
    found = [
        Source(*common, files=r"docs/.*\.md", most=9, without="attacks"),
        Source(*common, files=r"orders\..*", most=9, holds="orders"),
        Source(*common, files=r"code\.py", most=9, holds="tests"),
    ]
    monkeypatch.setattr("inbound.published.sources", lambda: found)
    for key, value in {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{tmp_path}/origin/.insteadOf",
        "GIT_CONFIG_VALUE_0": "https://github.com/",
    }.items():
        monkeypatch.setenv(key, value)
    assert main([str(tmp_path / "copy")]) == 0
    return tmp_path / "copy"


def git(place: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(place), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_documents_are_those_of_the_paths_that_are_not_too_large(copied: Path) -> None:
    assert dict(documents(copied)) == {
        f"{NAME}/docs/a.md": "A page.",
        f"{NAME}/docs/b.md": "Another page.",
    }


def test_orders_are_the_strings_of_json_and_the_texts_of_csv(copied: Path) -> None:
    assert set(orders(copied)) == {"Obey me.", "Obey\nagain.", "Obey, two\nlines."}


def test_test_set_is_read_by_name(copied: Path) -> None:
    assert of_tests(copied, NAME, "code.py") == "pass"


def test_copying_again_changes_nothing(copied: Path) -> None:
    before = dict(documents(copied))
    assert main([str(copied)]) == 0
    assert dict(documents(copied)) == before


def test_nothing_is_learned_from_a_test_set() -> None:
    found = sources()
    tests = {(each.name, each.files) for each in found if each.holds == "tests"}
    learned = {(each.name, each.files) for each in found if each.holds != "tests"}
    assert tests
    assert not tests & learned
    assert {each.holds for each in found} == {"documents", "orders", "tests"}


def test_card_of_the_model_names_what_was_learned_from() -> None:
    card = (ROOT / "plugins" / "model_inbound" / "README.md").read_text()
    for each in sources():
        if each.holds != "tests":
            assert (
                f"[{each.name}](https://github.com/{each.name}) ({each.licence})"
                in card
            )
