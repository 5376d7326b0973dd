/* source.c - see source.h. */
#include "table/source.h"

#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum {
	SOURCE_BUFFER = 128 << 10,
	SOURCE_WINDOW_LIMITED = 23,
	SOURCE_WINDOW = 27,
	SOURCE_MAGIC = 16, /* bytes that tell what it is */
};

enum source_kind { SOURCE_PLAIN, SOURCE_GZIP, SOURCE_ZSTD };

struct source {
	char *path;
	struct memory *memory;
	csv_watch_fn *watch;
	void *watch_context;
	int fd;
	bool owned;
	enum source_kind kind;
	uint64_t size;
	atomic_uint_least64_t bytes; /* any thread may ask how far the reading is */
	char *buffer;                /* as it is in the file */
	size_t begin, end;
	bool at_end;  /* of the file */
	bool between; /* two members or frames, or before the first */
	z_stream gzip;
	bool gzip_open;
	ZSTD_DStream *zstd;
	size_t zstd_charge;
};

static ssize_t source_read_file(struct source *source, char *into, size_t size, struct err *err)
{
	ssize_t count;
	do
		count = read(source->fd, into, size);
	while (count < 0 && errno == EINTR);
	if (count < 0)
		return err_set_errno(err, ERR_IO, "cannot read '%s'", source->path);
	if (source->watch && count > 0)
		source->watch(source->watch_context, into, (size_t)count);
	source->bytes += (uint64_t)count;
	return count;
}

/* More of the file into the buffer, behind what is there: what came, 0 at the end, or an error. */
static ssize_t source_fill(struct source *source, struct err *err)
{
	if (source->begin == source->end)
		source->begin = source->end = 0;
	if (source->at_end || source->end == SOURCE_BUFFER)
		return 0;
	ssize_t count = source_read_file(source, source->buffer + source->end, SOURCE_BUFFER - source->end, err);
	if (count > 0)
		source->end += (size_t)count;
	source->at_end = count == 0;
	return count;
}

static int source_start_zstd(struct source *source, struct err *err)
{
	int window = source->memory && source->memory->budget ? SOURCE_WINDOW_LIMITED : SOURCE_WINDOW;
	source->zstd = ZSTD_createDStream();
	if (!source->zstd)
		return err_set(err, ERR_INTERNAL, "cannot start the zstd decoder");
	ZSTD_DCtx_setParameter(source->zstd, ZSTD_d_windowLogMax, window);
	return 0;
}

/* Tables that are no text, by their first bytes: it is better to say so than to look for delimiters in them. */
static int source_refuse_binary(const struct source *source, struct err *err)
{
	static const struct {
		const char *bytes;
		size_t count;
		const char *name;
	} kinds[] = {{"PAR1", 4, "Parquet"},
		     {"ARROW1", 6, "Arrow IPC"},
		     {"\xff\xff\xff\xff", 4, "an Arrow IPC stream"},
		     {"FEA1", 4, "Feather"},
		     {"ORC", 3, "ORC"},
		     {"PK\x03\x04", 4, "Excel or zip"},
		     {"SQLite format 3", 16, "SQLite"}};
	bool text = true; /* a column may be called PAR1, but no header has control characters */
	for (size_t i = 0; i < source->end && i < SOURCE_MAGIC; i++)
		text = text && ((unsigned char)source->buffer[i] >= ' ' || strchr("\t\r\n", source->buffer[i])) &&
		       source->buffer[i] != 0;
	for (size_t i = 0; !text && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (source->end >= kinds[i].count && memcmp(source->buffer, kinds[i].bytes, kinds[i].count) == 0)
			return err_set(err, ERR_INPUT,
				       "'%s' is %s, which is not read: the distribution that pitot is made for has no "
				       "C library for it. Write it as CSV first, e.g. duckdb -c \"COPY (FROM '%s') TO "
				       "'/dev/stdout' (FORMAT csv)\" | pitot features -",
				       source->path, kinds[i].name, source->path);
	return 0;
}

static int source_detect(struct source *source, struct err *err)
{
	static const unsigned char gzip[] = {0x1f, 0x8b}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
	while (source->end < SOURCE_MAGIC) {
		ssize_t count = source_fill(source, err);
		if (count < 0)
			return (int)count;
		if (count == 0)
			break;
	}
	source->between = true;
	if (source->end >= sizeof(gzip) && memcmp(source->buffer, gzip, sizeof(gzip)) == 0) {
		source->kind = SOURCE_GZIP;
		if (inflateInit2(&source->gzip, 15 + 16) != Z_OK)
			return err_set(err, ERR_INTERNAL, "cannot start the gzip decoder");
		source->gzip_open = true;
	} else if (source->end >= sizeof(zstd) && memcmp(source->buffer, zstd, sizeof(zstd)) == 0) {
		source->kind = SOURCE_ZSTD;
		return source_start_zstd(source, err);
	}
	return source_refuse_binary(source, err);
}

int source_open(const char *path, const char *name, struct memory *memory, csv_watch_fn *watch, void *watch_context,
		struct source **out, struct err *err)
{
	struct source *source = mem_alloc(sizeof(*source));
	struct stat status;
	int code = 0;
	*source = (struct source){
		.path = mem_strdup(name), .memory = memory, .watch = watch, .watch_context = watch_context};
	source->owned = strcmp(path, "-") != 0;
	source->fd = source->owned ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	source->buffer = memory_take(memory, SOURCE_BUFFER);
	if (source->fd < 0)
		code = err_set_errno(err, ERR_INPUT, "cannot open '%s'", name);
	else if (fstat(source->fd, &status) == 0 && S_ISDIR(status.st_mode))
		code = err_set(err, ERR_INPUT, "'%s' is a directory, not a table", name);
	else if (!source->buffer)
		code = err_set(err, ERR_UNAVAILABLE, "no memory for a buffer of %d bytes", SOURCE_BUFFER);
	else if (S_ISREG(status.st_mode)) {
		source->size = (uint64_t)status.st_size;
		(void)posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	}
	if (!code)
		code = source_detect(source, err);
	if (code) {
		source_close(source);
		return code;
	}
	*out = source;
	return 0;
}

void source_close(struct source *source)
{
	if (!source)
		return;
	if (source->gzip_open)
		inflateEnd(&source->gzip);
	ZSTD_freeDStream(source->zstd);
	if (source->memory && source->zstd_charge)
		atomic_fetch_sub(&source->memory->used, source->zstd_charge);
	memory_give(source->memory, source->buffer, SOURCE_BUFFER);
	if (source->owned && source->fd >= 0)
		close(source->fd);
	free(source->path);
	free(source);
}

uint64_t source_file_size(const struct source *source)
{
	return source->size;
}

uint64_t source_file_bytes(const struct source *source)
{
	return source->bytes;
}

static ssize_t source_read_plain(struct source *source, char *into, size_t size, struct err *err)
{
	size_t done = source->end - source->begin < size ? source->end - source->begin : size;
	memcpy(into, source->buffer + source->begin, done);
	source->begin += done;
	while (done < size && !source->at_end) {
		ssize_t count = source_read_file(source, into + done, size - done, err);
		if (count < 0)
			return count;
		source->at_end = count == 0;
		done += (size_t)count;
	}
	return (ssize_t)done;
}

static int source_damaged(struct source *source, const char *format, const char *why, struct err *err)
{
	return err_set(err, ERR_INPUT, "'%s' is damaged %s data: %s", source->path, format, why);
}

/* One step of the decoder: what it gave, or an error. 0 with the input used up means that it wants more. */
static ssize_t source_inflate(struct source *source, char *into, size_t size, struct err *err)
{
	z_stream *gzip = &source->gzip;
	gzip->next_in = (unsigned char *)source->buffer + source->begin;
	gzip->avail_in = (unsigned)(source->end - source->begin);
	gzip->next_out = (unsigned char *)into;
	gzip->avail_out = (unsigned)(size < UINT32_MAX ? size : UINT32_MAX);
	unsigned room = gzip->avail_out;
	int state = inflate(gzip, Z_NO_FLUSH);
	source->begin = source->end - gzip->avail_in;
	source->between = state == Z_STREAM_END;
	if (state == Z_STREAM_END)
		inflateReset(gzip);
	else if (state != Z_OK && state != Z_BUF_ERROR)
		return source_damaged(source, "gzip", gzip->msg ? gzip->msg : "bad data", err);
	return (ssize_t)(room - gzip->avail_out);
}

static ssize_t source_unzstd(struct source *source, char *into, size_t size, struct err *err)
{
	ZSTD_inBuffer in = {source->buffer, source->end, source->begin};
	ZSTD_outBuffer out = {into, size, 0};
	size_t state = ZSTD_decompressStream(source->zstd, &out, &in);
	source->begin = in.pos;
	if (ZSTD_isError(state))
		return source_damaged(source, "zstd", ZSTD_getErrorName(state), err);
	source->between = state == 0;
	size_t held = ZSTD_sizeof_DStream(source->zstd);
	if (source->memory && held > source->zstd_charge) {
		atomic_fetch_add(&source->memory->used, held - source->zstd_charge);
		source->zstd_charge = held;
	}
	return (ssize_t)out.pos;
}

ssize_t source_read(struct source *source, char *into, size_t size, struct err *err)
{
	if (source->kind == SOURCE_PLAIN)
		return source_read_plain(source, into, size, err);
	size_t done = 0;
	while (done < size) {
		if (source->begin == source->end && !source->at_end) {
			ssize_t more = source_fill(source, err);
			if (more < 0)
				return more;
		}
		if (source->begin == source->end && source->between)
			break;
		ssize_t count = source->kind == SOURCE_GZIP ? source_inflate(source, into + done, size - done, err)
							    : source_unzstd(source, into + done, size - done, err);
		if (count < 0)
			return count;
		if (count == 0 && source->begin == source->end && source->at_end && !source->between)
			return source_damaged(source, source->kind == SOURCE_GZIP ? "gzip" : "zstd", "it ends early",
					      err);
		done += (size_t)count;
	}
	return (ssize_t)done;
}
