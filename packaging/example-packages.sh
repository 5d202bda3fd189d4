#!/bin/sh
# Install the Debian packages that build the example of a plugin, or say the one line that does.
set -eu

packages="build-essential debhelper dh-python fakeroot groff-base lintian man-db mandoc \
    pybuild-plugin-pyproject python3-all python3-pip python3-setuptools python3-wheel"

# shellcheck disable=SC2086  # the list is meant to be split into words
exec "${0%/*}/install-packages.sh" $packages
