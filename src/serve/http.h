/*
 * http.h - libmicrohttpd, looked for when it is first wanted.
 *
 * It is not linked: with it come cryptographic libraries whose constructors every start of pitot, and every stage that begins
 * at pitot's size, would pay for.
 */
#ifndef PITOT_SERVE_HTTP_H
#define PITOT_SERVE_HTTP_H

#include "base/err.h"

#include <microhttpd.h>

/* The functions that are used; the types come from the header, so that a wrong argument does not compile. */
#define HTTP_FUNCTIONS(X)                                                                                              \
	X(start_daemon)                                                                                                \
	X(stop_daemon)                                                                                                 \
	X(lookup_connection_value)                                                                                     \
	X(create_response_from_buffer)                                                                                 \
	X(add_response_header)                                                                                         \
	X(queue_response)                                                                                              \
	X(destroy_response)

struct http {
#define HTTP_MEMBER(name) __typeof__(&MHD_##name) name;
	HTTP_FUNCTIONS(HTTP_MEMBER)
#undef HTTP_MEMBER
};

/* ERR_UNAVAILABLE where there is no such library. $PITOT_MICROHTTPD names another file. The library stays. */
int http_load(struct http *out, struct err *err);

#endif
