/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registry of event sources: one line each. */
#include "record/config/source.h"

extern const struct ebrec_source source_sample, source_sched, source_task, source_offcpu,
	source_syscalls, source_fault, source_lock, source_counter, source_dbus, source_block,
	source_kmem, source_net, source_irq, source_pagecache, source_tp, source_mark,
	source_journal, source_uprobe, source_usdt, source_sysprof;

const struct ebrec_source *const ebrec_sources[] = {
	&source_sample, &source_sched,	 &source_task,	  &source_offcpu,    &source_syscalls,
	&source_fault,	&source_lock,	 &source_counter, &source_dbus,	     &source_block,
	&source_kmem,	&source_net,	 &source_irq,	  &source_pagecache, &source_tp,
	&source_mark,	&source_journal, &source_uprobe,  &source_usdt,	     &source_sysprof,
};
const size_t ebrec_n_sources = sizeof(ebrec_sources) / sizeof(ebrec_sources[0]);
