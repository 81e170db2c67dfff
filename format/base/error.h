/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors of the libraries. A function that can fail returns `struct ebt_error *`: NULL is
 * success, anything else is owned by the caller and freed with ebt_error_destroy(). The message
 * is written where the facts are known ("chunk 812 at offset …: …") and travels intact; only
 * main.c prints it and chooses an exit status.
 */
#ifndef FORMAT_BASE_ERROR_H
#define FORMAT_BASE_ERROR_H

enum ebt_error_code {
	EBT_ERR_NOMEM = 1,   /* allocation failed */
	EBT_ERR_SYSTEM,	     /* a system call failed; errnum says how */
	EBT_ERR_CORRUPT,     /* bytes of a file that cannot be right */
	EBT_ERR_UNSUPPORTED, /* a file from the future, a kernel without a feature */
	EBT_ERR_LIMIT,	     /* more than limits.h allows */
	EBT_ERR_INVALID,     /* a value the caller or the user gave */
	EBT_ERR_NOT_FOUND,
	EBT_ERR_CANCELLED, /* the user interrupted */
};

struct ebt_error {
	enum ebt_error_code code;
	int errnum;    /* errno for EBT_ERR_SYSTEM, else 0 */
	char *message; /* one sentence, no newline at the end */
};

/* The one error that needs no memory. Destroying it is harmless. */
extern struct ebt_error ebt_enomem;

struct ebt_error *ebt_error_create(enum ebt_error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull, cold));

/* Appends ": <strerror(errnum)>" to the message. */
struct ebt_error *ebt_error_errno(int errnum, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull, cold));

/* Puts "prefix: " before the message of err, which it takes over; NULL stays NULL. */
struct ebt_error *ebt_error_prefix(struct ebt_error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3), cold));

/* Accepts NULL and &ebt_enomem. */
void ebt_error_destroy(struct ebt_error *err);

/* asprintf(3) with an error for want of memory; *ret is NULL then. */
struct ebt_error *ebt_format(char **ret, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
