/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Running BPF iterators; see iterator.h. */
#include "record/base/iterator.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>

#include "format/base/cleanup.h"

DEFINE_CLEANUP(struct bpf_link *, bpf_link__destroy);

struct ebt_error *iterator_run(const struct bpf_program *program, const char *what)
{
	_cleanup_(bpf_link__destroyp) struct bpf_link *link = NULL;
	_cleanup_close_ int fd = -1;
	char buf[64];

	if (!bpf_program__autoload(program))
		return NULL;
	link = bpf_program__attach_iter(program, NULL);
	if (!link)
		return ebt_error_errno(errno, "cannot go through %s of the machine", what);
	fd = bpf_iter_create(bpf_link__fd(link));
	while (fd >= 0 && read(fd, buf, sizeof(buf)) > 0)
		;
	return NULL;
}
