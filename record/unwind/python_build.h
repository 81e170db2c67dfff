/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recognising CPython in an ELF file, and where its structures have their fields: from
 * _Py_DebugOffsets where there is one (3.13), else from tables. The file may be anything.
 */
#ifndef RECORD_UNWIND_PYTHON_BUILD_H
#define RECORD_UNWIND_PYTHON_BUILD_H

#include <linux/types.h>
#include <stdbool.h>

#include "record/bpf/python.h"

/* False: it is no CPython, or none of a version that is known here. runtime in *ret is the load
 * address of _PyRuntime. */
bool python_build_read(int fd, struct ebrec_python_build *ret);

#endif
