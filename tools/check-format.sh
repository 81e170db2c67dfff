#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks the layout of every C file with clang-format (version 14, Debian 12's). The event table is
# left alone: clang-format does not know its form. Exit status 77: clang-format is not there.
set -u
cd "$(dirname "$0")/.." || exit

command -v clang-format >/dev/null || exit 77
find cli format include record report symbolize tests tools unwind -name '*.[ch]' ! -name vmlinux.h ! -name '*.skel.h' |
	sort | xargs clang-format --dry-run -Werror 2>&1 |
	grep -E "^[a-z][^ ]*: (error|warning):" | sort -u -t: -k1,1
exit "${PIPESTATUS[2]}"
