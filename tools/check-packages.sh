#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# README's table of packages is that of tools/packages.
cd "$(dirname "$0")/.." || exit

diff <(sed -nE 's/^(build|record) +([^ ]+) +(.*)/| \2 | \3 |/p' tools/packages) \
	<(sed -n '/^| Debian 12 package/,/^$/p' README.md | tail -n +3 | grep .)
