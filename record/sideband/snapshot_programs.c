/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that come later. What only /proc says of one, its paths and cgroups, is the same for
 * all processes of one key (record/bpf/facts.h): it is read once a second and key, and not for each
 * of thousands of programs, most of which have ended before anybody could look. A process may
 * change between its exec and our look: what is read counts for others if the key is the same
 * behind it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/array.h"
#include "format/base/cleanup.h"
#include "format/schema/wire.h"
#include "record/base/clocks.h"
#include "record/base/procfs.h"
#include "record/base/task_key.h"
#include "record/sideband/program.h"
#include "record/sideband/snapshot_state.h"

/* Of each second, for looks into /proc: 2 %, several hundred processes. */
#define WINDOW	     1000000000u
#define WINDOW_SPEND 20000000u

/* How long what was read holds; a cgroup or a folder may be renamed. And where nobody could be read
 * since. */
#define HOLDS	    1000000000u
#define HOLDS_STILL (10 * (uint64_t)HOLDS)

/* Keys that are kept; then it begins anew. */
#define MAX_ALIKE 4096u

/* What processes of a key have in common. */
struct alike {
	char *exe, *root, *cgroup;
	uint64_t read; /* when */
};

struct program *program_create(const struct ebrec_facts *facts, const void *cmdline, size_t len)
{
	struct program *program = malloc(sizeof(*program) + len);

	if (!program)
		return NULL;
	program->facts = *facts;
	program->cmdline_len = len;
	memcpy(program->cmdline, cmdline, len);
	return program;
}

size_t program_size(const struct program *program)
{
	return program ? sizeof(*program) + program->cmdline_len : 0;
}

static void free_texts(struct alike *alike)
{
	free(alike->exe);
	free(alike->root);
	free(alike->cgroup);
	*alike = (struct alike){ 0 };
}

void snapshot_programs_deinit(struct snapshot_state *state)
{
	for (size_t i = 0; i < state->n_alike; i++)
		free_texts(&state->alike[i]);
	free(state->alike);
	keymap_deinit(&state->alike_keys);
	state->alike = NULL;
	state->n_alike = state->alike_capacity = 0;
}

/* count of them, if any. */
static struct ebt_error *tell(const struct snapshot_state *state, uint64_t from, uint64_t count,
			      const char *why)
{
	return count ? snapshot_lost(state, EBT_V_lost_reason_other, from, count, why) : NULL;
}

struct ebt_error *snapshot_tell_skipped(struct snapshot_state *state, uint64_t now)
{
	const uint64_t skipped = state->window_skipped, late = state->window_late,
		       from = state->window;

	state->window = now;
	state->window_spent = 0;
	state->window_skipped = 0;
	state->window_late = 0;
	return tell(state, from, skipped, "too many new processes to read all of /proc")
		       ?: tell(state, from, late,
			       "ended, or were something else, before they were looked at");
}

/* Is there time to look into /proc in this second? */
static struct ebt_error *may_look(struct snapshot_state *state, bool *ret)
{
	const uint64_t now = clocks_now();
	struct ebt_error *err = NULL;

	if (now - state->window >= WINDOW)
		err = snapshot_tell_skipped(state, now);
	*ret = state->window_spent < WINDOW_SPEND;
	return err;
}

struct ebt_error *snapshot_process(struct snapshot_state *state, uint32_t pid, uint64_t time_ns)
{
	const uint64_t begin = snapshot_cpu_time();
	_cleanup_close_ int dir = -1;
	struct process_row process = { .pid = pid };
	struct process_texts texts;
	struct procfs_status status;
	bool may;
	struct ebt_error *err = may_look(state, &may);

	state->window_skipped += !may;
	if (err || !may)
		return err;
	dir = procfs_open(pid);
	if (dir >= 0 && procfs_status(dir, "status", &status)) {
		process.ppid = status.ppid;
		process.uid = status.uids[0];
		memcpy(process.nspid, status.nspid, sizeof(process.nspid));
		snapshot_read_process(state, dir, &process, &texts);
		err = snapshot_add_process(state, dir, &process, time_ns);
	} else {
		state->window_late++;
	}
	state->window_spent += snapshot_cpu_time() - begin;
	return err;
}

/* What the event says. */
static struct process_row begin_process(const struct program *program)
{
	const struct ebrec_facts *facts = &program->facts;
	struct process_row p = {
		.pid = facts->pid,
		.ppid = facts->ppid,
		.uid = facts->uid,
		.mnt_ns = facts->key.mnt_ns,
		.pid_ns = facts->pid_ns,
		.net_ns = facts->net_ns,
		.user_ns = facts->user_ns,
		.cgroup_ns = facts->key.cgroup_ns,
		.mounts = facts->mounts,
		.cmdline = program->cmdline,
		.cmdline_len = program->cmdline_len,
	};
	size_t len = 0;

	for (uint32_t i = 0; i < facts->n_pids && i < EBREC_FACTS_PIDS; i++)
		len += (size_t)snprintf(p.nspid + len, sizeof(p.nspid) - len, i ? " %u" : "%u",
					facts->pids[i]);
	return p;
}

static struct alike *find_alike(const struct snapshot_state *state, const struct program *program)
{
	uint64_t i;

	return keymap_find(&state->alike_keys, &program->facts.key, sizeof(program->facts.key), &i)
		       ? &state->alike[i]
		       : NULL;
}

/* Keys that are not kept are not known to the BPF programs either. */
static void forget_all(struct snapshot_state *state)
{
	struct ebrec_known *known = state->context->known_programs;

	snapshot_programs_deinit(state);
	for (size_t i = 0; i < EBREC_KNOWN_PROGRAMS; i++)
		__atomic_store_n(&known[i].until, 0, __ATOMIC_RELEASE);
}

static struct ebt_error *add_alike(struct snapshot_state *state, const struct program *program,
				   struct alike **ret)
{
	if (state->n_alike == MAX_ALIKE)
		forget_all(state);
	if (ebt_array_reserve(&state->alike, state->n_alike, &state->alike_capacity) ||
	    !keymap_put(&state->alike_keys, &program->facts.key, sizeof(program->facts.key),
			state->n_alike))
		return &ebt_enomem;
	*ret = &state->alike[state->n_alike++];
	**ret = (struct alike){ 0 };
	return NULL;
}

/* Then the BPF programs need not call for the next one of the key. */
static void tell_known(const struct snapshot_state *state, const struct alike *alike, uint64_t hash)
{
	struct ebrec_known *known =
		&state->context->known_programs[hash & (EBREC_KNOWN_PROGRAMS - 1)];

	__atomic_store_n(&known->until, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&known->hash, hash, __ATOMIC_RELEASE);
	__atomic_store_n(&known->until, alike->read + HOLDS, __ATOMIC_RELEASE);
}

static bool is_known(const struct snapshot_state *state, uint64_t hash)
{
	return state->context->known_programs[hash & (EBREC_KNOWN_PROGRAMS - 1)].hash == hash;
}

static struct ebt_error *learn(struct snapshot_state *state, const struct program *program,
			       const struct process_row *read)
{
	struct alike *alike = find_alike(state, program);
	struct ebt_error *err = alike ? NULL : add_alike(state, program, &alike);

	if (err)
		return err;
	free_texts(alike);
	alike->read = clocks_now();
	alike->exe = strdup(read->exe);
	alike->root = strdup(read->root);
	alike->cgroup = strdup(read->cgroup);
	if (!alike->exe || !alike->root || !alike->cgroup)
		return &ebt_enomem;
	tell_known(state, alike, program->facts.hash);
	return NULL;
}

/* Of what it was when it ran the program, what it still is. */
struct still {
	bool exe, root, cgroup, mnt_ns, all;
};

static struct still compare(const struct snapshot_state *state, const struct ebrec_facts *facts)
{
	const struct ebrec_facts_key *then = &facts->key;
	struct ebrec_facts_key now;

	if (!state->context->known_programs ||
	    !task_key_read(state->context->task_iterator, state->context->task_keys, facts->pid,
			   &now))
		return (struct still){ 0 };
	return (struct still){
		.exe = !memcmp(&now.exe, &then->exe, sizeof(now.exe)),
		.root = !memcmp(&now.root, &then->root, sizeof(now.root)),
		.cgroup = now.cgroups == then->cgroups,
		.mnt_ns = now.mnt_ns == then->mnt_ns,
		.all = !memcmp(&now, then, sizeof(now)),
	};
}

/* Takes over from `read` what it still is, and what its event does not tell and never changes. */
static void take(struct process_row *row, const struct process_row *read, struct still still)
{
	if (still.exe)
		row->exe = read->exe;
	if (still.root)
		row->root = read->root;
	if (still.cgroup)
		row->cgroup = read->cgroup;
	if (still.exe && !row->cmdline_len) {
		row->cmdline = read->cmdline;
		row->cmdline_len = read->cmdline_len;
	}
	if (!*row->nspid) {
		memcpy(row->nspid, read->nspid, sizeof(row->nspid));
		row->pid_ns = read->pid_ns;
	}
}

/* Reads what the numbers do not say. The process may have gone, or have changed since; then what
 * was true of others a while ago, which is in the row, is more than nothing. */
static struct ebt_error *look(struct snapshot_state *state, const struct program *program,
			      struct process_row *row, bool known)
{
	_cleanup_close_ int dir = procfs_open(row->pid);
	struct process_row read = *row;
	struct process_texts texts;
	struct still still = { 0 };
	struct ebt_error *err = NULL;

	if (dir >= 0) {
		snapshot_read_process(state, dir, &read, &texts);
		still = compare(state, &program->facts);
		take(row, &read, still);
	}
	/* What a row lacks is taken from the parent, which is no loss where it is the parent's. */
	state->window_late += !known && !program->facts.inherits && !(still.root && still.cgroup);
	if (still.all)
		err = learn(state, program, &read);
	/* What mounts it sees now are those of the row only if that is so. */
	return err
		       ?: snapshot_add_process(state, still.root && still.mnt_ns ? dir : -1, row,
					       program->facts.head.time);
}

struct ebt_error *snapshot_program(struct snapshot_state *state, const struct program *program)
{
	const uint64_t time = program->facts.head.time;
	const struct alike *alike = find_alike(state, program);
	struct process_row row = begin_process(program);
	bool known = alike && time < alike->read + HOLDS_STILL, may;
	struct ebt_error *err;
	uint64_t begin;

	if (known) {
		row.exe = alike->exe;
		row.root = alike->root;
		row.cgroup = alike->cgroup;
	}
	if (known && program->facts.n_pids && time < alike->read + HOLDS) {
		if (!is_known(state, program->facts.hash))
			tell_known(state, alike, program->facts.hash);
		return snapshot_add_process(state, -1, &row, time);
	}
	err = may_look(state, &may);
	if (err)
		return err;
	if (!may) {
		state->window_skipped += !known;
		return snapshot_add_process(state, -1, &row, time);
	}
	begin = snapshot_cpu_time();
	err = look(state, program, &row, known);
	state->window_spent += snapshot_cpu_time() - begin;
	return err;
}
