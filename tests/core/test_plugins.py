"""Plugins are found, checked and reported; a broken one takes nothing down with it."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from redlane.hookspecs import API_VERSION
from redlane.plugins import PluginReport, Plugins, find_plugins

GOOD = """
from redlane.api import Context, Reader, hookimpl

class Offered:
    name = "Sample"
    contexts = frozenset(Context)
    reader = Reader.PATTERN
    fields = frozenset()
    ignores_action = False
    def problems(self, policy): return ()
    def compile(self, policies): return None

@hookimpl
def redlane_match_types():
    return (Offered(),)
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution of one module on the path, as an installer would."""
    monkeypatch.syspath_prepend(tmp_path)

    def _install(
        module: str, source: str, *, entry_point: str = "", value: str = ""
    ) -> None:
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {module.replace('_', '-')}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(
            f"[redlane]\n{entry_point or module} = {value or module}\n"
        )

    yield _install
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)


def report(plugins: Plugins, name: str) -> PluginReport:
    (found,) = (each for each in plugins.reports if each.name == name)
    return found


def test_plugin_is_found_with_its_origin(install: Install, tmp_path: Path) -> None:
    install("aa_sample", GOOD)
    plugins = find_plugins()
    found = report(plugins, "aa_sample")
    assert found.distribution == "aa-sample"
    assert found.version == "1.0"
    assert Path(found.location) == tmp_path
    assert (found.match_types, found.error) == (("Sample",), None)
    assert plugins.match_types["Sample"].name == "Sample"
    assert plugins.conflicts == ()


def test_plugin_says_for_which_version_it_was_written(install: Install) -> None:
    install("aa_silent", GOOD)
    install("bb_telling", f"redlane_api = {API_VERSION!r}\n")
    plugins = find_plugins()
    assert report(plugins, "aa_silent").api == "1.0"
    assert report(plugins, "bb_telling").api == API_VERSION


BROKEN = {
    "raises": ("raise RuntimeError('first\\nsecond')", "RuntimeError: first second"),
    "leaves the program": ("import sys; sys.exit(0)", "SystemExit: 0"),
    "is no Python": ("def (", "SyntaxError"),
    "needs what is not there": ("import no_such_module", "ModuleNotFoundError"),
    "has an unknown hook": (
        GOOD.replace("def redlane_match_types", "def redlane_match_typs"),
        "redlane_match_typs",
    ),
    "asks for an unknown argument": (
        GOOD.replace("match_types()", "match_types(config)"),
        "config",
    ),
    "raises in its hook": (GOOD.replace("return (", "raise OSError; ("), "OSError"),
    "leaves in its hook": (GOOD.replace("return (", "raise SystemExit; ("), "SystemEx"),
    "returns a number": (GOOD.replace("return (Offered(),)", "return 3"), "TypeError"),
    "returns text": (GOOD.replace("return (Offered(),)", "return 'ab'"), "TypeError"),
    "returns a class": (GOOD.replace("(Offered(),)", "(Offered,)"), "is a class"),
    "wants a newer interface": (f"redlane_api = '9.1'\n{GOOD}", "plugin API 9.1"),
    "wants a name of a newer one": (
        f"from redlane.api import Newer\n{GOOD}",
        f"this Redlane has plugin API {API_VERSION}",
    ),
    "has no name": (GOOD.replace('"Sample"', '""'), "no name"),
    "has no reader": (GOOD.replace("reader =", "reeder ="), "'reader'"),
    "has an unknown reader": (GOOD.replace("Reader.PATTERN", "'x'"), "reader"),
    "has unknown contexts": (GOOD.replace("frozenset(Context)", "{'x'}"), "contexts"),
    "has no contexts": (GOOD.replace("frozenset(Context)", "None"), "TypeError"),
    "has fields that are no names": (GOOD.replace("frozenset()", "{1}"), "fields"),
    "has no compile": (GOOD.replace("def compile", "def compyle"), "'compile'"),
    "says nothing of its action": (GOOD.replace("= False", "= None"), "ignores_action"),
    "describes itself badly": (
        GOOD.replace('name = "Sample"', "def __repr__(self): return 1"),
        "TypeError",
    ),
}


@pytest.mark.parametrize(("source", "reason"), BROKEN.values(), ids=BROKEN)
def test_broken_plugin_is_reported_and_left_out(
    install: Install, source: str, reason: str
) -> None:
    install("aa_broken", source)
    install("zz_sound", GOOD.replace('"Sample"', '"Sound"'))
    plugins = find_plugins()
    error = report(plugins, "aa_broken").error
    assert error is not None
    assert reason in error
    assert "\n" not in error
    assert "Sample" not in plugins.match_types
    assert report(plugins, "zz_sound").match_types == ("Sound",)
    assert report(plugins, "match_executable").match_types == ("Executable",)


NOT_WHOLE = {
    "bytes that are no text": b"\xff\xfe[redlane",
    "a line that is no entry": b"[redlane]\nbroken\n",
}


@pytest.mark.parametrize("content", NOT_WHOLE.values(), ids=NOT_WHOLE)
def test_entry_points_that_cannot_be_read_take_nothing_down(
    install: Install, tmp_path: Path, content: bytes
) -> None:
    install("aa_torn", GOOD)
    (tmp_path / "aa_torn-1.0.dist-info" / "entry_points.txt").write_bytes(content)
    install("zz_sound", GOOD.replace('"Sample"', '"Sound"'))
    plugins = find_plugins()
    (torn,) = (each for each in plugins.reports if each.distribution == "aa-torn")
    assert torn.error is not None
    assert "entry points" in torn.error
    assert (torn.version, Path(torn.location)) == ("1.0", tmp_path)
    assert "Sample" not in plugins.match_types
    assert report(plugins, "zz_sound").match_types == ("Sound",)
    assert report(plugins, "match_regex").match_types == ("Regex",)


@pytest.mark.parametrize("metadata", [None, "Metadata-Version: 2.1\n"])
def test_distribution_without_a_name_is_reported(
    install: Install, tmp_path: Path, metadata: str | None
) -> None:
    """What an interrupted installation leaves: two of them sort as well as one."""
    for module in ("aa_half", "bb_half"):
        install(module, GOOD, entry_point="half")
        path = tmp_path / f"{module}-1.0.dist-info" / "METADATA"
        path.unlink()
        if metadata is not None:
            path.write_text(metadata)
    install("cc_whole", GOOD, entry_point="half")
    reports = [each for each in find_plugins().reports if each.name == "half"]
    assert [each.error for each in reports] == [None] * 3
    assert sorted(each.distribution for each in reports) == ["", "", "cc-whole"]
    assert sorted(each.version for each in reports) == ["", "", "1.0"]


def test_hidden_distribution_stays_hidden_beside_a_torn_one(
    install: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("aa_twice", GOOD.replace('"Sample"', '"First"'))
    install("bb_torn", GOOD)
    (tmp_path / "bb_torn-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff")
    later = tmp_path / "later"
    info = later / "AA.Twice-0.9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: AA.Twice\nVersion: 0.9\n")
    (info / "entry_points.txt").write_text("[redlane]\nold = bb_torn\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(later)])
    plugins = find_plugins()
    assert "First" in plugins.match_types
    assert "old" not in [each.name for each in plugins.reports]


def test_plugin_that_offers_nothing_is_no_error(install: Install) -> None:
    install("aa_empty", "")
    found = report(find_plugins(), "aa_empty")
    assert (found.match_types, found.error) == ((), None)


def test_two_plugins_of_one_type_are_a_conflict(install: Install) -> None:
    install("aa_first", GOOD)
    install("bb_second", GOOD)
    (conflict,) = find_plugins().conflicts
    assert "'Sample'" in conflict
    assert "aa-first" in conflict
    assert "bb-second" in conflict


def test_entry_points_of_one_name_are_two_plugins(install: Install) -> None:
    install("aa_first", GOOD, entry_point="same")
    install("bb_second", GOOD, entry_point="same")
    plugins = find_plugins()
    assert [each.error for each in plugins.reports if each.name == "same"] == [None] * 2
    assert len(plugins.conflicts) == 1


def test_plugin_may_be_an_object_of_any_kind(install: Install) -> None:
    hostile = """
from redlane.api import hookimpl
class Plugin:
    __hash__ = None
    def __eq__(self, other): raise SystemExit(0)
    @hookimpl
    def redlane_match_types(self): raise OSError
aa_hostile = Plugin()
"""
    install("aa_hostile", hostile, value="aa_hostile:aa_hostile")
    install("zz_sound", GOOD)
    plugins = find_plugins()
    assert "OSError" in (report(plugins, "aa_hostile").error or "")
    assert report(plugins, "zz_sound").match_types == ("Sample",)


def test_impostor_of_a_type_of_ours_is_a_conflict(install: Install) -> None:
    source = GOOD.replace('"Sample"', '"Executable"')
    install("aa_impostor", source, entry_point="match_executable")
    (conflict,) = find_plugins().conflicts
    assert "redlane-match-executable" in conflict


def test_type_that_one_plugin_offers_twice_is_a_conflict(install: Install) -> None:
    install("aa_twice", GOOD.replace("(Offered(),)", "(Offered(), Offered())"))
    (conflict,) = find_plugins().conflicts
    assert "aa-twice" in conflict


def test_what_a_plugin_prints_does_not_mix_with_answers(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("aa_chatty", f"print('imported')\n{GOOD}")
    find_plugins()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "imported" in captured.err


CONTEXT = """
from redlane.api import hookimpl

class Offered:
    name = "Syscall"
    def problems(self, policy): return ()
    def coverage(self, named): return ()
    def guard(self, judge, options): raise OSError

@hookimpl
def redlane_contexts():
    return (Offered(),)
"""


def test_context_is_found(install: Install) -> None:
    install("aa_sample", CONTEXT)
    plugins = find_plugins()
    found = report(plugins, "aa_sample")
    assert (found.contexts, found.match_types, found.error) == (("Syscall",), (), None)
    assert plugins.contexts["Syscall"].name == "Syscall"


def test_context_that_is_served_is_found(install: Install) -> None:
    source = CONTEXT.replace('"Syscall"', '"Errands"')
    source = source.replace(
        "def coverage(self, named)", "def start(self, judge, place)"
    )
    install(
        "aa_sample", source.replace("def guard(self, judge, options)", "def stop()")
    )
    plugins = find_plugins()
    assert report(plugins, "aa_sample").contexts == ("Errands",)
    assert "Errands" in plugins.served
    assert "Errands" not in plugins.contexts


BROKEN_CONTEXTS = {
    "serves nothing": (CONTEXT.replace('"Syscall"', '"Errands"'), "'start'"),
    "has all contexts": (CONTEXT.replace('"Syscall"', '"all"'), "no name"),
    "has a name of two lines": (CONTEXT.replace("Syscall", "a\\nb"), "no name"),
    "raises in its hook": (CONTEXT.replace("return (O", "raise OSError; (O"), "OSErr"),
    "returns a class": (CONTEXT.replace("(Offered(),)", "(Offered,)"), "is a class"),
    "has no name": (CONTEXT.replace('"Syscall"', '""'), "no name"),
    "has a name of the core": (CONTEXT.replace('"Syscall"', '"Shell"'), "no name"),
    "has no guard": (CONTEXT.replace("def guard", "def gard"), "'guard'"),
    "has no problems": (CONTEXT.replace("def problems", "def problem"), "'problems'"),
    "has no coverage": (CONTEXT.replace("def coverage", "def covered"), "'coverage'"),
}


@pytest.mark.parametrize(
    ("source", "reason"), BROKEN_CONTEXTS.values(), ids=BROKEN_CONTEXTS
)
def test_broken_context_is_reported_and_left_out(
    install: Install, source: str, reason: str
) -> None:
    install("aa_broken", source)
    plugins = find_plugins()
    error = report(plugins, "aa_broken").error
    assert error is not None
    assert reason in error
    assert all(type(each).__module__ != "aa_broken" for each in plugins.contexts)


def test_two_plugins_of_one_context_are_a_conflict(install: Install) -> None:
    install("aa_first", CONTEXT)
    install("bb_second", CONTEXT)
    plugins = find_plugins()
    (conflict,) = (each for each in plugins.conflicts if "bb-second" in each)
    assert "context 'Syscall'" in conflict
    assert "aa-first" in conflict
