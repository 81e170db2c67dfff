/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The document of a page. Its policy lets the style and the script pass by their hashes, and
 * nothing else: no other script, no picture from elsewhere, no connection. All that comes from the
 * trace is in elements that a browser does not run, as JSON without markup or as base64.
 */
#include "report/page/page.h"

#include "report/page.html.inc"

static const char policy[] =
	"default-src 'none'; script-src '" PAGE_SCRIPT_HASH "'; style-src '" PAGE_STYLE_HASH
	"'; img-src data:; base-uri 'none'; form-action 'none'";

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

struct ebt_error *page_write(FILE *f, struct page *const *pages, size_t n)
{
	struct ebt_error *err;

	fprintf(f,
		"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<title>ebreport</title>\n<style>",
		policy);
	fprintf(f, "%s</style>\n</head>\n<body>\n%s", page_style, page_body);
	err = put_data(f, pages, n);
	if (!err)
		fprintf(f, "<script type=\"module\">%s</script>\n</body>\n</html>\n", page_script);
	return err;
}
