#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Checks that each folder includes only what docs/ARCHITECTURE.md lets it see, that libraries stay
# where they belong, and that only main.c and the renderers print or end the program.
set -u
cd "$(dirname "$0")/.." || exit
failed=0

complain() {
	echo "$1" >&2
	failed=1
}

# Folders that a folder may include headers from, itself first.
declare -A sees=(
	[format]='format'
	[unwind]='unwind format'
	[record]='record unwind format'
	[record/bpf]='record/bpf format/schema/wire.h unwind/cfi_row.h'
	[symbolize]='symbolize unwind format'
	[report]='report symbolize unwind format'
)
# What of libbpf, elfutils and zstd a folder may use, as an extended regular expression.
declare -A libraries=(
	[format]='zstd\.h'
	[unwind]='elf\.h'
	[record]='elf\.h|bpf/.*|linux/(bpf|btf|perf_event)\.h'
	[record/bpf]='bpf/.*|vmlinux\.h|linux/bpf\.h'
	[symbolize]='(elf|gelf|libelf|libdw|dwarf|lzma|zlib|zstd)\.h|elfutils/.*'
	[report]='-'
)
guarded='^(bpf/.*|linux/(bpf|btf|perf_event)\.h|vmlinux\.h|(elf|gelf|libelf|libdw|dwarf|lzma|zlib)\.h|elfutils/.*|zstd.*\.h)$'

sources() {
	find "$1" -maxdepth 1 -name '*.[ch]' | sort
}

# "FILE NAME" of each #include "NAME" or <NAME> of a folder's files.
includes() { # FOLDER OPENING CLOSING
	sources "$1" | xargs grep -HE "^[[:space:]]*#[[:space:]]*include[[:space:]]*$2" |
		sed -E "s/^([^:]*):[^$2]*$2([^$3]+).*/\1 \2/"
}

may_see() { # FOLDER NAME: whether one of its folders has this header
	local place
	for place in ${sees[$1]}; do
		if [ -f "$place/$2" ] || [ "${place#*/}" = "$2" ]; then
			return 0
		fi
	done
	return 1
}

for folder in format unwind record record/bpf symbolize report; do
	[ -d "$folder" ] || continue
	while read -r file name; do
		case $name in
		# Made by the build: from record/bpf, from the kernel's types, from texts.
		*.skel.h) [ "$folder" = record ] && continue ;;
		*.inc) [ "$folder" = report ] && continue ;;
		vmlinux.h) [ "$folder" = record/bpf ] && continue ;;
		# The contract of record and its BPF programs.
		bpf/*) [ "$folder" = record ] && [ -f "record/$name" ] && continue ;;
		esac
		may_see "$folder" "$name" ||
			complain "$file: \"$name\" is not of ${sees[$folder]}"
	done < <(includes "$folder" '"' '"')
	while read -r file name; do
		[[ $name =~ $guarded ]] || continue
		[[ $name =~ ^(${libraries[$folder]})$ ]] ||
			complain "$file: <$name> does not belong into $folder"
	done < <(includes "$folder" '<' '>')
done

# Comments and strings aside, what prints to a standard stream or ends the program. A child after
# fork() ends with _exit(), which is no business of the program's.
prints='\b(stdout|stderr)\b|\b(exit|abort|perror|err|errx|warn|warnx|syslog|printf|puts|putchar|vprintf)[[:space:]]*\('
# The preprocessor is for the few files that say such a word at all.
for file in $(for folder in format unwind record symbolize report; do sources $folder; done |
	xargs grep -lE "$prints"); do
	case $file in
	*/main.c | report/out/out.c | report/out_*.c) continue ;;
	esac
	found=$(gcc -fpreprocessed -dD -E -P "$file" 2>/dev/null |
		sed -E 's/"([^"\\]|\\.)*"/""/g; s/\bformat[[:space:]]*\(printf/x/g' |
		grep -nE "$prints" | head -3)
	[ -z "$found" ] || complain "$file: prints or ends the program: $found"
done

exit $failed
