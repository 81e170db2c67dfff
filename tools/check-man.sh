#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks the manual pages with mandoc and with man (groff). Exit status 77: they are not there.
cd "$(dirname "$0")/.." || exit

command -v mandoc >/dev/null && command -v man >/dev/null || exit 77
export LC_ALL=C.UTF-8
failed=0
quotes="‘[^’]*(‘|, )[^’]*’|.{,20}’’"
for page in docs/man/*; do
	# Quotes that hold others, or a list: one macro has quoted what two should have.
	if mandoc -T utf8 "$page" | col -b | tr -s '[:space:]' ' ' | grep -oE "$quotes"; then
		echo "$page: quotes begin or end where they should not" >&2
		failed=1
	fi
	mandoc -T lint -W warning "$page" || failed=1
	warnings=$(man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null)
	[ -z "$warnings" ] || { echo "$warnings" && failed=1; }
done
exit $failed
