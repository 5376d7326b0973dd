/*
 * page_html.c - the page as one HTML file: policy, style, the model compressed, script. See page.h.
 *
 * Style and script come from web/ by way of tools/build_page, which writes $(BUILD)/gen/page.inc:
 *
 *	page_missing   why there is no page, or ""
 *	page_style     text of the only <style>, page_script that of the only <script> which runs
 *	PAGE_HASHES    "script-src 'sha256-…'; style-src 'sha256-…'; "
 *
 * The model stands in a <script> of a type that no browser runs, as base64 of a zlib stream, so that no byte of it can end
 * the element; the page inflates it with DecompressionStream.
 */
#include "base/mem.h"
#include "render/page.h"

#include "page.inc"

#include <stdlib.h>
#include <zlib.h>

#define POLICY_BASE "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "

static void put_base64(struct str *out, const unsigned char *bytes, size_t count)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < count; i += 3) {
		size_t left = count - i;
		uint32_t group = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				 (left > 2 ? bytes[i + 2] : 0);
		char text[4] = {digits[group >> 18], digits[group >> 12 & 63], left > 1 ? digits[group >> 6 & 63] : '=',
				left > 2 ? digits[group & 63] : '='};
		str_append_bytes(out, text, sizeof(text));
	}
}

static int put_compressed(struct str *out, const char *text, size_t size, struct err *err)
{
	uLongf room = compressBound((uLong)size);
	unsigned char *bytes = mem_alloc(room);
	int code = compress2(bytes, &room, (const Bytef *)text, (uLong)size, 6);
	if (code == Z_OK)
		put_base64(out, bytes, room);
	free(bytes);
	return code == Z_OK ? 0 : err_set(err, ERR_INTERNAL, "the page's data cannot be compressed (zlib %d)", code);
}

bool page_is_built(void)
{
	return page_missing[0] == '\0';
}

const char *page_policy(bool served)
{
	return served ? POLICY_BASE PAGE_HASHES "connect-src 'self'; frame-ancestors 'none'"
		      : POLICY_BASE PAGE_HASHES "connect-src 'none'";
}

int page_html(const char *model, size_t size, struct str *out, struct err *err)
{
	int code = 0;
	if (!page_is_built())
		return err_set(err, ERR_UNAVAILABLE, "this pitot was built without its page: %s", page_missing);
	str_append(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	/* frame-ancestors only works as a header, and a server sends that. */
	if (model)
		str_appendf(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", page_policy(false));
	str_append(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
			"<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" "
			"content=\"no-referrer\">\n<title>pitot</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>");
	str_append(out, page_style);
	str_append(out, "</style>\n</head>\n<body>\n<noscript>This page needs JavaScript. `pitot report RUN` shows the "
			"same run as text.</noscript>\n<div id=\"app\"></div>\n");
	if (model) {
		str_append(out, "<script type=\"application/x-pitot\" id=\"model\">");
		code = put_compressed(out, model, size, err);
		str_append(out, "</script>\n");
	}
	str_append(out, "<script>");
	str_append(out, page_script);
	str_append(out, "</script>\n</body>\n</html>\n");
	return code;
}
