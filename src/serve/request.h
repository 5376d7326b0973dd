/*
 * request.h - who may ask the server what. Pure: the words of a request in, an answer out.
 *
 * The server listens on loopback, but every program and every web page on the machine can reach that. So a request counts only
 * if it has the token of this server's address, was sent to this server by its own name (a name that somebody's DNS turned
 * into 127.0.0.1 is another), and comes from no other site's page. There is nothing to be changed here: only GET and HEAD.
 *
 *	http://127.0.0.1:PORT/TOKEN/           the page
 *	http://127.0.0.1:PORT/TOKEN/api/…      what it asks for; render/page.h has the list
 */
#ifndef PITOT_SERVE_REQUEST_H
#define PITOT_SERVE_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SERVE_TOKEN_BYTES = 16, SERVE_TOKEN_SIZE = 2 * SERVE_TOKEN_BYTES + 1 };

/* What the server calls itself. */
struct serve_place {
	char token[SERVE_TOKEN_SIZE];
	uint16_t port;
};

/* A request; NULL where it does not say. */
struct serve_request {
	const char *method, *path;
	const char *host, *origin;
	const char *site; /* Sec-Fetch-Site: where a browser says that the request comes from */
};

enum serve_route { SERVE_NOTHING, SERVE_FOLDER, SERVE_PAGE, SERVE_RUNS, SERVE_RUN, SERVE_DIFF, SERVE_TREND };

struct serve_verdict {
	unsigned status; /* of HTTP; 200: go on with the route */
	enum serve_route route;
	const char *why; /* constant; NULL where the status is 200 */
};

struct serve_verdict serve_judge(const struct serve_place *place, const struct serve_request *request);

/* Whether it can be the name of a run file in the history's folder: no path, nothing hidden. */
bool serve_is_run_name(const char *name);

#endif
