/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registry of event sources, made from sources.def. */
#include "record/sources/sources.h"

const struct ebrec_source *const ebrec_sources[] = {
#define SOURCE(name) &source_##name,
#include "record/sources/sources.def"
#undef SOURCE
};
const size_t ebrec_n_sources = sizeof(ebrec_sources) / sizeof(ebrec_sources[0]);
