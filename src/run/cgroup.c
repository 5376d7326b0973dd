/* cgroup.c - see cgroup.h. */
#include "run/cgroup.h"
#include "base/file.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A hierarchy: where it is mounted and where pitot itself stands in it. */
struct hierarchy {
	char *mount;
	char *own; /* "/", "/user.slice/…"; relative to the mount's root */
};

struct cgroup_host {
	char *v2_parent;     /* folder in which v2 groups are made, or NULL */
	char *memory_parent; /* the same for v1 memory */
	char *cpu_parent;    /* the same for v1 cpuacct, only where there is no v2 */
	bool v2_has_memory;
	const char *tier;
};

struct cgroup {
	char *v2_path, *memory_path, *cpu_path;
	int v2_fd;
	int procs, cpu_usage, cpu_split, memory_now, memory_peak, memory_stat, memory_events;
	int cpu_pressure, io_pressure, memory_pressure;
	bool v2_memory;
	const char *peak_source;
};

/* ---- where are we ---- */

static bool has_word(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = list; (at = strstr(at, word)); at += length) {
		bool starts = at == list || at[-1] == ',';
		bool ends = at[length] == '\0' || at[length] == ',' || at[length] == ' ' || at[length] == '\n';
		if (starts && ends)
			return true;
	}
	return false;
}

/* The line "ID:controllers:path" of /proc/self/cgroup for a v1 controller, or for v2 where `controller` is NULL. */
static char *own_path(const char *controller)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096], *found = NULL;
	while (file && !found && fgets(line, sizeof(line), file)) {
		char *controllers = strchr(line, ':');
		char *path = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!path)
			continue;
		*path++ = '\0';
		controllers++;
		path[strcspn(path, "\n")] = '\0';
		if (controller ? has_word(controllers, controller) : controllers[0] == '\0')
			found = mem_strdup(path);
	}
	if (file)
		fclose(file);
	return found;
}

/* mountinfo: "… root mountpoint options … - type source superoptions". */
static bool find_mount(const char *controller, char **mount, char **root)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char line[4096];
	bool found = false;
	while (file && !found && fgets(line, sizeof(line), file)) {
		char root_text[1024], point[1024], type[64], super[1024];
		char *dash = strstr(line, " - ");
		if (!dash || sscanf(line, "%*s %*s %*s %1023s %1023s", root_text, point) != 2 ||
		    sscanf(dash + 3, "%63s %*s %1023s", type, super) != 2)
			continue;
		found = controller ? strcmp(type, "cgroup") == 0 && has_word(super, controller)
				   : strcmp(type, "cgroup2") == 0;
		if (found) {
			*mount = mem_strdup(point);
			*root = mem_strdup(root_text);
		}
	}
	if (file)
		fclose(file);
	return found;
}

static bool hierarchy_find(const char *controller, struct hierarchy *out)
{
	char *root = NULL, *own = own_path(controller);
	*out = (struct hierarchy){0};
	if (!own || !find_mount(controller, &out->mount, &root)) {
		free(own);
		return false;
	}
	/* In a container the mount shows only the part below `root`. */
	size_t length = strlen(root);
	bool below = strcmp(root, "/") != 0 && str_starts(own, root);
	out->own = mem_strdup(below ? own + length : own);
	free(root);
	free(own);
	return true;
}

static void hierarchy_fini(struct hierarchy *hierarchy)
{
	free(hierarchy->mount);
	free(hierarchy->own);
}

static bool can_make_group(const char *parent, const char *needed_file)
{
	char *trial = mem_printf("%s/pitot-%ld-trial", parent, (long)getpid());
	bool usable = false;
	if (mkdir(trial, 0755) == 0) {
		char *file = mem_printf("%s/%s", trial, needed_file);
		usable = access(file, R_OK) == 0;
		free(file);
		rmdir(trial);
	}
	free(trial);
	return usable;
}

/* Whether something in this group is limited: a stage outside of it would escape that. */
static bool has_limit(const char *folder)
{
	static const char *const files[] = {"memory.max", "memory.high", "cpu.max", "pids.max"};
	char text[64];
	bool limited = false;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *path = mem_printf("%s/%s", folder, files[i]);
		limited |= file_read_small(path, text, sizeof(text)) > 0 && strncmp(text, "max", 3) != 0;
		free(path);
	}
	char *v1 = mem_printf("%s/memory.limit_in_bytes", folder);
	limited |= file_read_small(v1, text, sizeof(text)) > 0 && strtod(text, NULL) < 0x1p62;
	free(v1);
	return limited;
}

/* A folder in which we may make groups: our own place, else the nearest one above it, as long as going up leaves no limit
 * behind. Tried, not guessed: delegation shows only in what mkdir says. */
static char *usable_parent(const struct hierarchy *hierarchy, const char *needed_file)
{
	char *folder = mem_printf("%s%s", hierarchy->mount, strcmp(hierarchy->own, "/") ? hierarchy->own : "");
	size_t top = strlen(hierarchy->mount);
	while (!can_make_group(folder, needed_file)) {
		char *slash = strrchr(folder, '/');
		if (strlen(folder) <= top || has_limit(folder) || !slash) {
			free(folder);
			return NULL;
		}
		*slash = '\0';
	}
	return folder;
}

static bool write_text(const char *folder, const char *name, const char *text)
{
	char *path = mem_printf("%s/%s", folder, name);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	if (fd >= 0)
		close(fd);
	free(path);
	return ok;
}

/* Delegated group, but controllers are not handed down: possible only while no process sits in it, so pitot moves into
 * a leaf of its own. Fails without harm where others are in there too. */
static void delegate_down(const struct hierarchy *v2, pid_t helper)
{
	char *own = mem_printf("%s%s", v2->mount, strcmp(v2->own, "/") ? v2->own : "");
	/* The root of all groups may hold processes and hand down controllers at the same time. */
	if (write_text(own, "cgroup.subtree_control", "+memory +cpu")) {
		free(own);
		return;
	}
	char *leaf = mem_printf("%s/pitot-supervisor", own);
	char pid[24];
	snprintf(pid, sizeof(pid), "%d", (int)helper);
	if ((mkdir(leaf, 0755) == 0 || errno == EEXIST) && write_text(leaf, "cgroup.procs", "0")) {
		bool moved = !helper || write_text(leaf, "cgroup.procs", pid);
		if (!moved || !write_text(own, "cgroup.subtree_control", "+memory +cpu")) {
			write_text(own, "cgroup.procs", "0");
			write_text(own, "cgroup.procs", pid);
			rmdir(leaf);
		}
	} else {
		rmdir(leaf);
	}
	free(leaf);
	free(own);
}

static void find_v2(struct cgroup_host *host, pid_t helper)
{
	struct hierarchy v2;
	if (!hierarchy_find(NULL, &v2))
		return;
	host->v2_parent = usable_parent(&v2, "memory.current");
	if (!host->v2_parent) {
		delegate_down(&v2, helper);
		host->v2_parent = usable_parent(&v2, "memory.current");
	}
	host->v2_has_memory = host->v2_parent != NULL;
	if (!host->v2_parent)
		host->v2_parent = usable_parent(&v2, "cpu.stat");
	hierarchy_fini(&v2);
}

static char *find_v1(const char *controller, const char *needed_file)
{
	struct hierarchy v1;
	if (!hierarchy_find(controller, &v1))
		return NULL;
	char *parent = usable_parent(&v1, needed_file);
	hierarchy_fini(&v1);
	return parent;
}

/* A pitot that was killed leaves its empty groups behind; whoever comes next clears them away. */
static void sweep(const char *parent)
{
	DIR *folder = parent ? opendir(parent) : NULL;
	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		int pid;
		if (sscanf(entry->d_name, "pitot-%d-", &pid) != 1 || kill(pid, 0) == 0 || errno != ESRCH)
			continue;
		char *path = mem_printf("%s/%s", parent, entry->d_name);
		rmdir(path);
		free(path);
	}
	if (folder)
		closedir(folder);
}

int cgroup_host_open(pid_t helper, struct cgroup_host **out, struct err *err)
{
	struct cgroup_host *host = mem_alloc(sizeof(*host));
	find_v2(host, helper);
	if (!host->v2_has_memory)
		host->memory_parent = find_v1("memory", "memory.max_usage_in_bytes");
	if (!host->v2_parent)
		host->cpu_parent = find_v1("cpuacct", "cpuacct.usage");
	if (!host->v2_parent && !host->memory_parent && !host->cpu_parent) {
		cgroup_host_close(host);
		return err_set(err, ERR_UNAVAILABLE,
			       "no control group can be made: none is delegated to this user "
			       "(run as root, or: systemd-run --user --scope -p Delegate=yes pitot run ...)");
	}
	sweep(host->v2_parent);
	sweep(host->memory_parent);
	sweep(host->cpu_parent);
	host->tier = host->v2_has_memory                      ? "cgroup v2"
		     : host->v2_parent && host->memory_parent ? "cgroup v1 + v2"
		     : host->v2_parent                        ? "cgroup v2 without memory"
							      : "cgroup v1";
	*out = host;
	return 0;
}

const char *cgroup_host_tier(const struct cgroup_host *host)
{
	return host->tier;
}

void cgroup_host_close(struct cgroup_host *host)
{
	if (!host)
		return;
	free(host->v2_parent);
	free(host->memory_parent);
	free(host->cpu_parent);
	free(host);
}

/* ---- one group ---- */

static int open_in(const char *folder, const char *name, int flags)
{
	if (!folder)
		return -1;
	char *path = mem_printf("%s/%s", folder, name);
	int fd = open(path, flags | O_CLOEXEC);
	free(path);
	return fd;
}

static char *make_folder(const char *parent, const char *name, struct err *err, int *code)
{
	if (!parent || *code)
		return NULL;
	char *path = mem_printf("%s/%s", parent, name);
	if (mkdir(path, 0755) == 0)
		return path;
	*code = err_set_errno(err, ERR_UNAVAILABLE, "cannot make control group '%s'", path);
	free(path);
	return NULL;
}

static void open_files(struct cgroup *group)
{
	const char *memory = group->v2_memory ? group->v2_path : group->memory_path;
	bool v2 = group->v2_path != NULL;
	group->v2_fd = group->v2_path ? open(group->v2_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	group->procs = open_in(v2 ? group->v2_path : memory ? memory : group->cpu_path, "cgroup.procs", O_RDONLY);
	group->cpu_usage = v2 ? open_in(group->v2_path, "cpu.stat", O_RDONLY)
			      : open_in(group->cpu_path, "cpuacct.usage", O_RDONLY);
	group->cpu_split = v2 ? -1 : open_in(group->cpu_path, "cpuacct.stat", O_RDONLY);
	group->memory_now = open_in(memory, group->v2_memory ? "memory.current" : "memory.usage_in_bytes", O_RDONLY);
	group->peak_source = group->v2_memory ? "memory.peak" : "memory.max_usage_in_bytes";
	group->memory_peak = open_in(memory, group->peak_source, O_RDONLY);
	group->memory_stat = open_in(memory, "memory.stat", O_RDONLY);
	group->memory_events = open_in(memory, group->v2_memory ? "memory.events" : "memory.oom_control", O_RDONLY);
	group->cpu_pressure = open_in(group->v2_path, "cpu.pressure", O_RDONLY);
	group->io_pressure = open_in(group->v2_path, "io.pressure", O_RDONLY);
	group->memory_pressure = open_in(group->v2_path, "memory.pressure", O_RDONLY);
}

int cgroup_create(struct cgroup_host *host, const char *name, struct cgroup **out, struct err *err)
{
	struct cgroup *group = mem_alloc(sizeof(*group));
	int code = 0;
	group->v2_path = make_folder(host->v2_parent, name, err, &code);
	group->memory_path = make_folder(host->memory_parent, name, err, &code);
	group->cpu_path = make_folder(host->cpu_parent, name, err, &code);
	group->v2_memory = host->v2_has_memory;
	open_files(group);
	if (code) {
		cgroup_destroy(group);
		return code;
	}
	*out = group;
	return 0;
}

static void remove_folder(char *path)
{
	if (!path)
		return;
	/* The last process may still be on its way out of the group when its parent has reaped it. */
	for (int tries = 0; rmdir(path) != 0 && errno == EBUSY && tries < 20; tries++)
		usleep(1000);
	free(path);
}

void cgroup_destroy(struct cgroup *group)
{
	if (!group)
		return;
	int fds[] = {group->v2_fd,       group->procs,        group->cpu_usage,      group->cpu_split,
		     group->memory_now,  group->memory_peak,  group->memory_stat,    group->memory_events,
		     group->io_pressure, group->cpu_pressure, group->memory_pressure};
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
	remove_folder(group->v2_path);
	remove_folder(group->memory_path);
	remove_folder(group->cpu_path);
	free(group);
}

int cgroup_birth_fd(const struct cgroup *group)
{
	return group->v2_fd;
}

int cgroup_adopt(struct cgroup *group, pid_t pid, struct err *err)
{
	const char *folders[] = {group->memory_path, group->cpu_path};
	char text[24];
	snprintf(text, sizeof(text), "%d", (int)pid);
	for (int i = 0; i < 2; i++)
		if (folders[i] && !write_text(folders[i], "cgroup.procs", text))
			return err_set_errno(err, ERR_UNAVAILABLE, "cannot move the stage into control group '%s'",
					     folders[i]);
	return 0;
}

bool cgroup_pids(struct cgroup *group, struct pid_list *out)
{
	char text[16384];
	off_t at = 0;
	long number = 0;
	bool digits = false;
	out->len = 0;
	if (group->procs < 0)
		return false;
	for (ssize_t got; (got = pread(group->procs, text, sizeof(text), at)) > 0; at += got)
		for (ssize_t i = 0; i < got; i++) {
			bool digit = text[i] >= '0' && text[i] <= '9';
			if (digit)
				number = number * 10 + (text[i] - '0');
			else if (digits)
				vec_push(out, (pid_t)number);
			number = digit ? number : 0;
			digits = digit;
		}
	return true;
}

/* ---- readings ---- */

static bool read_text(int fd, char *text, size_t size)
{
	ssize_t got = fd >= 0 ? pread(fd, text, size - 1, 0) : -1;
	if (got <= 0)
		return false;
	text[got] = '\0';
	return true;
}

static bool read_number(int fd, double *out)
{
	char text[64];
	if (!read_text(fd, text, sizeof(text)))
		return false;
	*out = strtod(text, NULL);
	return true;
}

/* The number after "name " at the start of a line. */
static bool find_number(const char *text, const char *name, double *out)
{
	size_t length = strlen(name);
	for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (strncmp(line, name, length) == 0 && line[length] == ' ') {
			*out = strtod(line + length, NULL);
			return true;
		}
	return false;
}

static void read_cpu(struct cgroup *group, bool everything, struct cgroup_reading *out)
{
	char text[1024];
	if (group->v2_path) {
		out->has_cpu =
			read_text(group->cpu_usage, text, sizeof(text)) && find_number(text, "usage_usec", &out->cpu_s);
		out->has_split = out->has_cpu && find_number(text, "user_usec", &out->cpu_user_s) &&
				 find_number(text, "system_usec", &out->cpu_system_s);
		out->cpu_s /= 1e6;
		out->cpu_user_s /= 1e6;
		out->cpu_system_s /= 1e6;
		return;
	}
	out->has_cpu = read_number(group->cpu_usage, &out->cpu_s);
	out->cpu_s /= 1e9;
	if (!everything || !read_text(group->cpu_split, text, sizeof(text)))
		return;
	double per_tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
	out->has_split = find_number(text, "user", &out->cpu_user_s) && find_number(text, "system", &out->cpu_system_s);
	out->cpu_user_s *= per_tick;
	out->cpu_system_s *= per_tick;
}

static void read_memory(struct cgroup *group, bool everything, struct cgroup_reading *out)
{
	out->has_memory = read_number(group->memory_now, &out->memory_bytes);
	char text[8192];
	double shared = 0;
	if (everything) {
		out->has_peak = read_number(group->memory_peak, &out->peak_bytes);
		if (read_text(group->memory_events, text, sizeof(text)))
			find_number(text, "oom_kill", &out->oom_kills);
	}
	if (!read_text(group->memory_stat, text, sizeof(text)))
		return;
	/* v1: "rss" is the anonymous memory of this group, "total_…" of those below it too; a stage may make its own.
	 */
	out->has_anon = find_number(text, group->v2_memory ? "anon" : "total_rss", &out->anon_bytes);
	if (find_number(text, group->v2_memory ? "shmem" : "total_shmem", &shared))
		out->anon_bytes += shared;
}

static double stall_s(const char *text, const char *kind)
{
	const char *line = strstr(text, kind);
	const char *total = line ? strstr(line, "total=") : NULL;
	return total ? strtod(total + 6, NULL) / 1e6 : 0;
}

static void read_pressure(struct cgroup *group, struct cgroup_reading *out)
{
	char cpu[512], io[512], memory[512];
	if (!read_text(group->cpu_pressure, cpu, sizeof(cpu)) || !read_text(group->io_pressure, io, sizeof(io)) ||
	    !read_text(group->memory_pressure, memory, sizeof(memory)))
		return;
	out->has_pressure = true;
	out->cpu_some_s = stall_s(cpu, "some");
	out->io_some_s = stall_s(io, "some");
	out->io_full_s = stall_s(io, "full");
	out->memory_some_s = stall_s(memory, "some");
	out->memory_full_s = stall_s(memory, "full");
}

void cgroup_read(struct cgroup *group, bool everything, struct cgroup_reading *out)
{
	*out = (struct cgroup_reading){0};
	read_cpu(group, everything, out);
	read_memory(group, everything, out);
	if (everything)
		read_pressure(group, out);
}

const char *cgroup_peak_source(const struct cgroup *group)
{
	return group->peak_source;
}

/* ---- quotas above us ---- */

struct cgroup_quota {
	int stat;
	bool v2;
};

static bool has_quota(const char *folder, bool v2)
{
	char text[64];
	char *path = mem_printf("%s/%s", folder, v2 ? "cpu.max" : "cpu.cfs_quota_us");
	ssize_t got = file_read_small(path, text, sizeof(text));
	free(path);
	return got > 0 && text[0] != 'm' && text[0] != '-';
}

static struct cgroup_quota *quota_in(const char *controller)
{
	struct hierarchy place;
	struct cgroup_quota *quota = NULL;
	if (!hierarchy_find(controller, &place))
		return NULL;
	char *folder = mem_printf("%s%s", place.mount, place.own);
	size_t least = strlen(place.mount);
	for (;;) {
		if (has_quota(folder, controller == NULL)) {
			quota = mem_alloc(sizeof(*quota));
			*quota = (struct cgroup_quota){.stat = open_in(folder, "cpu.stat", O_RDONLY),
						       .v2 = controller == NULL};
			break;
		}
		char *slash = strrchr(folder, '/');
		if (!slash || (size_t)(slash - folder) < least)
			break;
		*slash = '\0';
	}
	free(folder);
	hierarchy_fini(&place);
	return quota;
}

struct cgroup_quota *cgroup_quota_open(void)
{
	struct cgroup_quota *quota = quota_in(NULL);
	return quota ? quota : quota_in("cpu");
}

bool cgroup_quota_throttled_s(struct cgroup_quota *quota, double *out)
{
	char text[1024];
	if (!quota || !read_text(quota->stat, text, sizeof(text)))
		return false;
	if (!find_number(text, quota->v2 ? "throttled_usec" : "throttled_time", out))
		return false;
	*out /= quota->v2 ? 1e6 : 1e9;
	return true;
}

void cgroup_quota_close(struct cgroup_quota *quota)
{
	if (!quota)
		return;
	if (quota->stat >= 0)
		close(quota->stat);
	free(quota);
}
