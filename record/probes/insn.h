/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions where a probe does harm, or is refused. */
#ifndef RECORD_PROBES_INSN_H
#define RECORD_PROBES_INSN_H

#include <stddef.h>
#include <stdint.h>

/* Of code that is looked at: no prefixes and opcode are longer. */
#define PROBE_INSN_BYTES 8

enum probe_insn {
	PROBE_INSN_FINE,
	/* Kernels refuse it, or may: where this is the first of many functions, it is left out. */
	PROBE_INSN_UNSURE,
	/* Kernels do something else in its place, and the program goes wrong. */
	PROBE_INSN_MISREAD,
};

/* What the code begins with, of which there are n bytes. */
enum probe_insn probe_insn_classify(const uint8_t *code, size_t n);

#endif
