/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `ebreport io --peers`: who sends to whom. */
#ifndef REPORT_IO_IO_PEERS_H
#define REPORT_IO_IO_PEERS_H

#include "report/cli/command.h"
#include "report/io/model_io.h"

/* Prints the table, or folded lines where the option says so. model: of all tasks; it is read. */
struct ebt_error *io_peers_put(struct report *report, struct io_model *model);

#endif
