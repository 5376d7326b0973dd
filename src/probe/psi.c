/*
 * psi.c - pressure stall information: for how long something (some) or everything (full) waited for a core, for storage
 * or for memory. The kernel's running totals in microseconds, so nothing between two readings is missed.
 *
 * Caveat: machine-wide; a stage shares it with whatever else runs. Kernels built with PSI switched off show the files
 * and fail the read, which is why opening reads once.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "probe/kernel_file.h"
#include "probe/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PSI_CPU, PSI_IO, PSI_MEMORY, PSI_FILES };

static const struct {
	const char *name;
	int some, full; /* -1: not kept. "full" of the CPU is 0 by definition at the machine's level */
} psi_files[PSI_FILES] = {
	[PSI_CPU] = {"cpu", CHANNEL_PSI_CPU, -1},
	[PSI_IO] = {"io", CHANNEL_PSI_IO, CHANNEL_PSI_IO_FULL},
	[PSI_MEMORY] = {"memory", CHANNEL_PSI_MEMORY, CHANNEL_PSI_MEMORY_FULL},
};

struct psi_state {
	int fd[PSI_FILES];
};

static const int psi_channels[] = {CHANNEL_PSI_CPU,    CHANNEL_PSI_IO,          CHANNEL_PSI_IO_FULL,
				   CHANNEL_PSI_MEMORY, CHANNEL_PSI_MEMORY_FULL, -1};

static void psi_close(void *opaque)
{
	struct psi_state *state = opaque;
	for (int i = 0; i < PSI_FILES; i++)
		kernel_close(state->fd[i]);
	free(state);
}

static int psi_refuse(const char *name, int error, struct err *err)
{
	bool off = error == ENOENT || error == EOPNOTSUPP;
	return err_set(err, off ? ERR_IO : ERR_UNAVAILABLE, "cannot read %s/pressure/%s: %s", file_procfs(), name,
		       off ? "pressure stall information is off in this kernel (boot it with psi=1)" : strerror(error));
}

static int psi_open(void **out, char *source, struct err *err)
{
	struct psi_state *state = mem_alloc(sizeof(*state));
	for (int i = 0; i < PSI_FILES; i++)
		state->fd[i] = -1;
	int code = 0;
	for (int i = 0; i < PSI_FILES && !code; i++) {
		char text[256];
		state->fd[i] = kernel_open("%s/pressure/%s", file_procfs(), psi_files[i].name);
		ssize_t got = state->fd[i] < 0 ? state->fd[i] : kernel_pread(state->fd[i], text, sizeof(text));
		if (got < 0)
			code = psi_refuse(psi_files[i].name, (int)-got, err);
	}
	if (code) {
		psi_close(state);
		return code;
	}
	snprintf(source, METRIC_SOURCE_SIZE, "/proc/pressure, whole machine");
	*out = state;
	return 0;
}

static void fill(struct probe_frame *frame, int channel, const char *text, const char *line)
{
	uint64_t total_us;
	if (channel < 0 || !kernel_find_u64(text, line, "total=", &total_us))
		return;
	frame->value[channel] = (double)total_us / 1e6;
	frame->known[channel] = true;
}

static void psi_read(void *opaque, struct probe_frame *frame)
{
	struct psi_state *state = opaque;
	for (int i = 0; i < PSI_FILES; i++) {
		char text[256];
		if (kernel_pread(state->fd[i], text, sizeof(text)) <= 0)
			continue;
		fill(frame, psi_files[i].some, text, "some ");
		fill(frame, psi_files[i].full, text, "full ");
	}
}

const struct probe probe_psi = {
	.name = "psi",
	.what = "time lost waiting for a core, storage or memory",
	.channels = psi_channels,
	.least_interval_ns = NS_PER_S / 2, /* totals are exact at the edges; the curve needs no more */
	.open = psi_open,
	.read = psi_read,
	.close = psi_close,
	.fix = "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX psi=1\"' | sudo tee /etc/default/grub.d/psi.cfg && "
	       "sudo update-grub && sudo reboot",
};
