"""Whatever stands in the files, a load ends, raises nothing and tells what is wrong."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from core.policy_home import PolicyHome, simple
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from redlane.model.policy import Action, Context
from redlane.model.problem import Severity
from redlane.policies.fields import FORMAT_TYPES, POLICY, ROLE, TRANSFORM
from redlane.policies.loaded import Loaded
from redlane.wire.strict_json import JsonError, parse_json

SCALARS: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        [*FORMAT_TYPES, *Action, *Context, "open", "((", "$9", "sed 's", "p", "", "\0"]
    )
)
NAMES = st.sampled_from([*POLICY, *ROLE, *TRANSFORM, "patern", "Polices", "x"])
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(NAMES | st.text(max_size=4), inner, max_size=6)
    ),
    max_leaves=12,
)
POLICY_LIKE = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["p", "q", ""]) | SCALARS,
        "type": st.sampled_from(FORMAT_TYPES) | SCALARS,
        "action": st.sampled_from(list(Action)) | SCALARS,
    },
    optional={name: JSON for name in POLICY if name not in {"id", "type", "action"}},
)
ROLE_LIKE = st.fixed_dictionaries(
    {"name": st.sampled_from(["r", "s"]) | SCALARS},
    optional={"policies": st.lists(SCALARS, max_size=3) | JSON, "is_dynamic": JSON},
)
DOCUMENTS = st.one_of(JSON, POLICY_LIKE, st.lists(POLICY_LIKE | ROLE_LIKE, max_size=3))
FILES = st.one_of(
    st.binary(max_size=200),
    DOCUMENTS.map(lambda value: json.dumps(value).encode()),
    DOCUMENTS.map(lambda value: json.dumps(value, ensure_ascii=False)).map(
        lambda text: text.encode(errors="surrogatepass")
    ),
)
PLACES = ["policies/x.json", "roles/x.json", "settings.json"]


def _load(files: dict[str, bytes], legacy: bytes | None = None) -> Loaded:
    with tempfile.TemporaryDirectory() as root:
        home = PolicyHome(Path(root))
        for name, data in files.items():
            home.write(name, data)
        if legacy is not None:
            home.legacy(None).write_bytes(legacy)
        return home.load()


def _is_strict(data: bytes) -> bool:
    try:
        parse_json(data)
    except JsonError:
        return False
    return True


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=examples(150), deadline=None)
@given(data=FILES)
def test_a_broken_file_has_an_error_that_names_it(place: str, data: bytes) -> None:
    loaded = _load({place: data})

    of_file = [each for each in loaded.errors if each.file.endswith(place)]
    if not _is_strict(data):
        assert len(of_file) == 1
        assert of_file[0].message.startswith("line ")
    for finding in loaded.findings:
        assert finding.message
        assert finding.severity in Severity


@settings(max_examples=examples(150), deadline=None)
@given(policies=FILES, roles=FILES, chosen=FILES, legacy=FILES)
def test_only_whole_roles_can_be_asked_for(
    policies: bytes, roles: bytes, chosen: bytes, legacy: bytes
) -> None:
    good = json.dumps([simple("p"), simple("q")]).encode()
    loaded = _load(
        {
            "policies/good.json": good,
            "policies/x.json": policies,
            "roles/x.json": roles,
            "settings.json": chosen,
        },
        legacy,
    )

    for name, role in loaded.ruleset.roles.items():
        assert set(role.policies) <= set(loaded.ruleset.policies)
        assert loaded.ruleset.rules(name) is not None
        assert loaded.problems_of_role(name) == ()
    for error in loaded.errors:
        if error.subject and error.file.endswith("roles/x.json"):
            assert error.subject not in loaded.ruleset.roles


@settings(max_examples=examples(100), deadline=None)
@given(entries=st.lists(POLICY_LIKE | JSON, max_size=4))
def test_an_entry_is_either_loaded_or_an_error(entries: list[Any]) -> None:
    data = json.dumps(entries).encode()
    if not _is_strict(data):
        return
    loaded = _load({"policies/x.json": data})

    if len(loaded.ruleset.policies) < len(entries):
        assert loaded.errors
    for policy in loaded.ruleset.policies.values():
        assert not [each for each in loaded.errors if each.subject == policy.id]
