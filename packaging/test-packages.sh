#!/bin/sh
# Install the Debian packages that some tests need besides; without them those skip.
set -eu

packages="chromium curl jq openssl wrk"

# shellcheck disable=SC2086  # the list is meant to be split into words
exec "${0%/*}/install-packages.sh" $packages
