/* tree.c - see tree.h. */
#include "run/tree.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SLOW_EVERY = 10,                   /* ticks between the costly readings */
	COMMAND_LIMIT = 1024,              /* bytes of a command line that are kept */
	PSS_LIMIT_PAGES = 2 * 1024 * 1024, /* no PSS of processes over 8 GiB: it holds their memory map too long */
	SPARE_FILES = 32,                  /* descriptors left for everything else */
};

struct entry {
	struct tree_process process;
	int stat_fd, io_fd;
	uint64_t generation; /* of the tick that saw it last */
	uint64_t comm_hash;  /* exec changes the name: then the command line is read again */
};

struct tree {
	struct map by_pid; /* the living; the dead are handed over and forgotten */
	size_t seen;
	tree_retired_fn *retired;
	void *context;
	uint64_t generation;
	bool with_pss;
	int keep_below; /* descriptors from this number on are closed again */
	double rss_peak;
	double per_tick_s, page_bytes;
};

struct tree *tree_new(bool with_pss, tree_retired_fn *retired, void *context)
{
	struct tree *tree = mem_alloc(sizeof(*tree));
	struct rlimit limit = {0};
	getrlimit(RLIMIT_NOFILE, &limit);
	tree->keep_below = limit.rlim_cur < INT_MAX ? (int)limit.rlim_cur - SPARE_FILES : INT_MAX;
	tree->with_pss = with_pss;
	tree->retired = retired;
	tree->context = context;
	tree->per_tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
	tree->page_bytes = (double)sysconf(_SC_PAGESIZE);
	return tree;
}

static void close_files(struct entry *entry)
{
	if (entry->stat_fd >= 0)
		close(entry->stat_fd);
	if (entry->io_fd >= 0)
		close(entry->io_fd);
	entry->stat_fd = entry->io_fd = -1;
}

static void retire(struct tree *tree, struct entry *entry)
{
	map_remove(&tree->by_pid, (uint64_t)entry->process.pid);
	tree->retired(tree->context, &entry->process);
	close_files(entry);
	free(entry->process.command);
	free(entry);
}

static void retire_unseen(struct tree *tree)
{
	VEC(struct entry *) gone = {0};
	for (size_t i = 0; i < tree->by_pid.size; i++) {
		struct entry *entry = tree->by_pid.slots[i].value;
		if (entry && entry->generation != tree->generation)
			vec_push(&gone, entry);
	}
	for (size_t i = 0; i < gone.len; i++)
		retire(tree, gone.items[i]);
	vec_fini(&gone);
}

void tree_end(struct tree *tree)
{
	tree->generation++;
	retire_unseen(tree);
}

void tree_free(struct tree *tree)
{
	if (!tree)
		return;
	tree_end(tree);
	map_fini(&tree->by_pid);
	free(tree);
}

static void proc_path(char *out, size_t size, pid_t pid, const char *name)
{
	snprintf(out, size, "%s/%d/%s", file_procfs(), (int)pid, name);
}

char *tree_command_of(pid_t pid)
{
	char path[256], text[COMMAND_LIMIT];
	proc_path(path, sizeof(path), pid, "cmdline");
	ssize_t got = file_read_small(path, text, sizeof(text));
	if (got > 0) {
		for (ssize_t i = 0; i < got; i++)
			if (text[i] == '\0')
				text[i] = ' ';
		while (got > 0 && text[got - 1] == ' ')
			got--;
		return str_utf8_clean(text, (size_t)got);
	}
	proc_path(path, sizeof(path), pid, "comm");
	got = file_read_small(path, text, sizeof(text));
	return got > 0 ? str_utf8_clean(text, (size_t)got) : NULL;
}

struct stat_fields {
	int parent, threads;
	uint64_t minor, major, user, system, waited_user, waited_system, start, rss;
	uint64_t comm_hash;
};

static bool parse_stat(const char *text, struct stat_fields *out)
{
	const char *open = strchr(text, '('), *close_at = strrchr(text, ')');
	if (!open || !close_at)
		return false;
	out->comm_hash = 14695981039346656037u;
	for (const char *at = open + 1; at < close_at; at++)
		out->comm_hash = (out->comm_hash ^ (unsigned char)*at) * 1099511628211u;
	/* Fields 3 (state) to 24 (rss) of proc(5), read by hand: scanf takes longer than the kernel takes to write
	 * them. */
	enum { FIRST = 3, LAST = 24 };
	uint64_t field[LAST + 1] = {0};
	const char *at = close_at + 1;
	for (int i = FIRST; i <= LAST; i++) {
		while (*at == ' ')
			at++;
		if (!*at)
			return false;
		for (; *at && *at != ' '; at++)
			if (*at >= '0' && *at <= '9')
				field[i] = field[i] * 10 + (uint64_t)(*at - '0');
	}
	out->parent = (int)field[4];
	out->minor = field[10];
	out->major = field[12];
	out->user = field[14];
	out->system = field[15];
	out->waited_user = field[16];
	out->waited_system = field[17];
	out->threads = (int)field[20];
	out->start = field[22];
	out->rss = field[24];
	return true;
}

static int open_proc(pid_t pid, const char *name)
{
	char path[256];
	proc_path(path, sizeof(path), pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* A descriptor kept saves opening the file at the next tick. The kernel gives out the lowest number that is free, so a
 * high one says that few are left: such a file is opened for one reading only. */
static ssize_t read_proc(const struct tree *tree, int *kept, pid_t pid, const char *name, char *text, size_t size)
{
	int fd = *kept >= 0 ? *kept : open_proc(pid, name);
	if (fd < 0)
		return -1;
	ssize_t got = pread(fd, text, size - 1, 0);
	if (got >= 0)
		text[got] = '\0';
	*kept = fd;
	if (fd >= tree->keep_below) {
		close(fd);
		*kept = -1;
	}
	return got;
}

/* "name: number" lines in a fixed order: the kernel has never changed it. */
static void read_io(const struct tree *tree, struct entry *entry)
{
	enum { RCHAR, WCHAR, SYSCR, SYSCW, READ_BYTES, WRITE_BYTES, LINES };
	char text[512];
	uint64_t value[LINES] = {0};
	if (read_proc(tree, &entry->io_fd, entry->process.pid, "io", text, sizeof(text)) <= 0)
		return;
	const char *at = text;
	for (int i = 0; i < LINES; i++) {
		at = strchr(at, ':');
		if (!at)
			return;
		value[i] = strtoull(at + 1, NULL, 10);
		at++;
	}
	entry->process.read_chars = (double)value[RCHAR];
	entry->process.write_chars = (double)value[WCHAR];
	entry->process.read_bytes = (double)value[READ_BYTES];
	entry->process.write_bytes = (double)value[WRITE_BYTES];
}

static double status_number(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	return at ? strtod(at + strlen(name), NULL) : 0;
}

static void read_status(struct tree *tree, struct entry *entry)
{
	char path[256], text[4096];
	proc_path(path, sizeof(path), entry->process.pid, "status");
	if (file_read_small(path, text, sizeof(text)) <= 0)
		return;
	struct tree_process *process = &entry->process;
	process->rss_peak_bytes = status_number(text, "VmHWM:") * 1024;
	process->switches_voluntary = status_number(text, "\nvoluntary_ctxt_switches:");
	process->switches_forced = status_number(text, "nonvoluntary_ctxt_switches:");
	if (process->rss_peak_bytes > tree->rss_peak)
		tree->rss_peak = process->rss_peak_bytes;
	proc_path(path, sizeof(path), process->pid, "schedstat");
	unsigned long long waited;
	if (file_read_small(path, text, sizeof(text)) > 0 && sscanf(text, "%*u %llu", &waited) == 1)
		process->run_wait_s = (double)waited / 1e9;
}

/* Since Linux 6.2 the size of /proc/PID/fd is the number of descriptors; before, counting them is too dear. */
static void read_open_files(struct entry *entry)
{
	char path[256];
	struct stat status;
	proc_path(path, sizeof(path), entry->process.pid, "fd");
	entry->process.open_files = stat(path, &status) == 0 ? (int)status.st_size : 0;
}

static void read_pss(struct tree *tree, struct entry *entry)
{
	char path[256], text[2048];
	if (entry->process.rss_bytes > (double)PSS_LIMIT_PAGES * tree->page_bytes)
		return;
	proc_path(path, sizeof(path), entry->process.pid, "smaps_rollup");
	if (file_read_small(path, text, sizeof(text)) > 0)
		entry->process.pss_bytes = status_number(text, "\nPss:") * 1024;
}

static struct entry *entry_new(struct tree *tree, pid_t pid, const struct stat_fields *stat, uint64_t now_ns)
{
	struct entry *entry = mem_alloc(sizeof(*entry));
	entry->stat_fd = entry->io_fd = -1;
	entry->process = (struct tree_process){.pid = pid, .start_ticks = stat->start, .first_ns = now_ns};
	tree->seen++;
	map_put(&tree->by_pid, (uint64_t)pid, entry);
	return entry;
}

static void take_stat(struct tree *tree, struct entry *entry, const struct stat_fields *stat, uint64_t now_ns)
{
	struct tree_process *process = &entry->process;
	process->parent = stat->parent;
	process->last_ns = now_ns;
	process->threads = stat->threads;
	process->cpu_user_s = (double)stat->user * tree->per_tick_s;
	process->cpu_system_s = (double)stat->system * tree->per_tick_s;
	process->waited_s = (double)(stat->waited_user + stat->waited_system) * tree->per_tick_s;
	process->faults_minor = (double)stat->minor;
	process->faults_major = (double)stat->major;
	process->rss_bytes = (double)stat->rss * tree->page_bytes;
	if (process->rss_bytes > process->rss_peak_bytes)
		process->rss_peak_bytes = process->rss_bytes;
	if (process->rss_bytes > tree->rss_peak)
		tree->rss_peak = process->rss_bytes;
	if (entry->comm_hash != stat->comm_hash) {
		char *command = tree_command_of(process->pid);
		if (command) {
			free(process->command);
			process->command = command;
			entry->comm_hash = stat->comm_hash;
		}
	}
	entry->generation = tree->generation;
}

/* The entry of a living process with this tick's numbers in it, or NULL where it has just gone. */
static struct entry *sample_one(struct tree *tree, pid_t pid, uint64_t now_ns)
{
	struct entry *entry = map_get(&tree->by_pid, (uint64_t)pid);
	char text[1024];
	struct stat_fields stat;
	int fd = entry ? entry->stat_fd : -1;
	ssize_t got = read_proc(tree, &fd, pid, "stat", text, sizeof(text));
	if (got <= 0 && entry && entry->stat_fd >= 0) {
		/* Kept descriptors die with their process; the number may already be somebody else's. */
		retire(tree, entry);
		entry = NULL;
		fd = -1;
		got = read_proc(tree, &fd, pid, "stat", text, sizeof(text));
	}
	if (got <= 0 || !parse_stat(text, &stat)) {
		if (fd >= 0 && (!entry || entry->stat_fd != fd))
			close(fd);
		return NULL;
	}
	if (entry && entry->process.start_ticks != stat.start) {
		retire(tree, entry);
		entry = NULL;
	}
	if (!entry)
		entry = entry_new(tree, pid, &stat, now_ns);
	entry->stat_fd = fd;
	take_stat(tree, entry, &stat, now_ns);
	read_io(tree, entry);
	return entry;
}

static void sample_slowly(struct tree *tree, struct entry *entry, struct tree_totals *out)
{
	read_status(tree, entry);
	read_open_files(entry);
	out->open_files += entry->process.open_files;
	if (tree->with_pss) {
		read_pss(tree, entry);
		out->pss_bytes += entry->process.pss_bytes;
	}
}

void tree_sample(struct tree *tree, const struct pid_list *pids, uint64_t now_ns, struct tree_totals *out)
{
	tree->generation++;
	bool slowly = tree->generation % SLOW_EVERY == 1;
	*out = (struct tree_totals){.open_files = slowly ? 0 : -1, .pss_bytes = slowly && tree->with_pss ? 0 : -1};
	for (size_t i = 0; i < pids->len; i++) {
		struct entry *entry = sample_one(tree, pids->items[i], now_ns);
		if (!entry)
			continue;
		const struct tree_process *process = &entry->process;
		out->processes++;
		out->threads += process->threads;
		out->rss_bytes += process->rss_bytes;
		out->cpu_s += process->cpu_user_s + process->cpu_system_s + process->waited_s;
		out->read_chars += process->read_chars;
		out->write_chars += process->write_chars;
		if (slowly)
			sample_slowly(tree, entry, out);
	}
	retire_unseen(tree);
}

struct tree_process *tree_find(struct tree *tree, pid_t pid)
{
	struct entry *entry = map_get(&tree->by_pid, (uint64_t)pid);
	return entry ? &entry->process : NULL;
}

size_t tree_count(const struct tree *tree)
{
	return tree->seen;
}

double tree_rss_peak(const struct tree *tree)
{
	return tree->rss_peak;
}
