/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ebreport modules: mapped files, what of them is here, and what could be had. */
#include <string.h>

#include "report/base/text.h"
#include "report/cli/command.h"
#include "report/out/out.h"
#include "report/system/model_modules.h"
#include "symbolize/symbolize.h"

struct modules_view {
	struct report *report;
	struct sym *sym;
	const struct module_model *model;
	const char *os;	      /* of the recorded machine, or "" */
	struct text packages; /* commands that install debug information, a line each */
	size_t n_servers;     /* files that a server may have */
};

static bool starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* Servers of distributions, for what their packages have. */
static const char *server_of(const char *os)
{
	static const struct {
		const char *os, *url;
	} servers[] = {
		{ "Debian", "https://debuginfod.debian.net" },
		{ "Ubuntu", "https://debuginfod.ubuntu.com" },
		{ "Fedora", "https://debuginfod.fedoraproject.org" },
		{ "Arch", "https://debuginfod.archlinux.org" },
		{ "openSUSE", "https://debuginfod.opensuse.org" },
	};

	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		if (starts_with(os, servers[i].os))
			return servers[i].url;
	}
	return NULL;
}

/* The files of glibc, which has a package of its own for debug information. */
static bool is_glibc(const char *path)
{
	static const char *const names[] = { "/libc.so.6", "/libm.so.6", "/ld-linux-x86-64.so.2",
					     "/libpthread.so.0", "/ld-linux-aarch64.so.1" };
	const char *last = strrchr(path, '/');

	for (size_t i = 0; last && i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(last, names[i]))
			return true;
	}
	return false;
}

/* Whether a package of the recorded machine's own system has put the file where it was. */
static bool is_packaged(const struct sym_object *object)
{
	const char *path = object->path + (starts_with(object->path, "/usr/") ? 4 : 0);

	if (!object->place ||
	    (strcmp(object->place, "path") != 0 && strcmp(object->place, "cache") != 0))
		return false;
	return starts_with(path, "/lib") || starts_with(path, "/bin/") ||
	       starts_with(path, "/sbin/");
}

/* What would get the debug information, as far as that can be known. */
static void add_command(struct text *text, const struct modules_view *v,
			const struct sym_object *object)
{
	bool own = is_packaged(object);
	const char *url = server_of(v->os);

	if (!*object->build_id || object->kind != SYM_USER || object->anonymous)
		return;
	if (own && is_glibc(object->path) &&
	    (starts_with(v->os, "Debian") || starts_with(v->os, "Ubuntu"))) {
		text_cstr(text, "apt-get install libc6-dbg");
		return;
	}
	if (own && starts_with(v->os, "Fedora")) {
		text_printf(text, "dnf debuginfo-install /usr/lib/debug/.build-id/%.2s/%s.debug",
			    object->build_id, object->build_id + 2);
		return;
	}
	if (own && url)
		text_printf(text, "DEBUGINFOD_URLS=%s ", url);
	text_printf(text, "debuginfod-find debuginfo %s", object->build_id);
}

/* What would get it, for the lines below the table. */
static void note_command(struct modules_view *v, const struct text *command)
{
	const char *line = text_get(command);

	if (!command->len)
		return;
	if (strstr(line, "debuginfod-find"))
		v->n_servers++;
	else if (!strstr(text_get(&v->packages), line))
		text_printf(&v->packages, "  %s\n", line);
}

/* The table has no room for it. */
static void put_remedy(const struct modules_view *v)
{
	_cleanup_text_ struct text file = TEXT_INIT;
	const char *url = server_of(v->os), *path = v->report->options->file;
	struct out *out = v->report->out;

	if (!v->packages.len && !v->n_servers)
		return;
	text_terminal(&file, ebt_str_of(path));
	out_printf(out, "\nTo get what is missing:\n%s", text_get(&v->packages));
	if (v->n_servers)
		out_printf(out, "  ebreport modules --debuginfod=%s %s\n    (%zu file%s)\n",
			   url ? url : "URL", text_get(&file), v->n_servers,
			   text_plural(v->n_servers, "", "s"));
}

/* The most frequent of the reasons. */
static enum sym_reason main_reason(const struct module_stat *stat)
{
	enum sym_reason best = SYM_OK;

	for (int r = SYM_OK + 1; r < SYM_N_REASONS; r++) {
		if (stat->frames[r] && (best == SYM_OK || stat->frames[r] > stat->frames[best]))
			best = r;
	}
	return best;
}

static const char *debug_text(const struct sym_object *object)
{
	if (object->debug_place)
		return object->debug_place;
	if (object->has_dwarf)
		return "in the file";
	if (object->debug_reason != SYM_OK)
		return sym_reason_name(object->debug_reason);
	return object->has_symtab ? "symbols only" : "none";
}

/* named: frames whose names need no file, as they are in the trace or in the cache. */
static const char *file_text(const struct sym_object *object, uint64_t named)
{
	if (object->place)
		return object->place;
	if (object->debug_place)
		return "debug file only";
	return named ? "names only" : sym_reason_name(object->reason);
}

#define MODULES(X)                                                                           \
	X("module", "MODULE", OUT_STRING, out_cstr(object.path), OUT_FLEX)                   \
	X("samples", "SAMPLES", OUT_U64, out_u64(stat->samples), OUT_SORT)                   \
	X("frames", "FRAMES", OUT_U64, out_u64(frames))                                      \
	X("named", "NAMED", OUT_U64, out_u64(named))                                         \
	X("file_found", "FILE", OUT_STRING, out_cstr(file_text(&object, named)))             \
	X("debug_info", "DEBUG-INFO", OUT_STRING,                                            \
	  out_cstr_if(object.anonymous || !found ? NULL : debug_text(&object)))              \
	X("build_id", "BUILD-ID", OUT_STRING, out_cstr_if(object.build_id), OUT_OPTIONAL)    \
	X("match", "BY", OUT_STRING, out_cstr_if(found ? object.match : NULL), OUT_OPTIONAL) \
	X("unnamed_because", "UNNAMED-BECAUSE", OUT_STRING,                                  \
	  out_cstr_if(why == SYM_OK ? NULL : sym_reason_name(why)), OUT_OPTIONAL)            \
	X("path", NULL, OUT_STRING, out_cstr_if(object.file), OUT_DETAIL)                    \
	X("debug_path", NULL, OUT_STRING, out_cstr_if(object.debug_file), OUT_DETAIL)        \
	X("refused", NULL, OUT_STRING, out_cstr_if(object.refused), OUT_DETAIL)              \
	X("shell_command", "TO-GET-IT", OUT_STRING, out_cstr_if(text_get(&command)), OUT_DETAIL)

static struct ebt_error *put_object(struct modules_view *v, uint32_t number)
{
	const struct module_stat *stat = module_model_stat(v->model, number);
	_cleanup_text_ struct text command = TEXT_INIT;
	struct sym_object object;
	uint64_t frames = 0, named = stat->frames[SYM_OK];
	enum sym_reason why = main_reason(stat);
	struct ebt_error *err = sym_object(v->sym, number, &object);
	bool found;

	if (err)
		return err;
	for (int r = 0; r < SYM_N_REASONS; r++)
		frames += stat->frames[r];
	if (object.anonymous && !frames)
		return NULL;
	found = object.place || object.debug_place;
	if (!object.has_dwarf && !object.debug_place && (found || !named || named < frames))
		add_command(&command, v, &object);
	if (text_error(&command))
		return text_error(&command);
	note_command(v, &command);
	return out_row(v->report->out, 0, OUT_VALUES(MODULES));
}

static struct ebt_error *cmd_modules(struct report *report)
{
	const struct out_table table = OUT_TABLE_OF("rows", MODULES);
	_cleanup_(module_model_destroyp) struct module_model *model = NULL;
	bool used = options_flag(report->options, "used");
	struct modules_view v = { .report = report, .os = "" };
	struct ebt_error *err;
	const char *os = NULL;

	err = ebt_reader_meta(trace_reader(report->trace), "host.os", &os) ?:
	      trace_sym(report->trace, &v.sym) ?:
	      module_model_create(report->trace, v.sym, &model) ?:
	      out_begin(report->out, &table);
	if (err)
		return err;
	v.model = model;
	v.os = os ? os : "";
	for (size_t i = 0; !err && i < sym_n_objects(v.sym); i++) {
		if (!used || module_model_stat(model, i)->samples)
			err = put_object(&v, i);
	}
	if (!err)
		err = out_end(report->out);
	if (!err)
		put_remedy(&v);
	text_deinit(&v.packages);
	return err;
}

static const struct option_def modules_options[] = {
	{ "used", OPTION_FLAG, NULL, "only those that stacks lead through", NULL },
	{ NULL, 0, NULL, NULL, NULL },
};

const struct command command_modules = {
	.name = "modules",
	.fn = cmd_modules,
	.flags = COMMAND_NO_INTERVALS,
	.summary = "mapped files: what of them is here, and how to get the rest",
	.elsewhere = "symbols buildid-list",
	.help = "Each file that a process had mapped, by path and build: in how many stacks it "
		"is, how\n"
		"many frames it served and how many of them have a name. FILE is the place where "
		"it was\n"
		"found, or why it was not; DEBUG-INFO the same for lines and inlined functions. "
		"Places:\n"
		"trace (it travels in the trace), cache, debug-dir, root, sysroot, path (where it "
		"was on\n"
		"the recorded machine), container (by the mount tables of the trace), system\n"
		"(/usr/lib/debug), debuginfod. `names only`: no file was found, but names are in "
		"the\n"
		"trace, as `ebreport bundle` puts them there, or in the cache.\n"
		"\n"
		"--json and --csv have the paths, too; `refused` is a file that was there but is "
		"another\n"
		"build, and `match` says what the file was recognised by.\n"
		"\n"
		"  ebreport modules --used t.ebt\n"
		"  ebreport modules --debuginfod=https://debuginfod.elfutils.org t.ebt\n"
		"  ebreport modules --root web=/mnt/web t.ebt\n",
	.options = modules_options,
};
