/* check.c - see check.h. */
#include "run/check.h"
#include "run/cgroup.h"
#include "run/exits.h"
#include "run/inject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_groups(struct probe_check_list *out)
{
	static const char what[] = "exact CPU time and peak memory per stage";
	struct cgroup_host *host = NULL;
	struct err err;
	if (cgroup_host_open(0, &host, &err) == 0)
		probe_check_add(out, "cgroup", what, true, cgroup_host_tier(host), NULL);
	else
		probe_check_add(out, "cgroup", what, false, err.text,
				"systemd-run --user --scope -p Delegate=yes pitot run ...   (or run as root)");
	cgroup_host_close(host);
}

static void ignore_record(void *context, const struct exit_record *record)
{
	(void)context;
	(void)record;
}

static void check_exits(struct probe_check_list *out)
{
	static const char what[] = "every process, however short-lived";
	struct exits *exits = NULL;
	struct err err;
	if (exits_open(&exits, ignore_record, NULL, &err) == 0)
		probe_check_add(out, "exit records", what, true, "process connector + taskstats", NULL);
	else
		probe_check_add(out, "exit records", what, false, err.text,
				"sudo setcap cap_net_admin+ep $(command -v pitot)   (or run as root)");
	exits_close(exits);
}

static void check_process_io(struct probe_check_list *out)
{
	bool readable = access("/proc/self/io", R_OK) == 0;
	probe_check_add(out, "process I/O", "bytes read and written, asked for and from the device", readable,
			readable ? "/proc/PID/io" : "/proc/self/io is not there: kernel without task I/O accounting",
			NULL);
}

static void check_agent(struct probe_check_list *out)
{
	static const char what[] = "the library that profiles code (pitot run --cpu)";
	char *library = NULL;
	struct err err;
	if (inject_find_library(false, &library, &err) == 0)
		probe_check_add(out, "agent", what, true, library, NULL);
	else
		probe_check_add(out, "agent", what, false, err.text,
				"make && make install   (or PITOT_AGENT_LIB=/path/to/libpitot-agent.so)");
	free(library);
}

void run_check_all(struct probe_check_list *out)
{
	check_groups(out);
	check_exits(out);
	check_process_io(out);
	check_agent(out);
}
