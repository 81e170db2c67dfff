/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Mount tables, and the places that recorded paths lead to. Nothing is opened here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "format/base/cleanup.h"
#include "symbolize/spaces/translate.h"
#include "tests/tools/make_trace.h"
#include "tests/tools/symtrace.h"

DEFINE_CLEANUP(struct views *, views_destroy);
DEFINE_CLEANUP(struct mount_table *, mount_table_destroy);

#define HOST_NS	 4026531841u
#define OTHER_NS 4026532999u

#define ID_A	 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define ID_B	 "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

/* A process (tid 10) with another mount namespace, and what is known of it. */
struct machine {
	const char *host, *other; /* mountinfo; NULL: not recorded */
	const char *root, *cgroup;
	const char *roots[3]; /* of the user */
	struct {
		const char *role, *path, *text;
		size_t len; /* 0: that of the text */
		uint64_t ns;
	} files[6];
	bool other_is_partial; /* the other table is of a process with another root */
};

struct fixture {
	struct symtrace *trace;
	struct views *views;
	struct candidates found;
};

static void describe(struct symtrace *trace, const struct machine *m)
{
	symtrace_meta(trace, "host.mnt_ns", "4026531841");
	if (m->host)
		symtrace_embed(trace,
			       &(struct symtrace_embedded){ "mountinfo", "/proc/1/mountinfo", 0,
							    HOST_NS, 1 },
			       m->host, strlen(m->host));
	if (m->other)
		symtrace_embed(trace,
			       &(struct symtrace_embedded){ "mountinfo", "/proc/9/mountinfo", 0,
							    OTHER_NS,
							    m->other_is_partial ? 10 : 9 },
			       m->other, strlen(m->other));
	for (size_t i = 0; i < 6 && m->files[i].role; i++)
		symtrace_embed(trace,
			       &(struct symtrace_embedded){ m->files[i].role, m->files[i].path, 0,
							    m->files[i].ns, 7 },
			       m->files[i].text,
			       m->files[i].len ? m->files[i].len : strlen(m->files[i].text));
}

static void map(struct symtrace *trace, uint64_t time, uint32_t tid, const char *path)
{
	symtrace_mmap(trace, time, tid,
		      &(struct symtrace_mapping){
			      .start = 0x1000, .length = 0x1000, .path = path });
}

static void open_views(struct fixture *f, const struct machine *m)
{
	assert_no_error(
		views_create(symtrace_read(f->trace), m->roots[0] ? m->roots : NULL, &f->views));
}

static void find(struct fixture *f, const char *path)
{
	static const struct sym_build_id none;
	const struct view *views[VIEWS_MAX];
	size_t n = views_of(f->views, path, &none, views);

	candidates_deinit(&f->found);
	for (size_t i = 0; i < n; i++)
		assert_no_error(translate(f->views, views[i], path, &f->found));
}

static void begin(struct fixture *f, const struct machine *m, const char *path)
{
	*f = (struct fixture){ .trace = symtrace_create() };
	symtrace_task(f->trace, 10, 10, 100);
	describe(f->trace, m);
	symtrace_view(f->trace, 1000, 10, OTHER_NS, m->root ? m->root : "/",
		      m->cgroup ? m->cgroup : "0::/user.slice");
	map(f->trace, 2000, 10, path);
	open_views(f, m);
	find(f, path);
}

static void end(struct fixture *f)
{
	candidates_deinit(&f->found);
	views_destroy(f->views);
	symtrace_destroy(f->trace);
}

/* A candidate as "DIR:PATH", or "LAYER,LAYER:PATH" in braces. */
static char *text_of(const struct candidate *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	if (c->dir) {
		fprintf(f, "%s:%s", c->dir, c->path);
	} else {
		for (size_t i = 0; i < c->layers.n; i++)
			fprintf(f, "%c%s", i ? ',' : '{', c->layers.dirs[i]);
		fprintf(f, "}:%s", c->path);
	}
	fclose(f);
	return text;
}

/* Each of the wanted is found, in this order; there may be others in between. */
static void expect(const struct fixture *f, const char *const *wanted)
{
	size_t w = 0;

	for (size_t i = 0; i < f->found.n && wanted[w]; i++) {
		_cleanup_free_ char *text = text_of(&f->found.items[i]);

		w += !strcmp(text, wanted[w]);
	}
	if (!wanted[w])
		return;
	for (size_t i = 0; i < f->found.n; i++) {
		_cleanup_free_ char *text = text_of(&f->found.items[i]);

		print_error("found %s\n", text);
	}
	fail_msg("not found: %s", wanted[w]);
}

static void expect_none_of(const struct fixture *f, const char *part)
{
	for (size_t i = 0; i < f->found.n; i++) {
		_cleanup_free_ char *text = text_of(&f->found.items[i]);

		if (strstr(text, part))
			fail_msg("found %s", text);
	}
}

static void check(const struct machine *m, const char *path, const char *const *wanted)
{
	struct fixture f;

	begin(&f, m, path);
	expect(&f, wanted);
	end(&f);
}

#define WANT(...) ((const char *const[]){ __VA_ARGS__, NULL })

#define HOST_ROOT "21 1 8:1 / / rw - ext4 /dev/sda1 rw\n"

static void test_bind(void **state)
{
	(void)state;
	/* A folder bound elsewhere, and a file system that the host has in two places. */
	check(&(struct machine){ .host = HOST_ROOT
				 "30 21 8:2 / /data rw - ext4 /dev/sda2 rw\n"
				 "31 21 8:2 /sub /mnt/sub rw - ext4 /dev/sda2 rw\n",
				 .other = HOST_ROOT
				 "90 21 8:2 /sub/app /opt rw - ext4 /dev/sda2 rw\n" },
	      "/opt/lib/libx.so", WANT("/data:/sub/app/lib/libx.so", "/mnt/sub:/app/lib/libx.so"));
	/* Its root only begins like that of another mount. */
	check(&(struct machine){ .host = "30 21 8:2 /subway /mnt/w rw - ext4 /dev/sda2 rw\n"
					 "31 21 8:2 /sub /mnt/sub rw - ext4 /dev/sda2 rw\n",
				 .other = "90 21 8:2 /sub /opt rw - ext4 /dev/sda2 rw\n" },
	      "/opt/libx.so", WANT("/mnt/sub:/libx.so"));
	/* A file bound over a file. */
	check(&(struct machine){ .host = HOST_ROOT,
				 .other = HOST_ROOT
				 "91 21 8:1 /srv/new.so /usr/lib/x.so rw - ext4 /dev/sda1 rw\n" },
	      "/usr/lib/x.so", WANT("/:/srv/new.so"));
}

static void test_escapes(void **state)
{
	(void)state;
	check(&(struct machine){ .host = HOST_ROOT,
				 .other = "90 21 8:1 /with\\040space\\011tab /o\\134pt rw - ext4 "
					  "/dev/sda1 rw\n" },
	      "/o\\pt/libx.so", WANT("/:/with space\ttab/libx.so"));
}

static void test_newest(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f,
	      &(struct machine){ .host = HOST_ROOT,
				 .other = "90 21 8:1 /one /opt rw - ext4 /dev/sda1 rw\n"
					  "91 90 8:1 /two /opt rw - ext4 /dev/sda1 rw\n"
					  "92 21 8:1 /near /op rw - ext4 /dev/sda1 rw\n" },
	      "/opt/x");
	expect(&f, WANT("/:/two/x"));
	expect_none_of(&f, "/one");
	expect_none_of(&f, "/near");
	end(&f);
}

#define OVERLAY(options) "90 21 0:50 / / rw - overlay overlay rw," options "\n"

static void test_overlay(void **state)
{
	(void)state;
	check(&(struct machine){ .host = HOST_ROOT,
				 .other = OVERLAY(
					 "lowerdir=/c/l1:/c/l2,upperdir=/c/up,workdir=/w") },
	      "/usr/lib/x.so", WANT("{/c/up,/c/l1,/c/l2}:/usr/lib/x.so"));
	/* A colon and a backslash in names, a comma as the kernel shows it, layers of data. */
	check(&(struct machine){ .host = HOST_ROOT,
				 .other = OVERLAY("lowerdir=/a\\134:b:/c\\134\\134d::/e\\054f") },
	      "/x", WANT("{/a:b,/c\\d,/e,f}:/x"));
	/* As Linux 6.8 has them. */
	check(&(struct machine){ .host = HOST_ROOT,
				 .other =
					 OVERLAY("lowerdir+=/a:b,lowerdir+=/c,datadir+=/d,upperdir="
						 "/u") },
	      "/x", WANT("{/u,/a:b,/c,/d}:/x"));
	/* A folder of an overlay that is mounted elsewhere: the mount's root counts. */
	check(&(struct machine){ .host = HOST_ROOT,
				 .other =
					 "90 21 0:50 /in/it /opt rw - overlay o rw,lowerdir=/c\n" },
	      "/opt/x", WANT("{/c}:/in/it/x"));
	/* While the container runs, the host may have it mounted. */
	check(&(struct machine){ .host = HOST_ROOT
				 "40 21 0:50 / /s/overlay/xyz/merged rw - overlay o rw\n",
				 .other = OVERLAY("lowerdir=/c") },
	      "/x", WANT("/s/overlay/xyz/merged:/x", "{/c}:/x"));
}

static void test_relative_layers(void **state)
{
	struct fixture f;

	(void)state;
	/* Relative to where the engine was: the folder that has ID/merged in it. */
	check(&(struct machine){ .host = HOST_ROOT
				 "40 21 0:50 / /s/overlay/xyz/merged rw - overlay o rw\n",
				 .other = OVERLAY("lowerdir=l/AB:l/CD,upperdir=xyz/diff") },
	      "/x", WANT("{/s/overlay/xyz/diff,/s/overlay/l/AB,/s/overlay/l/CD}:/x"));
	/* Nobody knows where that was: they are not taken for something else. */
	begin(&f, &(struct machine){ .host = HOST_ROOT, .other = OVERLAY("lowerdir=l/AB:/abs") },
	      "/x");
	expect(&f, WANT("{/abs}:/x"));
	expect_none_of(&f, "l/AB");
	end(&f);
}

static const char containers[] =
	"[{\"id\":\"" ID_A "\",\"names\":[\"web\"],\"layer\":\"top\",\"image\":\"i\"},"
	"{\"id\":\"" ID_B "\",\"names\":[\"db\"],\"layer\":\"../../etc\"}]";
static const char layers[] = "[{\"id\":\"base\"},{\"id\":\"middle\",\"parent\":\"base\"},"
			     "{\"id\":\"top\",\"parent\":\"middle\"}]";

#define STORAGE                                                                                   \
	{ "containers_json", "/g/storage/overlay-containers/containers.json", containers, 0, 0 }, \
	{                                                                                         \
		"layers_json", "/g/storage/overlay-layers/layers.json", layers, 0, 0              \
	}

static void test_storage(void **state)
{
	static const char layers_a[] =
		"{/g/storage/overlay/top/diff,/g/storage/overlay/middle/diff,"
		"/g/storage/overlay/base/diff}:/usr/lib/x.so";
	static const char fuse[] = "90 21 0:60 / / rw - fuse.fuse-overlayfs fuse-overlayfs rw\n";
	struct fixture f;

	(void)state;
	/* Order is that of parents. By cgroup, however the cgroup is called… */
	check(&(struct machine){ .cgroup = "0::/machine.slice/libpod-" ID_A ".scope/container",
				 .files = { STORAGE } },
	      "/usr/lib/x.so", WANT(layers_a));
	check(&(struct machine){ .cgroup = "0::/libpod_parent/libpod-" ID_A,
				 .other = fuse,
				 .files = { STORAGE } },
	      "/usr/lib/x.so", WANT(layers_a));
	/* …or, without one, by a file that the engine bound over /etc/hosts. */
	check(
		&(struct machine){
			.cgroup = "0::/",
			.other = "90 21 0:60 / / rw - fuse.fuse-overlayfs fuse-overlayfs rw\n"
				 "91 90 8:1 /g/storage/overlay-containers/" ID_A
				 "/userdata/hosts /etc/hosts rw - ext4 /dev/sda1 rw\n",
			.files = { STORAGE } },
		"/usr/lib/x.so", WANT(layers_a));
	/* What is no name of a layer leads nowhere. */
	begin(&f, &(struct machine){ .cgroup = "0::/libpod-" ID_B ".scope", .files = { STORAGE } },
	      "/x");
	expect_none_of(&f, "etc");
	end(&f);
	/* docker */
	check(&(struct machine){ .cgroup = "0::/docker/" ID_B,
				 .files = { { "docker_mount_id",
					      "/var/lib/docker/image/overlay2/layerdb/mounts/" ID_B
					      "/mount-id",
					      "0123abcd", 0, 0 } } },
	      "/x", WANT("{/var/lib/docker/overlay2/0123abcd/diff}:/x"));
}

static void test_fuse(void **state)
{
	static const char one[] =
		"fuse-overlayfs\0-o\0lowerdir=l/A:l/B,upperdir=1/diff,workdir=1/w\0"
		"/s/overlay/1/merged";
	static const char two[] = "/usr/bin/fuse-overlayfs\0-olowerdir=/s/overlay/l/C\0"
				  "/s/overlay/2/merged";

	(void)state;
	/* Two containers; the device at its mount point says which is whose. */
	check(
		&(struct machine){
			.other = "90 21 0:62 / / rw - fuse.fuse-overlayfs fuse-overlayfs rw\n",
			.files = { { "mountinfo", "/proc/7/mountinfo",
				     "70 21 0:61 / /s/overlay/1/merged rw - "
				     "fuse.fuse-overlayfs fuse-overlayfs rw\n"
				     "71 21 0:62 / /s/overlay/2/merged rw - "
				     "fuse.fuse-overlayfs fuse-overlayfs rw\n",
				     0, 777 },
				   { "fuse_overlayfs", "/s/overlay", one, sizeof(one), 777 },
				   { "fuse_overlayfs", "/", two, sizeof(two), 777 } } },
		"/x",
		WANT("{/s/overlay/l/C}:/x",
		     "{/s/overlay/1/diff,/s/overlay/l/A,/s/overlay/l/B}:/x"));
}

static void test_chroot(void **state)
{
	(void)state;
	/* The path may begin at the process's root, or at that of its namespace. */
	check(&(struct machine){ .host = HOST_ROOT "30 21 8:2 / /data rw - ext4 /dev/sda2 rw\n",
				 .other = HOST_ROOT
				 "90 21 8:2 /jails /jail rw - ext4 /dev/sda2 rw\n",
				 .root = "/jail/one" },
	      "/usr/lib/x.so", WANT("/data:/jails/one/usr/lib/x.so"));
	check(&(struct machine){ .host = HOST_ROOT "30 21 8:2 / /data rw - ext4 /dev/sda2 rw\n",
				 .other = HOST_ROOT
				 "90 21 8:2 /jails /jail rw - ext4 /dev/sda2 rw\n",
				 .root = "/jail/one" },
	      "/jail/one/usr/lib/x.so", WANT("/data:/jails/one/usr/lib/x.so"));
	/* Only what is below the root is in the table. */
	check(&(struct machine){ .host = HOST_ROOT,
				 .other = "90 21 8:1 /jails/one / rw - ext4 /dev/sda1 rw\n",
				 .root = "/jail/one",
				 .other_is_partial = true },
	      "/usr/lib/x.so", WANT("/:/jails/one/usr/lib/x.so"));
	check(&(struct machine){ .root = "/jail/one" }, "/x.so", WANT("/jail/one:/x.so"));
}

static void test_btrfs(void **state)
{
	(void)state;
	/* Anonymous devices of subvolumes differ; the disk is the same. */
	check(
		&(struct machine){
			.host = "30 21 0:27 /@home /home rw - btrfs /dev/nvme0n1p2 rw\n"
				"31 21 0:28 /@ / rw - btrfs /dev/nvme0n1p2 rw\n",
			.other = "90 21 0:29 /@home/me/app /app rw - btrfs /dev/nvme0n1p2 rw\n" },
		"/app/x.so", WANT("/home:/me/app/x.so"));
}

/* Which views a mapping is seen by, as processes come, fork and exec. */
static void test_views(void **state)
{
	static const struct machine m = { .host = HOST_ROOT,
					  .other = "90 21 8:1 /other / rw - ext4 /dev/sda1 rw\n" };
	struct fixture f = { .trace = symtrace_create() };

	(void)state;
	symtrace_task(f.trace, 20, 20, 100);
	symtrace_task(f.trace, 21, 21, 200);
	symtrace_task(f.trace, 22, 22, 300);
	describe(f.trace, &m);
	symtrace_view(f.trace, 1000, 20, OTHER_NS, "/", "");
	/* A fork without exec is seen as its parent was. */
	symtrace_fork(f.trace, 2000, 20, 21, false);
	map(f.trace, 3000, 21, "/forked");
	/* Made in the host's namespace; what it maps as it begins a program elsewhere is looked at
	 * before the process is. */
	symtrace_view(f.trace, 4000, 22, HOST_NS, "/", "");
	map(f.trace, 5000, 22, "/program");
	symtrace_view(f.trace, 6000, 22, OTHER_NS, "/", "");
	map(f.trace, 7000, 22, "/library");
	/* Nobody knows this process. */
	map(f.trace, 8000, 99, "/stranger");
	open_views(&f, &m);
	find(&f, "/forked");
	expect(&f, WANT("/:/other/forked"));
	find(&f, "/program");
	expect(&f, WANT("/:/other/program"));
	find(&f, "/library");
	expect(&f, WANT("/:/other/library"));
	find(&f, "/stranger");
	assert_int_equal(f.found.n, 0);
	end(&f);
}

static void test_roots(void **state)
{
	static const struct {
		const char *root, *dir;
	} cases[] = {
		{ "web=/mnt/w", "/mnt/w" },    { "aaaaaa=/mnt/id", "/mnt/id" },
		{ "10=/mnt/pid", "/mnt/pid" }, { "11=/mnt/pid", NULL },
		{ "db=/mnt/w", NULL },	       { "we=/mnt/w", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct machine m = { .cgroup = "0::/libpod-" ID_A,
					   .roots = { "x=/y", cases[i].root },
					   .files = { STORAGE } };
		static const struct sym_build_id none;
		const struct view *views[VIEWS_MAX];
		struct fixture f;

		begin(&f, &m, "/x.so");
		assert_int_equal(views_of(f.views, "/x.so", &none, views), 1);
		if (cases[i].dir)
			assert_string_equal(views[0]->root_dir, cases[i].dir);
		else
			assert_null(views[0]->root_dir);
		end(&f);
	}
}

static void test_bad_lines(void **state)
{
	static const char text[] = "\n \n36\n36 35 98:0\n36 35 98 / / rw - ext4 s o\n"
				   "36 35 4294967296:0 / /a rw - ext4 s o\n"
				   "36 35 1:2 relative /a rw - ext4 s o\n"
				   "36 35 1:2 / a rw - ext4 s o\n36 35 1:2 / /a rw ext4 s o\n"
				   "36 35 1:2 / /a rw shared:1 master:2 - ext4 source\n"
				   "36 35 1:3 / /bad\\9escape\\04 rw - ext4 s o";
	_cleanup_(mount_table_destroyp) struct mount_table *table = NULL;
	const char *tail;

	(void)state;
	assert_no_error(mount_table_create(text, strlen(text), &table));
	assert_int_equal(table->n, 2);
	assert_string_equal(table->mounts[0].source, "source");
	assert_string_equal(table->mounts[0].options, "");
	assert_string_equal(table->mounts[1].point, "/bad\\9escape\\04");
	assert_ptr_equal(mount_table_find(table, "/a/b", &tail), &table->mounts[0]);
	assert_string_equal(tail, "/b");
	assert_null(mount_table_find(table, "/ab", &tail));
	assert_null(mount_table_find(table, "", &tail));
}

/* --- damage --- */

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void damage(char *text, size_t len, uint32_t *seed)
{
	static const char likely[] = "\\:,/ =\n\"{}[]-0\0";

	for (uint32_t n = 1 + random_next(seed) % 8; n > 0; n--) {
		size_t at = random_next(seed) % len;

		if (random_next(seed) % 3)
			text[at] = likely[random_next(seed) % sizeof(likely)];
		else
			memmove(text + at, text + random_next(seed) % len / 2, (len - at) / 2);
	}
}

/* Whatever the trace says, there are some candidates or none; in 1,000 damaged machines. */
static void test_damaged(void **state)
{
	static const char fuse[] = "fuse-overlayfs\0-o\0lowerdir=l/A:l/B,upperdir=1/diff\0/s/m";
	static const char other[] = "90 21 0:50 /r / rw - overlay o rw,lowerdir=/a\\134:b:l/c::/d,"
				    "upperdir=/u\n91 90 8:1 /x /y rw - ext4 /dev/sda1 rw\n"
				    "92 90 0:61 / /z rw - fuse.fuse-overlayfs f rw\n";
	size_t total = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		char texts[4][sizeof(other) + sizeof(containers)];
		struct machine m = { .host = HOST_ROOT
				     "40 21 0:50 / /s/o/x/merged rw - overlay o r\n",
				     .cgroup = "0::/libpod-" ID_A };
		const char *const paths[] = { "/y/x.so", "/usr/lib/x.so", "/z/x.so" };
		uint32_t seed = i;
		struct fixture f;

		memcpy(texts[0], other, sizeof(other));
		memcpy(texts[1], containers, sizeof(containers));
		memcpy(texts[2], layers, sizeof(layers));
		memcpy(texts[3], fuse, sizeof(fuse));
		damage(texts[0], sizeof(other) - 1, &seed);
		damage(texts[1], sizeof(containers) - 1, &seed);
		damage(texts[2], sizeof(layers) - 1, &seed);
		damage(texts[3], sizeof(fuse) - 1, &seed);
		m.files[0].role = "mountinfo";
		m.files[0].path = "/proc/9/mountinfo";
		m.files[0].text = texts[0];
		m.files[0].len = sizeof(other) - 1;
		m.files[0].ns = OTHER_NS;
		m.files[1].role = "containers_json";
		m.files[1].path = "/g/storage/overlay-containers/containers.json";
		m.files[1].text = texts[1];
		m.files[1].len = sizeof(containers) - 1;
		m.files[2].role = "layers_json";
		m.files[2].path = "/g/storage/overlay-layers/layers.json";
		m.files[2].text = texts[2];
		m.files[2].len = sizeof(layers) - 1;
		m.files[3].role = "fuse_overlayfs";
		m.files[3].path = "/s";
		m.files[3].text = texts[3];
		m.files[3].len = sizeof(fuse);
		m.files[3].ns = OTHER_NS;
		begin(&f, &m, paths[i % 3]);
		assert_in_range(f.found.n, 0, 256);
		total += f.found.n;
		for (size_t c = 0; c < f.found.n; c++) {
			if (f.found.items[c].dir)
				assert_int_equal(f.found.items[c].path[0], '/');
		}
		end(&f);
	}
	assert_true(total > 500);
}

/* What is over and over the same is a matter of moments, and does not hide what comes first. */
static void test_repeated_lines(void **state)
{
	const char *line = "36 35 8:1 / /data rw - ext4 /dev/sda1 rw\n";
	_cleanup_(mount_table_destroyp) struct mount_table *table = NULL;
	_cleanup_free_ char *text = malloc(100000 * strlen(line) + 1);
	size_t len = 0, at = 0, n = 0;
	const char *tail;

	(void)state;
	assert_non_null(text);
	for (int i = 0; i < 100000; i++)
		len += sprintf(text + len, "%s", line);
	assert_no_error(mount_table_create(text, len, &table));
	assert_int_equal(table->n, 100000);
	assert_ptr_equal(mount_table_find(table, "/data/x", &tail), &table->mounts[1023]);
	assert_string_equal(tail, "/x");
	while (mount_table_device(table, 8, 1, &at))
		n++;
	assert_int_equal(n, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_newest),
		cmocka_unit_test(test_overlay),
		cmocka_unit_test(test_relative_layers),
		cmocka_unit_test(test_storage),
		cmocka_unit_test(test_fuse),
		cmocka_unit_test(test_chroot),
		cmocka_unit_test(test_btrfs),
		cmocka_unit_test(test_views),
		cmocka_unit_test(test_roots),
		cmocka_unit_test(test_bad_lines),
		cmocka_unit_test(test_repeated_lines),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
