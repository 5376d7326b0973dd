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
#include "store/scan.h"

#include <ctype.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MOST = 80, RECENT_RUNS = 10, COPIES_MOST = 10000, BATCH = 200 };

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
		char *file = copy == 1 ? mem_printf("%s-%s" RUN_FILE_ENDING, name, stamp)
				       : mem_printf("%s-%s-%d" RUN_FILE_ENDING, name, stamp, copy);
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

/* What has to be written to the index. */
struct change {
	struct index_row row; /* .file only, where the file is gone */
	struct index_walls walls;
	struct history_values values;
	bool gone;
	bool only_values;
};

/* A file to be read, and where its entry goes. */
struct work {
	const struct found *found;
	size_t entry;
	bool known; /* the entry is there already, and only what the run measured is wanted */
};

/* What is being put together: the entries, what the index has to be told, and what has to be read for it. */
struct refresh {
	const char *dir;
	const struct history_request *request; /* or NULL */
	struct index *index;
	struct history *out;
	VEC(struct change) changes;
	VEC(struct work) work;
	bool incomplete; /* something was read that the index has not been told */
};

static void change_fini(struct change *change)
{
	index_row_fini(&change->row);
	index_walls_fini(&change->walls);
	history_values_fini(&change->values);
}

static struct history_entry copy_entry(const struct history_entry *entry, const char *dir, const char *file)
{
	struct history_entry copy = *entry;
	copy.path = file_join(dir, file);
	copy.name = mem_strdup(entry->name);
	copy.uuid = mem_strdup(entry->uuid);
	copy.git_commit = mem_strdup(entry->git_commit);
	copy.fingerprint = mem_strdup(entry->fingerprint);
	copy.damaged = mem_strdup(entry->damaged);
	return copy;
}

static bool wants_values(const struct refresh *refresh, const struct history_entry *entry)
{
	const struct history_request *request = refresh->request;
	return request && request->fold && !entry->live && !entry->damaged &&
	       (!request->run_name || strcmp(request->run_name, entry->name) == 0);
}

static void examine(struct refresh *refresh, const struct work *work)
{
	const struct found *found = work->found;
	struct history_entry *entry = &refresh->out->entries.items[work->entry];
	struct change change = {
		.row = {.file = mem_strdup(found->file), .bytes = found->bytes, .changed_ns = found->changed_ns}};
	char *path = file_join(refresh->dir, found->file);
	bool remember = true;
	if (work->known) {
		change.row.entry = *entry; /* handed over, and back below as a copy */
		change.row.entry.path = NULL;
		free(entry->path);
	} else {
		remember = index_examine(path, &change.row, &change.walls);
	}
	if (remember && wants_values(refresh, &change.row.entry))
		remember = index_fold(path, refresh->request, &change.row, &change.values);
	change.only_values = work->known && !change.row.entry.damaged;
	free(path);
	*entry = copy_entry(&change.row.entry, refresh->dir, found->file);
	if (remember) {
		vec_push(&refresh->changes, change);
	} else {
		change_fini(&change);
		refresh->incomplete = true;
	}
}

static bool is_known(const struct index_row *row, const struct found *found)
{
	return strcmp(row->file, found->file) == 0 && row->bytes == found->bytes &&
	       row->changed_ns == found->changed_ns && !row->entry.live;
}

static void add_entry(struct refresh *refresh, const struct found *found, struct index_row *row)
{
	bool known = row && is_known(row, found);
	struct history_entry entry = {0};
	if (known) {
		entry = row->entry;
		entry.path = file_join(refresh->dir, row->file);
		row->entry = (struct history_entry){0};
	}
	if (!known || (!row->valued && wants_values(refresh, &entry)))
		vec_push(&refresh->work, ((struct work){found, refresh->out->entries.len, known}));
	vec_push(&refresh->out->entries, entry);
}

/* Both sides are in the order of their names: one pass over both. */
static void merge(struct refresh *refresh, const struct finds *finds, struct index_rows *rows)
{
	size_t at = 0;
	for (size_t i = 0; i <= finds->items.len; i++) {
		const struct found *found = i < finds->items.len ? &finds->items.items[i] : NULL;
		for (; at < rows->items.len && (!found || strcmp(rows->items.items[at].file, found->file) < 0); at++) {
			struct change *change = vec_add(&refresh->changes);
			*change = (struct change){.row.file = mem_strdup(rows->items.items[at].file), .gone = true};
		}
		if (!found)
			break;
		struct index_row *row = at < rows->items.len ? &rows->items.items[at] : NULL;
		add_entry(refresh, found, row);
		at += row && strcmp(row->file, found->file) == 0;
	}
}

static uint64_t dir_changed_ns(const char *dir)
{
	struct stat status;
	return stat(dir, &status) == 0 ? scan_mtime_ns(&status) : 0;
}

/* The kernel's file times step by some milliseconds: a folder that changed just now may change again within the same
 * step, unseen. Such a state is not remembered as known. */
static uint64_t settled(uint64_t changed_ns)
{
	return clock_utc_ns() > changed_ns + NS_PER_S / 10 ? changed_ns : 0;
}

/* A batch at a time, so that an interrupted first look at a large history is not for nothing. */
static void write_changes(struct refresh *refresh)
{
	bool begun = refresh->changes.len && index_begin(refresh->index);
	for (size_t i = 0; i < refresh->changes.len; i++) {
		struct change *change = &refresh->changes.items[i];
		if (begun && change->gone)
			index_drop(refresh->index, change->row.file);
		else if (begun && change->only_values)
			index_add_values(refresh->index, change->row.file, &change->values);
		else if (begun)
			index_put(refresh->index, &change->row, &change->walls, &change->values);
		change_fini(change);
	}
	if (refresh->changes.len && !(begun && index_commit(refresh->index)))
		refresh->incomplete = true;
	refresh->changes.len = 0;
}

static void do_work(struct refresh *refresh)
{
	const struct history_request *request = refresh->request;
	for (size_t i = 0; i < refresh->work.len; i++) {
		examine(refresh, &refresh->work.items[i]);
		if (refresh->changes.len >= BATCH)
			write_changes(refresh);
		if (request && request->progress)
			request->progress(request->context, i + 1, refresh->work.len);
	}
	write_changes(refresh);
	vec_fini(&refresh->changes);
	vec_fini(&refresh->work);
}

static int newest_first(const void *a, const void *b)
{
	const struct history_entry *x = a, *y = b;
	if (x->started_utc_ns != y->started_utc_ns)
		return x->started_utc_ns < y->started_utc_ns ? 1 : -1;
	return strcmp(y->path, x->path);
}

static void remember_folder(const struct refresh *refresh, uint64_t dir_state)
{
	if (dir_state == 0 || refresh->incomplete || index_is_fresh(refresh->index, dir_state))
		return;
	if (!index_begin(refresh->index))
		return;
	index_know_folder(refresh->index, dir_state);
	index_commit(refresh->index);
}

static int refresh_from(const char *dir, const struct history_request *request, struct index *index,
			struct history *out, struct err *err)
{
	uint64_t dir_state = settled(dir_changed_ns(dir));
	struct finds finds = {0};
	struct index_rows rows = {0};
	int code = scan_folder(dir, &finds, err);
	if (!code) {
		struct refresh refresh = {.dir = dir, .request = request, .index = index, .out = out};
		index_read(index, request, &rows);
		merge(&refresh, &finds, &rows);
		do_work(&refresh);
		remember_folder(&refresh, dir_state);
	}
	if (out->entries.len)
		qsort(out->entries.items, out->entries.len, sizeof(struct history_entry), newest_first);
	index_rows_fini(&rows);
	finds_fini(&finds);
	return code;
}

int history_open_with(const char *dir, const struct history_request *request, struct history *out, struct err *err)
{
	struct history history = {.dir = mem_strdup(dir)};
	struct index index;
	index_open(dir, &index);
	int code = refresh_from(dir, request, &index, &history, err);
	index_close(&index);
	if (code) {
		history_fini(&history);
		return code;
	}
	history_attach_tags(&history);
	*out = history;
	return 0;
}

int history_open(const char *dir, struct history *out, struct err *err)
{
	return history_open_with(dir, NULL, out, err);
}

void history_fini(struct history *history)
{
	for (size_t i = 0; i < history->entries.len; i++)
		history_entry_fini(&history->entries.items[i]);
	vec_fini(&history->entries);
	free(history->dir);
	free(history->tags_broken);
	history->dir = history->tags_broken = NULL;
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
		refresh_from(dir, NULL, &index, &history, NULL);
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
