/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Capabilities of this process; see privileges.h. */
#include "record/base/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/base/procfs.h"

#define BIT(cap) (UINT64_C(1) << (cap))

/* Of kallsyms, which shows all addresses or none; the first ones may be 0 by themselves. */
#define SYMBOLS_LEN (64u << 10)

static bool addresses_are_hidden(void)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	_cleanup_free_ char *text = NULL;
	const char *line, *end;
	bool truncated;
	size_t len = 0;

	err = procfs_slurp("/proc/kallsyms", SYMBOLS_LEN, &text, &len, &truncated);
	if (err)
		return true;
	for (line = text; (end = strchr(line, '\n')); line = end + 1) {
		if (line[strspn(line, "0")] != ' ')
			return false;
	}
	return true;
}

static struct ebt_error *read_capabilities(uint64_t *ret)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data))
		return ebt_error_errno(errno, "cannot read my capabilities");
	*ret = data[0].effective | (uint64_t)data[1].effective << 32;
	return NULL;
}

struct ebt_error *privileges_probe(struct privileges *ret)
{
	uint64_t have;
	struct ebt_error *err = read_capabilities(&have);

	if (err)
		return err;
	/* What the kernel takes in their place. */
	if (have & BIT(CAP_SYS_ADMIN))
		have |= BIT(CAP_BPF) | BIT(CAP_PERFMON) | BIT(CAP_CHECKPOINT_RESTORE);
	if (have & BIT(CAP_DAC_OVERRIDE))
		have |= BIT(CAP_DAC_READ_SEARCH);
	if (!(have & BIT(CAP_BPF)) || !(have & BIT(CAP_PERFMON)))
		return ebt_error_create(
			EBT_ERR_UNSUPPORTED,
			"recording needs root, or the capabilities CAP_BPF and CAP_PERFMON, and "
			"more for whole stacks (`man ebrec`): run ebrec with sudo, or in a "
			"container that has them; `--user NAME` runs the command as somebody else");
	if (!(have & BIT(CAP_SYSLOG)) && !addresses_are_hidden())
		have |= BIT(CAP_SYSLOG);
	ret->missing = (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) |
			BIT(CAP_CHECKPOINT_RESTORE) | BIT(CAP_SYSLOG)) &
		       ~have;
	return NULL;
}

void privileges_say(const struct privileges *privileges, char text[static PRIVILEGES_TEXT])
{
	static const struct {
		unsigned int cap;
		const char *name;
	} of_stacks[] = {
		{ CAP_SYS_PTRACE, "CAP_SYS_PTRACE" },
		{ CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH" },
		{ CAP_CHECKPOINT_RESTORE, "CAP_CHECKPOINT_RESTORE" },
	};
	const char *before = "without ";
	size_t len = 0;

	*text = '\0';
	for (size_t i = 0; i < sizeof(of_stacks) / sizeof(of_stacks[0]); i++) {
		if (!(privileges->missing & BIT(of_stacks[i].cap)))
			continue;
		len += (size_t)snprintf(text + len, PRIVILEGES_TEXT - len, "%s%s", before,
					of_stacks[i].name);
		before = ", ";
	}
	if (len)
		len += (size_t)snprintf(text + len, PRIVILEGES_TEXT - len,
					" many user stacks end early");
	if (privileges->missing & BIT(CAP_SYSLOG))
		snprintf(text + len, PRIVILEGES_TEXT - len,
			 "%swithout CAP_SYSLOG no kernel function has a name", len ? "; " : "");
}
