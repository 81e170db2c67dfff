/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that copies output, and what it says to the recorder; see tee.h. */
#ifndef RECORD_COMMAND_TEE_COPY_H
#define RECORD_COMMAND_TEE_COPY_H

#include <stdbool.h>
#include <stdint.h>

/* A message, with the data, is one piece of memory of the kernel's socket; larger ones are cut. */
#define TEE_DATA 30000

enum tee_kind {
	TEE_READ,      /* this was read */
	TEE_EMPTY,     /* all that had been written before the request has been read */
	TEE_DELIVERED, /* … and written */
	TEE_FAILED,    /* it could not be written */
};

/* To the recorder. A request, to the process, is its number, a uint32_t, and then SIGUSR1, which
 * gets it out of a write that takes its time. */
struct tee_message {
	uint64_t time;			/* of reading */
	uint64_t lost_bytes, lost_ends; /* there was no room for, all together */
	uint32_t kind;
	uint32_t request; /* that this answers */
	uint32_t error;	  /* errno of FAILED */
	uint32_t len;
	char data[];
};

struct tee_ways {
	int in, out; /* the terminal's master or a pipe; where it goes */
	int socket;
	bool terminal; /* both are terminals: the one is to be as the other */
};

/* Copies until nobody can write any more. Closes all other descriptors. Does not return. */
void tee_copy(const struct tee_ways *ways) __attribute__((noreturn));

#endif
