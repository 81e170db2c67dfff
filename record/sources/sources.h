/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event sources by name: source_sample and so on. Most code takes them from ebrec_sources[]. */
#ifndef RECORD_SOURCES_SOURCES_H
#define RECORD_SOURCES_SOURCES_H

#include "record/config/source.h"

#define SOURCE(name) extern const struct ebrec_source source_##name;
#include "record/sources/sources.def"
#undef SOURCE

#endif
