/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One process: what /proc says of it, and its row. */
#include <stdio.h>
#include <string.h>

#include "format/schema/wire.h"
#include "record/base/procfs.h"
#include "record/sideband/containers.h"
#include "record/sideband/snapshot_state.h"

void snapshot_read_process(const struct snapshot_state *state, int dir, struct process_row *row,
			   struct process_texts *texts)
{
	struct procfs_status status;
	ssize_t n;

	row->mnt_ns = procfs_ns(dir, "ns/mnt");
	row->pid_ns = procfs_ns(dir, "ns/pid");
	row->net_ns = procfs_ns(dir, "ns/net");
	row->user_ns = procfs_ns(dir, "ns/user");
	row->cgroup_ns = procfs_ns(dir, "ns/cgroup");
	/* There is one where the namespace is ours. */
	if (!*row->nspid && row->pid_ns == state->pid_ns)
		snprintf(row->nspid, sizeof(row->nspid), "%u", row->pid);
	else if (!*row->nspid && procfs_status(dir, "status", &status))
		memcpy(row->nspid, status.nspid, sizeof(row->nspid));
	procfs_link(dir, "exe", texts->exe, sizeof(texts->exe));
	procfs_link(dir, "root", texts->root, sizeof(texts->root));
	n = procfs_read(dir, "cgroup", texts->cgroup, sizeof(texts->cgroup));
	if (n > 0 && texts->cgroup[n - 1] == '\n')
		texts->cgroup[n - 1] = '\0';
	n = procfs_read(dir, "cmdline", texts->cmdline, sizeof(texts->cmdline));
	row->cmdline_len = n > 0 ? (size_t)n : 0;
	row->exe = texts->exe;
	row->root = texts->root;
	row->cgroup = texts->cgroup;
	row->cmdline = texts->cmdline;
}

static void add_text(struct ebt_record *rec, size_t field, const char *text)
{
	if (text && *text)
		ebt_record_str(rec, field, text);
}

struct ebt_error *snapshot_add_process(struct snapshot_state *state, int dir,
				       const struct process_row *p, uint64_t time)
{
	_cleanup_(ebt_record_deinit) struct ebt_record rec = EBT_RECORD_INIT;
	struct ebt_wire_process *row = ebt_record_begin(&rec, EBT_T_process, time);
	const struct mount_viewer viewer = { p->pid, p->mnt_ns, p->mounts, p->root ? p->root : "" };
	struct ebt_error *err = NULL;

	row->task = p->pid;
	row->ppid = p->ppid;
	row->uid = p->uid;
	row->kernel = p->kernel;
	row->mnt_ns = p->mnt_ns;
	row->pid_ns = p->pid_ns;
	row->net_ns = p->net_ns;
	row->user_ns = p->user_ns;
	row->cgroup_ns = p->cgroup_ns;
	add_text(&rec, offsetof(struct ebt_wire_process, nspid), p->nspid);
	add_text(&rec, offsetof(struct ebt_wire_process, exe), p->exe);
	add_text(&rec, offsetof(struct ebt_wire_process, root), p->root);
	add_text(&rec, offsetof(struct ebt_wire_process, cgroup), p->cgroup);
	if (p->cmdline_len)
		ebt_record_bytes(&rec, offsetof(struct ebt_wire_process, cmdline), p->cmdline,
				 p->cmdline_len);
	if (dir >= 0 && p->cgroup && *p->cgroup && !state->context->no_containers)
		err = containers_see_cgroup(state->containers, p->cgroup);
	return err ?:
	       ebt_record_add(&rec, state->context->stream) ?:
	       snapshot_mountinfo(state, dir, &viewer);
}
