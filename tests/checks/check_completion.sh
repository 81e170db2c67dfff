#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Completes command lines as bash would, and lets zsh and fish do it, with the programs as built:
# check_completion.sh EBREPORT [EBREC].
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
cp "$folder/../../tests/fixtures/v1.0-kinds.ebt" "$work/real.ebt"
mkdir "$work/folder"
cd "$work" || exit 1

# compopt works only while bash completes.
compopt() { :; }

complete_line() { # FUNCTION PROGRAM WORD…: the last word is completed
	local function=$1
	shift
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	COMP_LINE=${LINE:-$*}
	COMP_POINT=${#COMP_LINE}
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
expect run_ns _ebreport "$1" sched real.ebt --sort ru
expect -run_ns _ebreport "$1" sched real.ebt --sort -ru
expect run_ns _ebreport "$1" sched real.ebt --sort = ru
expect pid,total_ns _ebreport "$1" offcpu real.ebt --by process -o other.txt --columns pid,to
expect_none _ebreport "$1" offcpu real.ebt --by process -o other.txt --columns tid
expect_none _ebreport "$1" sched one.ebt --sort ru
expect_none _ebreport "$1" info ot
expect_none _ebreport "$1" info --pid ''
# Nothing reads this where a trace is not needed: opening it would wait for a writer.
mkfifo trace.ebt
expect_none _ebreport "$1" flame --title ''
expect kind _ebreport "$1" flame --color ''
rm trace.ebt
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
	expect dump _ebrec "$2" --call-graph du
	expect dump _ebrec "$2" --call-graph = du
	expect dump _ebrec "$2" --call-graph =
	expect both _ebrec "$2" --capture-output =
	expect apart _ebrec "$2" --capture-output = ap
	expect tp: _ebrec "$2" -e tp
fi

# Lines of the shells that complete by themselves, each after the word that is expected; of a line without
# a word nothing may come.
lines=(
	syscalls 'ebreport sys'
	one.ebt 'ebreport info o'
	'' 'ebreport info ot'
	--no-symbols 'ebreport info --no-s'
	warning 'ebreport logs --severity w'
	'container,mapping' 'ebreport faults --by container,map'
	run_ns 'ebreport sched real.ebt --sort ru'
	-run_ns 'ebreport sched real.ebt --sort -ru'
	--sort=run_ns 'ebreport sched real.ebt --sort=ru'
	'pid,total_ns' 'ebreport offcpu real.ebt --by process -o other.txt --columns pid,to'
	'' 'ebreport offcpu real.ebt --by process -o other.txt --columns tid'
)
mkdir bin
ln -s "$1" bin/ebreport
if [ $# -gt 1 ]; then
	ln -s "$2" bin/ebrec
	lines+=(
		--duration 'ebrec --du'
		'sched,-offcpu' 'ebrec -e sched,-off'
		dump 'ebrec --call-graph du'
		--capture-output=apart 'ebrec --capture-output=ap'
		syscalls 'ebrec -o x.ebt -- ebreport sys'
	)
	# Only who may read tracefs learns these.
	if [ -n "$("$2" --list-events=tp 2>/dev/null)" ]; then
		lines+=(
			tp:sched:sched_wakeup 'ebrec -e tp:sched:sched_wak'
			'sched,tp:sched:sched_wakeup' 'ebrec -e sched,tp:sched:sched_wak'
		)
		LINE='ebrec -e tp:sched:sched_wak' expect sched_wakeup _ebrec "$2" -e tp : sched : sched_wak
		LINE='ebrec -e offcpu,tp:sched:sched_wak' expect sched_wakeup _ebrec "$2" -e offcpu,tp : sched : sched_wak
		LINE='ebrec -e tp:sched:sched_waking,sche' expect sched_waking,sched _ebrec "$2" -e tp : sched : sched_waking,sche
	fi
fi
PATH=$work/bin:$PATH

offered() { # SHELL WORD LINE, and in the file `offered` what there is
	if [ -n "$2" ]; then
		grep -qxFe "$2" offered && return
		echo "$1: no '$2' for: $3; there is: $(head -c 2000 offered | tr '\n' ' ')" >&2
	else
		[ ! -s offered ] && return
		echo "$1: nothing fits: $3; there is: $(head -c 2000 offered | tr '\n' ' ')" >&2
	fi
	failed=1
}

if command -v fish >/dev/null; then
	for ((i = 0; i < ${#lines[@]}; i += 2)); do
		HOME=$work fish --no-config -c "source $folder/ebreport.fish; source $folder/ebrec.fish; complete -C '${lines[i + 1]}'" |
			cut -f1 >offered
		offered fish "${lines[i]}" "${lines[i + 1]}"
	done
fi

if command -v zsh >/dev/null; then
	typed=()
	for ((i = 0; i < ${#lines[@]}; i += 2)); do
		typed+=("${lines[i + 1]}")
	done
	timeout 120 zsh -f "$folder/../../tests/checks/complete.zsh" "$folder" "$work/words" "${typed[@]}" || failed=1
	for ((i = 0; i < ${#lines[@]}; i += 2)); do
		# The first of them is before all lines.
		awk -v n=$((i / 2 + 1)) '$0 == "END" { ends++; next } ends == n && $0 != ""' words >offered
		offered zsh "${lines[i]}" "${lines[i + 1]}"
	done
fi
exit $failed
