#!/bin/sh
# Install the Debian packages that development needs, or say the one line that does.
set -eu

packages="python3-venv gcc libc6-dev libpython3-dev libseccomp2 python3-systemd"

# shellcheck disable=SC2086  # the list is meant to be split into words
exec "${0%/*}/install-packages.sh" $packages
