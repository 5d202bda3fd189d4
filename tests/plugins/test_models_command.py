"""`redlane models`: they come from a folder, an archive or a hub, whole or not."""

import io
import json
import os
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hugging_face import HuggingFace, serving
from tiny_models import TRIGGER, install, install_ngrams

from redlane.cli.main import main

CONFIG: dict[str, Any] = {
    "id2label": {"0": "SAFE", "1": "INJECTION"},
    "max_position_embeddings": 64,
}
Output = pytest.CaptureFixture[str]
Packaged = dict[str, tuple[Path, ...]]


@pytest.fixture(autouse=True)
def packaged(monkeypatch: pytest.MonkeyPatch) -> Packaged:
    """The models that are packages: none, but those that a test adds."""
    found: Packaged = {}
    for user in ("manifest", "store"):
        monkeypatch.setattr(
            f"redlane_match_ml.{user}.packaged_models", lambda: dict(found)
        )
    return found


@pytest.fixture(autouse=True)
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REDLANE_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "models"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A model that is not installed."""
    return install(tmp_path / "made")


@pytest.fixture
def export(tiny: Path) -> Path:
    """The same as it comes out of an export, with a file of another kind beside."""
    (tiny / "model.json").unlink()
    (tiny / "config.json").write_text(json.dumps(CONFIG))
    (tiny / "pytorch_model.bin").write_bytes(b"a pickle")
    return tiny


@pytest.fixture
def hub(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HuggingFace]:
    with serving(HuggingFace.of(tiny, CONFIG)) as made:
        monkeypatch.setenv("REDLANE_HF_ENDPOINT", made.endpoint)
        yield made


def pull(*words: object) -> int:
    return main(["models", "pull", *map(str, words)])


def listed(capsys: Output) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["models", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, list)
    return found


def shown(name: str, capsys: Output) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["models", "show", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def scores(name: str, text: str, capsys: Output, tmp_path: Path) -> list[Any]:
    file = tmp_path / "text"
    file.write_text(text)
    capsys.readouterr()
    assert main(["models", "test", name, str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, list)
    return found


def test_folder_is_installed_as_it_is(tiny: Path, capsys: Output) -> None:
    assert pull(tiny) == 0

    [found] = listed(capsys)
    assert found["name"] == "tiny"
    assert found["ok"] is True
    assert found["licence"] == "Apache-2.0"


def test_model_without_a_tokenizer_is_installed_and_scores(
    tmp_path: Path, capsys: Output
) -> None:
    folder = install_ngrams(tmp_path / "made", "grams", window=8, stride=4)
    assert pull(folder) == 0

    assert shown("grams", capsys)["kind"] == "onnx-ngrams"
    [scored] = scores("grams", f"a {TRIGGER} a", capsys, tmp_path)
    assert scored["score"] > 0.9


def test_model_may_have_another_name(tiny: Path, capsys: Output) -> None:
    assert pull(tiny, "--name", "other") == 0

    assert shown("other", capsys)["name"] == "other"


def test_export_is_described(
    export: Path, models: Path, capsys: Output, tmp_path: Path
) -> None:
    assert pull(export, "--name", "guard") == 0

    found = shown("guard", capsys)
    assert found["labels"] == ["SAFE", "INJECTION"]
    assert found["positive"] == "INJECTION"
    assert (found["window"], found["stride"]) == (64, 48)
    assert found["source"] == str(export)
    names = {each.name for each in (models / "guard").iterdir()}
    assert names == {"model.json", "model.onnx", "tokenizer.json"}
    [scored] = scores("guard", f"a {TRIGGER} a", capsys, tmp_path)
    assert scored["score"] > 0.9


def test_packaged_model_is_there_without_being_installed(
    tiny: Path, packaged: Packaged, capsys: Output
) -> None:
    packaged["tiny"] = (tiny,)

    [found] = listed(capsys)
    assert (found["name"], found["ok"]) == ("tiny", True)
    assert shown("tiny", capsys)["labels"]
    assert main(["models", "verify"]) == 0


def test_packaged_model_goes_with_its_package(
    tiny: Path, packaged: Packaged, capsys: Output
) -> None:
    packaged["tiny"] = (tiny,)

    assert main(["models", "remove", "tiny"]) == 1
    assert "is a package" in capsys.readouterr().err
    assert tiny.is_dir()


def test_model_of_two_packages_is_none(
    tiny: Path, packaged: Packaged, tmp_path: Path, capsys: Output
) -> None:
    packaged["tiny"] = (tiny, install(tmp_path / "another"))

    [found] = listed(capsys)
    assert found["ok"] is False
    assert "uninstall all but one" in found["problem"]
    assert main(["models", "show", "tiny"]) == 1


def test_installed_model_comes_before_a_packaged_one(
    tiny: Path, packaged: Packaged, tmp_path: Path, capsys: Output
) -> None:
    packaged["tiny"] = (tmp_path / "not-there",)
    assert pull(tiny) == 0

    assert [each["ok"] for each in listed(capsys)] == [True]
    assert main(["models", "remove", "tiny"]) == 0


@pytest.mark.parametrize("kind", ["tar.gz", "tar.xz", "zip"])
@pytest.mark.parametrize("top", ["", "inside/"])
def test_archive_is_unpacked(
    tiny: Path, tmp_path: Path, capsys: Output, kind: str, top: str
) -> None:
    archive = tmp_path / f"a.{kind}"
    members = {f"{top}{each.name}": each.read_bytes() for each in tiny.iterdir()}
    _pack(archive, members)

    assert pull(archive) == 0
    assert [each["name"] for each in listed(capsys)] == ["tiny"]


def _pack(archive: Path, members: dict[str, bytes]) -> None:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w") as zipped:
            for name, data in members.items():
                zipped.writestr(name, data)
        return
    with tarfile.open(archive, f"w:{archive.suffix[1:]}") as tarred:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            tarred.addfile(entry, io.BytesIO(data))


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/../../out"])
def test_archive_writes_nothing_elsewhere(
    tmp_path: Path, models: Path, capsys: Output, kind: str, name: str
) -> None:
    archive = tmp_path / f"a.{kind}"
    _pack(archive, {name: b"x"})

    assert pull(archive) == 1
    assert "would lie elsewhere" in capsys.readouterr().err
    assert not list(models.iterdir())


def test_link_in_an_archive_is_no_file_of_a_model(tiny: Path, tmp_path: Path) -> None:
    archive = tmp_path / "a.tar"
    with tarfile.open(archive, "w") as tarred:
        for each in tiny.iterdir():
            if each.name == "model.onnx":
                entry = tarfile.TarInfo(each.name)
                entry.type, entry.linkname = tarfile.SYMTYPE, str(each)
                tarred.addfile(entry)
            else:
                tarred.add(each, each.name)

    assert pull(archive) == 1


def test_repository_is_installed(
    hub: HuggingFace, capsys: Output, tmp_path: Path
) -> None:
    assert pull("hf:org/Guard@v1") == 0

    found = shown("guard", capsys)
    assert found["licence"] == "apache-2.0"
    assert found["version"] == "0123456789ab"
    assert found["source"] == f"{hub.endpoint}/org/Guard"
    assert hub.asked[0] == "/api/models/org/Guard/revision/v1?blobs=true"
    assert not any("pytorch" in each for each in hub.asked)
    [scored] = scores("guard", "a a", capsys, tmp_path)
    assert scored["score"] < 0.1


def test_pull_goes_on_where_it_was_cut(
    hub: HuggingFace, models: Path, capsys: Output
) -> None:
    hub.cut = 40
    cut = pull("hf:org/Guard", "--name", "g")
    told = capsys.readouterr().err
    again = pull("hf:org/Guard", "--name", "g")

    assert (cut, again) == (4, 0)
    assert "pull again" in told
    assert hub.ranges == ["bytes=40-"]
    assert [each.name for each in models.iterdir() if each.name[0] != "."] == ["g"]


def test_repository_that_is_not_what_it_says_is_refused(
    hub: HuggingFace, models: Path, capsys: Output
) -> None:
    hub.lies = True

    assert pull("hf:org/Guard") == 1
    assert "is not what was told of it" in capsys.readouterr().err
    assert not [each for each in models.iterdir() if each.name[0] != "."]


REFUSED: dict[str, tuple[str, int, str]] = {
    "no such repository": ("hf:org/nothing", 1, "status 404"),
    "no repository at all": ("hf:org", 1, "must be hf:ORG/REPO"),
    "no path": ("/nowhere/at/all", 1, "is no file or folder here"),
    "no name": ("", 1, "is no file or folder here"),
}


@pytest.mark.parametrize(("source", "code", "told"), REFUSED.values(), ids=REFUSED)
def test_source_that_is_none_is_refused(
    hub: HuggingFace, capsys: Output, source: str, code: int, told: str
) -> None:
    assert pull(source) == code
    assert told in capsys.readouterr().err
    assert len(hub.asked) <= 1


def test_endpoint_that_is_not_there_is_another_status(
    capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDLANE_HF_ENDPOINT", "http://127.0.0.1:1")

    assert pull("hf:org/Guard") == 4
    assert "cannot be reached" in capsys.readouterr().err


def test_label_is_asked_for_where_none_is_clear(export: Path, capsys: Output) -> None:
    (export / "config.json").write_text('{"id2label": {"0": "A", "1": "B"}}')

    assert pull(export, "--name", "g") == 1
    assert "say --positive LABEL" in capsys.readouterr().err
    assert pull(export, "--name", "g", "--positive", "C") == 1
    assert pull(export, "--name", "g", "--positive", "B") == 0
    assert shown("g", capsys)["positive"] == "B"


@pytest.mark.parametrize("name", ["../x", ".x", "a/b", ""])
def test_name_that_is_none_is_refused(tiny: Path, models: Path, name: str) -> None:
    assert pull(tiny, "--name", name) == 1
    assert not list(models.iterdir())


def test_model_that_cannot_score_is_not_installed(
    tiny: Path, models: Path, capsys: Output
) -> None:
    assert pull(tiny) == 0
    before = (models / "tiny" / "model.json").read_bytes()
    export = tiny.with_name("export")
    export.mkdir()
    (export / "model.onnx").write_bytes(b"no graph")
    (export / "tokenizer.json").write_bytes((tiny / "tokenizer.json").read_bytes())
    (export / "config.json").write_text(json.dumps(CONFIG))

    assert pull(export, "--name", "tiny") == 1
    assert "cannot be used" in capsys.readouterr().err
    assert (models / "tiny" / "model.json").read_bytes() == before
    assert [each.name for each in models.iterdir()] == ["tiny"]


@pytest.mark.usefixtures("hub")
def test_too_large_a_model_is_refused(tiny: Path, capsys: Output) -> None:
    assert pull(tiny, "--most", 100) == 1
    assert "larger than is allowed" in capsys.readouterr().err
    assert pull("hf:org/Guard", "--most", 100) == 1
    assert "bytes that may come" in capsys.readouterr().err


def test_verify_tells_what_is_not_as_it_was(
    tiny: Path, models: Path, capsys: Output
) -> None:
    pull(tiny)
    assert main(["models", "verify"]) == 0
    with (models / "tiny" / "model.onnx").open("ab") as file:
        file.write(b"x")

    assert main(["models", "verify", "tiny"]) == 1
    assert "is not what model.json says" in capsys.readouterr().err
    [found] = listed(capsys)
    assert found["ok"] is False
    assert "model.onnx" in found["problem"]


def test_remove_takes_a_model_away(tiny: Path, models: Path, capsys: Output) -> None:
    pull(tiny)

    assert main(["models", "remove", "tiny"]) == 0
    assert not list(models.iterdir())
    assert main(["models", "remove", "tiny"]) == 1
    assert "model 'tiny' is not installed" in capsys.readouterr().err


def test_test_tells_which_window_scored(
    tiny: Path, capsys: Output, tmp_path: Path
) -> None:
    pull(tiny)
    text = f"{'a ' * 30}{TRIGGER}{' a' * 30}"

    [found] = scores("tiny", text, capsys, tmp_path)
    start, end = found["window"]
    assert TRIGGER in text[start:end]
    assert end - start < 40
    [empty] = scores("tiny", "", capsys, tmp_path)
    assert empty["window"] == [0, 0]


def test_installed_model_can_be_read_by_whoever_may_enter(
    tiny: Path, models: Path
) -> None:
    before = os.umask(0o077)
    try:
        pull(tiny)
    finally:
        os.umask(before)

    folder = models / "tiny"
    assert folder.stat().st_mode & 0o777 == 0o755
    assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o644}
