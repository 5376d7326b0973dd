/*
 * span_file.c - the process's file of spans: made at the first span, grown block by block.
 *
 * The file is opened, given room and mapped, and closed again each time it grows: a descriptor that stays open could be closed
 * and used again by the program. Room is allocated before it is mapped, because a page without storage behind it would be a
 * SIGBUS of the host. A growth beyond the host's file-size limit would be a SIGXFSZ, which is held back.
 *
 * All that changes here is guarded by the lock in span_lane.c.
 */
#include "lib/span_inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
	char folder[PATH_MAX];
	int64_t stage_id;
	char path[PATH_MAX];
	struct span_wire_header *header;
	bool failed;
} file;

/* "dir=/tmp/x;stage=3". A set-user-ID program must not write where its caller's environment says. */
int span_file_asked(void)
{
	const char *text = secure_getenv(SPAN_WIRE_VARIABLE);
	if (!text || strncmp(text, "dir=/", 5) != 0)
		return 0;
	const char *folder = text + 4, *end = strchr(folder, ';');
	if (!end || (size_t)(end - folder) >= sizeof(file.folder) - 64 || strncmp(end, ";stage=", 7) != 0)
		return 0;
	memcpy(file.folder, folder, (size_t)(end - folder));
	file.folder[end - folder] = '\0';
	file.stage_id = strtoll(end + 7, NULL, 10);
	return 1;
}

/* Without SIGXFSZ, which a growth beyond RLIMIT_FSIZE sends and whose default ends the program. */
static bool grow(int fd, uint64_t from, uint64_t bytes)
{
	sigset_t limit, before, pending;
	sigemptyset(&limit);
	sigaddset(&limit, SIGXFSZ);
	if (pthread_sigmask(SIG_BLOCK, &limit, &before) != 0)
		return false;
	sigemptyset(&pending);
	sigpending(&pending);
	bool was_pending = sigismember(&pending, SIGXFSZ) == 1;
	int failure = 0;
	do {
		failure = posix_fallocate(fd, (off_t)from, (off_t)bytes);
	} while (failure == EINTR);
	if (failure == EFBIG && !was_pending) {
		const struct timespec no_wait = {0};
		sigtimedwait(&limit, NULL, &no_wait);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failure == 0;
}

static void *map_range(uint64_t from, uint64_t bytes, int flags)
{
	void *memory = MAP_FAILED;
	int fd = open(file.path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | flags, 0600);
	if (fd < 0)
		return NULL;
	struct stat status;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && grow(fd, from, bytes))
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)from);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

static void fill_header(struct span_wire_header *header)
{
	uint64_t mono_ns = 0, ticks = 0;
	ssize_t length = readlink("/proc/self/exe", header->executable, sizeof(header->executable) - 1);
	header->executable[length > 0 ? length : 0] = '\0';
	snprintf(header->source, sizeof(header->source), "libpitot %s", PITOT_VERSION);
	span_clock_pair(&mono_ns, &ticks);
	header->version = SPAN_WIRE_VERSION;
	header->header_bytes = sizeof(*header);
	header->pid = (int32_t)getpid();
	header->ppid = (int32_t)getppid();
	header->stage_id = file.stage_id;
	header->start_mono_ns = mono_ns;
	header->start_ticks = ticks;
	atomic_store_explicit(&header->last_mono_ns, mono_ns, memory_order_relaxed);
	atomic_store_explicit(&header->last_ticks, ticks, memory_order_relaxed);
	header->clock = span_clock_kind();
	header->pages_most = SPAN_WIRE_PAGES_MOST;
	atomic_store_explicit(&header->pages_used, 1, memory_order_relaxed);
	/* Last: a file without it was never begun. */
	__atomic_store_n(&header->magic, SPAN_WIRE_MAGIC, __ATOMIC_RELEASE);
}

struct span_wire_header *span_file_now(void)
{
	return file.header;
}

struct span_wire_header *span_file_get(void)
{
	if (file.header || file.failed)
		return file.header;
	snprintf(file.path, sizeof(file.path), "%.*s/%d-%llx" SPAN_WIRE_SUFFIX, (int)sizeof(file.folder) - 64,
		 file.folder, (int)getpid(), (unsigned long long)span_clock_system());
	file.header = map_range(0, SPAN_WIRE_PAGE, O_CREAT | O_EXCL);
	file.failed = !file.header;
	if (file.header)
		fill_header(file.header);
	return file.header;
}

void span_file_forget(void)
{
	file.header = NULL;
	file.failed = false;
}

void span_file_note_time(void)
{
	uint64_t mono_ns = 0, ticks = 0;
	span_clock_pair(&mono_ns, &ticks);
	atomic_store_explicit(&file.header->last_mono_ns, mono_ns, memory_order_relaxed);
	atomic_store_explicit(&file.header->last_ticks, ticks, memory_order_relaxed);
}

struct span_wire_block *span_file_block(uint32_t pages, uint32_t lane, uint64_t *offset)
{
	struct span_wire_header *header = file.header;
	uint32_t used = atomic_load_explicit(&header->pages_used, memory_order_relaxed);
	if (used + pages > header->pages_most)
		return NULL;
	uint64_t from = (uint64_t)used * SPAN_WIRE_PAGE;
	struct span_wire_block *block = map_range(from, (uint64_t)pages * SPAN_WIRE_PAGE, 0);
	if (!block)
		return NULL;
	block->pages = pages;
	block->lane = lane;
	__atomic_store_n(&block->kind, SPAN_WIRE_BLOCK, __ATOMIC_RELEASE);
	atomic_store_explicit(&header->pages_used, used + pages, memory_order_release);
	span_file_note_time();
	*offset = from;
	return block;
}

void span_file_end(void)
{
	if (!file.header)
		return;
	span_file_note_time();
	atomic_store_explicit(&file.header->ended, 1, memory_order_release);
}
