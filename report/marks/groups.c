/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers for marks that belong together; see groups.h. */
#include "report/marks/groups.h"

void marks_groups_deinit(struct marks_groups *groups)
{
	ebt_map_deinit(&groups->processes);
	ebt_map_deinit(&groups->by_key);
}

struct ebt_error *marks_groups_find(struct marks_groups *groups, const struct names *names,
				    const struct mark *mark, uint32_t *ret)
{
	struct ebt_error *err = NULL;
	uint32_t process = UINT32_MAX;

	if (names && mark->task)
		err = ebt_map_add(&groups->processes, names_process_key(names, mark->task),
				  (uint32_t)groups->processes.n, &process);
	if (err)
		return err;
	return ebt_map_add(&groups->by_key, (uint64_t)process << 32 | mark->name,
			   (uint32_t)groups->by_key.n, ret);
}
