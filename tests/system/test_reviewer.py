"""A type of jurors of a third party, asked by a real daemon about what is held."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from calls_home import make_redlane
from distributions import SAMPLE
from spec.jury_home import ALLOW, Court, assert_ends
from spec.redlane_home import Home

UNRULY = '''
"""The type of jurors unruly: it does what its entry says, and that is its answer."""
import os, signal, subprocess, sys
from redlane.api import Field, Kind, Opinion, Vote, hookimpl

redlane_api = "1.0"
ASKED = []


class Unruly:
    name = "unruly"
    settings = (Field("does", Kind.STRING, "what it does", required=True),)

    def problems(self, settings):
        return ()

    def review(self, request, settings):
        ASKED.append(request)
        return eval(settings["does"])


@hookimpl
def redlane_reviewers():
    return (Unruly(),)
'''


def install(module: Path, name: str, version: str) -> None:
    """Have a module in `site-packages` be a plugin of that name."""
    info = module.with_name(f"{module.stem}-{version}.dist-info")
    info.mkdir()
    distribution = module.stem.replace("_", "-")
    (info / "METADATA").write_text(f"Name: {distribution}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(f"[redlane]\n{name} = {module.stem}\n")


@pytest.fixture(scope="module")
def redlane(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment in which the sample of a plugin is installed, and an unruly."""
    place = tmp_path_factory.mktemp("v") / "venv"
    command = make_redlane(place)
    (site,) = place.glob("lib/python3*/site-packages")
    sample, unruly = site / "redlane_word_count.py", site / "redlane_unruly.py"
    shutil.copy(SAMPLE / sample.name, site)
    unruly.write_text(UNRULY)
    install(sample, "word_count", "2.3")
    install(unruly, "unruly", "1.0")
    return command


@contextmanager
def started(base: Path, redlane: Path) -> Iterator[Home]:
    """A daemon of that environment, whose jury is the sample's."""
    made = Home(base)
    made.policies({"id": "look", "type": "Simple", "action": "Flag", "pattern": "push"})
    made.role("r", "look")
    made.settings(
        review={"jury": [{"name": "short", "type": "skimmer"}], "order": "jury"}
    )
    try:
        ran = made.run("start", "--role", "r", program=redlane)
        assert ran.code == 0, ran
        yield made
    finally:
        made.stop()


@pytest.fixture
def home(tmp_path: Path, redlane: Path) -> Iterator[Home]:
    with started(tmp_path, redlane) as made:
        yield made


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory, redlane: Path) -> Iterator[Court]:
    """One daemon for all jurors that go wrong: none of them takes it with it."""
    with started(tmp_path_factory.mktemp("c"), redlane) as made:
        yield Court(made)


@pytest.mark.parametrize(
    ("content", "verdict", "words"),
    [("git push", "ALLOW", 2), ("git push --force to main", "BLOCK", 5)],
    ids=["allowed", "blocked"],
)
def test_juror_decides_what_is_held(
    home: Home, content: str, verdict: str, words: int
) -> None:
    answer = home.control.post("/api/analyze", {"context": "Shell", "content": content})
    assert answer.json["verdict"] == verdict
    event = home.control.rows("/api/events")[-1]
    assert (event["decided_by"], event["note"]) == ("jury", f"short: {words} words")


def asked(court: Court, does: str, **fields: object) -> tuple[str, str]:
    """The verdict where the one juror does that, and what is told of it."""
    court.seat({"name": "j", "type": "unruly", "does": does, **fields}, order="jury")
    judged = court.ask("push")
    assert judged.outcome[1] == "jury"
    return judged.verdict["verdict"], str(judged.review["note"])


FINE, BAD = "Opinion(Vote.ALLOW, 'fine')", "Opinion(Vote.BLOCK, 'bad')"
PRINTS, WRITES = f"print({ALLOW!r})", f"os.write(1, {ALLOW.encode()!r})"
NO_OPINION = "its answer is no opinion"
TROUBLE = {
    "nothing": ("None", NO_OPINION),
    "a vote alone": ("Vote.ALLOW", NO_OPINION),
    "a word": ("'allow'", NO_OPINION),
    "an object": ("{'vote': 'allow', 'reason': 'fine'}", NO_OPINION),
    "another vote": ("Opinion('allow', 'fine')", NO_OPINION),
    "an exception": ("1 / 0", "ZeroDivisionError: division by zero"),
    "an exit": ("sys.exit(0)", "SystemExit: 0"),
    "an end of its process": ("os._exit(0)", "its answer is no JSON object: "),
    "an interrupt": ("signal.raise_signal(signal.SIGINT)", "it was killed by SIGINT"),
    "a crash": ("signal.raise_signal(signal.SIGKILL)", "it was killed by SIGKILL"),
    "what it has written": (f"{WRITES} and os._exit(0)", "its answer is no JSON"),
    "a failure": (f"{WRITES} and os._exit(1)", "it exited with status 1"),
}


@pytest.mark.parametrize(("does", "told"), TROUBLE.values(), ids=TROUBLE)
def test_whatever_is_no_opinion_is_a_vote_to_block(
    court: Court, does: str, told: str
) -> None:
    verdict, note = asked(court, does)
    assert verdict == "BLOCK"
    assert note.startswith(f"j: {told}")


PRINTED = {
    "beside an allow": (f"{PRINTS} or {FINE}", "ALLOW"),
    "beside a block": (f"{PRINTS} or {BAD}", "BLOCK"),
    "past Python": (f"{WRITES} and {BAD}", "BLOCK"),
}


@pytest.mark.parametrize(("does", "verdict"), PRINTED.values(), ids=PRINTED)
def test_what_a_juror_prints_is_no_vote(court: Court, does: str, verdict: str) -> None:
    assert asked(court, does)[0] == verdict


def test_each_question_has_a_process_of_its_own(court: Court) -> None:
    does = "Opinion(Vote.ALLOW, f'{len(ASKED)} {os.getpid()}')"
    notes = [asked(court, does)[1].split()[1:] for _ in range(2)]
    assert [number for number, _ in notes] == ["1", "1"]
    daemon = str(court.home.control.get("/api/status").json["pid"])
    assert len({daemon, *(pid for _, pid in notes)}) == len(notes) + 1


STAYS = """[
    [signal.signal(e, signal.SIG_IGN) for e in (signal.SIGTERM, signal.SIGALRM)],
    below := subprocess.Popen(["sleep", "1000"]),
    open({file!r}, "w").write(f"{{os.getpid()}} {{below.pid}}"),
    below.wait(),
]"""


def test_juror_whose_time_is_up_is_killed_with_what_it_has_started(
    court: Court, tmp_path: Path
) -> None:
    file = tmp_path / "pids"
    does = STAYS.format(file=str(file))
    outcome = asked(court, does, timeout_seconds=2)
    assert outcome == ("BLOCK", "j: it did not exit within 2 seconds")
    for pid in file.read_text().split():
        assert_ends(int(pid))


ENTRIES: dict[str, tuple[dict[str, object], str, int]] = {
    "another form": ({"most_words": "x"}, "most_words", 1),
    "too few": ({"most_words": 0}, "is below 1", 1),
    "unknown": ({"most": 3}, "unknown setting", 0),
    "by the plugin": ({"most_words": 101}, "nobody skims more than 100", 0),
}


@pytest.mark.parametrize("case", ENTRIES)
def test_entry_is_checked_by_what_the_type_says(
    home: Home, redlane: Path, case: str
) -> None:
    entry, told, code = ENTRIES[case]
    home.settings(review={"jury": [{"name": "a", "type": "skimmer", **entry}]})
    checked = home.run("config", "check", program=redlane)
    assert checked.code == code
    assert told in checked.out


def test_plugins_list_names_the_type(home: Home, redlane: Path) -> None:
    listed = home.run("plugins", "list", program=redlane).out
    assert "word_count: WordCount, reviewer skimmer" in listed
