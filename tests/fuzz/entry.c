/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libFuzzer's entry point, for the target that FUZZ_TARGET names. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	FUZZ_TARGET(data, len);
	return 0;
}
