/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How alike two words are, for messages that say what somebody may have meant. */
#ifndef FORMAT_BASE_SPELLING_H
#define FORMAT_BASE_SPELLING_H

#include <stddef.h>

/* Words that are as long are like no other. */
#define EBT_SPELLING_MAX 128

/* How many letters have to be changed, added or left out (Levenshtein); SIZE_MAX where a word is
 * too long. */
size_t ebt_spelling_distance(const char *a, const char *b);

#endif
