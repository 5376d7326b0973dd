/*
 * serve.h - the page over a history, for a browser on this machine.
 *
 * Listens on 127.0.0.1 only and reads only run files that lie in the history's folder; request.h says who is answered. Requests
 * are answered one after the other by one thread of its own: reading a run is short, and a browser waits. What a run file holds
 * goes to the page as JSON; nothing is ever written.
 *
 * An answer about a run carries an ETag of its file, so that a run that has not changed since is not read again.
 */
#ifndef PITOT_SERVE_SERVE_H
#define PITOT_SERVE_SERVE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct serve;

/* `dir` is the history's folder, which need not exist yet. `port` 0: any that is free. ERR_UNAVAILABLE where the port is taken,
 * libmicrohttpd is missing, or pitot was built without the page. Signals that the caller waits for must be blocked by then. */
int serve_start(const char *dir, uint16_t port, struct serve **out, struct err *err);
const char *serve_address(const struct serve *serve); /* "http://127.0.0.1:41234/TOKEN/" */
/* False: an answer is still being made, which nobody will wait for, and nothing was freed: all that is left is to end the process. */
bool serve_stop(struct serve *serve);

#endif
