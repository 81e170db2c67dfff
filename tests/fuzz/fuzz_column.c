/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fuzzing columns. What can be decoded must be the same after a round trip. */
#include <stdlib.h>
#include <string.h>

#include "format/encoding/column.h"
#include "tests/fuzz/fuzz.h"

static void round_trip(const uint64_t *values, uint32_t n)
{
	struct ebt_column_plan plan = ebt_column_plan(values, n);
	struct ebt_buffer buf = EBT_BUFFER_INIT;
	uint64_t *again = calloc(n, sizeof(*again));

	ebt_column_encode(&plan, values, n, &buf);
	if (again && !buf.failed) {
		fuzz_expect(buf.len == plan.size, "a column has the size that was planned");
		fuzz_expect(fuzz_succeeded(ebt_column_decode((uint8_t)plan.encoding,
							     ebt_bytes(buf.data, buf.len), n,
							     again)) &&
				    !memcmp(values, again, n * sizeof(*again)),
			    "a column is the same after a round trip");
	}
	ebt_buffer_deinit(&buf);
	free(again);
}

bool fuzz_column(const uint8_t *data, size_t len)
{
	struct ebt_error *err;
	uint64_t *values;
	uint32_t rows;

	if (len < 3)
		return false;
	rows = ebt_load_u16(data + 1);
	values = calloc(rows + 1u, sizeof(*values));
	if (!values)
		return false;
	err = ebt_column_decode(data[0], ebt_bytes(data + 3, len - 3), rows, values);
	if (!err && rows)
		round_trip(values, rows);
	free(values);
	return fuzz_succeeded(err);
}
