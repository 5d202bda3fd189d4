"""Environment markers mean what the reference implementation says they mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markers import holds

from packaging.markers import InvalidMarker, Marker

ENVIRONMENT = {
    "implementation_name": "cpython",
    "implementation_version": "3.11.2",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Linux",
    "platform_version": "",
    "python_full_version": "3.11.2",
    "python_version": "3.11",
    "sys_platform": "linux",
    "extra": "",
}

VERSION_SIGNS = st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "~="])
VERSIONS = st.sampled_from(["3.8", "3.9", "3.11", "3.11.2", "3.12", "3.13.1", "4.0"])
versions = st.builds(
    "{} {} '{}'".format,
    st.sampled_from(["python_version", "python_full_version"]),
    VERSION_SIGNS,
    VERSIONS,
)
texts = st.builds(
    '{} {} "{}"'.format,
    st.sampled_from(["sys_platform", "os_name", "extra", "platform_system"]),
    st.sampled_from(["==", "!="]),
    st.sampled_from(["linux", "win32", "posix", "Linux", "", "speed"]),
)
contained = st.builds(
    '"{}" {} {}'.format,
    st.sampled_from(["linux", "win", "x86"]),
    st.sampled_from(["in", "not in"]),
    st.sampled_from(["sys_platform", "platform_machine"]),
)
markers = st.recursive(
    versions | texts | contained,
    lambda inner: (
        st.builds("{} {} {}".format, inner, st.sampled_from(["and", "or"]), inner)
        | inner.map("({})".format)
    ),
    max_leaves=6,
)


@given(markers)
def test_marker_means_what_the_reference_says(marker: str) -> None:
    assert holds(marker, ENVIRONMENT) == Marker(marker).evaluate(ENVIRONMENT)


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("python_version == '3.*'", True),
        ("python_version != '3.11.*'", False),
        ("'3.9' < python_version", True),
        ("python_full_version ~= '3.11.1'", True),
        ("sys_platform=='linux'and os_name=='posix'", True),
        ("sys_platform == 'win32' or os_name == 'nt' or extra == ''", True),
    ],
)
def test_marker_in_unusual_dress(marker: str, expected: bool) -> None:  # noqa: FBT001
    assert holds(marker, ENVIRONMENT) is expected


@pytest.mark.parametrize(
    "marker",
    [
        *("", "python_version", "python_version <", "weather == 'fine'"),
        *("(os_name == 'posix'", "os_name == 'posix')", "os_name == 'a' 'b'"),
        *("os_name ~= 'posix'", "python_version === 'x'", "os_name == 'posix' and"),
        *("os_name = 'posix'", "os_name not 'posix'", "\x00"),
    ],
)
def test_what_is_no_marker_is_an_error(marker: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the message quotes what was given
        holds(marker, ENVIRONMENT)


@given(st.text(max_size=30))
def test_any_text_is_a_marker_or_an_error(text: str) -> None:
    try:
        value = holds(text, ENVIRONMENT)
    except ValueError:
        return
    try:
        assert Marker(text).evaluate(ENVIRONMENT) == value
    except InvalidMarker:
        pytest.fail("we understand what is no marker")
