/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls to what they did with files; see model_io.h. */
#include "report/io/model_io.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/array.h"
#include "format/base/map.h"
#include "report/base/interned.h"
#include "report/calls/object.h"
#include "report/calls/signature.h"

#define MAX_POSITIONS (1u << 22) /* descriptors whose reads and writes are followed */
#define MAX_INTERVALS (1u << 22) /* off CPU, of tasks that made no call since; then some go */
#define MSG_PEEK_BIT  2u	 /* include/linux/socket.h: MSG_PEEK */
#define NO_ARG	      (-1)

/* --- which calls move bytes --- */

enum offset { AT_POSITION, AT_ARGUMENT, AT_ANY };

/* Calls whose result is a number of bytes: arguments that are the descriptors. */
struct transfer {
	bool is;
	int8_t from, to; /* it reads from, and writes to; NO_ARG: from memory, to memory */
	uint8_t offset;	 /* enum offset; of AT_ARGUMENT it is the fourth argument */
	int8_t flags;	 /* argument with MSG_*, or NO_ARG */
};

#define READS(offset)                           \
	{                                       \
		true, 0, NO_ARG, offset, NO_ARG \
	}
#define WRITES(offset)                          \
	{                                       \
		true, NO_ARG, 0, offset, NO_ARG \
	}
#define COPIES(from, to)                       \
	{                                      \
		true, from, to, AT_ANY, NO_ARG \
	}

static const struct transfer transfers[N_CALLS] = {
	[CALL_read] = READS(AT_POSITION),
	[CALL_readv] = READS(AT_POSITION),
	[CALL_pread64] = READS(AT_ARGUMENT),
	[CALL_preadv] = READS(AT_ARGUMENT),
	[CALL_preadv2] = READS(AT_ARGUMENT),
	[CALL_write] = WRITES(AT_POSITION),
	[CALL_writev] = WRITES(AT_POSITION),
	[CALL_pwrite64] = WRITES(AT_ARGUMENT),
	[CALL_pwritev] = WRITES(AT_ARGUMENT),
	[CALL_pwritev2] = WRITES(AT_ARGUMENT),
	[CALL_recvfrom] = { true, 0, NO_ARG, AT_ANY, 3 },
	[CALL_recvmsg] = { true, 0, NO_ARG, AT_ANY, 2 },
	[CALL_sendto] = WRITES(AT_ANY),
	[CALL_sendmsg] = WRITES(AT_ANY),
	[CALL_vmsplice] = WRITES(AT_ANY),
	[CALL_sendfile] = COPIES(1, 0),
	[CALL_sendfile64] = COPIES(1, 0),
	[CALL_copy_file_range] = COPIES(0, 2),
	[CALL_splice] = COPIES(0, 2),
	[CALL_tee] = { true, NO_ARG, 1, AT_ANY, NO_ARG },
};

/* --- files and names --- */

/* Where the last read or write of a descriptor ended, and where the next one begins. */
struct position {
	uint32_t pid, file;
	int32_t fd;
	bool moved; /* `end` is of a read or write */
	/* Of `at` and of `end`: from the beginning of the file, or of what was recorded. */
	bool absolute, end_absolute;
	uint64_t at, end;
};

/* When a task was off CPU since its last call. */
struct task_off {
	struct off_interval {
		uint64_t start, end;
	} * list;
	size_t n, capacity;
};

/* A file that other rows name. */
struct inode_file {
	struct inode_key key;
	uint32_t file;
};

struct io_model {
	const struct syscall_machine *machine;
	struct calls *calls;
	const struct call *next; /* that has been read, but not given yet */
	struct task_off *off;	 /* by task id */
	size_t n_off;
	size_t n_intervals; /* of all tasks */
	uint64_t off_dropped_ns;
	struct io_file *files;
	size_t n_files, files_capacity;
	struct ebt_map file_by_name;
	struct interned names;
	uint32_t *by_number; /* file of a number of `calls`; 0: not asked for yet */
	size_t n_numbers;
	struct inode_file *inodes;
	size_t n_inodes, inodes_capacity;
	struct ebt_map by_inode;
	struct position *positions;
	size_t n_positions, positions_capacity;
	struct ebt_map position_by_fd;
	struct ebt_map writers; /* file and process */
	struct text text, path;
};

void io_model_destroy(struct io_model *model)
{
	if (!model)
		return;
	calls_destroy(model->calls);
	for (size_t i = 0; i < model->n_off; i++)
		free(model->off[i].list);
	free(model->off);
	free(model->files);
	free(model->by_number);
	free(model->inodes);
	ebt_map_deinit(&model->by_inode);
	free(model->positions);
	ebt_map_deinit(&model->file_by_name);
	interned_deinit(&model->names);
	ebt_map_deinit(&model->position_by_fd);
	ebt_map_deinit(&model->writers);
	text_deinit(&model->text);
	text_deinit(&model->path);
	free(model);
}

struct ebt_str io_name(const struct io_model *model, uint32_t name)
{
	return interned_get(&model->names, name);
}

const struct io_file *io_file(const struct io_model *model, uint32_t file)
{
	return &model->files[file];
}

bool io_socket(const struct io_model *model, const struct io_use *use, struct socket_end *ret)
{
	return use->fd && calls_socket(model->calls, use->fd, use->call->exit, ret);
}

/* *ret: of what there was no room for 0. */
static struct ebt_error *intern_name(struct io_model *model, struct ebt_str s, uint32_t *ret)
{
	struct ebt_error *err = interned_add(&model->names, s, ret);

	if (*ret == INTERNED_NONE)
		*ret = 0;
	return err;
}

static struct ebt_error *add_file(struct io_model *model, const struct io_file *file, uint32_t *ret)
{
	struct ebt_error *err;

	*ret = IO_OTHERS;
	if (model->n_files == IO_MAX_FILES)
		return NULL;
	err = ebt_array_reserve(&model->files, model->n_files, &model->files_capacity)
		      ?: ebt_map_insert(&model->file_by_name, file->name, (uint32_t)model->n_files);
	if (err)
		return err;
	*ret = (uint32_t)model->n_files;
	model->files[model->n_files++] = *file;
	return NULL;
}

/* What stands before the last slash; "/" for what is in it. */
static struct ebt_str directory_of(struct ebt_str path)
{
	uint32_t len = path.len;

	while (len > 1 && path.data[len - 1] == '/')
		len--;
	while (len && path.data[len - 1] != '/')
		len--;
	while (len > 1 && path.data[len - 1] == '/')
		len--;
	return len ? (struct ebt_str){ path.data, len } : (struct ebt_str){ "(none)", 6 };
}

static struct ebt_error *name_file(struct io_model *model, struct ebt_str path,
				   struct io_file *file)
{
	return intern_name(model, path, &file->name)
		       ?: intern_name(model, directory_of(path), &file->directory);
}

/* A name alone is taken for that of the first file that has it. */
static struct ebt_error *find_file(struct io_model *model, struct io_file *file, uint32_t *ret)
{
	size_t at = 0;

	if (!file->name) {
		*ret = IO_OTHERS;
		return NULL;
	}
	while ((*ret = ebt_map_next(&model->file_by_name, file->name, &at)) != EBT_MAP_NONE) {
		struct io_file *other = &model->files[*ret];

		if (!other->known)
			*other = *file;
		if (!file->known ||
		    (other->dev_major == file->dev_major && other->dev_minor == file->dev_minor))
			return NULL;
	}
	return add_file(model, file, ret);
}

static struct ebt_error *name_filesystem(struct io_model *model, const struct fd_file *fd,
					 struct io_file *file)
{
	static const char *const others[] = {
		[EBT_V_fd_type_other] = "anon_inodefs",
		[EBT_V_fd_type_fifo] = "pipefs",
		[EBT_V_fd_type_socket] = "sockfs",
	};

	text_clear(&model->text);
	if (!calls_file_system_add(model->calls, fd, &model->text) &&
	    fd->type < sizeof(others) / sizeof(*others) && others[fd->type])
		text_cstr(&model->text, others[fd->type]);
	return text_error(&model->text)
		       ?: intern_name(model, text_str(&model->text), &file->filesystem);
}

/* The file of a descriptor. */
static struct ebt_error *file_of(struct io_model *model, const struct fd_file *fd, uint64_t time,
				 uint32_t *ret)
{
	const uint32_t number = calls_file_number(model->calls, fd);
	struct io_file file = {
		.dev_major = fd->key.dev_major,
		.dev_minor = fd->key.dev_minor,
		.type = fd->type,
		.known = true,
	};
	struct ebt_error *err;

	if (number >= model->n_numbers) {
		const size_t n = (size_t)number * 2 + 64;
		uint32_t *more = realloc(model->by_number, n * sizeof(*more));

		if (!more)
			return &ebt_enomem;
		memset(more + model->n_numbers, 0, (n - model->n_numbers) * sizeof(*more));
		model->by_number = more;
		model->n_numbers = n;
	}
	*ret = model->by_number[number];
	/* What a socket is called may change. */
	if (*ret && fd->type != EBT_V_fd_type_socket)
		return NULL;
	text_clear(&model->text);
	calls_file_name_add(model->calls, fd, time, &model->text);
	err = text_error(&model->text) ?:
	      name_file(model, text_str(&model->text), &file) ?:
	      name_filesystem(model, fd, &file) ?:
	      find_file(model, &file, ret);
	if (!err)
		model->by_number[number] = *ret;
	return err;
}

struct ebt_error *io_model_inode(struct io_model *model, const struct inode_key *key, uint32_t *ret)
{
	const uint64_t hash = inode_key_hash(0, key);
	struct io_file file = {
		.dev_major = key->dev_major,
		.dev_minor = key->dev_minor,
		.type = EBT_V_fd_type_regular,
		.known = true,
	};
	struct ebt_error *err;
	size_t at = 0;
	uint32_t i;

	while ((i = ebt_map_next(&model->by_inode, hash, &at)) != EBT_MAP_NONE) {
		if (!inode_key_equal(&model->inodes[i].key, key))
			continue;
		*ret = model->inodes[i].file;
		return NULL;
	}
	text_clear(&model->text);
	*ret = IO_NOT_KNOWN;
	if (!calls_inode_name_add(model->calls, key, &model->text))
		return NULL;
	err = text_error(&model->text) ?:
	      name_file(model, text_str(&model->text), &file) ?:
	      find_file(model, &file, ret);
	if (err || model->n_inodes == IO_MAX_FILES)
		return err;
	err = ebt_array_reserve(&model->inodes, model->n_inodes, &model->inodes_capacity)
		      ?: ebt_map_insert(&model->by_inode, hash, (uint32_t)model->n_inodes);
	if (!err)
		model->inodes[model->n_inodes++] = (struct inode_file){ *key, *ret };
	return err;
}

struct ebt_error *io_model_create(struct trace *trace, const struct syscall_machine *machine,
				  unsigned int flags, struct io_model **ret)
{
	static const struct ebt_str nothing = { "", 0 }, others = { "(other files)", 13 };
	_cleanup_(io_model_destroyp) struct io_model *model = calloc(1, sizeof(*model));
	struct io_file none = { 0 }, rest = { .known = true };
	struct ebt_error *err;
	uint32_t i;

	if (!model)
		return &ebt_enomem;
	model->machine = machine;
	err = calls_create(trace, machine, flags, &model->calls) ?:
	      intern_name(model, nothing, &none.name) ?:
	      intern_name(model, others, &rest.name) ?:
	      add_file(model, &none, &i) ?:
	      add_file(model, &rest, &i);
	if (err)
		return err;
	*ret = take_ptr(model);
	return NULL;
}

/* --- names that calls give --- */

/* The name that argument i is; false: it was not recorded. */
static bool take_path(struct io_model *model, const struct call *call,
		      const struct call_signature *signature, unsigned int i)
{
	text_clear(&model->path);
	return call_path_add(model->calls, call, signature, i, &model->path) &&
	       !text_error(&model->path);
}

/* The first of a call's names. */
static bool take_first_path(struct io_model *model, const struct call *call,
			    const struct call_signature *signature)
{
	for (unsigned int i = 0; i < SYSCALL_MAX_ARGS; i++) {
		if (signature->args[i] == KIND_path)
			return take_path(model, call, signature, i);
	}
	return false;
}

/* --- where in a file --- */

static struct ebt_error *position_of(struct io_model *model, const struct call *call, int32_t fd,
				     uint32_t file, struct position **ret)
{
	const uint32_t pid = call->task->pid;
	const uint64_t hash = ebt_hash_u64(ebt_hash_u64(0, pid), (uint32_t)fd);
	struct ebt_error *err;
	size_t at = 0;
	uint32_t i;

	while ((i = ebt_map_next(&model->position_by_fd, hash, &at)) != EBT_MAP_NONE) {
		*ret = &model->positions[i];
		if ((*ret)->pid == pid && (*ret)->fd == fd) {
			if ((*ret)->file != file)
				**ret = (struct position){ .pid = pid, .fd = fd, .file = file };
			return NULL;
		}
	}
	*ret = NULL;
	if (model->n_positions == MAX_POSITIONS)
		return NULL;
	err = ebt_array_reserve(&model->positions, model->n_positions, &model->positions_capacity)
		      ?: ebt_map_insert(&model->position_by_fd, hash, (uint32_t)model->n_positions);
	if (err)
		return err;
	*ret = &model->positions[model->n_positions++];
	**ret = (struct position){ .pid = pid, .fd = fd, .file = file };
	return NULL;
}

static bool has_position(const struct io_model *model, uint32_t file)
{
	const struct io_file *f = &model->files[file];

	return f->known && (f->type == EBT_V_fd_type_regular || f->type == EBT_V_fd_type_block);
}

/* A new descriptor begins at the beginning. */
static struct ebt_error *take_open(struct io_model *model, const struct call *call, uint32_t file)
{
	struct position *p;
	struct ebt_error *err;

	if (!has_position(model, file) || !call->task)
		return NULL;
	err = position_of(model, call, (int32_t)call->result, file, &p);
	if (!err && p)
		*p = (struct position){
			.pid = p->pid, .fd = p->fd, .file = file, .absolute = true
		};
	return err;
}

static struct ebt_error *take_seek(struct io_model *model, const struct call *call, uint32_t file)
{
	struct position *p;
	struct ebt_error *err;

	if (!has_position(model, file) || !call->task || call->result < 0)
		return NULL;
	err = position_of(model, call, (int32_t)call->args[0], file, &p);
	if (!err && p) {
		p->at = (uint64_t)call->result;
		p->absolute = true;
	}
	return err;
}

static struct ebt_error *take_move(struct io_model *model, const struct transfer *transfer,
				   int32_t fd, struct io_use *use)
{
	const struct call *call = use->call;
	struct position *p;
	bool at_argument = transfer->offset == AT_ARGUMENT && (int64_t)call->args[3] >= 0;
	struct ebt_error *err;
	uint64_t begin;

	if (!has_position(model, use->file) || !call->task || !use->bytes)
		return NULL;
	err = position_of(model, call, fd, use->file, &p);
	if (err || !p)
		return err;
	if (transfer->offset == AT_ANY) {
		*p = (struct position){ .pid = p->pid, .fd = p->fd, .file = p->file };
		return NULL;
	}
	begin = at_argument ? call->args[3] : p->at;
	use->follows = p->moved && p->end_absolute == (at_argument || p->absolute);
	use->in_order = use->follows && begin == p->end;
	p->moved = true;
	p->end = begin + use->bytes;
	p->end_absolute = at_argument || p->absolute;
	if (!at_argument)
		p->at = p->end;
	return NULL;
}

/* --- calls --- */

/* One call as it is taken apart. */
struct taking {
	struct io_model *model;
	const struct call *call;
	const struct call_signature *signature;
	enum syscall_call nr;
	bool given; /* one use has its time */
	uint64_t off_ns;
	io_use_fn *fn;
	void *arg;
};

static struct ebt_error *give(struct taking *t, struct io_use *use)
{
	use->call = t->call;
	use->ns = t->given ? 0 : t->call->exit - t->call->entry;
	use->off_ns = t->given ? 0 : t->off_ns;
	t->given = true;
	return t->fn(t->arg, use);
}

static uint64_t bytes_moved(const struct taking *t, const struct transfer *transfer)
{
	if (t->call->result < 0)
		return 0;
	if (transfer->flags != NO_ARG && t->call->args[transfer->flags] & MSG_PEEK_BIT)
		return 0;
	return (uint64_t)t->call->result;
}

static struct ebt_error *count_writer(struct io_model *model, const struct ebt_task *task,
				      uint32_t file)
{
	const uint64_t key = (uint64_t)file << 32 | (task ? task->pid : 0);
	uint32_t i;

	if (!task || !task->pid || model->writers.n == IO_MAX_FILES ||
	    ebt_map_find(&model->writers, key, &i))
		return NULL;
	model->files[file].writers++;
	return ebt_map_insert(&model->writers, key, 0);
}

static struct ebt_error *use_descriptor(struct taking *t, unsigned int i)
{
	const struct transfer *transfer = &transfers[t->nr];
	const int32_t fd = (int32_t)t->call->args[i];
	const struct fd_file *file;
	struct io_use use = { .call = t->call, .act = IO_OTHER };
	struct ebt_error *err = NULL;

	if (fd < 0)
		return NULL;
	file = call_fd_file(t->model->calls, t->call, fd, false);
	if (file)
		err = file_of(t->model, file, t->call->exit, &use.file);
	if (err)
		return err;
	use.fd = file;
	if (transfer->is && transfer->from == (int)i)
		use.act = IO_READ;
	else if (transfer->is && transfer->to == (int)i)
		use.act = IO_WRITE;
	if (use.act != IO_OTHER) {
		use.bytes = bytes_moved(t, transfer);
		err = take_move(t->model, transfer, fd, &use);
		if (!err && use.act == IO_WRITE && use.bytes)
			err = count_writer(t->model, t->call->task, use.file);
	} else if (t->nr == CALL_lseek) {
		err = take_seek(t->model, t->call, use.file);
	}
	return err ?: give(t, &use);
}

/* Does it make a descriptor of its own, and not another one of a file that is open? */
static bool opens(const struct taking *t)
{
	return t->signature->result == KIND_fd && t->nr != CALL_dup && t->nr != CALL_dup2 &&
	       t->nr != CALL_dup3;
}

static struct ebt_error *use_result(struct taking *t)
{
	struct io_use use = { .act = IO_OPEN };
	const struct fd_file *file;
	struct ebt_error *err = NULL;

	if (t->call->result >= 0) {
		file = call_fd_file(t->model->calls, t->call, t->call->result, true);
		if (file)
			err = file_of(t->model, file, t->call->exit, &use.file)
				      ?: take_open(t->model, t->call, use.file);
		return err ?: give(t, &use);
	}
	use.act = IO_OPEN_FAILED;
	if (take_first_path(t->model, t->call, t->signature)) {
		struct io_file named = { 0 };

		err = name_file(t->model, text_str(&t->model->path), &named)
			      ?: find_file(t->model, &named, &use.file);
	} else if (t->given) {
		return NULL; /* as accept(), which is a use of its descriptor already */
	}
	return err ?: give(t, &use);
}

static struct ebt_error *take_uses(struct taking *t)
{
	struct ebt_error *err = NULL;

	for (unsigned int i = 0; !err && i < SYSCALL_MAX_ARGS; i++) {
		if (t->signature->args[i] == KIND_fd)
			err = use_descriptor(t, i);
	}
	return err || !opens(t) ? err : use_result(t);
}

static struct ebt_error *take_missing(struct taking *t)
{
	struct io_use use = { .act = IO_MISSING };
	struct io_file named = { 0 };

	if ((t->call->result != -ENOENT && t->call->result != -ENOTDIR) ||
	    !take_first_path(t->model, t->call, t->signature))
		return NULL;
	return name_file(t->model, text_str(&t->model->path), &named) ?:
	       find_file(t->model, &named, &use.file) ?:
	       give(t, &use);
}

/* --- time off CPU --- */

static void forget_off(struct io_model *model, struct task_off *off)
{
	model->n_intervals -= off->n;
	off->n = 0;
}

struct ebt_error *io_model_off(struct io_model *model, const struct ebt_task *task, uint64_t start,
			       uint64_t end)
{
	struct task_off *off;
	struct ebt_error *err;

	err = ebt_array_reserve_zeroed(&model->off, task->id, &model->n_off);
	if (err)
		return err;
	off = &model->off[task->id];
	if (model->n_intervals >= MAX_INTERVALS) {
		for (size_t i = 0; i < off->n; i++)
			model->off_dropped_ns += off->list[i].end - off->list[i].start;
		forget_off(model, off);
	}
	err = ebt_array_reserve(&off->list, off->n, &off->capacity);
	if (err)
		return err;
	off->list[off->n++] = (struct off_interval){ start, end };
	model->n_intervals++;
	return NULL;
}

uint64_t io_model_off_dropped(const struct io_model *model)
{
	return model->off_dropped_ns;
}

/* In a call; what was told is then forgotten. */
static uint64_t take_off(struct io_model *model, const struct call *call)
{
	struct task_off *off;
	uint64_t ns = 0;

	if (!call->task || call->task->id >= model->n_off)
		return 0;
	off = &model->off[call->task->id];
	for (size_t i = 0; i < off->n; i++) {
		if (off->list[i].start >= call->entry)
			ns += off->list[i].end - off->list[i].start;
	}
	forget_off(model, off);
	return ns;
}

/* --- all calls --- */

static struct ebt_error *take_call(struct taking *t, bool missing)
{
	const struct call_view view = { .machine = t->model->machine,
					.compat = t->call->compat,
					.nr = t->call->nr };
	struct call_shown shown;

	call_show(&view, &shown);
	t->off_ns = take_off(t->model, t->call);
	if (!shown.desc)
		return NULL;
	t->signature = shown.signature;
	t->nr = (enum syscall_call)shown.desc->call;
	t->given = false;
	return missing ? take_missing(t) : take_uses(t);
}

static struct ebt_error *read_to(struct io_model *model, bool missing, uint64_t time,
				 io_use_fn *use, void *arg)
{
	struct taking t = { .model = model, .fn = use, .arg = arg };
	struct ebt_error *err = NULL;

	while (!err) {
		if (!model->next)
			err = calls_next(model->calls, &model->next);
		if (err || !model->next || model->next->exit > time)
			break;
		t.call = model->next;
		model->next = NULL;
		err = take_call(&t, missing);
	}
	return err;
}

struct ebt_error *io_model_read(struct io_model *model, bool missing, io_use_fn *use, void *arg)
{
	return read_to(model, missing, UINT64_MAX, use, arg);
}

struct ebt_error *io_model_read_to(struct io_model *model, uint64_t time, io_use_fn *use, void *arg)
{
	return read_to(model, false, time, use, arg);
}

/* --- what is open --- */

struct holding {
	struct io_model *model;
	uint64_t time;
	bool made; /* only what the process opened itself, besides its standard streams */
	io_held_fn *fn;
	void *arg;
};

static struct ebt_error *take_held(void *arg, const struct fd_held *fd)
{
	const struct holding *h = arg;
	struct io_held held = { .fd = fd };
	struct ebt_error *err;

	if (h->made && (!fd->made || fd->fd <= STDERR_FILENO))
		return NULL;
	err = file_of(h->model, fd->file, h->time, &held.file);
	return err ?: h->fn(h->arg, &held);
}

struct ebt_error *io_model_held(struct io_model *model, uint64_t time, io_held_fn *fn, void *arg)
{
	struct holding h = { .model = model, .time = time, .fn = fn, .arg = arg };

	return calls_held(model->calls, time, take_held, &h);
}

struct ebt_error *io_model_left(struct io_model *model, io_held_fn *fn, void *arg)
{
	struct holding h = {
		.model = model, .time = UINT64_MAX, .made = true, .fn = fn, .arg = arg
	};

	return calls_left(model->calls, take_held, &h);
}
