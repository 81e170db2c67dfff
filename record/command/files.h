/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program of a command and the libraries that it will load, before it runs. */
#ifndef RECORD_COMMAND_FILES_H
#define RECORD_COMMAND_FILES_H

/* fd: for reading, as long as the call. */
typedef void command_file_fn(void *arg, int fd, const char *path);

/* program: its path. Looks for libraries as ld.so does, roughly: what is not found is met when it
 * is mapped. */
void command_files(const char *program, command_file_fn *fn, void *arg);

#endif
