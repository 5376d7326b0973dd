/* scan.c - see scan.h. */
#include "store/scan.h"
#include "base/clock.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char log_ending[] = RUN_FILE_ENDING "-wal";

static int compare_finds(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->file, ((const struct found *)b)->file);
}

void finds_fini(struct finds *finds)
{
	for (size_t i = 0; i < finds->items.len; i++)
		free(finds->items.items[i].file);
	vec_fini(&finds->items);
}

uint64_t scan_mtime_ns(const struct stat *status)
{
	return (uint64_t)status->st_mtim.tv_sec * NS_PER_S + (uint64_t)status->st_mtim.tv_nsec;
}

/* The write-ahead log of a live or killed run is part of it: commits change the log only. */
static void stat_find(int dir_fd, struct found *found)
{
	struct stat status;
	if (fstatat(dir_fd, found->file, &status, 0) == 0) {
		found->bytes = (uint64_t)status.st_size;
		found->changed_ns = scan_mtime_ns(&status);
	}
	if (!found->has_log)
		return;
	char *log = mem_printf("%s-wal", found->file);
	if (fstatat(dir_fd, log, &status, 0) == 0) {
		found->bytes += (uint64_t)status.st_size;
		found->changed_ns =
			scan_mtime_ns(&status) > found->changed_ns ? scan_mtime_ns(&status) : found->changed_ns;
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

int scan_folder(const char *dir, struct finds *finds, struct err *err)
{
	DIR *stream = opendir(dir);
	if (!stream && errno == ENOENT)
		return 0; /* nothing was ever run */
	if (!stream)
		return err_set_errno(err, ERR_IO, "cannot read history folder '%s'", dir);
	VEC(char *) logs = {0};
	for (struct dirent *item; (item = readdir(stream));) {
		if (item->d_name[0] != '.' && str_ends(item->d_name, RUN_FILE_ENDING))
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
