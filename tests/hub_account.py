"""What a person does with an account of a hub in this process, over HTTP."""

from typing import Any

import falcon.testing
from hub_instance import PASSWORD, Running

__all__ = [
    "CHANGE",
    "EMAIL",
    "LOGIN",
    "ME",
    "REGISTER",
    "WRONG",
    "answered",
    "change",
    "login",
    "register",
]

REGISTER = "/api/v1/register"
LOGIN = "/api/v1/login"
ME = "/api/v1/me"
EMAIL = "/api/v1/me/email"
CHANGE = "/api/v1/me/password"
WRONG = {"error": "invalid credentials"}


def login(hub: Running, email: str, password: str = PASSWORD) -> falcon.testing.Result:
    return hub.call("POST", LOGIN, json={"email": email, "password": password})


def register(
    hub: Running, email: str, password: str = PASSWORD
) -> falcon.testing.Result:
    return hub.call("POST", REGISTER, json={"email": email, "password": password})


def change(hub: Running, token: str, current: str, new: str) -> falcon.testing.Result:
    body = {"current_password": current, "new_password": new}
    return hub.call("PATCH", CHANGE, token, json=body)


def answered(result: falcon.testing.Result) -> tuple[int, Any]:
    return result.status_code, result.json
