/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who holds a lock that a thread waits for on a futex, as the memory there says. */
#ifndef RECORD_BPF_LOCK_OWNER_H
#define RECORD_BPF_LOCK_OWNER_H

#include <linux/futex.h>
#include <linux/types.h>

#include "format/schema/wire.h"

/* The beginning of a pthread_mutex_t of glibc. */
struct glibc_mutex {
	__u32 lock, count, owner, nusers, kind;
};

#define MUTEX_KINDS 0x3ff
#define MAX_TID	    (1 << 22) /* on any machine */

/*
 * The tid of the owner as the pid namespace of the process has it, 0: not known. mutex: what stands
 * at the futex; value: what it had as the wait began. Of those with priority inheritance the kernel
 * wants the owner's tid in the futex. A mutex of glibc has it behind the futex: it is taken for one
 * if the futex is 2, "locked, and somebody waits", or has the same tid.
 */
static inline __u32 lock_owner(__u32 op, __u32 value, const struct glibc_mutex *mutex,
			       __u32 *ret_owner_by)
{
	const __u32 tid = mutex->lock & FUTEX_TID_MASK;

	*ret_owner_by = EBT_V_futex_wait_owner_by_not_known;
	if (op == EBT_V_futex_wait_op_lock_pi || op == EBT_V_futex_wait_op_lock_pi2) {
		if (tid)
			*ret_owner_by = EBT_V_futex_wait_owner_by_futex;
		return tid;
	}
	if (op != EBT_V_futex_wait_op_wait || mutex->lock != value || !mutex->owner ||
	    !mutex->nusers || mutex->owner >= MAX_TID || mutex->nusers >= MAX_TID ||
	    mutex->kind & ~MUTEX_KINDS ||
	    !(value == 2 || (value & FUTEX_WAITERS && tid == mutex->owner)))
		return 0;
	*ret_owner_by = EBT_V_futex_wait_owner_by_guess;
	return mutex->owner;
}

#endif
