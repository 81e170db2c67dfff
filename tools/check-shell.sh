#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs shellcheck over every shell script, whatever its name. Exit status 77: it is not there.
cd "$(dirname "$0")/.." || exit

command -v shellcheck >/dev/null || exit 77
mapfile -t scripts < <(grep -lrE '^#!/bin/(ba)?sh' .ci share tools tests)
shellcheck -x -S warning "${scripts[@]}"
