"""`redlane hub email|password|reset` as processes, against a hub that sends mail."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest
from hub_mail_server import MailServer, mail_server
from hub_process import HubProcess
from preloaded import run_preloaded

from redlane.hubclient import Hub, HubRefusedError

PROGRAM = (str(Path(sys.executable).with_name("redlane")), "hub")
SECONDS = 60.0
OLD, NEW = "correct horse", "another password"
NAMES = map("ada{}@example.org".format, count())


@dataclass(frozen=True)
class Account:
    """Somebody with an account, who has logged in in a home of their own."""

    address: str
    email: str
    home: Path

    def run(
        self, *words: str, typed: str = "", env: tuple[tuple[str, str], ...] = ()
    ) -> tuple[int, str, str]:
        environment = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "REDLANE_HUB_URL": self.address,
            **dict(env),
        }
        done = run_preloaded(
            (*PROGRAM, *words), typed.encode(), environment, self.home, SECONDS
        )
        return done[0], done[1].decode(), done[2].decode()

    def says(self, *words: str, typed: str = "") -> str:
        code, out, error = self.run(*words, typed=typed)
        assert code == 0, error
        return out + error

    def can_log_in(self, password: str, email: str = "") -> bool:
        with Hub(self.address) as hub:
            try:
                hub.login(email or self.email, password)
            except HubRefusedError:
                return False
            return True


@pytest.fixture(scope="module")
def post() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


@pytest.fixture
def hub(
    tmp_path_factory: pytest.TempPathFactory, post: MailServer
) -> Iterator[HubProcess]:
    """One of each test's own: logging in and registering have a limit."""
    made = HubProcess(tmp_path_factory.mktemp("hub"), smtp_url=post.url)
    made.start()
    yield made
    made.stop()


@pytest.fixture
def ada(hub: HubProcess, tmp_path: Path) -> Account:
    account = Account(f"http://{hub.host}:{hub.port}", next(NAMES), tmp_path)
    with Hub(account.address) as client:
        client.register(account.email, OLD)
    account.says("login", account.email, "--password-stdin", typed=OLD)
    return account


def test_email_is_another_and_the_login_is_kept(ada: Account) -> None:
    other = f"new-{ada.email}"
    assert f"is {other} from now on" in ada.says("email", other)
    assert ada.says("whoami").startswith(other)
    assert ada.says("whoami", "--all").startswith(other)
    assert ada.can_log_in(OLD, other)
    assert not ada.can_log_in(OLD)


def test_token_of_the_environment_is_not_kept(ada: Account) -> None:
    with Hub(ada.address) as hub:
        token = hub.login(ada.email, OLD).token
    ada.says("logout")
    env = (("REDLANE_HUB_TOKEN", token),)
    assert ada.run("email", f"new-{ada.email}", env=env)[0] == 0
    assert ada.says("whoami", "--all") == ""


@pytest.mark.parametrize("email", ["", "nobody"])
def test_email_that_is_none_is_refused(ada: Account, email: str) -> None:
    code, out, error = ada.run("email", email)
    assert (code, out, error.count("\n")) == (1, "", 1)
    assert ada.can_log_in(OLD)


def test_password_is_another(ada: Account) -> None:
    ada.says("password", "--password-stdin", typed=f"{OLD}\n{NEW}\n")
    assert (ada.can_log_in(OLD), ada.can_log_in(NEW)) == (False, True)


@pytest.mark.parametrize(
    "typed", [f"wrong\n{NEW}\n", f"{OLD}\nshort\n", f"{OLD}\n{OLD}\n", f"{OLD}\n", ""]
)
def test_password_that_the_hub_does_not_take_is_refused(
    ada: Account, typed: str
) -> None:
    code, out, error = ada.run("password", "--password-stdin", typed=typed)
    assert (code, out, error.count("\n")) == (1, "", 1)
    assert ada.can_log_in(OLD)


def test_forgotten_password_is_set_with_the_token_of_a_mail(
    ada: Account, post: MailServer
) -> None:
    assert "a link was sent" in ada.says("reset", ada.email)
    post.wait()
    (letter,) = post.to(ada.email)
    typed = f"{letter.token}\n{NEW}\n"
    ada.says("reset", ada.email, "--confirm", "--password-stdin", typed=typed)
    assert (ada.can_log_in(OLD), ada.can_log_in(NEW)) == (False, True)


def test_token_that_is_none_sets_nothing(ada: Account) -> None:
    typed = f"none\n{NEW}\n"
    words = ("reset", ada.email, "--confirm", "--password-stdin")
    code, _, error = ada.run(*words, typed=typed)
    assert (code, error.count("\n")) == (1, 1)
    assert "invalid or expired" in error
    assert ada.can_log_in(OLD)


@pytest.mark.parametrize(
    "words", [("password",), ("reset", "ada@example.org", "--confirm")]
)
def test_without_a_terminal_what_is_secret_comes_from_standard_input(
    ada: Account, words: tuple[str, ...]
) -> None:
    code, _, error = ada.run(*words)
    assert code == 2
    assert "use --password-stdin" in error
