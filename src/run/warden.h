/*
 * warden.h - how stages are started, waited for and ended: small processes between pitot and the stage.
 *
 *	pitot                      samples, writes the run file, draws
 *	  └─ nursery               forked while pitot is still small; forks one warden per stage
 *	       └─ warden           subreaper of one stage: every orphan and daemon of the stage ends up as its child
 *	            └─ the stage's main process and all that it starts
 *
 * Why the detour:
 * - A child's ru_maxrss starts at the size of the process that exec'ed it. The nursery is about 1 MiB, so a small stage
 *   is reported as small, whatever pitot itself has grown to.
 * - Rusage and I/O totals travel through each parent's wait. The warden reaps everything, so what it adds up is the
 * whole stage, and one stage only, also when stages run side by side and there is no cgroup.
 * - When pitot dies, even by SIGKILL, the warden sees its control socket close and ends the stage's whole tree.
 *
 * The control socket carries struct warden_message one way and struct warden_command the other (SOCK_SEQPACKET: whole
 * messages, or end of file). The warden moves no bytes through read or write, so that /proc/self/io, which it reports
 * at the end, speaks of the stage alone.
 */
#ifndef PITOT_RUN_WARDEN_H
#define PITOT_RUN_WARDEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct nursery;

/* Call before anything large is loaded or allocated, and before any thread exists. `scratch` (or NULL) is a folder of
 * the run's that the nursery removes when the run is over, also when pitot was killed. */
int nursery_start(const char *scratch, struct nursery **out, struct err *err);
/* Ends the nursery once its wardens are gone. */
void nursery_stop(struct nursery *nursery);
pid_t nursery_pid(const struct nursery *nursery);

struct spawn_request {
	const char *const *argv; /* ends with NULL; argv[0] is looked up in PATH of `env` */
	const char *const *env;  /* ends with NULL */
	const char *cwd;
	int in, out, err; /* descriptors of the stage; stay the caller's */
	int cgroup;       /* directory of a v2 cgroup to be born in, or -1 */
	pid_t group;      /* process group to join; 0: one of its own */
};

/* The stage's process exists afterwards but waits: for WARDEN_BORN, then the caller sends WARDEN_GO. */
int nursery_spawn(struct nursery *nursery, const struct spawn_request *request, int *control, struct err *err);

enum warden_command_kind {
	WARDEN_GO,    /* let the stage exec */
	WARDEN_KILL,  /* signal `signal` to every process of the stage */
	WARDEN_LEAVE, /* stop waiting, leave what runs */
};

struct warden_command {
	enum warden_command_kind kind;
	int signal;
};

enum warden_message_kind {
	WARDEN_BORN,        /* pid, warden */
	WARDEN_STARTED,     /* at_ns: the moment before exec */
	WARDEN_EXEC_FAILED, /* error: errno */
	WARDEN_EXITED,      /* pid, status, usage, at_ns; one per process that the warden reaped */
	WARDEN_DONE,        /* at_ns, io, self_cpu_ns: nothing of the stage is left, or it was told to leave */
	WARDEN_FAILED,      /* error: errno; the stage could not be started */
};

/* Of all processes of the stage that were waited for, by their parents or by the warden. */
struct warden_io {
	bool known;
	uint64_t read_chars, write_chars, read_calls, write_calls, read_bytes, write_bytes;
};

struct warden_message {
	enum warden_message_kind kind;
	pid_t pid;
	pid_t warden;
	int status;
	int error;
	uint64_t at_ns;
	struct rusage usage;
	struct warden_io io;
	uint64_t self_cpu_ns;
};

/* 1: *out is filled. 0: nothing now. -1: the warden is gone. */
int warden_receive(int control, struct warden_message *out);
void warden_send(int control, enum warden_command_kind kind, int signal);

#endif
