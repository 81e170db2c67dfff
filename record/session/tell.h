/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the user is told of what a recording does without. */
#ifndef RECORD_SESSION_TELL_H
#define RECORD_SESSION_TELL_H

#include "record/base/kernel.h"
#include "record/session/capture.h"
#include "record/session/session.h"

/* Capabilities, and sources that were asked for. */
void tell_missing(const struct kernel *kernel, const struct capture *capture,
		  const struct session_watch *watch);

/* Of sources that are on. */
void tell_partial(const struct capture *capture, const struct session_watch *watch);

#endif
