/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sources uprobe and usdt have in common: BPF programs, places in code, and attaching. */
#ifndef RECORD_PROBES_USER_H
#define RECORD_PROBES_USER_H

#include <linux/types.h>

#include "record/bpf/probe_user.h"
#include "record/config/source.h"
#include "record/probes/list.h"

/* probe() of both sources. */
void probe_user_probe(const struct kernel *kernel, struct source_state *state);

/* For configure(). */
void probe_user_configure(struct source_context *context);

/* Says to the BPF programs what is fetched at a place of a probe, whose number site has. */
struct ebt_error *probe_user_add_place(const struct source_context *context,
				       const struct probe_place *place,
				       const struct ebrec_probe_site *site);

/* attach(): all places of both sources, when it is called first. Of a pattern's, what the kernel
 * refuses is left out, unless that is all of them. */
struct ebt_error *probe_user_attach(struct source_context *context, struct source_state *state);

#endif
