/* output.c - see output.h. */
#include "run/output.h"
#include "config/quality.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum { METRIC_LINE_LIMIT = 512, PUMP_BYTES = 1 << 20, READ_BYTES = 64 * 1024, PASS_BYTES = 4096 };

void output_log_init(struct output_log *log, output_metric_fn *metric, void *context)
{
	*log = (struct output_log){.metric = metric, .context = context};
}

void output_log_fini(struct output_log *log)
{
	str_fini(&log->tail);
	str_fini(&log->line);
}

static void finish_line(struct output_log *log)
{
	char name[128];
	double value;
	if (!log->line_too_long && log->line.len &&
	    quality_parse_line(log->line.text, log->line.len, name, sizeof(name), &value))
		log->metric(log->context, name, value);
	str_clear(&log->line);
	log->line_too_long = false;
}

/* Most output is no metric: a line is looked at only as long as it begins like one. */
static void follow_lines(struct output_log *log, const char *bytes, size_t count)
{
	static const char begin[] = "pitot-metric ";
	while (count) {
		const char *newline = memchr(bytes, '\n', count);
		size_t piece = newline ? (size_t)(newline - bytes) : count;
		if (!log->line_too_long) {
			size_t room = METRIC_LINE_LIMIT - log->line.len;
			str_append_bytes(&log->line, bytes, piece < room ? piece : room);
			size_t known = log->line.len < sizeof(begin) - 1 ? log->line.len : sizeof(begin) - 1;
			log->line_too_long = piece > room || memcmp(log->line.text, begin, known) != 0;
		}
		if (!newline)
			return;
		finish_line(log);
		bytes += piece + 1;
		count -= piece + 1;
	}
}

/* Keeps the last lines and bytes; what goes is counted in lines. */
static void trim(struct output_log *log)
{
	const char *text = log->tail.text;
	size_t start = log->tail.len > OUTPUT_BYTES ? log->tail.len - OUTPUT_BYTES : 0;
	size_t lines = 0;
	/* The newline that ends the last line does not begin another. */
	size_t at = log->tail.len && text[log->tail.len - 1] == '\n' ? log->tail.len - 1 : log->tail.len;
	while (at > start) {
		const char *newline = memrchr(text + start, '\n', at - start);
		if (!newline)
			break;
		at = (size_t)(newline - text);
		if (++lines == OUTPUT_LINES) {
			start = at + 1;
			break;
		}
	}
	for (size_t i = 0; i < start; i++)
		log->dropped_lines += text[i] == '\n';
	memmove(log->tail.text, text + start, log->tail.len - start);
	log->tail.len -= start;
	log->tail.text[log->tail.len] = '\0';
}

void output_log_add(struct output_log *log, const char *bytes, size_t count)
{
	log->bytes += count;
	follow_lines(log, bytes, count);
	str_append_bytes(&log->tail, bytes, count);
	if (log->tail.len > (size_t)2 * OUTPUT_BYTES)
		trim(log);
}

void output_log_end(struct output_log *log)
{
	finish_line(log);
	if (log->tail.len)
		trim(log);
}

void stream_end(struct stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
}

/* A write of PASS_BYTES does not block where poll says writable: the pipe has room for that much. False: gone. */
static bool pass_on(struct stream *stream)
{
	while (stream->backlog.len) {
		struct pollfd ready = {.fd = stream->pass_to, .events = POLLOUT};
		if (poll(&ready, 1, 0) <= 0 || !(ready.revents & (POLLOUT | POLLERR | POLLHUP)))
			return true;
		size_t count = stream->backlog.len < PASS_BYTES ? stream->backlog.len : PASS_BYTES;
		ssize_t put = write(stream->pass_to, stream->backlog.text, count);
		if (put < 0 && (errno == EINTR || errno == EAGAIN))
			return true;
		if (put < 0)
			return false;
		memmove(stream->backlog.text, stream->backlog.text + put, stream->backlog.len - (size_t)put);
		stream->backlog.len -= (size_t)put;
	}
	return true;
}

enum stream_state stream_pump(struct stream *stream, struct output_log *log)
{
	char bytes[READ_BYTES];
	for (size_t total = 0; total < PUMP_BYTES && stream->fd >= 0;) {
		if (stream->pass_to >= 0 && !pass_on(stream)) {
			str_clear(&stream->backlog);
			stream_end(stream);
			break;
		}
		if (stream->backlog.len)
			return STREAM_BLOCKED;
		ssize_t got = read(stream->fd, bytes, sizeof(bytes));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return STREAM_READING;
		if (got <= 0) {
			stream_end(stream);
			break;
		}
		output_log_add(log, bytes, (size_t)got);
		total += (size_t)got;
		if (stream->pass_to >= 0)
			str_append_bytes(&stream->backlog, bytes, (size_t)got);
	}
	return stream->fd >= 0 ? STREAM_READING : STREAM_ENDED;
}
