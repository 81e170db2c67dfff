/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks as a picture (SVG): a lane for each group and name, time from left to right. Names and
 * messages are of strangers: they are escaped, and the script, which zooms, is the same in every
 * picture.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "format/base/cleanup.h"
#include "report/base/names.h"
#include "report/base/text.h"
#include "report/marks/arrange.h"
#include "report/marks/views.h"
#include "report/marks/lanes.h"
#include "report/stacks/out_svg.h"

#define WIDTH	     1400
#define LEFT	     250 /* of it, for the names of lanes */
#define PAD	     12
#define PLOT	     (WIDTH - LEFT - PAD)
#define ROW	     14
#define GAP	     5	/* between lanes */
#define HEAD	     20 /* the line of a group */
#define AXIS	     22
#define TICKS	     12
#define CHARACTER    6.2  /* width of one in a box, in pixels */
#define FEW	     8	  /* characters of a longer text that say something */
#define THIN	     3	  /* boxes without an edge, in pixels */
#define NARROWEST    0.7  /* that a box is drawn */
#define PALEST	     0.25 /* opacity of a box that is nearly empty */
#define INSTANT	     1.6  /* width of a tick */

#define MAX_LANES    120
#define MAX_ROWS     12
#define MAX_ITEMS    30000
#define MAX_LABEL    34 /* columns of the name of a lane */
#define MAX_LINE     190
#define MAX_TITLE    120
#define MAX_INSIDE   60	 /* columns of a message in a box */
#define MAX_TEXT     300 /* columns of a message in a tooltip */
#define N_COLORS     10
#define MAX_WARNINGS 6

struct chart {
	FILE *f;
	struct report *report;
	const struct marks *marks;
	const struct names *names;
	const struct marks_lanes *lanes;
	unsigned int y[MAX_LANES];     /* where each lane begins */
	unsigned int color[MAX_LANES]; /* by lane: of its group */
	unsigned int top, height;
	uint64_t from, to;
	const char *const *warnings;
	size_t n_warnings;
	struct text text; /* scratch */
};

static const struct mark *mark_at(const void *marks, size_t i)
{
	return marks_at(marks, i);
}

static const struct mark_name *name_at(const void *marks, uint32_t name)
{
	return marks_name(marks, name);
}

static double x_of(const struct chart *c, uint64_t time)
{
	return LEFT + PLOT * ((double)(time - c->from) / (double)(c->to - c->from));
}

static const struct mark_name *lane_name(const struct chart *c, uint32_t lane)
{
	return marks_name(c->marks, c->lanes->lanes[lane].name);
}

static bool begins_group(const struct chart *c, uint32_t lane)
{
	return !lane || lane_name(c, lane)->group_id != lane_name(c, lane - 1)->group_id;
}

/* Where the lanes are, and how high that makes the picture. */
static void lay_out(struct chart *c)
{
	unsigned int lines = 1 + (c->lanes->merged > 0) + (c->lanes->left_out > 0);
	unsigned int color = 0, y;

	c->top = 34 + 16 * (lines + (unsigned int)c->n_warnings) + 8 + AXIS;
	y = c->top;
	for (uint32_t i = 0; i < c->lanes->n_lanes; i++) {
		if (begins_group(c, i)) {
			y += HEAD;
			color += i > 0;
		}
		c->color[i] = color % N_COLORS;
		c->y[i] = y;
		y += c->lanes->lanes[i].rows * ROW + GAP;
	}
	c->height = y + AXIS + 2 * PAD;
}

/* --- axis --- */

/* 1, 2 or 5 times a power of ten of ns. */
static double choose_step(double length)
{
	double step = pow(10, floor(log10(length / TICKS)));

	for (int i = 0; i < 3 && length / step > TICKS; i++)
		step *= i == 1 ? 2.5 : 2;
	return step < 1 ? 1 : step;
}

static void write_tick(const struct chart *c, double at, double step)
{
	const double start = (double)(c->from - trace_start_ns(c->report->trace));
	const double x = LEFT + PLOT * (at - start) / (double)(c->to - c->from);
	const int digits = step < 1e9 ? (int)ceil(9 - log10(step)) : 0;
	const unsigned int bottom = c->height - AXIS - 2 * PAD;

	fprintf(c->f,
		"<line class=\"grid\" x1=\"%.2f\" y1=\"%u\" x2=\"%.2f\" y2=\"%u\"/>"
		"<text class=\"tick\" x=\"%.2f\" y=\"%u\">%.*f s</text>"
		"<text class=\"tick\" x=\"%.2f\" y=\"%u\">%.*f s</text>\n",
		x, c->top, x, bottom, x, c->top - 6, digits, at / 1e9, x, bottom + 14, digits,
		at / 1e9);
}

/* Seconds since the recording began, as in the tables. */
static void write_axis(const struct chart *c)
{
	const double start = (double)(c->from - trace_start_ns(c->report->trace));
	const double length = (double)(c->to - c->from), step = choose_step(length);
	const double first = ceil(start / step);

	for (int i = 0; i <= 2 * TICKS && (first + i) * step <= start + length; i++)
		write_tick(c, (first + i) * step, step);
}

/* --- lanes --- */

static void write_lane(struct chart *c, uint32_t i)
{
	const struct marks_lane *lane = &c->lanes->lanes[i];
	const struct mark_name *name = lane_name(c, i);

	if (begins_group(c, i))
		fprintf(c->f,
			"<rect class=\"g%u\" x=\"%d\" y=\"%u\" width=\"10\" height=\"10\"/>"
			"<text class=\"group\" x=\"%d\" y=\"%u\">%s</text>\n",
			c->color[i], PAD, c->y[i] - 13, PAD + 15, c->y[i] - 4,
			svg_clipped(&c->text, name->group[0] ? name->group : "(no group)",
				    MAX_LABEL));
	fprintf(c->f,
		"<rect class=\"band\" x=\"%d\" y=\"%u\" width=\"%d\" height=\"%u\"/>"
		"<text class=\"lane\" x=\"%d\" y=\"%u\">",
		LEFT, c->y[i], PLOT, lane->rows * ROW, LEFT - 8, c->y[i] + ROW - 3);
	fprintf(c->f, "%s", svg_clipped(&c->text, name->name, MAX_LABEL - 8));
	text_clear(&c->text);
	text_printf(&c->text, "%" PRIu64 " %s", lane->count,
		    text_plural(lane->count, "mark", "marks"));
	if (lane->sum_ns) {
		text_cstr(&c->text, ", together ");
		text_duration(&c->text, lane->sum_ns);
	}
	if (lane->hidden)
		text_printf(&c->text, "; %" PRIu64 " of them %s in boxes of others", lane->hidden,
			    text_plural(lane->hidden, "is", "are"));
	fprintf(c->f, " <tspan class=\"count\">%" PRIu64 "</tspan><title>%s</title></text>\n",
		lane->count, text_get(&c->text));
}

/* --- marks --- */

static void add_clipped(struct text *to, const char *s, size_t len)
{
	_cleanup_text_ struct text whole = TEXT_INIT, part = TEXT_INIT;

	text_add(&whole, s, len);
	text_cstr(to, svg_clipped(&part, text_get(&whole), MAX_TEXT));
}

static void add_start(const struct chart *c, struct text *text, const struct mark *mark)
{
	const uint64_t start = trace_start_ns(c->report->trace);
	const uint64_t at = mark->start > start ? mark->start - start : 0;

	text_printf(text, "\nat %" PRIu64 ".%06" PRIu64 " s", at / 1000000000,
		    at % 1000000000 / 1000);
	if (mark->kind == MARK_SPAN) {
		text_cstr(text, ", ");
		text_duration(text, mark_duration(mark));
	}
	if (mark->open & MARK_NO_BEGIN)
		text_cstr(text, ", its beginning is not known");
	if (mark->open & (MARK_NO_END | MARK_CUT))
		text_cstr(text, ", its end is not known");
}

/* What is said of an item: of several marks, of the longest. */
static void make_tooltip(struct chart *c, const struct marks_item *item, struct text *text)
{
	const struct mark *mark = marks_at(c->marks, item->mark);
	const struct mark_name *name = marks_name(c->marks, mark->name);
	struct ebt_str message = marks_message(c->marks, mark);

	if (name->group[0]) {
		add_clipped(text, name->group, strlen(name->group));
		text_addc(text, '/');
	}
	add_clipped(text, name->name, strlen(name->name));
	if (item->count > 1) {
		text_printf(text, "\n%" PRIu64 " marks", item->count);
		if (item->sum_ns) {
			text_cstr(text, ", together ");
			text_duration(text, item->sum_ns);
		}
		text_cstr(text, item->span ? "\nthe longest of them:" : "\nthe first of them:");
	}
	if (message.len) {
		text_addc(text, '\n');
		add_clipped(text, message.data, message.len);
	}
	add_start(c, text, mark);
	if (mark->task) {
		struct ebt_str comm = text_comm(names_task(c->names, mark->task));

		text_addc(text, '\n');
		text_xml(text, comm);
		text_printf(text, " (%" PRIu32 "/%" PRIu32 ")", mark->task->pid, mark->task->tid);
	}
}

/* The message, else how long it is: as much of it as fits into the box. The script fits it anew. */
static void write_inside(struct chart *c, const char *label, double x, double width, unsigned int y)
{
	const size_t len = strlen(label), fits = width > 8 ? (size_t)((width - 6) / CHARACTER) : 0;

	fprintf(c->f, "<text class=\"inside\" x=\"%.2f\" y=\"%u\">%s</text>", x + 3, y + ROW - 4,
		fits < FEW && fits < len ? "" : svg_clipped(&c->text, label, fits));
}

/* How much of a box of several spans is spans. */
static double share_of(const struct chart *c, const struct marks_item *item)
{
	const double length =
		fmax((double)(item->end - item->start), 2 * (double)c->lanes->narrow_ns);
	const double share = (double)item->sum_ns / fmax(length, 1);

	return item->count == 1 || !item->span || share > 1 ? 1 : fmax(share, PALEST);
}

static double width_of(const struct marks_item *item)
{
	return item->span ? NARROWEST : INSTANT;
}

/* Where it is, for the script. */
static void write_data(struct chart *c, const struct marks_item *item, const char *label)
{
	fprintf(c->f,
		" data-n=\"%" PRIu64 "\" data-s=\"%" PRIu64 "\" data-e=\"%" PRIu64
		"\" data-w=\"%.1f\"",
		item->count, item->start - c->from, item->end - c->from, width_of(item));
	if (label)
		fprintf(c->f, " data-t=\"%s\"", svg_clipped(&c->text, label, MAX_INSIDE));
}

static void write_item(struct chart *c, const struct marks_item *item)
{
	const struct mark *mark = marks_at(c->marks, item->mark);
	const struct ebt_str message = marks_message(c->marks, mark);
	const bool labelled = item->count == 1 && item->span;
	const unsigned int y = c->y[item->lane] + item->row * ROW;
	_cleanup_text_ struct text tooltip = TEXT_INIT, label = TEXT_INIT;
	double x = x_of(c, item->start), width = x_of(c, item->end) - x;

	width = width < width_of(item) ? width_of(item) : width;
	if (x + width > LEFT + PLOT)
		x = LEFT + PLOT - width;
	make_tooltip(c, item, &tooltip);
	if (labelled && message.len)
		text_add(&label, message.data, message.len);
	else if (labelled)
		text_duration(&label, mark_duration(mark));
	if (text_error(&tooltip) || text_error(&label))
		c->text.failed = true;
	fprintf(c->f, "<g class=\"%s%s%s\"", item->count > 1 ? "many" : "one",
		mark->open && item->count == 1 ? " open" : "", width < THIN ? " thin" : "");
	write_data(c, item, labelled ? text_get(&label) : NULL);
	fprintf(c->f,
		"><title>%s</title><rect class=\"%sg%u\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" "
		"height=\"%d\" fill-opacity=\"%.2f\"/>",
		text_get(&tooltip), item->span ? "" : "instant ", c->color[item->lane], x, y + 1,
		width, ROW - 2, share_of(c, item));
	if (labelled)
		write_inside(c, text_get(&label), x, width, y);
	fputs("</g>\n", c->f);
}

/* --- the picture --- */

static unsigned int write_line(struct chart *c, const char *class, unsigned int y, const char *s)
{
	fprintf(c->f, "<text class=\"%s\" x=\"%d\" y=\"%u\">%s</text>\n", class, WIDTH / 2, y,
		svg_clipped(&c->text, s, MAX_LINE));
	return y + 16;
}

static void write_lines(struct chart *c)
{
	const struct marks_lanes *lanes = c->lanes;
	_cleanup_text_ struct text line = TEXT_INIT;
	unsigned int y = 50;

	if (lanes->n_lanes) {
		text_printf(&line, "%zu %s in ", marks_n(c->marks),
			    text_plural(marks_n(c->marks), "mark", "marks"));
		text_duration(&line, c->to - c->from);
	} else {
		text_cstr(&line, "No marks: there is nothing to show.");
	}
	y = write_line(c, "line", y, text_get(&line));
	if (lanes->merged) {
		text_clear(&line);
		text_printf(&line, "%" PRIu64 " of them are shorter than ", lanes->merged);
		text_duration(&line, lanes->narrow_ns);
		text_printf(&line,
			    ", or more than %d at a time, and share boxes: --from and --to show "
			    "more",
			    MAX_ROWS);
		y = write_line(c, "line", y, text_get(&line));
	}
	if (lanes->left_out) {
		text_clear(&line);
		text_printf(&line,
			    "%" PRIu64 " of them, of %" PRIu32 " other %s, %s left out: "
			    "--group and --name choose",
			    lanes->left_out, lanes->n_left_lanes,
			    text_plural(lanes->n_left_lanes, "name", "names"),
			    text_plural(lanes->left_out, "is", "are"));
		y = write_line(c, "warning", y, text_get(&line));
	}
	for (size_t i = 0; i < c->n_warnings; i++)
		y = write_line(c, "warning", y, c->warnings[i]);
	if (text_error(&line))
		c->text.failed = true;
}

static void write_picture(struct chart *c, const char *title)
{
	static const char style[] =
#include "report/chart.css.inc"
		;
	static const char script[] =
#include "report/chart.js.inc"
		;

	fprintf(c->f,
		"<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" version=\"1.1\" width=\"%d\" "
		"height=\"%u\" viewBox=\"0 0 %d %u\" data-left=\"%d\" data-plot=\"%d\" "
		"data-top=\"%u\" data-bottom=\"%u\" data-length=\"%" PRIu64 "\" "
		"data-offset=\"%" PRIu64 "\">\n<title>%s</title>\n<style>\n%s</style>\n"
		"<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n",
		WIDTH, c->height, WIDTH, c->height, LEFT, PLOT, c->top, c->height - AXIS - 2 * PAD,
		c->to - c->from, c->from - trace_start_ns(c->report->trace),
		svg_clipped(&c->text, title, MAX_TITLE), style);
	fprintf(c->f, "<text class=\"title\" x=\"%d\" y=\"26\">%s</text>\n", WIDTH / 2,
		svg_clipped(&c->text, title, MAX_TITLE));
	write_lines(c);
	fputs("<g id=\"lanes\">\n", c->f);
	for (uint32_t i = 0; i < c->lanes->n_lanes; i++)
		write_lane(c, i);
	fputs("</g>\n<g id=\"axis\">\n", c->f);
	if (c->lanes->n_lanes)
		write_axis(c);
	fputs("</g>\n<g id=\"marks\">\n", c->f);
	for (size_t i = 0; i < c->lanes->n_items; i++)
		write_item(c, &c->lanes->items[i]);
	/* Only the script can do it, and shows it. */
	fprintf(c->f,
		"</g>\n<text id=\"help\" class=\"hint\" style=\"display:none\" x=\"%d\" y=\"%u\">"
		"Ctrl-wheel, + and - zoom; drag and arrow keys move; a double click fills the "
		"picture with a mark; Escape shows all</text>\n",
		WIDTH / 2, c->height - 6);
	if (c->lanes->n_lanes)
		fprintf(c->f, "<script><![CDATA[\n%s]]></script>\n", script);
	fputs("</svg>\n", c->f);
}

struct ebt_error *marks_chart(struct report *report, const struct marks *marks)
{
	const struct marks_source source = { mark_at, name_at, marks, marks_n(marks),
					     marks_n_names(marks) };
	struct marks_lanes_options options = {
		.width = PLOT, .max_lanes = MAX_LANES, .max_rows = MAX_ROWS, .max_items = MAX_ITEMS
	};
	_cleanup_(marks_lanes_destroyp) struct marks_lanes *lanes = NULL;
	_cleanup_text_ struct text title = TEXT_INIT;
	struct chart c = { .f = out_file(report->out), .report = report, .marks = marks };
	const char *command;
	struct ebt_error *err;

	marks_extent(report->trace, marks, &options.from, &options.to);
	err = trace_names(report->trace, &c.names);
	if (err)
		return err;
	err = marks_lanes_create(&source, &options, &lanes);
	if (err)
		return err;
	err = ebt_reader_meta(trace_reader(report->trace), "ebrec.command_line", &command);
	if (err)
		return err;
	err = trace_warnings(report->trace, &c.warnings, &c.n_warnings);
	if (err)
		return err;
	if (c.n_warnings > MAX_WARNINGS)
		c.n_warnings = MAX_WARNINGS;
	text_cstr(&title, "Marks");
	if (command)
		text_printf(&title, ": %s", command);
	c.lanes = lanes;
	c.from = options.from;
	c.to = options.to;
	lay_out(&c);
	write_picture(&c, text_get(&title));
	err = text_error(&c.text);
	text_deinit(&c.text);
	return err ? err : text_error(&title);
}
