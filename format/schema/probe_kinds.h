/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kinds of probes and of what they read, as tables `probe` and `probe_arg` have them. */
#ifndef FORMAT_SCHEMA_PROBE_KINDS_H
#define FORMAT_SCHEMA_PROBE_KINDS_H

enum probe_kind { PROBE_TP, PROBE_UPROBE, PROBE_USDT };

enum probe_arg_kind {
	PROBE_UNSIGNED,
	PROBE_SIGNED,
	PROBE_HEX,
	PROBE_STRING,
	PROBE_BYTES,
	PROBE_BOOL,
	PROBE_REGISTER,
};

#endif
