#!/bin/sh
# Install the Debian packages that building ours needs, or say the one line that does.
# SUITE=NAME: what a build in a clean tree of another release needs.
set -eu

packages="build-essential debhelper libpython3-dev python3-venv"
[ -z "${SUITE:-}" ] || packages="debian-archive-keyring dpkg-dev mmdebstrap python3-venv"

# shellcheck disable=SC2086  # the list is meant to be split into words
exec "${0%/*}/install-packages.sh" $packages
