/*
 * file.c - the wire file of this process: made, mapped, and handed out in chunks.
 *
 * The whole range is mapped at the start, the file is sparse. Before a page is touched it is given storage: a full disk is an
 * answer there, not a SIGBUS later. The first pages, which are all that a short process needs, are written as zeros: touching a
 * hole of a file counts as a fault that waited for storage, and takes long. Later ones by MADV_POPULATE_WRITE, or by
 * fallocate where the kernel is older. No descriptor stays open, so the program cannot close it, see it or inherit it.
 *
 * Claiming pages is the only thing that threads do to each other here: `pages_used` is raised by compare-and-swap, and
 * everything below `pages_ready` has storage, because whoever raises it fills up from its old value. Inside a chunk there is
 * one writer. The range is kept out of children (MADV_DONTFORK): they have no way to write into their parent's file.
 */
#include "agent/core.h"
#include "agent/sys.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum {
	FILE_MOST = 256 << 20, /* bytes of one process's file */
	FILE_LEAST = 1 << 20,
	FILE_FIRST = 12,     /* pages that are written when the file is made */
	FILE_STEP = 16,      /* pages that get their storage at once */
	FILE_TRIES = 100000, /* images of one process id */
	FILE_NAME = AGENT_DIR_MAX + 48
};

static struct {
	struct wire_header *header;
	size_t bytes;
	atomic_bool full;
	dev_t device;
	ino_t inode;
	char path[FILE_NAME];
} file;

struct wire_header *file_header(void)
{
	return file.header;
}

void *file_at(wire_id id)
{
	size_t offset = (size_t)id * WIRE_UNIT;
	return offset >= WIRE_PAGE && offset < file.bytes ? (char *)file.header + offset : NULL;
}

wire_id file_id(const void *entry)
{
	return (wire_id)(((uintptr_t)entry - (uintptr_t)file.header) / WIRE_UNIT);
}

static int create(const char *dir, int pid)
{
	size_t length = strlen(dir);
	memcpy(file.path, dir, length);
	char *name = file.path + length;
	*name++ = '/';
	name = sys_put_number(name, (uint64_t)pid);
	*name++ = '-';
	for (unsigned sequence = 0; sequence < FILE_TRIES; sequence++) {
		memcpy(sys_put_number(name, sequence), WIRE_SUFFIX, sizeof(WIRE_SUFFIX));
		int fd = sys_open(file.path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

static uint64_t limit_of(int resource)
{
	struct rlimit limit;
	if (syscall(SYS_prlimit64, 0, resource, NULL, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return limit.rlim_cur;
}

/* Growing beyond RLIMIT_FSIZE would be a signal to the program, and address space may be something it has little of. */
static size_t size_allowed(void)
{
	uint64_t bytes = FILE_MOST, file_limit = limit_of(RLIMIT_FSIZE), space_limit = limit_of(RLIMIT_AS);
	if (bytes > file_limit)
		bytes = file_limit;
	if (space_limit != UINT64_MAX && bytes > space_limit / 32)
		bytes = space_limit / 32;
	return bytes & ~(uint64_t)(WIRE_PAGE - 1);
}

/* For kernels before 5.14. The path may lead elsewhere by now (chroot, a removed folder). */
static bool allocate(size_t from, size_t to)
{
	int fd = sys_open(file.path, O_RDWR | O_NOFOLLOW, 0);
	if (fd < 0)
		return false;
	struct stat status;
	bool done = fstat(fd, &status) == 0 && status.st_dev == file.device && status.st_ino == file.inode &&
		    syscall(SYS_fallocate, fd, 0, from, to - from) == 0;
	sys_close(fd);
	return done;
}

static bool give_storage(size_t from, size_t to)
{
	if (syscall(SYS_madvise, (char *)file.header + from, to - from, MADV_POPULATE_WRITE) == 0)
		return true;
	return errno == EINVAL && allocate(from, to);
}

static bool write_first(int fd)
{
	static const char zeros[WIRE_PAGE];
	struct iovec pages[FILE_FIRST];
	for (unsigned i = 0; i < FILE_FIRST; i++)
		pages[i] = (struct iovec){(void *)zeros, sizeof(zeros)};
	return syscall(SYS_pwritev, fd, pages, FILE_FIRST, 0L, 0L) == FILE_FIRST * WIRE_PAGE;
}

/* All pages below `pages` get storage. */
static bool make_ready(struct wire_header *header, uint32_t pages)
{
	uint32_t ready = atomic_load(&header->pages_ready);
	if (pages <= ready)
		return true;
	uint32_t target = pages + FILE_STEP < header->pages_most ? pages + FILE_STEP : header->pages_most;
	if (!give_storage((size_t)ready * WIRE_PAGE, (size_t)target * WIRE_PAGE)) {
		atomic_store(&file.full, true);
		return false;
	}
	while (ready < target && !atomic_compare_exchange_weak(&header->pages_ready, &ready, target))
		;
	return true;
}

static struct wire_chunk *claim(uint32_t pages, enum wire_chunk_kind kind, wire_id owner)
{
	struct wire_header *header = file.header;
	if (!header || atomic_load_explicit(&file.full, memory_order_relaxed))
		return NULL;
	uint32_t first = atomic_load(&header->pages_used);
	do {
		if (first + pages > header->pages_most)
			return NULL;
	} while (!atomic_compare_exchange_weak(&header->pages_used, &first, first + pages));
	if (!make_ready(header, first + pages))
		return NULL;
	struct wire_chunk *chunk = (struct wire_chunk *)((char *)header + (size_t)first * WIRE_PAGE);
	chunk->pages = pages;
	chunk->owner = owner;
	atomic_store(&chunk->used, kind == WIRE_SITES ? WIRE_SITES_FROM : 0);
	/* The kind last: without it the page counts as empty. */
	__atomic_store_n(&chunk->kind, kind, __ATOMIC_RELEASE);
	return chunk;
}

/* Room for `bytes` at the end of the thread's chunk, or of a new one. The first is small: most threads are. */
static void *reserve(wire_id owner, struct wire_chunk **chunk, enum wire_chunk_kind kind, uint32_t bytes)
{
	struct wire_chunk *current = *chunk;
	if (current) {
		uint32_t used = atomic_load_explicit(&current->used, memory_order_relaxed);
		if (bytes <= current->pages * WIRE_PAGE - sizeof(*current) - used)
			return (char *)(current + 1) + used;
	}
	uint32_t pages = (bytes + (uint32_t)sizeof(*current) + WIRE_PAGE - 1) / WIRE_PAGE;
	if (current && pages < 4)
		pages = 4;
	current = claim(pages, kind, owner);
	if (!current)
		return NULL;
	*chunk = current;
	return (char *)(current + 1) + atomic_load_explicit(&current->used, memory_order_relaxed);
}

static void publish(struct wire_chunk *chunk, uint32_t bytes)
{
	uint32_t used = atomic_load_explicit(&chunk->used, memory_order_relaxed);
	atomic_store_explicit(&chunk->used, used + bytes, memory_order_release);
}

void *file_record(struct agent_thread *thread, uint16_t kind, uint32_t bytes)
{
	bytes = (bytes + WIRE_UNIT - 1) & ~(uint32_t)(WIRE_UNIT - 1);
	struct wire_record *record = reserve(thread->record_id, &thread->records, WIRE_RECORDS, bytes);
	if (!record)
		return NULL;
	memset(record, 0, bytes);
	record->kind = kind;
	record->bytes = bytes;
	return record;
}

void file_publish(struct agent_thread *thread)
{
	uint32_t used = atomic_load_explicit(&thread->records->used, memory_order_relaxed);
	const struct wire_record *record = (const struct wire_record *)((char *)(thread->records + 1) + used);
	publish(thread->records, record->bytes);
}

struct wire_sample *file_sample(struct agent_thread *thread)
{
	return reserve(thread->record_id, &thread->samples, WIRE_SAMPLES, sizeof(struct wire_sample));
}

void file_sample_publish(struct agent_thread *thread)
{
	publish(thread->samples, sizeof(struct wire_sample));
}

struct wire_node *file_node(struct agent_thread *thread)
{
	return reserve(thread->record_id, &thread->nodes, WIRE_NODES, sizeof(struct wire_node));
}

void file_node_publish(struct agent_thread *thread)
{
	publish(thread->nodes, sizeof(struct wire_node));
}

void file_node_retract(struct agent_thread *thread)
{
	publish(thread->nodes, -(uint32_t)sizeof(struct wire_node));
}

struct wire_site *file_site(struct wire_chunk **chunk, wire_id owner)
{
	/* Chunks are new, and nothing is ever taken back: it is zero. */
	return reserve(owner, chunk, WIRE_SITES, sizeof(struct wire_site));
}

void file_site_publish(struct wire_chunk *chunk)
{
	publish(chunk, sizeof(struct wire_site));
}

/* `text` of /proc/self/stat: what follows the last ')' are fields from the third on. 0 where there are too few. */
static uint64_t stat_field(const char *text, unsigned number)
{
	const char *at = strrchr(text, ')');
	for (unsigned field = 2; at && field < number; field++)
		at = strchr(at + 1, ' ');
	uint64_t value = 0;
	for (at = at ? at + 1 : ""; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value;
}

static void fill_header(struct wire_header *header, const struct file_origin *origin)
{
	char text[1024] = "";
	int fd = sys_open("/proc/self/stat", O_RDONLY, 0);
	if (fd >= 0) {
		long got = sys_read(fd, text, sizeof(text) - 1);
		text[got > 0 ? got : 0] = '\0';
		sys_close(fd);
	}
	header->start_ticks = stat_field(text, 22);
	header->version = WIRE_VERSION;
	header->header_bytes = sizeof(*header);
	header->pid = sys_getpid();
	header->ppid = (int32_t)syscall(SYS_getppid);
	header->stage_id = origin->plan->stage_id;
	header->period_ns = origin->plan->period_ns;
	header->birth = origin->birth;
	header->start_mono_ns = agent_mono_ns();
	header->cpu_start_ns = sys_process_cpu_ns();
	header->pages_most = (uint32_t)(file.bytes / WIRE_PAGE);
	atomic_store(&header->pages_used, 1);
	syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", header->executable, sizeof(header->executable) - 1);
	syscall(SYS_getcwd, header->folder, sizeof(header->folder));
	/* Last: a file without it is none. */
	__atomic_store_n(&header->magic, WIRE_MAGIC, __ATOMIC_RELEASE);
}

/* The file gets its size and its first pages; NULL where that cannot be. */
static struct wire_header *map_file(int fd)
{
	struct stat status;
	file.bytes = size_allowed();
	if (file.bytes < FILE_LEAST || fstat(fd, &status) != 0 || syscall(SYS_ftruncate, fd, file.bytes) != 0)
		return NULL;
	file.device = status.st_dev;
	file.inode = status.st_ino;
	file.header = sys_map(file.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd);
	if (!file.header)
		return NULL;
	/* Reading ahead in a file that is all holes costs milliseconds on some file systems. */
	syscall(SYS_madvise, file.header, file.bytes, MADV_RANDOM);
	if (syscall(SYS_madvise, file.header, file.bytes, MADV_DONTFORK) == 0 && write_first(fd) &&
	    give_storage(0, FILE_FIRST * WIRE_PAGE)) {
		atomic_store(&file.header->pages_ready, FILE_FIRST);
		return file.header;
	}
	sys_unmap(file.header, file.bytes);
	file.header = NULL;
	return NULL;
}

bool file_open(const struct file_origin *origin)
{
	int fd = create(origin->plan->dir, sys_getpid());
	if (fd < 0)
		return false;
	atomic_store(&file.full, false);
	struct wire_header *header = map_file(fd);
	sys_close(fd);
	if (!header) {
		syscall(SYS_unlinkat, AT_FDCWD, file.path, 0);
		return false;
	}
	fill_header(header, origin);
	return true;
}

void file_forget(void)
{
	file.header = NULL;
	file.bytes = 0;
}

void file_stop(const char *reason)
{
	struct wire_header *header = file.header;
	if (!header || header->stop_reason[0])
		return;
	strncpy(header->stop_reason, reason, sizeof(header->stop_reason) - 1);
}
