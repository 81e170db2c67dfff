/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Telling the user; see tell.h. */
#include "record/session/tell.h"

#include "record/base/privileges.h"
#include "record/config/source.h"

static void tell_states(const struct capture *capture, enum ebt_source_status status,
			void (*tell)(void *arg, const char *source, const char *detail), void *arg)
{
	for (size_t i = 0; i < ebrec_n_sources; i++) {
		const struct source_state *state = &capture->states[i];

		if (state->status == status)
			tell(arg, ebrec_sources[i]->name, state->detail);
	}
}

void tell_missing(const struct kernel *kernel, const struct capture *capture,
		  const struct session_watch *watch)
{
	char text[PRIVILEGES_TEXT];

	privileges_say(&kernel->privileges, text);
	if (*text)
		watch->unprivileged(watch->arg, text);
	tell_states(capture, EBT_V_source_status_unavailable, watch->missing, watch->arg);
}

void tell_partial(const struct capture *capture, const struct session_watch *watch)
{
	tell_states(capture, EBT_V_source_status_partial, watch->partial, watch->arg);
}
