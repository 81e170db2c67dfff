#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reports C files of more than 800 lines and functions of more than 60. A function here begins
# where `{` stands alone in the first column and ends where `}` does, as the kernel layout has it.
set -u
cd "$(dirname "$0")/.." || exit

find cli format record report symbolize tools unwind -name '*.[ch]' ! -name vmlinux.h ! -name '*.skel.h' |
	sort | xargs awk '
	FNR == 1 { inside = 0 }
	FNR == 801 { print FILENAME ": more than 800 lines"; bad = 1 }
	/^[a-zA-Z_].*\(/ { name = $0 }
	/^\{/ { begin = FNR; inside = 1 }
	/^\}/ && inside {
		if (FNR - begin - 1 > 60) {
			print FILENAME ":" begin ": " FNR - begin - 1 " lines: " name
			bad = 1
		}
		inside = 0
	}
	END { exit bad }'
