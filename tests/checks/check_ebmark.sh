#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# include/ebmark.h with each compiler that is here, in C and C++, old and new, with and without
# optimization, in programs of every kind, from several files and a library at once: no warning, and
# every probe is in the notes, with one semaphore. check_ebmark.sh INCLUDE-FOLDER
set -u
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
include=$(readlink -f "$1")
cd "$folder" || exit 1
failed=0
# What a program may have on that takes the header in.
warnings="-Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wcast-qual -Werror -pedantic"

cat >uses.h <<'END'
#include "ebmark.h"
static int use(void)
{
	ebmark_begin("g", "n");
	ebmark_end("g", "n");
	ebmark_end("g", "n", "m");
	ebmark_begin_id("g", "n", 7);
	ebmark_end_id("g", "n", 7);
	ebmark_end_id("g", "n", 7, "m");
	ebmark_instant("g", "n", "m");
	ebmark_span("g", "n", 1, 2, "m");
	ebmark_counter("g", "n", -5);
	ebmark_counter_double("g", "n", 1.5);
	ebmark_log(EBMARK_INFO, "d", "m");
	return ebmark_enabled();
}
END
cat >main.c <<'END'
#include "uses.h"
int other(void);
int main(void) { return use() + other(); }
END
cat >other.c <<'END'
#include "uses.h"
int other(void);
int other(void) { return use(); }
END
cat >main.cc <<'END'
#include "uses.h"
int other();
int main()
{
	ebmark_scope scope("g", "n");
	scope.message("m");
	return use() + other();
}
END
cat >other.cc <<'END'
#include "uses.h"
int other();
int other() { ebmark_scope scope("g", "n"); return use(); }
END

# try PROBES COMMAND…: makes `program`, which has so many and ends well
try() {
	local expected=$1
	shift
	# shellcheck disable=SC2086 # words
	if ! "$@" $warnings "-I$include" -o program || ! ./program; then
		echo "failed: $*"
		failed=1
		return
	fi
	local notes probes semaphores
	notes=$(readelf -nW program)
	probes=$(grep -c 'Provider: ebmark' <<<"$notes")
	semaphores=$(grep -o 'Semaphore: 0x[0-9a-f]*' <<<"$notes" | sort -u | wc -l)
	if [ "$probes" != "$expected" ] || [ "$semaphores" != 1 ]; then
		echo "$probes probes and $semaphores semaphores: $*"
		failed=1
	fi
}

for compiler in gcc clang clang-19; do
	command -v $compiler >/dev/null || continue
	for level in -O0 -O2; do
		for kind in "-std=c99 -no-pie -fno-pie" "-std=gnu11 -fPIE -pie" "-std=c17 -fPIC -static"; do
			# shellcheck disable=SC2086 # words
			try 22 $compiler $level $kind main.c other.c
		done
	done
done
# The two functions are alike, and become one.
try 11 gcc -O2 -flto -static-pie -fPIE -ffunction-sections -Wl,--gc-sections main.c other.c
gcc -shared -fPIC -I"$include" -o libother.so other.c
try 11 gcc -O2 main.c libother.so -Wl,-rpath,"$folder"
try 22 gcc -O2 -s main.c other.c
for compiler in g++ clang++ clang++-19; do
	command -v $compiler >/dev/null || continue
	for level in -O0 -O2; do
		for standard in c++11 gnu++17 c++20; do
			# An inlined function may be there more than once.
			# shellcheck disable=SC2086 # words
			if ! $compiler $level -std=$standard $warnings -Wold-style-cast \
				-Wzero-as-null-pointer-constant "-I$include" main.cc other.cc -o program || ! ./program; then
				echo "failed: $compiler $level $standard"
				failed=1
			fi
		done
	done
done
# Where nothing works nothing is there.
gcc -m32 -ffreestanding -Wall -Wextra -Werror -pedantic "-I$include" -c other.c -o none.o &&
	readelf -nW none.o | grep ebmark && failed=1
if command -v clang-19 >/dev/null; then
	clang-19 -target aarch64-linux-gnu -ffreestanding -Wall -Wextra -Werror -pedantic \
		"-I$include" -O2 -c other.c -o arm.o || failed=1
	[ "$(readelf -nW arm.o | grep -c 'Arguments: 8@x0 8@x1 8@x2 -8@x3 -8@x4')" = 11 ] || failed=1
fi
exit $failed
