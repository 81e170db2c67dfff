/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Errors of command lines. Include cmocka.h before. */
#ifndef TESTS_TOOLS_EXPECT_ERROR_H
#define TESTS_TOOLS_EXPECT_ERROR_H

#include <string.h>

#include "format/base/error.h"

/* The error is of what was given, and its message has this part. Takes it over. */
static inline void expect_error(struct ebt_error *err, const char *part)
{
	assert_non_null(err);
	assert_int_equal(err->code, EBT_ERR_INVALID);
	if (!strstr(err->message, part))
		fail_msg("'%s' is not in '%s'", part, err->message);
	ebt_error_destroy(err);
}

#endif
