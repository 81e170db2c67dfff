/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Burns CPU time in BPF programs: bpfspin SECONDS NAME…, in each of them for so long. A program is
 * loaded before and is gone after its turn. Prints a line when a turn begins.
 */
#include <linux/bpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Rounds of the loop, and how often it is run at a time: some milliseconds. */
#define ROUNDS 2000
#define REPEAT 2000

static int load(const char *name)
{
	static const struct bpf_insn spin[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = ROUNDS },
		{ .code = BPF_ALU64 | BPF_SUB | BPF_K, .dst_reg = 1, .imm = 1 },
		{ .code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = 1, .off = -2 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SOCKET_FILTER,
		.insn_cnt = sizeof(spin) / sizeof(*spin),
		.insns = (uintptr_t)spin,
		.license = (uintptr_t) "GPL",
	};

	strncpy(attr.prog_name, name, sizeof(attr.prog_name) - 1);
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int run(int program)
{
	static const char packet[64];
	union bpf_attr attr = {
		.test = {
			.prog_fd = program,
			.data_in = (uintptr_t)packet,
			.data_size_in = sizeof(packet),
			.repeat = REPEAT,
		},
	};

	return (int)syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr));
}

static double cpu_seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		double end = cpu_seconds() + atof(argv[1]);
		int program = load(argv[i]);

		if (program < 0) {
			perror("BPF_PROG_LOAD");
			return 1;
		}
		puts("burning");
		fflush(stdout);
		while (cpu_seconds() < end) {
			if (run(program)) {
				perror("BPF_PROG_TEST_RUN");
				return 1;
			}
		}
		close(program);
	}
	return 0;
}
