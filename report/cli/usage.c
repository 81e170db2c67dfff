/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of --help. */
#include <ctype.h>

#include "report/cli/command.h"
#include "report/cli/options_table.h"

void options_usage(const struct command *command, FILE *to)
{
	const struct option_group groups[] = {
		{ "Options:\n", command ? command->options : NULL },
		{ "Options of every command:\n", common_options },
	};

	if (command) {
		fprintf(to, "Usage: ebreport %s [options] FILE%s%s\n\n%c%s.\n", command->name,
			command->words ? " " : "", command->words ? command->words : "",
			toupper((unsigned char)command->summary[0]), command->summary + 1);
		if (command->help)
			fprintf(to, "\n%s", command->help);
	} else {
		fputs("Usage: ebreport COMMAND [options] FILE\n"
		      "       ebreport COMMAND --help\n\n"
		      "Reports on a trace that ebrec recorded, on this machine or another. "
		      "FILE - is standard input.\n\nCommands:\n",
		      to);
		for (size_t i = 0; commands[i]; i++)
			fprintf(to, "  %-12s%s\n", commands[i]->name, commands[i]->summary);
	}
	cli_usage(to, groups, 2, 28);
	if (!command)
		fputs("\nExit status: 0; 1 the file could not be used; 2 the command line is "
		      "wrong.\n",
		      to);
}
