/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of ebreport, made from commands.def. */
#include "report/cli/command.h"

#define COMMAND(name) extern const struct command command_##name;
#include "report/commands.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "report/commands.def"
#undef COMMAND
	NULL,
};
