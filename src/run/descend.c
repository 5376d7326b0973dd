/* descend.c - see descend.h. */
#include "run/descend.h"
#include "base/map.h"
#include "base/vec.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct kin {
	pid_t pid;
	pid_t parent;
	bool descends;
};

struct kin_list {
	struct kin *items;
	size_t len;
	size_t cap;
};

/* The parent, or -1 where there is no such process. */
static pid_t read_stat(int proc, const char *pid, char *state)
{
	char path[32], text[512];
	snprintf(path, sizeof(path), "%.16s/stat", pid);
	int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return -1;
	text[got] = '\0';
	/* The name in parentheses may hold anything, so what follows is found from its last parenthesis. */
	const char *after = strrchr(text, ')');
	int parent = -1;
	return after && sscanf(after + 1, " %c %d", state, &parent) == 2 ? parent : -1;
}

static pid_t read_parent(int proc, const char *pid)
{
	char state;
	return read_stat(proc, pid, &state);
}

bool descend_has_ended(pid_t pid)
{
	char name[16], state;
	int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(name, sizeof(name), "%d", (int)pid);
	bool gone = read_stat(proc, name, &state) < 0 || state == 'Z' || state == 'X';
	close(proc);
	return gone;
}

static void list_all(struct kin_list *kin)
{
	DIR *folder = opendir("/proc");
	if (!folder)
		return;
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid_t parent = read_parent(dirfd(folder), entry->d_name);
		if (parent >= 0)
			vec_push(kin, ((struct kin){.pid = atoi(entry->d_name), .parent = parent}));
	}
	closedir(folder);
}

static int by_pid(const void *a, const void *b)
{
	const struct kin *x = a, *y = b;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static bool is_in_tree(const struct kin_list *kin, pid_t root, pid_t pid)
{
	if (pid == root)
		return true;
	struct kin key = {.pid = pid};
	const struct kin *one = bsearch(&key, kin->items, kin->len, sizeof(key), by_pid);
	return one && one->descends;
}

/* A child's number is usually above its parent's, so one or two passes settle it. */
static void mark_descendants(struct kin_list *kin, pid_t root, pid_t spared)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < kin->len; i++) {
			struct kin *one = &kin->items[i];
			if (one->descends || one->pid == spared || !is_in_tree(kin, root, one->parent))
				continue;
			one->descends = true;
			changed = true;
		}
	}
}

size_t descend_kill(pid_t root, pid_t spared, int signal_number)
{
	struct kin_list kin = {0};
	size_t count = 0;
	list_all(&kin);
	if (kin.len)
		qsort(kin.items, kin.len, sizeof(kin.items[0]), by_pid);
	mark_descendants(&kin, root, spared);
	for (size_t i = 0; i < kin.len; i++) {
		if (!kin.items[i].descends)
			continue;
		kill(kin.items[i].pid, signal_number);
		count++;
	}
	vec_fini(&kin);
	return count;
}

/* ---- watching ---- */

enum kinship { KIN_UNKNOWN, KIN_MEMBER, KIN_STRANGER };

struct watched {
	pid_t pid, parent;
	ino_t inode;
	enum kinship kinship;
	uint64_t scan;
};

struct descend_watch {
	pid_t root;
	struct map by_pid;
	uint64_t scan;
};

struct descend_watch *descend_watch_new(pid_t root)
{
	struct descend_watch *watch = mem_alloc(sizeof(*watch));
	watch->root = root;
	return watch;
}

static void watch_entry(struct descend_watch *watch, int proc, const struct dirent *entry)
{
	pid_t pid = atoi(entry->d_name);
	struct watched *one = map_get(&watch->by_pid, (uint64_t)pid);
	if (!one) {
		one = mem_alloc(sizeof(*one));
		one->pid = pid;
		map_put(&watch->by_pid, (uint64_t)pid, one);
	}
	one->scan = watch->scan;
	if (one->inode != entry->d_ino) {
		one->inode = entry->d_ino;
		one->kinship = KIN_UNKNOWN;
	}
	if (one->kinship == KIN_UNKNOWN)
		one->parent = read_parent(proc, entry->d_name);
}

/* Takes over the parent's answer. A parent that is not listed died between two looks: then the process has by now
 * another one, and is asked again at the next tick. */
static bool settle(struct descend_watch *watch, struct watched *one)
{
	if (one->kinship != KIN_UNKNOWN)
		return false;
	const struct watched *parent = map_get(&watch->by_pid, (uint64_t)one->parent);
	if (one->parent == watch->root)
		one->kinship = KIN_MEMBER;
	else if (one->parent == 0 || one->pid == watch->root)
		one->kinship = KIN_STRANGER;
	else if (parent && parent->scan == watch->scan)
		one->kinship = parent->kinship;
	return one->kinship != KIN_UNKNOWN;
}

static void forget_dead(struct descend_watch *watch)
{
	VEC(struct watched *) dead = {0};
	for (size_t i = 0; i < watch->by_pid.size; i++) {
		struct watched *one = watch->by_pid.slots[i].value;
		if (one && one->scan != watch->scan)
			vec_push(&dead, one);
	}
	for (size_t i = 0; i < dead.len; i++)
		free(map_remove(&watch->by_pid, (uint64_t)dead.items[i]->pid));
	vec_fini(&dead);
}

void descend_watch_pids(struct descend_watch *watch, struct pid_list *out)
{
	out->len = 0;
	watch->scan++;
	DIR *folder = opendir("/proc");
	for (struct dirent *entry; folder && (entry = readdir(folder));)
		if (isdigit((unsigned char)entry->d_name[0]))
			watch_entry(watch, dirfd(folder), entry);
	if (folder)
		closedir(folder);
	forget_dead(watch);
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < watch->by_pid.size; i++)
			changed |= watch->by_pid.slots[i].value && settle(watch, watch->by_pid.slots[i].value);
	}
	for (size_t i = 0; i < watch->by_pid.size; i++) {
		const struct watched *one = watch->by_pid.slots[i].value;
		if (one && one->kinship == KIN_MEMBER)
			vec_push(out, one->pid);
	}
}

void descend_watch_free(struct descend_watch *watch)
{
	if (!watch)
		return;
	for (size_t i = 0; i < watch->by_pid.size; i++)
		free(watch->by_pid.slots[i].value);
	map_fini(&watch->by_pid);
	free(watch);
}
