#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Every SYS_name of <sys/syscall.h> as an initializer: sys_names.sh OUTPUT COMPILER…
set -eu
output=$1
shift
echo '#include <sys/syscall.h>' | "$@" -E -dM - |
	sed -n 's/^#define SYS_\([a-z0-9_]*\) .*/{ SYS_\1, "\1" },/p' >"$output"
