// SPDX-License-Identifier: GPL-2.0-or-later
/* Marks from C++, in two functions with the same inlined code, one of which throws. */
#include <cstdio>
#include <stdexcept>

#include "ebmark.h"

inline void work(const char *name, bool fails)
{
	ebmark_scope scope("scope", name);

	scope.message("said in between");
	if (fails)
		throw std::runtime_error(name);
}

int main()
{
	work("returns", false);
	try {
		work("throws", true);
	} catch (const std::runtime_error &) {
		ebmark_instant("scope", "caught", "");
	}
	std::printf("%d\n", ebmark_enabled());
	return 0;
}
