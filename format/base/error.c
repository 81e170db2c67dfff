/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making, prefixing and freeing struct ebt_error; see error.h. */
#include "format/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ebt_error ebt_enomem = { .code = EBT_ERR_NOMEM, .message = (char *)"out of memory" };

/* Takes message, which may be NULL after a failed vasprintf(). */
static struct ebt_error *error_new(enum ebt_error_code code, int errnum, char *message)
{
	struct ebt_error *err = message ? malloc(sizeof(*err)) : NULL;

	if (!err) {
		free(message);
		return &ebt_enomem;
	}
	*err = (struct ebt_error){ .code = code, .errnum = errnum, .message = message };
	return err;
}

struct ebt_error *ebt_error_create(enum ebt_error_code code, const char *format, ...)
{
	char *message;
	va_list args;

	va_start(args, format);
	if (vasprintf(&message, format, args) < 0)
		message = NULL;
	va_end(args);
	return error_new(code, 0, message);
}

struct ebt_error *ebt_error_errno(int errnum, const char *format, ...)
{
	char *text, *message = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (text && asprintf(&message, "%s: %s", text, strerror(errnum)) < 0)
		message = NULL;
	free(text);
	return error_new(EBT_ERR_SYSTEM, errnum, message);
}

struct ebt_error *ebt_error_prefix(struct ebt_error *err, const char *format, ...)
{
	char *text, *message;
	va_list args;

	if (!err || err == &ebt_enomem)
		return err;
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (text && asprintf(&message, "%s: %s", text, err->message) >= 0) {
		free(err->message);
		err->message = message;
	}
	free(text);
	return err;
}

void ebt_error_destroy(struct ebt_error *err)
{
	if (!err || err == &ebt_enomem)
		return;
	free(err->message);
	free(err);
}
