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

/* NULL where memory ran out. */
static char *make_text(const char *format, va_list args)
{
	char *text;

	return vasprintf(&text, format, args) < 0 ? NULL : text;
}

struct ebt_error *ebt_error_create(enum ebt_error_code code, const char *format, ...)
{
	char *message;
	va_list args;

	va_start(args, format);
	message = make_text(format, args);
	va_end(args);
	return error_new(code, 0, message);
}

struct ebt_error *ebt_error_errno(int errnum, const char *format, ...)
{
	char *text, *message = NULL;
	va_list args;

	va_start(args, format);
	text = make_text(format, args);
	va_end(args);
	if (text)
		ebt_format(&message, "%s: %s", text, strerror(errnum));
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
	text = make_text(format, args);
	va_end(args);
	if (text && !ebt_format(&message, "%s: %s", text, err->message)) {
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

struct ebt_error *ebt_format(char **ret, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	*ret = make_text(format, args);
	va_end(args);
	return *ret ? NULL : &ebt_enomem;
}
