#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes a program with as much debug information as is asked for, in little time.

    make_program.py FOLDER MEGABYTES

A few C++ files that are rich in templates are compiled once; copies of their objects, with other
names for what they define, are linked together: to a debugger they are different units, with
functions of their own at addresses of their own. `FOLDER/big [SECONDS]` runs code of all of them.
"""

import os
import subprocess
import sys

SOURCE = r"""
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace part_@PART@ {

template <int N> struct Key {
	long value;
	std::string text;
	bool operator<(const Key &o) const { return value < o.value || text < o.text; }
	bool operator==(const Key &o) const { return value == o.value && text == o.text; }
};

template <int N> struct Hash {
	size_t operator()(const Key<N> &k) const { return std::hash<std::string>()(k.text) * N; }
};

template <int N> class Work {
	std::map<Key<N>, std::vector<int>> ordered;
	std::unordered_map<Key<N>, std::shared_ptr<std::string>, Hash<N>> hashed;
	std::deque<std::pair<int, Key<N>>> queue;

      public:
	long fill(int n)
	{
		for (int i = 0; i < n; i++) {
			Key<N> key{ (i * 7919L + N) % 101, std::to_string(i * N) };

			ordered[key].push_back(i);
			hashed.emplace(key, std::make_shared<std::string>(key.text + "x"));
			queue.emplace_back(i, key);
		}
		return ordered.size() + hashed.size() + queue.size();
	}
	long sort()
	{
		std::stable_sort(queue.begin(), queue.end(), [](const auto &a, const auto &b) {
			return a.second < b.second;
		});
		return std::accumulate(queue.begin(), queue.end(), 0L,
				       [](long s, const auto &p) { return s + p.second.value; });
	}
	long match()
	{
		std::regex word("([a-z]+)([0-9]*)");
		std::ostringstream out;
		long found = 0;

		for (const auto &p : queue) {
			out << p.first << ' ';
			found += std::regex_match("ab" + p.second.text, word);
		}
		return found + out.str().size();
	}
	long visit(const std::function<long(const Key<N> &)> &f)
	{
		long sum = 0;

		for (const auto &p : ordered)
			sum += f(p.first);
		return sum;
	}
};

template <int N> __attribute__((noinline)) long step(int n)
{
	Work<N> work;
	long sum = work.fill(n);

	sum += work.sort() + work.match();
	return sum + work.visit([](const Key<N> &k) { return k.value; });
}

} // namespace part_@PART@

extern "C" long entry(int n)
{
	long sum = 0;

	@CALLS@
	return sum;
}
"""

PARTS, STEPS = 4, 6


def run(*command):
    subprocess.run([str(c) for c in command], check=True)


def compile_parts(folder):
    children = []
    for part in range(PARTS):
        calls = "\n\t".join(f"sum += part_{part}::step<{part * 100 + i + 1}>(n);"
                            for i in range(STEPS))
        with open(f"{folder}/part{part}.cc", "w", encoding="ascii") as f:
            f.write(SOURCE.replace("@PART@", str(part)).replace("@CALLS@", calls))
        children.append(subprocess.Popen(
            ["g++", "-std=c++17", "-O2", "-g", "-fno-omit-frame-pointer", "-c",
             f"part{part}.cc", "-o", f"part{part}.o"], cwd=folder))
        if len(children) == (os.cpu_count() or 1):
            for child in children:
                if child.wait():
                    sys.exit("g++ failed")
            children = []
    for child in children:
        if child.wait():
            sys.exit("g++ failed")


def debug_bytes(path):
    text = subprocess.run(["size", "-A", path], check=True, capture_output=True, text=True).stdout
    return sum(int(line.split()[1]) for line in text.splitlines() if line.startswith(".debug"))


def main():
    folder, megabytes = sys.argv[1], float(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    compile_parts(folder)
    # What the linker does not share between copies of a part is about two thirds.
    one = sum(debug_bytes(f"{folder}/part{p}.o") for p in range(PARTS)) / PARTS
    copies = int(megabytes * 1e6 / one * 1.5) + 1
    names = [f"e{i}" for i in range(copies)]
    for i in range(copies):
        part = f"{folder}/part{i % PARTS}.o"
        text = subprocess.run(["nm", "-g", "--defined-only", part], check=True,
                              capture_output=True, text=True).stdout
        with open(f"{folder}/names", "w", encoding="ascii") as f:
            for line in text.splitlines():
                name = line.split()[-1]
                new = f"e{i}" if name == "entry" else f"{name}.{i}"
                f.write(f"{name} {new}\n")
        # A linker keeps one of each group, and objcopy does not rename groups.
        run("objcopy", "--remove-section=.group", f"--redefine-syms={folder}/names", part,
            f"{folder}/copy{i}.o")
    with open(f"{folder}/main.c", "w", encoding="ascii") as f:
        f.write("#include <stdio.h>\n#include <stdlib.h>\n#include <time.h>\n")
        f.write("".join(f"long {n}(int);\n" for n in names))
        f.write("static long (*const all[])(int) = {" + ",".join(names) + "};\n")
        f.write("int main(int argc, char **argv)\n{\n"
                "\ttime_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 1);\n\tlong sum = 0;\n"
                f"\tdo {{\n\t\tfor (int i = 0; i < {copies}; i++)\n"
                "\t\t\tsum += all[i](3);\n\t} while (time(NULL) < end);\n"
                '\tprintf("%ld\\n", sum);\n\treturn 0;\n}\n')
    with open(f"{folder}/objects", "w", encoding="ascii") as f:
        f.write("\n".join(f"{folder}/copy{i}.o" for i in range(copies)))
    run("g++", "-g", "-O1", "-Wl,--build-id", "-o", f"{folder}/big", "-x", "c", f"{folder}/main.c",
        "-x", "none", f"@{folder}/objects")
    for i in range(copies):
        os.remove(f"{folder}/copy{i}.o")
    print(f"{folder}/big: {os.path.getsize(f'{folder}/big') / 1e6:.0f} MB, {copies} units")


if __name__ == "__main__":
    main()
