/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of protobuf to a file, a part at a time: messages one behind another are one message
 * with the fields of all of them, of repeated fields one behind another.
 */
#ifndef REPORT_EXPORT_MESSAGE_H
#define REPORT_EXPORT_MESSAGE_H

#include <stdbool.h>
#include <stdio.h>

#include <protobuf-c/protobuf-c.h>

#include "format/base/cleanup.h"
#include "format/base/error.h"
#include "format/read/reader.h"
#include "report/base/text.h"

struct message_writer;

/* gzip: what is written is packed. Failures of f are for its owner. */
struct ebt_error *message_writer_create(FILE *f, bool gzip, struct message_writer **ret);
/* Accepts NULL. */
void message_writer_destroy(struct message_writer *writer);
DEFINE_CLEANUP(struct message_writer *, message_writer_destroy);

void message_write(struct message_writer *writer, const ProtobufCMessage *message);
/* The head of a field that is a message of so many bytes, whose parts follow. */
void message_write_head(struct message_writer *writer, uint32_t field, uint64_t size);
/* After the last message. */
void message_writer_finish(struct message_writer *writer);

#endif
