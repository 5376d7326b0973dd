/* http.c - see http.h. */
#include "serve/http.h"

#include <dlfcn.h>
#include <stdlib.h>

int http_load(struct http *out, struct err *err)
{
	const char *chosen = getenv("PITOT_MICROHTTPD");
	void *library = dlopen(chosen && chosen[0] ? chosen : "libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return err_set(err, ERR_UNAVAILABLE,
			       "libmicrohttpd cannot be loaded: %s (Debian has it in libmicrohttpd12)", dlerror());
#define HTTP_FIND(name)                                                                                                \
	out->name = (__typeof__(out->name))dlsym(library, "MHD_" #name);                                               \
	if (!out->name)                                                                                                \
		return err_set(err, ERR_UNAVAILABLE, "the libmicrohttpd found here lacks MHD_" #name);
	HTTP_FUNCTIONS(HTTP_FIND)
#undef HTTP_FIND
	return 0;
}
