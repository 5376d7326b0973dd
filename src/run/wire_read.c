/*
 * wire_read.c - see wire_read.h.
 *
 * The file is read with pread, not mapped: a program that still runs may cut it short, and touching a page that is gone would
 * be a SIGBUS. Chunks of records and nodes are held in memory, bounded by MOST_HELD; of sample chunks only where they are.
 * Holes of a sparse file are jumped over.
 */
#include "run/wire_read.h"
#include "base/map.h"
#include "run/wire_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_HELD = 512 << 20, SAMPLES_AT_ONCE = 4096 };
static const uint64_t MOST_BYTES = 16ull << 30;

static void copy_summary(const struct wire_header *header, struct wire_summary *out)
{
	*out = (struct wire_summary){.pid = header->pid,
				     .ppid = header->ppid,
				     .stage_id = header->stage_id,
				     .start_ticks = header->start_ticks,
				     .start_mono_ns = header->start_mono_ns,
				     .end_mono_ns = header->end_mono_ns,
				     .end = header->end <= WIRE_ENDED_STOPPED ? header->end : WIRE_OPEN,
				     .birth = header->birth == WIRE_BORN_FORK ? WIRE_BORN_FORK : WIRE_BORN_EXEC,
				     .clock = header->clock <= WIRE_CLOCK_TICK ? header->clock : WIRE_CLOCK_NONE,
				     .python = header->python <= WIRE_PYTHON_NO_SYMBOLS ? header->python
											: WIRE_PYTHON_NONE,
				     .python_version = header->python_version,
				     .period_ns = header->period_ns,
				     .cpu_start_ns = header->cpu_start_ns,
				     .cpu_end_ns = header->cpu_end_ns,
				     .start_cost_ns = header->start_cost_ns,
				     .lost_full = header->lost_full,
				     .lost_thread = header->lost_thread,
				     .threads_missed = header->threads_missed,
				     .pages_used = header->pages_used};
	memcpy(out->stop_reason, header->stop_reason, sizeof(header->stop_reason));
	memcpy(out->executable, header->executable, sizeof(header->executable));
	memcpy(out->folder, header->folder, sizeof(header->folder));
}

/* All that was asked for, or false. */
static bool read_at(int fd, void *out, size_t bytes, uint64_t at)
{
	char *to = out;
	while (bytes) {
		ssize_t got = pread(fd, to, bytes, (off_t)at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		to += got;
		at += (uint64_t)got;
		bytes -= (size_t)got;
	}
	return true;
}

/* Neither a link nor a pipe that somebody put there. */
static int open_wire(const char *path, uint64_t *size, struct err *err)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return err_set_errno(err, ERR_IO, "cannot open wire file '%s'", path);
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		close(fd);
		return err_set(err, ERR_INPUT, "wire file '%s' is not a regular file", path);
	}
	*size = status.st_size > 0 ? (uint64_t)status.st_size : 0;
	return fd;
}

static int read_header(int fd, const char *path, struct wire_summary *out, struct err *err)
{
	struct wire_header header;
	if (!read_at(fd, &header, sizeof(header), 0))
		return err_set(err, ERR_INPUT, "wire file '%s' is cut short", path);
	if (header.magic != WIRE_MAGIC)
		return err_set(err, ERR_INPUT, "'%s' is not a wire file, or was never begun", path);
	if (header.version != WIRE_VERSION || header.header_bytes != sizeof(header))
		return err_set(err, ERR_INPUT,
			       "wire file '%s' is of another version of the agent (%u, this pitot reads %d)", path,
			       header.version, WIRE_VERSION);
	copy_summary(&header, out);
	return 0;
}

int wire_read_summary(const char *path, struct wire_summary *out, struct err *err)
{
	uint64_t size = 0;
	int fd = open_wire(path, &size, err);
	if (fd < 0)
		return fd;
	int code = read_header(fd, path, out, err);
	close(fd);
	return code;
}

/* ---- chunks ---- */

static bool hold_chunk(struct wire_file *file, const struct wire_chunk *head, uint64_t at)
{
	struct wire_inside *inside = file->inside;
	if (inside->held + head->used > MOST_HELD)
		return false;
	uint8_t *bytes = mem_alloc(head->used ? head->used : 1);
	if (!read_at(inside->fd, bytes, head->used, at + sizeof(*head))) {
		free(bytes);
		return false;
	}
	struct held_chunks *chunks = head->kind == WIRE_NODES   ? &inside->nodes
				     : head->kind == WIRE_SITES ? &inside->sites
								: &inside->records;
	vec_push(&chunks->items, ((struct held_chunk){.at = at, .bytes = bytes, .used = head->used}));
	inside->held += head->used;
	return true;
}

/* Whether the chunk makes sense and was taken. */
static bool take_chunk(struct wire_file *file, const struct wire_chunk *head, uint64_t at, uint64_t end)
{
	uint64_t room = (uint64_t)head->pages * WIRE_PAGE;
	if (head->kind > WIRE_SITES || head->pages == 0 || room > end - at || head->used > room - sizeof(*head))
		return false;
	if (head->kind != WIRE_SAMPLES)
		return hold_chunk(file, head, at);
	vec_push(&file->inside->samples, ((struct sample_chunk){.at = at, .used = head->used, .owner = head->owner}));
	return true;
}

/* An empty page may be the first of a hole. */
static uint64_t next_data(int fd, uint64_t at, uint64_t end)
{
	off_t data = lseek(fd, (off_t)at, SEEK_DATA);
	if (data < 0)
		return errno == ENXIO ? end : at;
	return (uint64_t)data / WIRE_PAGE * WIRE_PAGE;
}

static void read_chunks(struct wire_file *file, uint64_t size)
{
	int fd = file->inside->fd;
	uint64_t end = (uint64_t)file->summary.pages_used * WIRE_PAGE;
	end = end < size ? end : size / WIRE_PAGE * WIRE_PAGE;
	for (uint64_t at = WIRE_PAGE; at < end;) {
		struct wire_chunk head;
		if (!read_at(fd, &head, sizeof(head), at))
			return;
		if (head.kind == 0) {
			uint64_t next = next_data(fd, at + WIRE_PAGE, end);
			at = next > at ? next : at + WIRE_PAGE;
		} else if (take_chunk(file, &head, at, end)) {
			at += (uint64_t)head.pages * WIRE_PAGE;
		} else {
			file->dropped.bytes = end - at;
			return;
		}
	}
}

/* Samples belong to a thread that is known, and lie thread after thread. */
static int compare_chunks(const void *a, const void *b)
{
	const struct sample_chunk *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static void sort_samples(struct wire_file *file)
{
	struct wire_inside *inside = file->inside;
	size_t kept = 0;
	for (size_t i = 0; i < inside->samples.len; i++) {
		struct sample_chunk *chunk = &inside->samples.items[i];
		chunk->thread = parse_find(file, chunk->owner, WIRE_THREAD);
		if (chunk->thread == WIRE_NOWHERE)
			file->dropped.samples += chunk->used / sizeof(struct wire_sample);
		else
			inside->samples.items[kept++] = *chunk;
	}
	inside->samples.len = kept;
	if (kept)
		qsort(inside->samples.items, kept, sizeof(struct sample_chunk), compare_chunks);
}

int wire_read(const char *path, struct wire_file **out, struct err *err)
{
	uint64_t size = 0;
	int fd = open_wire(path, &size, err);
	if (fd < 0)
		return fd;
	struct wire_file *file = mem_alloc(sizeof(*file));
	file->inside = mem_alloc(sizeof(*file->inside));
	file->inside->fd = fd;
	int code = read_header(fd, path, &file->summary, err);
	if (code) {
		wire_file_free(file);
		return code;
	}
	read_chunks(file, size < MOST_BYTES ? size : MOST_BYTES);
	parse_records(file);
	parse_nodes(file);
	sort_samples(file);
	wire_memory_sites(file);
	*out = file;
	return 0;
}

/* ---- samples ---- */

static void take_sample(struct wire_file *file, const struct sample_chunk *chunk, const struct wire_sample *sample,
			struct read_sample *out)
{
	*out = (struct read_sample){.mono_ns = sample->mono_ns,
				    .thread = chunk->thread,
				    .node = sample->node ? parse_find_node(file, sample->node) : WIRE_NOWHERE,
				    .weight_ns = sample->weight_ns,
				    .flags = sample->flags & 63,
				    .task = sample->task ? parse_find(file, sample->task, WIRE_TASK) : WIRE_NOWHERE};
	if (out->node != WIRE_NOWHERE && !file->nodes.items[out->node].whole)
		out->node = WIRE_NOWHERE;
	file->dropped.stacks_lost += sample->node && out->node == WIRE_NOWHERE;
}

void wire_samples(struct wire_file *file, wire_sample_fn *take, void *context)
{
	struct wire_sample *some = mem_alloc(SAMPLES_AT_ONCE * sizeof(*some));
	bool wanted = true;
	file->dropped.stacks_lost = 0;
	for (size_t i = 0; i < file->inside->samples.len && wanted; i++) {
		const struct sample_chunk *chunk = &file->inside->samples.items[i];
		size_t left = chunk->used / sizeof(*some);
		uint64_t at = chunk->at + sizeof(struct wire_chunk);
		while (left && wanted) {
			size_t count = left < SAMPLES_AT_ONCE ? left : SAMPLES_AT_ONCE;
			if (!read_at(file->inside->fd, some, count * sizeof(*some), at))
				break;
			for (size_t k = 0; k < count && wanted; k++) {
				struct read_sample sample;
				take_sample(file, chunk, &some[k], &sample);
				wanted = take(context, &sample);
			}
			left -= count;
			at += count * sizeof(*some);
		}
	}
	free(some);
}

static void free_chunks(struct held_chunks *chunks)
{
	for (size_t i = 0; i < chunks->items.len; i++)
		free(chunks->items.items[i].bytes);
	vec_fini(&chunks->items);
}

static void free_inside(struct wire_inside *inside)
{
	if (!inside)
		return;
	free_chunks(&inside->records);
	free_chunks(&inside->nodes);
	free_chunks(&inside->sites);
	vec_fini(&inside->samples);
	vec_fini(&inside->by_start);
	map_fini(&inside->ids);
	close(inside->fd);
	free(inside);
}

void wire_file_free(struct wire_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->modules.len; i++)
		free(file->modules.items[i].path);
	for (size_t i = 0; i < file->codes.len; i++) {
		free(file->codes.items[i].name);
		free(file->codes.items[i].file);
	}
	for (size_t i = 0; i < file->tasks.len; i++)
		free(file->tasks.items[i]);
	vec_fini(&file->modules);
	vec_fini(&file->codes);
	vec_fini(&file->threads);
	vec_fini(&file->tasks);
	vec_fini(&file->nodes);
	vec_fini(&file->order);
	vec_fini(&file->residents);
	wire_types_free(file->types);
	wire_memory_free(file->memory);
	free_inside(file->inside);
	free(file);
}
