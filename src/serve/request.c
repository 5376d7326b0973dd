/* request.c - see request.h. */
#include "serve/request.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
	HTTP_OK = 200,
	HTTP_MOVED = 301,
	HTTP_FORBIDDEN = 403,
	HTTP_NOT_FOUND = 404,
	HTTP_METHOD = 405,
	HTTP_ELSEWHERE = 421,
	HTTP_PORT = 80
};

static const struct {
	const char *path; /* behind the token */
	enum serve_route route;
} routes[] = {
	{"", SERVE_FOLDER},      {"/", SERVE_PAGE},         {"/api/runs", SERVE_RUNS},
	{"/api/run", SERVE_RUN}, {"/api/diff", SERVE_DIFF}, {"/api/trend", SERVE_TREND},
};

static const char *const own_names[] = {"127.0.0.1", "localhost", "[::1]"};

/* Takes as long whichever byte is wrong. */
static bool is_token(const char *text, const char *token)
{
	unsigned difference = 0;
	for (size_t i = 0; i < SERVE_TOKEN_SIZE - 1; i++) {
		if (!text[i])
			return false;
		difference |= (unsigned)(text[i] ^ token[i]);
	}
	return difference == 0;
}

/* Of the usual port browsers say nothing. */
static bool is_own_host(const struct serve_place *place, const char *host)
{
	char name[64];
	for (size_t i = 0; i < sizeof(own_names) / sizeof(own_names[0]); i++) {
		snprintf(name, sizeof(name), "%s:%u", own_names[i], place->port);
		if (strcasecmp(host, name) == 0 || (place->port == HTTP_PORT && strcasecmp(host, own_names[i]) == 0))
			return true;
	}
	return false;
}

static bool is_own_origin(const struct serve_place *place, const char *origin)
{
	static const char scheme[] = "http://";
	return strncmp(origin, scheme, sizeof(scheme) - 1) == 0 && is_own_host(place, origin + sizeof(scheme) - 1);
}

/* "none" is an address that a person typed or a bookmark. */
static bool is_own_site(const char *site)
{
	return strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}

static struct serve_verdict refuse(unsigned status, const char *why)
{
	return (struct serve_verdict){.status = status, .why = why};
}

static struct serve_verdict find_route(const char *path)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (strcmp(path, routes[i].path) != 0)
			continue;
		unsigned status = routes[i].route == SERVE_FOLDER ? HTTP_MOVED : HTTP_OK;
		return (struct serve_verdict){.status = status, .route = routes[i].route};
	}
	return refuse(HTTP_NOT_FOUND, "there is nothing at this address");
}

struct serve_verdict serve_judge(const struct serve_place *place, const struct serve_request *request)
{
	if (!request->host || !is_own_host(place, request->host))
		return refuse(HTTP_ELSEWHERE,
			      "this server answers to its own address only: the one that pitot serve printed");
	/* One answer for a wrong token and for no token, so that nothing can be learnt by trying. */
	if (request->path[0] != '/' || !is_token(request->path + 1, place->token))
		return refuse(HTTP_NOT_FOUND, "there is nothing at this address: pitot serve prints the one to open");
	if ((request->origin && !is_own_origin(place, request->origin)) ||
	    (request->site && !is_own_site(request->site)))
		return refuse(HTTP_FORBIDDEN, "pages of other sites may not ask this server");
	if (strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0)
		return refuse(HTTP_METHOD, "this server only shows: GET and HEAD");
	return find_route(request->path + SERVE_TOKEN_SIZE);
}

bool serve_is_run_name(const char *name)
{
	static const char suffix[] = ".pitot";
	size_t length = strlen(name);
	return length > sizeof(suffix) - 1 && name[0] != '.' && !strchr(name, '/') &&
	       strcmp(name + length - (sizeof(suffix) - 1), suffix) == 0;
}
