/* serve.c - pitot serve: the page over the history, for a browser on this machine, until Ctrl-C. */
#include "serve/serve.h"
#include "cmd/cmd.h"
#include "store/history.h"

#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { USUAL_PORT = 7483, PORT_MOST = 65535 };

struct serve_args {
	const char *history;
	int64_t port;
	bool open;
};

static const struct opt serve_options[] = {
	{"port", 'p', OPT_INTEGER, offsetof(struct serve_args, port), "N", "listen there; 0: any free port"},
	{"open", 0, OPT_FLAG, offsetof(struct serve_args, open), NULL, "open it in the browser"},
	{"history", 0, OPT_TEXT, offsetof(struct serve_args, history), "DIR", "the folder with the run files"},
	{0}};

extern const struct cmd cmd_serve;
extern char **environ;

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP};

/* Blocked from here on, in every thread: the main one waits for them. */
static void block_ending(sigset_t *out)
{
	sigemptyset(out);
	for (size_t i = 0; i < sizeof(ending_signals) / sizeof(ending_signals[0]); i++)
		sigaddset(out, ending_signals[i]);
	sigprocmask(SIG_BLOCK, out, NULL);
}

/* The port that was asked for; or the usual one, or any where another program has that. */
static int start(const struct serve_args *args, const char *dir, struct serve **out, struct err *err)
{
	if (args->port >= 0)
		return serve_start(dir, (uint16_t)args->port, out, err);
	int code = serve_start(dir, USUAL_PORT, out, err);
	return code == ERR_UNAVAILABLE ? serve_start(dir, 0, out, err) : code;
}

static void open_browser(const char *address)
{
	char *argv[] = {(char *)"xdg-open", (char *)address, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	pid_t pid;
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 0, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	int code = posix_spawnp(&pid, argv[0], &actions, &attributes, argv, environ);
	if (code)
		fprintf(stderr, "pitot serve: cannot start xdg-open: %s; open the address above by hand\n",
			strerror(code));
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
}

static int serve_until_told(const struct serve_args *args)
{
	char *dir = history_dir(args->history);
	struct serve *serve = NULL;
	struct err err;
	sigset_t ending;
	int number, status = 0;
	block_ending(&ending);
	if (start(args, dir, &serve, &err)) {
		status = cmd_fail(&cmd_serve, &err);
		goto out;
	}
	printf("%s\n", serve_address(serve));
	if (fflush(stdout) != 0) {
		fprintf(stderr, "pitot serve: nobody reads the address; ending\n");
		status = err_exit_status(ERR_IO);
		goto out;
	}
	fprintf(stderr, "serving the runs in %s to browsers on this machine; Ctrl-C ends it\n", dir);
	if (args->open)
		open_browser(serve_address(serve));
	sigwait(&ending, &number);
out:
	free(dir);
	/* Threads that are at work may not find the program taken down around them by exit. Nothing is written here that would be
	 * lost. */
	if (!serve_stop(serve))
		_exit(status);
	return status;
}

static int run_serve(int argc, char **argv)
{
	struct serve_args args = {.port = -1};
	struct opt_texts rest = {0};
	int status = 0;
	if (!cmd_parse(&cmd_serve, argc, argv, &args, &rest, &status))
		goto out;
	if (rest.len)
		status = cmd_usage_error(&cmd_serve, "takes no argument, but got '%s'", rest.items[0]);
	else if (args.port < -1 || args.port > PORT_MOST)
		status = cmd_usage_error(&cmd_serve, "--port is a number from 0 to %d", PORT_MOST);
	else
		status = serve_until_told(&args);
out:
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_serve = {.name = "serve",
			      .summary = "the page over the history, for a browser on this machine",
			      .arguments = "[--port N] [--open]",
			      .options = serve_options,
			      .run = run_serve};
