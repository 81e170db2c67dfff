/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/base/task_key.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "record/base/procfs.h"

bool task_key_read(const struct bpf_program *iterator, volatile uint32_t *keys, uint32_t pid,
		   struct ebrec_facts_key *ret)
{
	union bpf_iter_link_info one = { .task = { .tid = pid } };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &one, .link_info_len = sizeof(one));
	struct bpf_link *link = bpf_program__attach_iter(iterator, &options);
	_cleanup_close_ int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	bool found;

	*keys = 1;
	found = fd >= 0 && procfs_read_some(fd, (char *)ret, sizeof(*ret)) == (ssize_t)sizeof(*ret);

	*keys = 0;
	bpf_link__destroy(link);
	return found;
}
