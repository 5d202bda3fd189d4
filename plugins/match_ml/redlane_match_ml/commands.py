"""`redlane models`: which models are installed, and how one gets there."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from redlane.api import CommandGroup, hookimpl
from redlane_match_ml.errors import ModelError, NotScoredError, SourceError
from redlane_match_ml.manifest import check_files, folder_of, read_manifest
from redlane_match_ml.pulling import DEFAULT_SIZE, pull
from redlane_match_ml.shared import Asking, as_artifact
from redlane_match_ml.store import Installed, installed, remove

__all__ = ["redlane_commands"]

_REFUSED, _NOT_REACHED = 1, 4
_SECONDS = 3600.0
_MEMORY = 4 * 1024**3

Run = Callable[[argparse.Namespace], int]


@hookimpl
def redlane_commands() -> Iterable[CommandGroup]:
    """Offer the command, which Redlane asks for when somebody types it."""
    return (CommandGroup("models", "install and look at classifier models", _register),)


def _register(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--models",
        type=Path,
        default=_models(),
        metavar="DIR",
        help="where models are installed (default: %(default)s)",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    added = partial(_added, commands)
    one = added("pull", _pull, "install a model")
    one.add_argument(
        "source",
        help="the path of a folder or an archive, NAME[@VERSION] of a hub, or "
        "hf:ORG/REPO[@REVISION]",
    )
    one.add_argument("--name", help="the name under which policies will know it")
    one.add_argument(
        "--positive", metavar="LABEL", help="the label whose probability is the score"
    )
    one.add_argument("--window", type=int, help="how many tokens are scored together")
    one.add_argument(
        "--most",
        type=int,
        default=DEFAULT_SIZE,
        metavar="BYTES",
        help="refuse what is larger (default: %(default)s)",
    )
    one.add_argument(
        "--hub", metavar="URL|NAME", help="the hub to ask, as redlane hub takes it"
    )
    one.add_argument(
        "--trust-new",
        action="store_true",
        help="trust a key that is new here, and take what is not signed",
    )
    _json(added("list", _list, "list the models, and what is wrong with them"))
    one = added("show", _show, "show what a model says of itself")
    one.add_argument("name")
    _json(one)
    added("remove", _remove, "remove a model").add_argument("name")
    one = added("verify", _verify, "see whether every file is what it was")
    one.add_argument("name", nargs="*", help="these models; all, without a name")
    one = added("artifact", _artifact, "print what a hub is to keep of a model")
    one.add_argument("name")
    one.add_argument(
        "--url", help="the address below which its files are (default: they are in it)"
    )
    one = added("test", _test, "score files with a model")
    one.add_argument("name")
    one.add_argument("file", nargs="+", type=Path)
    _json(one)


def _added(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    run: Run,
    summary: str,
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=summary)
    parser.set_defaults(run=partial(_told, run))
    return parser


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def _models() -> Path:
    home = os.environ.get("REDLANE_HOME")
    return (Path(home) if home else Path.home() / ".redlane") / "models"


def _told(run: Run, arguments: argparse.Namespace) -> int:
    """Run a command; what goes wrong is one line, and an exit status."""
    try:
        return run(arguments)
    except SourceError as error:
        if not error.is_told:
            _say(str(error))
        return _REFUSED if error.is_refused else _NOT_REACHED
    except (ModelError, NotScoredError) as error:
        _say(str(error))
        return _REFUSED


def _say(message: str) -> None:
    sys.stderr.write(f"redlane: {_line(message)}\n")


def _pull(arguments: argparse.Namespace) -> int:
    made = pull(
        arguments.source,
        arguments.models,
        name=arguments.name,
        positive=arguments.positive,
        window=arguments.window,
        most=arguments.most,
        asking=Asking(arguments.hub, arguments.trust_new),
    )
    _say(f"model {made.name!r} is installed in {arguments.models / made.name}")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    found = [_row(each) for each in installed(arguments.models, whole=True)]
    if arguments.json:
        _print_json(found)
    for each in () if arguments.json else found:
        state = each["problem"] or f"{each['kind']}, {each['bytes']} bytes"
        print(_line(f"{each['name']} {each['version']}: {state}"))  # noqa: T201
    return 0


def _row(found: Installed) -> dict[str, object]:
    manifest = found.manifest
    return {
        "name": found.name,
        "version": manifest and manifest.version,
        "kind": manifest and manifest.kind,
        "licence": manifest and manifest.licence,
        "bytes": found.size,
        "ok": found.problem is None,
        "problem": found.problem,
    }


def _show(arguments: argparse.Namespace) -> int:
    manifest = read_manifest(folder_of(arguments.models, arguments.name))
    document = manifest.document()
    if arguments.json:
        _print_json(document)
        return 0
    for name, value in document.items():
        shown = value if isinstance(value, str | int) else json.dumps(value)
        print(f"{name + ':':12} {_line(str(shown))}")  # noqa: T201
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    remove(arguments.models, arguments.name)
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    names = arguments.name or [
        each.name for each in installed(arguments.models, whole=False)
    ]
    wrong = 0
    for name in names:
        try:
            folder = folder_of(arguments.models, name)
            check_files(folder, read_manifest(folder))
        except ModelError as error:
            wrong += 1
            _say(f"model {name!r}: {error}")
        else:
            print(f"{name}: every file is what it was")  # noqa: T201
    return _REFUSED if wrong else 0


def _artifact(arguments: argparse.Namespace) -> int:
    _print_json(as_artifact(folder_of(arguments.models, arguments.name), arguments.url))
    return 0


def _test(arguments: argparse.Namespace) -> int:
    from redlane_match_ml.classifier import Classifier  # noqa: PLC0415

    folder_of(arguments.models, arguments.name)
    classifier = Classifier(arguments.models, 1, 1, _MEMORY)
    found = []
    try:
        for file in arguments.file:
            text = _text(file)
            scored = classifier.score(arguments.name, [text], _SECONDS, float("inf"))
            window = [scored.start, scored.end]
            found.append({"file": str(file), "score": scored.score, "window": window})
            if not arguments.json:
                print(f"{scored.score:.4f} {_line(str(file))} {window}")  # noqa: T201
    finally:
        classifier.close()
    if arguments.json:
        _print_json(found)
    return 0


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode(errors="replace")
    except OSError as error:
        raise ModelError(f"{file}: {error.strerror}") from error


def _line(text: str) -> str:
    """A text in one line, whatever it holds."""
    return "".join(each if each.isprintable() else " " for each in text)


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
