"""What each error becomes, and what is told of it."""

import logging

import falcon.testing
import pytest

from redlane_hub import errors
from redlane_hub.app import falcon_app
from redlane_hub.http.operations import Access, Call, Operation, operation


class Nobody:
    """Knows no token."""

    def viewer_id(self, _token: str) -> None:
        return None

    def account(self, _user_id: str) -> None:
        return None


class Failing:
    """Raises what it was told to."""

    def __init__(self, raised: Exception) -> None:
        self._raised = raised

    @operation(Operation("GET", "/open", Access.ANYONE, ""))
    def fail(self, _call: Call[None, None]) -> None:
        raise self._raised


def answer_to(raised: Exception, method: str = "GET") -> falcon.testing.Result:
    app = falcon_app([Failing(raised)], Nobody(), 100)
    return falcon.testing.TestClient(app).simulate_request(method, "/open")


ERRORS = {
    errors.InvalidInputError: 400,
    errors.NotAuthenticatedError: 401,
    errors.ForbiddenError: 403,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.TooLargeError: 413,
    errors.UnsupportedMediaTypeError: 415,
    errors.NotConfiguredError: 503,
}


@pytest.mark.parametrize(("kind", "status"), ERRORS.items())
def test_an_error_of_the_hub_is_told(kind: type[Exception], status: int) -> None:
    answer = answer_to(kind("what 'é' is, and\nwhy"))
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.json == {"error": "what 'é' is, and\nwhy"}
    assert ("WWW-Authenticate" in answer.headers) == (status == 401)


def test_a_crowd_is_left_to_the_rate_limits() -> None:
    with pytest.raises(errors.BusyError, match="come again"):
        answer_to(errors.BusyError("come again"))


@pytest.mark.parametrize(
    "raised",
    [
        RuntimeError("a secret"),
        KeyError("a secret"),
        errors.OperatorError("a secret"),
        errors.HubError("a secret"),
        RecursionError("a secret"),
        MemoryError("a secret"),
    ],
    ids=lambda raised: type(raised).__name__,
)
def test_what_nobody_foresaw_is_told_to_nobody(
    raised: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        answer = answer_to(raised)
    assert (answer.status_code, answer.json) == (
        500,
        {"error": "internal server error"},
    )
    (record,) = caplog.records
    assert record.message == "A request failed."
    assert record.exc_info is not None


def test_an_unknown_method_is_refused() -> None:
    with pytest.warns(match="Unknown REQUEST_METHOD"):
        answer = answer_to(RuntimeError(), "BREW")
    assert (answer.status_code, answer.json) == (400, {"error": "invalid http method"})
