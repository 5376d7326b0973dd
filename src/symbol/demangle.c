/* demangle.c - see demangle.h. */
#include "symbol/demangle.h"
#include "base/mem.h"

#include <ctype.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A longer name is not worth the time that a hostile one could take. */
enum { MANGLED_MAX = 32768 };

typedef char *demangler(const char *name, char *buffer, size_t *size, int *status);

static struct {
	pthread_once_t once;
	demangler *demangle;
} cxx = {.once = PTHREAD_ONCE_INIT};

static void load_cxx(void)
{
	/* Never closed: other threads hold the function. */
	void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		library = dlopen("libc++abi.so.1", RTLD_NOW | RTLD_LOCAL);
	if (library)
		*(void **)&cxx.demangle = dlsym(library, "__cxa_demangle");
}

static char *cxx_name(const char *symbol)
{
	pthread_once(&cxx.once, load_cxx);
	int status = 0;
	return cxx.demangle ? cxx.demangle(symbol, NULL, NULL, &status) : NULL;
}

char *demangle_clean(const char *text, size_t length, size_t most)
{
	struct str out = {0};
	for (size_t at = 0; at < length && text[at];) {
		size_t bytes = str_utf8_length(text + at, length - at);
		bool plain = bytes && !(bytes == 1 && iscntrl((unsigned char)text[at]));
		size_t room = plain ? bytes : 3;
		if (out.len + room > most)
			break;
		str_append_bytes(&out, plain ? text + at : "\xEF\xBF\xBD", room);
		at += bytes ? bytes : 1;
	}
	return str_take(&out);
}

static bool all_digits(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isdigit((unsigned char)text[i]))
			return false;
	return length > 0;
}

/* Whether the text from a dot on is one of the compiler's words, with or without a number after it. */
static bool is_suffix(const char *text, size_t length)
{
	static const char *const words[] = {".cold", ".part",  ".constprop",  ".isra",     ".lto_priv",
					    ".llvm", ".clone", ".localalias", ".unlikely", ".startup"};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t word = strlen(words[i]);
		if (length >= word && memcmp(text, words[i], word) == 0 &&
		    (length == word || (text[word] == '.' && all_digits(text + word + 1, length - word - 1))))
			return true;
	}
	return false;
}

/* Where the last of the compiler's suffixes begins; `length` where there is none. */
static size_t suffix_start(const char *symbol, size_t length)
{
	for (size_t at = length; at-- > 1;)
		if (symbol[at] == '.' && is_suffix(symbol + at, length - at))
			return at;
	return length;
}

static size_t plain_length(const char *symbol, size_t length)
{
	const char *version = memchr(symbol, '@', length);
	if (version && version > symbol)
		length = (size_t)(version - symbol);
	for (;;) {
		size_t cut = suffix_start(symbol, length);
		if (cut == length)
			return length;
		length = cut;
	}
}

char *demangle_name(const char *symbol)
{
	size_t length = plain_length(symbol, strnlen(symbol, MANGLED_MAX));
	struct str rust = {0};
	char *name = NULL;
	if (rust_v0_name(symbol, length, &rust) || rust_legacy_name(symbol, length, &rust)) {
		name = demangle_clean(str_text(&rust), rust.len, DEMANGLE_NAME_MAX);
	} else if (length > 2 && length < MANGLED_MAX && symbol[0] == '_' && symbol[1] == 'Z') {
		char *plain = mem_strndup(symbol, length);
		char *cxx_text = cxx_name(plain);
		if (cxx_text)
			name = demangle_clean(cxx_text, strlen(cxx_text), DEMANGLE_NAME_MAX);
		free(cxx_text);
		free(plain);
	}
	str_fini(&rust);
	return name && name[0] ? name : (free(name), demangle_clean(symbol, length, DEMANGLE_NAME_MAX));
}
