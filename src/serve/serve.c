/*
 * serve.c - see serve.h: the daemon, its routes, and what stands around every answer.
 *
 * Each connection has a thread, so that a run that takes long to read keeps nobody waiting. Such answers take memory as well:
 * HEAVY_MOST of them are made at a time.
 */
#include "serve/serve.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "render/page.h"
#include "serve/http.h"
#include "serve/request.h"

#include <arpa/inet.h>
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	CONNECTIONS_MOST = 64,
	IDLE_S = 30,
	HEAVY_MOST = 2,
	PATIENCE_MS = 500,
	STEP_MS = 10,
	REQUEST_BYTES = 32768,
	ETAG_SIZE = 80,
	ADDRESS_SIZE = 96
};

struct serve {
	struct http http;
	struct MHD_Daemon *daemon;
	struct serve_place place;
	sem_t heavy;      /* how many more large answers may be begun */
	atomic_int asked; /* requests that are being answered */
	char *dir;
	char address[ADDRESS_SIZE];
};

/* An answer being made. */
struct answer {
	unsigned status;
	const char *type;
	struct str text;
	char etag[ETAG_SIZE];
};

static const char type_json[] = "application/json", type_html[] = "text/html; charset=utf-8";

static const char *query(const struct serve *serve, struct MHD_Connection *connection, const char *name)
{
	return serve->http.lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, name);
}

static void fail(struct answer *answer, unsigned status, const struct err *err)
{
	answer->status = status;
	answer->type = type_json;
	answer->etag[0] = '\0';
	str_clear(&answer->text);
	page_error_json(err, &answer->text);
}

static unsigned status_of(const struct err *err)
{
	switch (err->code) {
	case ERR_USAGE:
	case ERR_INPUT:
		return MHD_HTTP_UNPROCESSABLE_CONTENT;
	case ERR_UNAVAILABLE:
		return MHD_HTTP_NOT_FOUND;
	default:
		return MHD_HTTP_INTERNAL_SERVER_ERROR;
	}
}

/* The path of a run that the page asks for, and what its file is now. A link could lead out of the history. */
static char *run_path(const struct serve *serve, const char *name, struct stat *stat, struct err *err)
{
	if (!name || !serve_is_run_name(name)) {
		err_set(err, ERR_USAGE, "a run is asked for by the name of its file in the history");
		return NULL;
	}
	char *path = mem_printf("%s/%s", serve->dir, name);
	if (lstat(path, stat) == 0 && S_ISREG(stat->st_mode))
		return path;
	err_set(err, ERR_UNAVAILABLE, "the history has no run file '%s' (any more)", name);
	free(path);
	return NULL;
}

/* A run that is being written changes in its write-ahead log first. */
static void append_etag(struct answer *answer, const char *path, const struct stat *file)
{
	struct stat log = {0};
	char *log_path = mem_printf("%s-wal", path);
	if (lstat(log_path, &log) != 0)
		log = (struct stat){0};
	size_t used = strlen(answer->etag);
	snprintf(answer->etag + used, sizeof(answer->etag) - used, "%llx.%llx.%llx.", (unsigned long long)file->st_size,
		 (unsigned long long)file->st_mtim.tv_sec * 1000000000u + (unsigned long long)file->st_mtim.tv_nsec,
		 (unsigned long long)log.st_size + (unsigned long long)log.st_mtim.tv_nsec);
	free(log_path);
}

static bool is_known(const struct serve *serve, struct MHD_Connection *connection, const struct answer *answer)
{
	const char *known = serve->http.lookup_connection_value(connection, MHD_HEADER_KIND, "If-None-Match");
	size_t length = strlen(answer->etag);
	return known && strlen(known) == length + 2 && known[0] == '"' && strncmp(known + 1, answer->etag, length) == 0;
}

static int answer_run(const struct serve *serve, struct MHD_Connection *connection, struct answer *answer,
		      struct err *err)
{
	struct stat stat;
	char *path = run_path(serve, query(serve, connection, "run"), &stat, err);
	if (!path)
		return err->code;
	int code = 0;
	append_etag(answer, path, &stat);
	if (is_known(serve, connection, answer))
		answer->status = MHD_HTTP_NOT_MODIFIED;
	else
		code = page_run_json(path, &answer->text, err);
	free(path);
	return code;
}

static int answer_diff(const struct serve *serve, struct MHD_Connection *connection, struct answer *answer,
		       struct err *err)
{
	struct stat stat_a, stat_b;
	char *a = run_path(serve, query(serve, connection, "a"), &stat_a, err);
	char *b = a ? run_path(serve, query(serve, connection, "b"), &stat_b, err) : NULL;
	int code = b ? 0 : err->code;
	if (b) {
		append_etag(answer, a, &stat_a);
		append_etag(answer, b, &stat_b);
		if (is_known(serve, connection, answer))
			answer->status = MHD_HTTP_NOT_MODIFIED;
		else
			code = page_diff_json(a, b, &answer->text, err);
	}
	free(a);
	free(b);
	return code;
}

static int answer_trend(const struct serve *serve, struct MHD_Connection *connection, struct answer *answer,
			struct err *err)
{
	const char *name = query(serve, connection, "name"), *metric = query(serve, connection, "metric");
	if (!name || !metric)
		return err_set(err, ERR_USAGE, "a trend is asked for with name=RUN&metric=METRIC");
	return page_trend_json(serve->dir, name, metric, query(serve, connection, "stage"), &answer->text, err);
}

/* A run, or two: whatever its file has is read for it. */
static int answer_heavy(struct serve *serve, struct MHD_Connection *connection, enum serve_route route,
			struct answer *answer, struct err *err)
{
	while (sem_wait(&serve->heavy) != 0 && errno == EINTR)
		continue;
	int code = route == SERVE_RUN ? answer_run(serve, connection, answer, err)
				      : answer_diff(serve, connection, answer, err);
	sem_post(&serve->heavy);
	return code;
}

static void make_answer(struct serve *serve, struct MHD_Connection *connection, enum serve_route route,
			struct answer *answer)
{
	struct err err = {0};
	int code = 0;
	answer->type = type_json;
	switch (route) {
	case SERVE_FOLDER:
		str_appendf(&answer->text, "/%s/", serve->place.token);
		return;
	case SERVE_PAGE:
		answer->type = type_html;
		code = page_html(NULL, 0, &answer->text, &err);
		break;
	case SERVE_RUNS:
		code = page_runs_json(serve->dir, &answer->text, &err);
		break;
	case SERVE_RUN:
	case SERVE_DIFF:
		code = answer_heavy(serve, connection, route, answer, &err);
		break;
	case SERVE_TREND:
		code = answer_trend(serve, connection, answer, &err);
		break;
	case SERVE_NOTHING:
		break;
	}
	if (code)
		fail(answer, status_of(&err), &err);
}

/* Headers that hold for every answer: nothing of it may be kept by others, framed, guessed at or led elsewhere. */
static const char *const safe_headers[][2] = {
	{"Cache-Control", "no-cache, private"},          {"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"}, {"Referrer-Policy", "no-referrer"},
	{"X-Content-Type-Options", "nosniff"},           {"X-Frame-Options", "DENY"},
};

static enum MHD_Result send_answer(const struct serve *serve, struct MHD_Connection *connection, struct answer *answer)
{
	const struct http *http = &serve->http;
	char etag[ETAG_SIZE + 2];
	bool moved = answer->status == MHD_HTTP_MOVED_PERMANENTLY;
	/* The response takes the text; an empty one is no text at all. */
	size_t size = moved ? 0 : answer->text.len;
	struct MHD_Response *response =
		http->create_response_from_buffer(size, (void *)str_text(&answer->text), MHD_RESPMEM_MUST_COPY);
	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < sizeof(safe_headers) / sizeof(safe_headers[0]); i++)
		http->add_response_header(response, safe_headers[i][0], safe_headers[i][1]);
	http->add_response_header(response, "Content-Security-Policy", page_policy(true));
	if (moved)
		http->add_response_header(response, "Location", str_text(&answer->text));
	else
		http->add_response_header(response, "Content-Type", answer->type);
	if (answer->etag[0]) {
		snprintf(etag, sizeof(etag), "\"%s\"", answer->etag);
		http->add_response_header(response, "ETag", etag);
	}
	enum MHD_Result sent = http->queue_response(connection, answer->status, response);
	http->destroy_response(response);
	return sent;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *body, size_t *body_bytes,
				  void **seen)
{
	struct serve *serve = context;
	(void)version;
	(void)body;
	/* Once when the head is there, then with the body, which nobody here wants. */
	static char first;
	if (!*seen) {
		*seen = &first;
		return MHD_YES;
	}
	if (*body_bytes) {
		*body_bytes = 0;
		return MHD_YES;
	}
	const struct http *http = &serve->http;
	struct serve_request request = {
		.method = method,
		.path = path,
		.host = http->lookup_connection_value(connection, MHD_HEADER_KIND, "Host"),
		.origin = http->lookup_connection_value(connection, MHD_HEADER_KIND, "Origin"),
		.site = http->lookup_connection_value(connection, MHD_HEADER_KIND, "Sec-Fetch-Site"),
	};
	struct serve_verdict verdict = serve_judge(&serve->place, &request);
	struct answer answer = {.status = verdict.status};
	atomic_fetch_add(&serve->asked, 1);
	if (verdict.why) {
		struct err err;
		err_set(&err, ERR_USAGE, "%s", verdict.why);
		fail(&answer, verdict.status, &err);
	} else {
		make_answer(serve, connection, verdict.route, &answer);
	}
	enum MHD_Result result = send_answer(serve, connection, &answer);
	str_fini(&answer.text);
	atomic_fetch_sub(&serve->asked, 1);
	return result;
}

static int make_token(char out[SERVE_TOKEN_SIZE], struct err *err)
{
	unsigned char bytes[SERVE_TOKEN_BYTES];
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_set_errno(err, ERR_UNAVAILABLE, "the kernel gives no random bytes for the page's address");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* The socket is ours, so that the port is known before the first request can come. Owned by the caller; -1: errno says why. */
static int open_socket(uint16_t port, uint16_t *out)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	socklen_t size = sizeof(address);
	int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(fd, (struct sockaddr *)&address, size) == 0 && listen(fd, SOMAXCONN) == 0 &&
	    getsockname(fd, (struct sockaddr *)&address, &size) == 0) {
		*out = ntohs(address.sin_port);
		return fd;
	}
	int reason = errno;
	if (fd >= 0)
		close(fd);
	errno = reason;
	return -1;
}

static int listen_at(struct serve *serve, uint16_t port, struct err *err)
{
	int fd = open_socket(port, &serve->place.port);
	if (fd < 0)
		return err_set_errno(err, ERR_UNAVAILABLE, "cannot listen on 127.0.0.1, port %u", port);
	serve->daemon =
		serve->http.start_daemon(MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0, NULL, NULL,
					 on_request, serve, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
					 (unsigned)CONNECTIONS_MOST, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
					 MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES, MHD_OPTION_END);
	if (serve->daemon)
		return 0; /* which closes the socket at its end */
	close(fd);
	return err_set(err, ERR_UNAVAILABLE, "libmicrohttpd cannot serve on 127.0.0.1, port %u", port);
}

int serve_start(const char *dir, uint16_t port, struct serve **out, struct err *err)
{
	if (!page_is_built())
		return err_set(err, ERR_UNAVAILABLE,
			       "this pitot was built without the page (it needs Node.js and npm)");
	struct serve *serve = mem_alloc(sizeof(*serve));
	*serve = (struct serve){.dir = mem_strdup(dir)};
	sem_init(&serve->heavy, 0, HEAVY_MOST);
	int code = http_load(&serve->http, err);
	if (!code)
		code = make_token(serve->place.token, err);
	if (!code)
		code = listen_at(serve, port, err);
	if (code) {
		serve_stop(serve);
		return code;
	}
	snprintf(serve->address, sizeof(serve->address), "http://127.0.0.1:%u/%s/", serve->place.port,
		 serve->place.token);
	*out = serve;
	return 0;
}

const char *serve_address(const struct serve *serve)
{
	return serve->address;
}

bool serve_stop(struct serve *serve)
{
	if (!serve)
		return true;
	for (int i = 0; i < PATIENCE_MS / STEP_MS && atomic_load(&serve->asked); i++)
		nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
	if (atomic_load(&serve->asked))
		return false;
	if (serve->daemon)
		serve->http.stop_daemon(serve->daemon);
	sem_destroy(&serve->heavy);
	free(serve->dir);
	free(serve);
	return true;
}
