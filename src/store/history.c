/*
 * history.c - see history.h; the index itself is in index.c.
 *
 * Listing costs one readdir, one stat per run file and one query, so ten thousand runs take a fraction of a second;
 * only files that are new or have changed are opened. A run that was live when last looked at is always looked at
 * again.
 */
#include "store/history.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "store/index.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ending[] = ".pitot";
static const char log_ending[] = ".pitot-wal";

enum { NAME_MOST = 80, RECENT_RUNS = 10, COPIES_MOST = 10000 };

char *history_dir(const char *chosen)
{
	const char *named = chosen && chosen[0] ? chosen : getenv("PITOT_HISTORY");
	const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
	if (named && named[0])
		return mem_strdup(named);
	/* The XDG rules say that a relative path is to be ignored. */
	if (data && data[0] == '/')
		return file_join(data, "pitot");
	/* A service or a container may run without HOME; the user still has one. */
	const struct passwd *user = home && home[0] ? NULL : getpwuid(geteuid());
	if (user && user->pw_dir && user->pw_dir[0])
		home = user->pw_dir;
	return file_join(home && home[0] ? home : "/", ".local/share/pitot");
}

/* Letters, digits, '.', '_' and '-' stay; any run of other characters becomes one '-'. Never hidden, never an option.
 */
static char *safe_name(const char *run_name)
{
	struct str out = {0};
	for (const char *at = run_name ? run_name : ""; *at && out.len < NAME_MOST; at++) {
		bool plain = (isalnum((unsigned char)*at) && (unsigned char)*at < 0x80) || strchr("._-", *at);
		if (plain && (out.len || isalnum((unsigned char)*at)))
			str_append_char(&out, *at);
		else if (!plain && out.len && out.text[out.len - 1] != '-')
			str_append_char(&out, '-');
	}
	while (out.len && out.text[out.len - 1] == '-')
		out.text[--out.len] = '\0';
	if (out.len == 0)
		str_append(&out, "run");
	return str_take(&out);
}

/*
 * The name is free when this returns, but not reserved: store_create wants a path that does not exist, and takes it
 * with O_EXCL. Of two pitots that got the same name one fails there, with words; it may ask again.
 */
int history_new_path(const char *dir, const char *run_name, uint64_t utc_ns, char **out, struct err *err)
{
	int code = file_make_dirs(dir, err);
	if (code)
		return err_prefix(err, "cannot use '%s' as history", dir);
	char utc[32], stamp[16];
	clock_format_utc(utc_ns, utc, sizeof(utc));
	size_t length = 0;
	for (const char *at = utc; *at && length < sizeof(stamp) - 1; at++) {
		if (isdigit((unsigned char)*at) || *at == 'T')
			stamp[length++] = *at == 'T' ? '-' : *at;
	}
	stamp[length] = '\0';
	char *name = safe_name(run_name), *path = NULL;
	struct stat status;
	for (int copy = 1; copy < COPIES_MOST; copy++) {
		char *file = copy == 1 ? mem_printf("%s-%s%s", name, stamp, ending)
				       : mem_printf("%s-%s-%d%s", name, stamp, copy, ending);
		free(path);
		path = file_join(dir, file);
		free(file);
		if (lstat(path, &status) != 0)
			break;
	}
	free(name);
	*out = path;
	return 0;
}

/* A run file in the folder. */
struct found {
	char *file;
	bool has_log;
	uint64_t bytes, changed_ns;
};

struct finds {
	VEC(struct found) items;
};

static int compare_finds(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->file, ((const struct found *)b)->file);
}

static void finds_fini(struct finds *finds)
{
	for (size_t i = 0; i < finds->items.len; i++)
		free(finds->items.items[i].file);
	vec_fini(&finds->items);
}

static uint64_t mtime_ns(const struct stat *status)
{
	return (uint64_t)status->st_mtim.tv_sec * NS_PER_S + (uint64_t)status->st_mtim.tv_nsec;
}

/* The write-ahead log of a live or killed run is part of it: commits change the log only. */
static void stat_find(int dir_fd, struct found *found)
{
	struct stat status;
	if (fstatat(dir_fd, found->file, &status, 0) == 0) {
		found->bytes = (uint64_t)status.st_size;
		found->changed_ns = mtime_ns(&status);
	}
	if (!found->has_log)
		return;
	char *log = mem_printf("%s-wal", found->file);
	if (fstatat(dir_fd, log, &status, 0) == 0) {
		found->bytes += (uint64_t)status.st_size;
		found->changed_ns = mtime_ns(&status) > found->changed_ns ? mtime_ns(&status) : found->changed_ns;
	}
	free(log);
}

static void mark_log(struct finds *finds, char *log)
{
	log[strlen(log) - strlen("-wal")] = '\0';
	struct found wanted = {.file = log};
	struct found *found =
		finds->items.len ? bsearch(&wanted, finds->items.items, finds->items.len, sizeof(wanted), compare_finds)
				 : NULL;
	if (found)
		found->has_log = true;
}

static int scan(const char *dir, struct finds *finds, struct err *err)
{
	DIR *stream = opendir(dir);
	if (!stream && errno == ENOENT)
		return 0; /* nothing was ever run */
	if (!stream)
		return err_set_errno(err, ERR_IO, "cannot read history folder '%s'", dir);
	VEC(char *) logs = {0};
	for (struct dirent *item; (item = readdir(stream));) {
		if (item->d_name[0] != '.' && str_ends(item->d_name, ending))
			vec_push(&finds->items, (struct found){.file = mem_strdup(item->d_name)});
		else if (str_ends(item->d_name, log_ending))
			vec_push(&logs, mem_strdup(item->d_name));
	}
	if (finds->items.len)
		qsort(finds->items.items, finds->items.len, sizeof(struct found), compare_finds);
	for (size_t i = 0; i < logs.len; i++) {
		mark_log(finds, logs.items[i]);
		free(logs.items[i]);
	}
	vec_fini(&logs);
	for (size_t i = 0; i < finds->items.len; i++)
		stat_find(dirfd(stream), &finds->items.items[i]);
	closedir(stream);
	return 0;
}

/* What has to be written to the index. */
struct change {
	struct index_row row; /* .file only, where the file is gone */
	struct index_walls walls;
	bool gone;
};

struct changes {
	VEC(struct change) items;
};

static struct history_entry copy_entry(const struct history_entry *entry, const char *dir, const char *file)
{
	struct history_entry copy = *entry;
	copy.path = file_join(dir, file);
	copy.name = mem_strdup(entry->name);
	copy.git_commit = mem_strdup(entry->git_commit);
	copy.fingerprint = mem_strdup(entry->fingerprint);
	copy.damaged = mem_strdup(entry->damaged);
	return copy;
}

static void change_fini(struct change *change)
{
	index_row_fini(&change->row);
	index_walls_fini(&change->walls);
}

static void examine(const char *dir, const struct found *found, struct history *out, struct changes *changes)
{
	struct change change = {
		.row = {.file = mem_strdup(found->file), .bytes = found->bytes, .changed_ns = found->changed_ns}};
	char *path = file_join(dir, found->file);
	bool remember = index_examine(path, &change.row, &change.walls);
	free(path);
	vec_push(&out->entries, copy_entry(&change.row.entry, dir, found->file));
	if (remember)
		vec_push(&changes->items, change);
	else
		change_fini(&change);
}

/* Both sides are in the order of their names: one pass over both. */
static void merge(const char *dir, const struct finds *finds, const struct index_rows *rows, struct history *out,
		  struct changes *changes)
{
	size_t at = 0;
	for (size_t i = 0; i <= finds->items.len; i++) {
		const struct found *found = i < finds->items.len ? &finds->items.items[i] : NULL;
		for (; at < rows->items.len && (!found || strcmp(rows->items.items[at].file, found->file) < 0); at++) {
			struct change *change = vec_add(&changes->items);
			*change = (struct change){.row.file = mem_strdup(rows->items.items[at].file), .gone = true};
		}
		if (!found)
			break;
		const struct index_row *row = at < rows->items.len ? &rows->items.items[at] : NULL;
		bool same_name = row && strcmp(row->file, found->file) == 0;
		if (same_name && row->bytes == found->bytes && row->changed_ns == found->changed_ns && !row->entry.live)
			vec_push(&out->entries, copy_entry(&row->entry, dir, row->file));
		else
			examine(dir, found, out, changes);
		at += same_name;
	}
}

static uint64_t dir_changed_ns(const char *dir)
{
	struct stat status;
	return stat(dir, &status) == 0 ? mtime_ns(&status) : 0;
}

/* The kernel's file times step by some milliseconds: a folder that changed just now may change again within the same
 * step, unseen. Such a state is not remembered as known. */
static uint64_t settled(uint64_t changed_ns)
{
	return clock_utc_ns() > changed_ns + NS_PER_S / 10 ? changed_ns : 0;
}

static void write_changes(struct index *index, const struct changes *changes, uint64_t dir_state)
{
	if (changes->items.len == 0 && (dir_state == 0 || index_is_fresh(index, dir_state)))
		return;
	if (!index_begin(index))
		return;
	for (size_t i = 0; i < changes->items.len; i++) {
		const struct change *change = &changes->items.items[i];
		if (change->gone)
			index_drop(index, change->row.file);
		else
			index_put(index, &change->row, &change->walls);
	}
	index_end(index, dir_state);
}

static void changes_fini(struct changes *changes)
{
	for (size_t i = 0; i < changes->items.len; i++)
		change_fini(&changes->items.items[i]);
	vec_fini(&changes->items);
}

static int newest_first(const void *a, const void *b)
{
	const struct history_entry *x = a, *y = b;
	if (x->started_utc_ns != y->started_utc_ns)
		return x->started_utc_ns < y->started_utc_ns ? 1 : -1;
	return strcmp(y->path, x->path);
}

static int refresh(const char *dir, struct index *index, struct history *out, struct err *err)
{
	uint64_t dir_state = settled(dir_changed_ns(dir));
	struct finds finds = {0};
	struct index_rows rows = {0};
	struct changes changes = {0};
	int code = scan(dir, &finds, err);
	if (!code) {
		index_read(index, &rows);
		merge(dir, &finds, &rows, out, &changes);
		write_changes(index, &changes, dir_state);
	}
	if (out->entries.len)
		qsort(out->entries.items, out->entries.len, sizeof(struct history_entry), newest_first);
	changes_fini(&changes);
	index_rows_fini(&rows);
	finds_fini(&finds);
	return code;
}

int history_open(const char *dir, struct history *out, struct err *err)
{
	struct history history = {.dir = mem_strdup(dir)};
	struct index index;
	index_open(dir, &index);
	int code = refresh(dir, &index, &history, err);
	index_close(&index);
	if (code)
		history_fini(&history);
	else
		*out = history;
	return code;
}

void history_fini(struct history *history)
{
	for (size_t i = 0; i < history->entries.len; i++)
		history_entry_fini(&history->entries.items[i]);
	vec_fini(&history->entries);
	free(history->dir);
	history->dir = NULL;
}

static int compare_uint(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Asked once per stage, so the folder is only gone through where something has come or gone since. */
bool history_expected_ns(const char *dir, const char *run_name, const char *stage, uint64_t *out)
{
	uint64_t walls[RECENT_RUNS];
	struct index index;
	index_open(dir, &index);
	if (!index_is_fresh(&index, dir_changed_ns(dir))) {
		struct history history = {0};
		refresh(dir, &index, &history, NULL);
		history_fini(&history);
	}
	size_t count = index_recent_walls(&index, run_name, stage, walls, RECENT_RUNS);
	index_close(&index);
	if (count == 0)
		return false;
	qsort(walls, count, sizeof(walls[0]), compare_uint);
	*out = count % 2 ? walls[count / 2] : walls[count / 2 - 1] / 2 + walls[count / 2] / 2;
	return true;
}
