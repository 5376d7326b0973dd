/* prune.c - see prune.h. */
#include "store/prune.h"
#include "base/clock.h"
#include "base/str.h"
#include "store/scan.h"
#include "store/sql.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* A pitot that works commits every second or so. */
#define QUIET_NS (3600 * NS_PER_S)

/* Of SQLite's file format: the first 100 bytes. */
enum { HEADER_SIZE = 100, HEADER_VERSION = 60, HEADER_APPLICATION = 68 };

static uint32_t big_endian(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* A file that cannot be read as a run: whether it was one of ours. An empty one is what a kill right after the file was
 * made leaves. */
static const char *damaged_obstacle(const char *path)
{
	unsigned char header[HEADER_SIZE];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t got = fd < 0 ? -1 : pread(fd, header, sizeof(header), 0);
	if (fd >= 0)
		close(fd);
	if (got < 0)
		return "cannot be opened";
	if (got == 0)
		return NULL;
	if (got < HEADER_SIZE || memcmp(header, "SQLite format 3", 16) != 0 ||
	    big_endian(header + HEADER_APPLICATION) != SQL_APPLICATION_ID)
		return "cannot be told to be a run file";
	uint32_t version = big_endian(header + HEADER_VERSION);
	return version >= 1 && version <= SQL_SCHEMA_VERSION ? NULL : "is of another version of pitot";
}

/* When the file or its log last changed. */
static uint64_t last_change_ns(const char *path, const struct stat *status)
{
	struct stat log_status;
	char *log = mem_printf("%s-wal", path);
	uint64_t changed = scan_mtime_ns(status);
	if (lstat(log, &log_status) == 0 && scan_mtime_ns(&log_status) > changed)
		changed = scan_mtime_ns(&log_status);
	free(log);
	return changed;
}

const char *prune_obstacle(const struct history *history, const struct history_entry *entry)
{
	struct stat status;
	if (history->tags_broken)
		return "may be tagged";
	if (entry->tags.len)
		return "is tagged";
	if (entry->live)
		return "is running";
	if (!str_ends(entry->path, RUN_FILE_ENDING) || lstat(entry->path, &status) != 0 || !S_ISREG(status.st_mode))
		return "is not a plain file";
	bool ended = !entry->damaged && entry->status != STATUS_INTERRUPTED;
	if (!ended && clock_utc_ns() < last_change_ns(entry->path, &status) + QUIET_NS)
		return "changed less than an hour ago and may be running on another machine";
	return entry->damaged ? damaged_obstacle(entry->path) : NULL;
}

static int remove_one(const char *path, const char *suffix, uint64_t *freed, struct err *err)
{
	struct stat status;
	char *name = mem_printf("%s%s", path, suffix);
	uint64_t bytes = lstat(name, &status) == 0 ? (uint64_t)status.st_size : 0;
	int code = 0;
	if (unlink(name) == 0)
		*freed += bytes;
	else if (errno != ENOENT)
		code = err_set_errno(err, ERR_IO, "cannot remove '%s'", name);
	free(name);
	return code;
}

int prune_remove(const struct history *history, const struct history_entry *entry, uint64_t *freed, struct err *err)
{
	const char *obstacle = prune_obstacle(history, entry);
	if (obstacle)
		return err_set(err, ERR_INPUT, "'%s' %s", entry->path, obstacle);
	/* The run itself last: where this is cut short, the next prune finds it. */
	int code = remove_one(entry->path, "-wal", freed, err);
	if (!code)
		code = remove_one(entry->path, "-shm", freed, err);
	return code ? code : remove_one(entry->path, "", freed, err);
}
