/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that every command has: one row each, for the parser and for --help. */
#ifndef REPORT_CLI_OPTIONS_TABLE_H
#define REPORT_CLI_OPTIONS_TABLE_H

#include "report/cli/options.h"

/* Ends with a NULL name. */
extern const struct option_def common_options[];

#endif
