/* md_page.c - see md_page.h. */
#include "render/md_page.h"

size_t md_page_rows(const struct md_page *page, size_t usual, size_t there)
{
	size_t most = page->top ? page->top : usual;
	return there < most ? there : most;
}

void md_page_sentence(const struct md_page *page, const char *before, const char *words)
{
	if (!*words)
		return;
	str_appendf(page->out, "\n%s", before);
	page->put_escaped(page->out, words);
	str_append(page->out, ".\n");
}
