/* perf_event.c - see perf_event.h. */
#include "probe/perf_event.h"
#include "base/file.h"
#include "base/str.h"
#include "probe/kernel_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_event_open_member(struct perf_event_attr *attr, pid_t pid, int cpu, int leader)
{
	attr->size = sizeof(*attr);
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 ? (int)fd : -errno;
}

int perf_event_open_fd(struct perf_event_attr *attr, pid_t pid, int cpu)
{
	return perf_event_open_member(attr, pid, cpu, -1);
}

int perf_event_paranoid(void)
{
	char text[32];
	int64_t level;
	if (!kernel_text(text, sizeof(text), "%s/sys/kernel/perf_event_paranoid", file_procfs()) ||
	    !str_to_int64(text, &level))
		return PERF_PARANOID_UNKNOWN;
	return (int)level;
}

void perf_event_words(int error, int paranoid, char *out, size_t size)
{
	switch (error) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
	case ENXIO:
		snprintf(out, size, "this machine or virtual machine has no hardware counters");
		return;
	case ENOSYS:
		snprintf(out, size, "this kernel was built without perf events");
		return;
	case EACCES:
		if (paranoid == PERF_PARANOID_UNKNOWN)
			snprintf(out, size, "permission denied by the kernel (see pitot doctor)");
		else
			snprintf(out, size, "permission denied: kernel.perf_event_paranoid is %d (see pitot doctor)",
				 paranoid);
		return;
	case EPERM:
		snprintf(out, size,
			 "perf_event_open is forbidden here (a container's seccomp filter, or no CAP_PERFMON)");
		return;
	default:
		snprintf(out, size, "perf_event_open failed: %s", strerror(error));
	}
}

const char *perf_event_fix(int error)
{
	if (error == EACCES)
		return "sudo sysctl kernel.perf_event_paranoid=1";
	if (error == EPERM)
		return "start the container with --cap-add PERFMON, or run as root outside a container";
	return NULL;
}
