/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What arguments pointed to, as strace prints it. Bytes are a stranger's. */
#ifndef REPORT_CALLS_RECORDED_H
#define REPORT_CALLS_RECORDED_H

#include <stdbool.h>
#include <stddef.h>

#include "format/read/reader.h"
#include "report/base/text.h"
#include "report/calls/names.h"

/* "like this\n", with all that is not printable ASCII in octal. */
void recorded_add_string(struct text *text, struct ebt_str bytes);

/* The same without quotes, for a name between < and >. */
void recorded_add_name(struct text *text, struct ebt_str bytes);

/* {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")} */
void recorded_add_address(struct text *text, enum syscall_arch arch, struct ebt_str bytes);

#endif
