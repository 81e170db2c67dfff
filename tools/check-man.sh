#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks the manual pages with mandoc and with man (groff). Exit status 77: they are not there.
cd "$(dirname "$0")/.." || exit

command -v mandoc >/dev/null && command -v man >/dev/null || exit 77
failed=0
for page in docs/man/*; do
	mandoc -T lint -W warning "$page" || failed=1
	warnings=$(LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)
	[ -z "$warnings" ] || { echo "$warnings" && failed=1; }
done
exit $failed
