#!/bin/sh
# Install the Debian packages that booting our packages in containers needs.
set -eu

packages="autopkgtest debian-archive-keyring lintian mmdebstrap piuparts procps systemd-container"

# shellcheck disable=SC2086  # the list is meant to be split into words
exec "${0%/*}/install-packages.sh" $packages
