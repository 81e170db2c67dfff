/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document of a page. Its policy lets the style and the script pass by their hashes, and
 * nothing else: no other script, no picture from elsewhere, no connection. All that comes from the
 * trace is in elements that a browser does not run, as JSON without markup or as base64.
 */
#include "report/page/page.h"

#include "report/page.html.inc"

#define POLICY                                                                               \
	"default-src 'none'; script-src '" PAGE_SCRIPT_HASH "'; style-src '" PAGE_STYLE_HASH \
	"'; img-src data:; base-uri 'none'; form-action 'none'"
static const char policy[] = POLICY;
const char page_served_policy[] = POLICY "; connect-src 'self'; frame-ancestors 'none'";

static struct ebt_error *put_section(FILE *f, const struct page_rows *section, size_t number)
{
	_cleanup_free_ unsigned char *packed = NULL;
	size_t len;
	struct ebt_error *err = page_rows_pack(section, &packed, &len);

	if (err)
		return err;
	fprintf(f, "<script type=\"text/plain\" id=\"s-%zu-%s\">", number, page_rows_name(section));
	page_base64(f, packed, len);
	fputs("</script>\n", f);
	return NULL;
}

static struct ebt_error *put_data(FILE *f, struct page *const *pages, size_t n)
{
	fputs("<script type=\"application/json\" id=\"head\">{\"traces\": [\n", f);
	for (size_t i = 0; i < n; i++) {
		fputs(i ? ",\n" : "", f);
		fwrite(pages[i]->head, 1, pages[i]->head_len, f);
	}
	fputs("]}</script>\n", f);
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < pages[i]->n_sections; k++) {
			const struct page_rows *section = pages[i]->sections[k];
			struct ebt_error *err =
				page_rows_n(section) ? put_section(f, section, i) : NULL;

			if (err)
				return err;
		}
	}
	return NULL;
}

static void put_begin(FILE *f)
{
	fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
	      f);
}

static void put_body(FILE *f)
{
	fprintf(f, "<title>ebreport</title>\n<style>%s</style>\n</head>\n<body>\n%s", page_style,
		page_body);
}

static void put_end(FILE *f)
{
	fprintf(f, "<script type=\"module\">%s</script>\n</body>\n</html>\n", page_script);
}

struct ebt_error *page_write(FILE *f, struct page *const *pages, size_t n)
{
	struct ebt_error *err;

	put_begin(f);
	fprintf(f, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", policy);
	put_body(f);
	err = put_data(f, pages, n);
	if (!err)
		put_end(f);
	return err;
}

void page_write_served(FILE *f, const char *kind)
{
	put_begin(f);
	fputs("<link rel=\"icon\" href=\"data:,\">\n", f); /* else a browser asks for one */
	put_body(f);
	fprintf(f, "<script type=\"application/json\" id=\"head\">{\"server\": \"%s\"}</script>\n",
		kind);
	put_end(f);
}

static void put_length(FILE *f, size_t len)
{
	const unsigned char bytes[] = { (unsigned char)len, (unsigned char)(len >> 8),
					(unsigned char)(len >> 16), (unsigned char)(len >> 24) };

	fwrite(bytes, 1, sizeof(bytes), f);
}

struct ebt_error *page_write_data(FILE *f, const struct page *page)
{
	static const char begin[] = "{\"traces\": [", end[] = "]}";

	put_length(f, strlen(begin) + page->head_len + strlen(end));
	fputs(begin, f);
	fwrite(page->head, 1, page->head_len, f);
	fputs(end, f);
	for (size_t i = 0; i < page->n_sections; i++) {
		_cleanup_free_ unsigned char *packed = NULL;
		struct ebt_error *err;
		size_t len;

		if (!page_rows_n(page->sections[i]))
			continue;
		err = page_rows_pack(page->sections[i], &packed, &len);
		if (err)
			return err;
		if (len > UINT32_MAX)
			return ebt_error_create(EBT_ERR_LIMIT, "section %s is too large",
						page_rows_name(page->sections[i]));
		put_length(f, len);
		fwrite(packed, 1, len, f);
	}
	return NULL;
}
