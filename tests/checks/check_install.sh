#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Installs into a folder and checks that what a distribution packages is there, and nothing that is
# for developers: check_install.sh BUILD-FOLDER FILE… (FILE: below the prefix)
set -u
build=$1
shift
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

DESTDIR=$root meson install -C "$build" --no-rebuild --quiet || exit 1
cd "$root" || exit 1
diff <(printf '%s\n' "$@" | sort) <(find . -type f | sed -E 's|^\./(usr/local/\|usr/)?||; s/\.gz$//' | sort)
