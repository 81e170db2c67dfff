/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many addresses of many modules at once, by as many threads as there are processors. */
#ifndef SYMBOLIZE_BATCH_H
#define SYMBOLIZE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "format/base/error.h"
#include "symbolize/files/module.h"

struct batch_address {
	struct module *module;
	uint64_t address; /* as linked */
};

/*
 * Finds out what is not known yet of the addresses, which are put in another order, and keeps it
 * in the modules. Modules that were read for it are closed again. threads 0: a good number.
 */
struct ebt_error *batch_find(struct batch_address *addresses, size_t n, unsigned int threads);

#endif
