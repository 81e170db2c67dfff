#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Completes command lines as bash would, with the programs as built: check_completion.sh EBREPORT
# [EBREC].
set -u
folder=$(dirname "$(readlink -f "$0")")/../../docs/completion
# Meson gives paths that are relative to the folder of the build.
for program; do
	set -- "${@:2}" "$(readlink -f "$program")"
done
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
touch "$work/one.ebt" "$work/other.txt"
mkdir "$work/folder"
cd "$work" || exit 1

# compopt works only while bash completes.
compopt() { :; }

complete_line() { # FUNCTION PROGRAM WORD…: the last word is completed
	local function=$1
	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	$function "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
}

expect() { # WORD FUNCTION PROGRAM WORD…
	local want=$1 reply
	shift
	complete_line "$@"
	for reply in "${COMPREPLY[@]}"; do
		[ "$reply" = "$want" ] && return
	done
	echo "no '$want' for: ${*:2}; there is: ${COMPREPLY[*]}" >&2
	failed=1
}

expect_none() { # FUNCTION PROGRAM WORD…
	complete_line "$@"
	if [ ${#COMPREPLY[@]} -ne 0 ]; then
		echo "nothing fits: ${*:2}; there is: ${COMPREPLY[*]}" >&2
		failed=1
	fi
}

. "$folder/ebreport"
expect syscalls _ebreport "$1" sys
expect one.ebt _ebreport "$1" info o
expect --no-symbols _ebreport "$1" info --no-s
expect offcpu _ebreport "$1" flame --event off
expect --trace _ebreport "$1" syscalls --tr
expect process _ebreport "$1" flame --by ''
expect process _ebreport "$1" flame --by = pro
expect mapping _ebreport "$1" faults --by =
expect container,mapping _ebreport "$1" faults --by = container,map
expect category _ebreport "$1" flame --color c
expect usdt _ebreport "$1" marks --top 3 --origin u
expect journal _ebreport "$1" logs --origin j
expect warning _ebreport "$1" logs --severity w
expect one.ebt _ebreport "$1" wall --no-inline ''
expect one.ebt _ebreport "$1" info --debuginfod o
expect folder _ebreport "$1" wall --per-thread fo
expect_none _ebreport "$1" info ot
expect_none _ebreport "$1" info --pid ''
expect_none _ebreport "$1" info -p ''
expect_none _ebreport "$1" marks --group ''
expect_none _ebreport "$1" flame --weight ''
expect_none _ebreport "$1" logs --severity o
expect_none _ebreport "$1" flame -o ''

if [ $# -gt 1 ]; then
	. "$folder/ebrec"
	expect --duration _ebrec "$2" --du
	expect --cgroup _ebrec "$2" --cg
	expect syscalls _ebrec "$2" -e sys
	expect sched,-offcpu _ebrec "$2" -e sched,-off
	expect tp _ebrec "$2" --list-events = t
	expect other.txt _ebrec "$2" cat oth
fi
exit $failed
