/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SQLite: that of the program which loads the extension, or our own. */
#ifndef REPORT_SQL_SQLITE_H
#define REPORT_SQL_SQLITE_H

#ifdef EBT_SQL_EXTENSION
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT3
#else
#include <sqlite3.h>
#endif

#endif
