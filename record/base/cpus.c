/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /sys/devices/system/cpu/online, and without /sys as many CPUs as libc counts. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "record/base/cpus.h"
#include "record/base/procfs.h"

/* More than any Linux is built for. */
#define MAX_CPUS 65536

struct cpu_list {
	int *cpus;
	size_t n, capacity;
};

static void cpu_list_deinit(struct cpu_list *list)
{
	free(list->cpus);
}

static struct ebt_error *add_range(struct cpu_list *list, long first, long last)
{
	struct ebt_error *err;

	if (first < 0 || last < first || last >= MAX_CPUS ||
	    list->n + (size_t)(last - first) >= MAX_CPUS)
		return ebt_error_create(EBT_ERR_INVALID, "a list of CPUs has %ld-%ld", first, last);
	err = ebt_array_reserve(&list->cpus, list->n + (size_t)(last - first), &list->capacity);
	if (err)
		return err;
	for (long cpu = first; cpu <= last; cpu++)
		list->cpus[list->n++] = (int)cpu;
	return NULL;
}

struct ebt_error *cpus_parse(const char *text, int **ret, size_t *ret_n)
{
	_cleanup_(cpu_list_deinit) struct cpu_list list = { 0 };
	const char *at = text;

	while (*at && *at != '\n') {
		struct ebt_error *err;
		char *end;
		long first = strtol(at, &end, 10), last = first;

		if (end != at && *end == '-') {
			at = end + 1;
			last = strtol(at, &end, 10);
		}
		if (end == at || (*end && *end != ',' && *end != '\n'))
			return ebt_error_create(EBT_ERR_INVALID, "no list of CPUs: %.40s", text);
		err = add_range(&list, first, last);
		if (err)
			return err;
		at = *end == ',' ? end + 1 : end;
	}
	if (!list.n)
		return ebt_error_create(EBT_ERR_INVALID, "an empty list of CPUs");
	*ret = take_ptr(list.cpus);
	*ret_n = list.n;
	return NULL;
}

struct ebt_error *cpus_online(int **ret, size_t *ret_n)
{
	_cleanup_error_ struct ebt_error *err = NULL;
	_cleanup_free_ char *text = NULL;
	char fallback[32];
	bool truncated;
	size_t len;

	err = procfs_slurp("/sys/devices/system/cpu/online", 64u << 10, &text, &len, &truncated);
	if (!err)
		return cpus_parse(text, ret, ret_n);
	snprintf(fallback, sizeof(fallback), "0-%ld", sysconf(_SC_NPROCESSORS_CONF) - 1);
	return cpus_parse(fallback, ret, ret_n);
}
