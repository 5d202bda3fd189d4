"""The OpenAPI document is complete, and the running service keeps to it."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hub_instance import new_hub
from hub_process import HubProcess
from jsonschema import Draft202012Validator
from spec.hub_client import client_of
from spec.hub_stripe import Provider

SETUP = Path(__file__).with_name("schemathesis")
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
SPECIFIED = {
    "POST /api/v1/register",
    "POST /api/v1/login",
    "GET /api/v1/me",
    "PATCH /api/v1/me/email",
    "PATCH /api/v1/me/password",
    "POST /api/v1/password-reset/request",
    "POST /api/v1/password-reset/confirm",
    "GET /api/v1/users/{user_id}",
    "POST /api/v1/me/checkout-session",
    "GET /api/v1/me/subscription",
    "POST /api/v1/me/signing-keys",
    "GET /api/v1/me/signing-keys",
    "DELETE /api/v1/me/signing-keys/{fingerprint}",
    "POST /api/v1/artifacts",
    "GET /api/v1/artifacts/{name}/{version}",
    "GET /api/v1/artifacts/search",
    "GET /api/v1/artifacts/{name}/{version}/members",
    "GET /api/v1/artifacts/{name}/{version}/resolve",
    "POST /api/v1/artifacts/{artifact_id}/yank",
    "DELETE /api/v1/artifacts/{artifact_id}/yank",
    "POST /api/v1/artifacts/{artifact_id}/endorsements",
    "GET /api/v1/artifacts/{artifact_id}/endorsements",
    "DELETE /api/v1/artifacts/{artifact_id}/endorsements/{endorsement_id}",
    "GET /health",
    "GET /api/v1/openapi.json",
}
"""The public contract, and the document itself."""


@pytest.fixture
def served(tmp_path: Path) -> dict[str, Any]:
    answer = new_hub(tmp_path).client.simulate_get("/api/v1/openapi.json")
    document: dict[str, Any] = answer.json
    return document


def operations(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_document_shows_the_public_contract_and_nothing_else(
    served: dict[str, Any],
) -> None:
    assert served["openapi"] == "3.1.0"
    assert set(operations(served)) == SPECIFIED


def test_each_operation_says_what_it_does(served: dict[str, Any]) -> None:
    for name, operation in operations(served).items():
        assert operation["summary"], name
        assert operation["description"], name


def test_every_field_of_every_form_is_explained(served: dict[str, Any]) -> None:
    for name, schema in served["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        for field, described in schema["properties"].items():
            assert described["description"], (name, field)


def test_links_lead_to_operations(served: dict[str, Any]) -> None:
    ids = {each["operationId"] for each in operations(served).values()}
    links = {
        link["operationId"]
        for operation in operations(served).values()
        for answer in operation["responses"].values()
        for link in answer.get("links", {}).values()
    }
    assert len(ids) == len(SPECIFIED)
    assert links
    assert links <= ids


def test_only_operations_that_take_a_token_name_it(served: dict[str, Any]) -> None:
    security = {
        name: each.get("security", []) for name, each in operations(served).items()
    }
    with_token = {name for name, each in security.items() if {"bearer": []} in each}
    required = {name for name in with_token if {} not in security[name]}
    assert with_token - required == {
        "GET /api/v1/artifacts/search",
        "GET /api/v1/artifacts/{name}/{version}",
        "GET /api/v1/artifacts/{name}/{version}/resolve",
    }
    assert all("401" in operations(served)[name]["responses"] for name in required)


@contextmanager
def whole_hub(directory: Path) -> Iterator[HubProcess]:
    """A hub with everything that it may be given."""
    with Provider() as provider:
        hub = HubProcess(
            directory,
            smtp_url="smtp://127.0.0.1:9",
            payment_api_url=provider.url,
            payment_api_key="sk_test",
            payment_price="price_1",
        )
        hub.start()
        try:
            yield hub
        finally:
            hub.stop()


def test_service_keeps_to_its_document(tmp_path: Path) -> None:
    with whole_hub(tmp_path) as hub:
        account = client_of(hub).register()
        hub.approve(account.email)
        done = subprocess.run(
            [
                str(SCHEMATHESIS),
                f"--config-file={SETUP / 'schemathesis.toml'}",
                "run",
                f"http://{hub.host}:{hub.port}/api/v1/openapi.json",
                "--checks=all",
                "--seed=1",
                "--continue-on-failure",
            ],
            env={
                **os.environ,
                "HUB_TOKEN": account.token,
                "PYTHONPATH": str(SETUP),
                "SCHEMATHESIS_HOOKS": "hub_hooks",
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    assert "stateful (not applicable)" not in done.stdout.lower()
    generated = re.search(r"(\d+) generated", done.stdout)
    assert generated is not None, done.stdout
    assert int(generated[1]) > 500
