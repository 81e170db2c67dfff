/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units that are split off; see split.h. */
#include "symbolize/dwarf/split.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/cleanup.h"
#include "symbolize/elf/elffile.h"

/* The largest are those of single files of source. */
#define MAX_SIZE (UINT64_C(1) << 30)

bool dwarf_is_skeleton(Dwarf_Die *die)
{
	uint8_t type;

	return !dwarf_cu_info(die->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) &&
	       type == DW_UT_skeleton;
}

/* libdw opens what is at the path, whatever it is: only a regular file may be there. */
static bool may_be_opened(const char *path)
{
	_cleanup_close_ int fd = -1;
	uint64_t size;

	fd = sym_open_regular(path, &size);
	return fd >= 0 && size <= MAX_SIZE;
}

bool dwarf_split_open(Dwarf_Die *skeleton, const char *comp_dir, const char *name, Dwarf_Die *ret)
{
	_cleanup_free_ char *path = NULL;
	Dwarf_Die split = { 0 };

	if (!name || (*name != '/' && (!comp_dir || *comp_dir != '/')))
		return false;
	if (asprintf(&path, "%s%s%s", *name == '/' ? "" : comp_dir, *name == '/' ? "" : "/", name) <
	    0) {
		path = NULL;
		return false;
	}
	/* It compares the ids. */
	if (!may_be_opened(path) ||
	    dwarf_cu_info(skeleton->cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) || !split.cu)
		return false;
	*ret = split;
	return true;
}
