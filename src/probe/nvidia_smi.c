/*
 * nvidia_smi.c - NVIDIA GPUs through the nvidia-smi program, only where its library cannot be loaded.
 *
 * One child for the whole run prints a line per device every half second; its pipe is read without blocking. Opening
 * waits for the first line, because a program that starts and then says that there is no driver is not a source.
 *
 * The child is in a process group of its own, so that Ctrl-C at the terminal does not end it, and dies of a closed
 * pipe where pitot is killed. Whoever waits for any child of pitot may reap it: it is signalled by its pidfd, which
 * never names another process.
 */
#include "base/clock.h"
#include "base/str.h"
#include "base/vec.h"
#include "probe/gpu.h"
#include "probe/table.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { FIRST_LINE_MS = 5000, LONGEST_LINE = 4096, MOST_DEVICES = 64 };

/* Three periods without a line: what is known then is history, not a level. */
static const uint64_t stale_ns = 3 * NS_PER_S / 2;

struct smi {
	pid_t pid;
	int pidfd;
	int pipe;
	bool ended;
	struct str pending;
	struct str complaint; /* the first line that is no reading */
	VEC(struct gpu_device) devices;
	uint64_t line_ns[MOST_DEVICES]; /* when a device was last heard of; 0: never */
};

static void smi_close(void *opaque)
{
	struct smi *smi = opaque;
	if (smi->pipe >= 0)
		close(smi->pipe);
	if (smi->pidfd >= 0) {
		pidfd_send_signal(smi->pidfd, SIGKILL, NULL, 0);
		close(smi->pidfd);
	}
	if (smi->pid > 0)
		while (waitpid(smi->pid, NULL, 0) < 0 && errno == EINTR)
			;
	str_fini(&smi->pending);
	str_fini(&smi->complaint);
	vec_fini(&smi->devices);
	free(smi);
}

/* Searched by hand: posix_spawnp answers "permission denied" for a folder of PATH that may not be entered, although the
 * program is simply not there. Owned; NULL: none. */
static char *find_program(const char *name)
{
	const char *path = getenv("PATH");
	char *folders = mem_strdup(path ? path : ""), *rest = folders, *found = NULL;
	for (char *folder; !found && (folder = strsep(&rest, ":"));) {
		found = mem_printf("%s/%s", folder[0] ? folder : ".", name);
		if (access(found, X_OK) != 0) {
			free(found);
			found = NULL;
		}
	}
	free(folders);
	return found;
}

static int spawn(const char *program, pid_t *pid, int write_end)
{
	char *argv[] = {"nvidia-smi",
			"--query-gpu=index,count,utilization.gpu,memory.used,memory.total,power.draw",
			"--format=csv,noheader,nounits",
			"-lms",
			"500",
			NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, broken_pipe;
	sigemptyset(&none);
	sigemptyset(&broken_pipe);
	sigaddset(&broken_pipe, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, write_end, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, write_end, STDERR_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &broken_pipe);
	int error = posix_spawn(pid, program, &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static int start(struct smi *smi, struct err *err)
{
	int ends[2];
	char *program = find_program("nvidia-smi");
	if (!program)
		return err_set(err, ERR_UNAVAILABLE, "nvidia-smi not on PATH");
	if (pipe2(ends, O_CLOEXEC) != 0) {
		free(program);
		return err_set_errno(err, ERR_IO, "cannot make a pipe for nvidia-smi");
	}
	smi->pipe = ends[0];
	fcntl(smi->pipe, F_SETFL, O_NONBLOCK);
	int error = spawn(program, &smi->pid, ends[1]);
	close(ends[1]);
	free(program);
	if (error) {
		smi->pid = 0;
		return err_set(err, ERR_IO, "cannot start nvidia-smi: %s", strerror(error));
	}
	smi->pidfd = pidfd_open(smi->pid, 0);
	if (smi->pidfd >= 0)
		return 0;
	/* Later it could not be ended safely; here it is still certain to be ours. */
	err_set_errno(err, ERR_IO, "cannot watch nvidia-smi (needs Linux 5.3)");
	kill(smi->pid, SIGKILL);
	return ERR_IO;
}

static double field_number(const char *field)
{
	double number;
	char text[64];
	snprintf(text, sizeof(text), "%s", field + strspn(field, " "));
	text[strcspn(text, " \r")] = '\0';
	return str_to_double(text, &number) ? number : NAN;
}

/* The device that a line is about: "index, count, …" in front, or nothing for the only one. NULL: not a reading. */
static struct gpu_device *line_device(struct smi *smi, char **fields, int before)
{
	double index = before ? field_number(fields[0]) : 0, count = before ? field_number(fields[1]) : 1;
	if (!(index >= 0 && count >= 1 && count <= MOST_DEVICES && index < count))
		return NULL;
	while (smi->devices.len < (size_t)count) {
		struct gpu_device *device = vec_add(&smi->devices);
		snprintf(device->name, sizeof(device->name), "NVIDIA GPU");
		device->util_percent = device->memory_bytes = device->memory_total_bytes = device->energy_j = NAN;
	}
	return &smi->devices.items[(size_t)index];
}

/* "0, 1, 35, 1024, 81920, 87.50": index, count, percent, MiB in use and in all, watts; "[N/A]" for what the device does
 * not tell. Spoils the line; false: not a reading. */
static bool take_line(struct smi *smi, char *line, uint64_t now_ns)
{
	enum { INDEX_AND_COUNT = 2, FIGURES = 4, FIELDS = INDEX_AND_COUNT + FIGURES };
	char *fields[FIELDS + 1];
	int count = 0;
	for (char *rest = line, *field; count <= FIELDS && (field = strsep(&rest, ","));)
		fields[count++] = field;
	struct gpu_device *device = NULL;
	if (count == FIELDS || count == FIGURES)
		device = line_device(smi, fields, count - FIGURES);
	if (!device)
		return false;
	char **figures = fields + count - FIGURES;
	device->util_percent = field_number(figures[0]);
	device->memory_bytes = field_number(figures[1]) * 1024 * 1024;
	device->memory_total_bytes = field_number(figures[2]) * 1024 * 1024;
	double watts = field_number(figures[3]);
	device->has_util |= !isnan(device->util_percent);
	device->has_memory |= !isnan(device->memory_bytes);
	device->has_memory_total |= device->memory_total_bytes > 0;
	if (!isnan(watts)) {
		device->energy = GPU_ENERGY_POWER;
		power_integral_advance(&device->integral, watts, now_ns);
		device->energy_j = device->integral.joules;
	}
	smi->line_ns[device - smi->devices.items] = now_ns;
	return true;
}

static void take_lines(struct smi *smi, uint64_t now_ns)
{
	char *line = smi->pending.text, *end;
	while (line && (end = strchr(line, '\n'))) {
		*end = '\0';
		char *copy = mem_strdup(line);
		if (!take_line(smi, copy, now_ns) && !smi->complaint.len && line[0])
			str_append(&smi->complaint, line);
		free(copy);
		line = end + 1;
	}
	char *rest = mem_strdup(line ? line : "");
	str_clear(&smi->pending);
	if (strlen(rest) < LONGEST_LINE)
		str_append(&smi->pending, rest);
	free(rest);
}

static void drain(struct smi *smi)
{
	char bytes[4096];
	while (!smi->ended) {
		ssize_t got = read(smi->pipe, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got <= 0)
			smi->ended = true;
		else
			str_append_bytes(&smi->pending, bytes, (size_t)got);
		take_lines(smi, clock_mono_ns());
	}
}

/* All devices heard of since `since_ns`. */
static bool is_current(const struct smi *smi, uint64_t since_ns)
{
	for (size_t i = 0; i < smi->devices.len; i++)
		if (!smi->line_ns[i] || smi->line_ns[i] < since_ns)
			return false;
	return smi->devices.len > 0;
}

static int await_first(struct smi *smi, struct err *err)
{
	uint64_t begin_ns = clock_mono_ns(), waited_ms = 0;
	while (!is_current(smi, begin_ns) && !smi->ended && waited_ms < FIRST_LINE_MS) {
		struct pollfd ready = {.fd = smi->pipe, .events = POLLIN};
		poll(&ready, 1, (int)(FIRST_LINE_MS - waited_ms));
		drain(smi);
		waited_ms = (clock_mono_ns() - begin_ns) / 1000000;
	}
	if (is_current(smi, begin_ns) && !smi->ended)
		return 0;
	return err_set(err, ERR_IO, "nvidia-smi gives no figures: %.100s",
		       smi->complaint.len ? smi->complaint.text : "it printed nothing (is the NVIDIA driver loaded?)");
}

static int smi_open(void **out, char *source, struct err *err)
{
	struct smi *smi = mem_alloc(sizeof(*smi));
	smi->pidfd = smi->pipe = -1;
	int code = start(smi, err);
	if (!code)
		code = await_first(smi, err);
	if (code) {
		smi_close(smi);
		return code;
	}
	gpu_source(smi->devices.items, smi->devices.len, "nvidia-smi", source);
	*out = smi;
	return 0;
}

static const char *smi_lacks(const void *opaque, int channel)
{
	const struct smi *smi = opaque;
	return gpu_lacks(smi->devices.items, smi->devices.len, channel);
}

static void smi_read(void *opaque, struct probe_frame *frame)
{
	struct smi *smi = opaque;
	drain(smi);
	uint64_t now_ns = clock_mono_ns();
	if (smi->ended || !is_current(smi, now_ns > stale_ns ? now_ns - stale_ns : 1))
		return;
	/* Up to this moment, so that a stage's edges get the energy between two lines too. */
	for (size_t i = 0; i < smi->devices.len; i++) {
		struct gpu_device *device = &smi->devices.items[i];
		if (device->energy != GPU_ENERGY_POWER)
			continue;
		power_integral_advance(&device->integral, device->integral.last_watts, now_ns);
		device->energy_j = device->integral.joules;
	}
	gpu_fill(smi->devices.items, smi->devices.len, frame);
}

const struct probe probe_nvidia_smi = {
	.name = "nvidia_smi",
	.what = "NVIDIA GPU use, memory and energy (by its program)",
	.is_gpu = true,
	.channels = gpu_channels,
	.open = smi_open,
	.lacks = smi_lacks,
	.read = smi_read,
	.close = smi_close,
	.fix = "sudo modprobe nvidia || { sudo apt-get install nvidia-driver && sudo reboot; }",
};
