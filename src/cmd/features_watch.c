/*
 * features_watch.c - see features.h: what happens at every chunk, and the line of progress.
 *
 * Tables grow on disk, not in memory. Spans of all chunks are counted; of chunks, the first FIRST_CHUNKS go into the run file and
 * then ever fewer: a run of a million chunks keeps about thirteen thousand.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/features.h"
#include "render/format.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLUSH_BYTES = 1 << 16, FIRST_CHUNKS = 2048, REDRAW_NS = 100000000 };

/* ---- tables that grow ---- */

/* `job` NULL: the name is the path. */
static int table_open(struct features_job *job, struct features_table *table, const char *name, struct err *err)
{
	table->path = job ? features_artifact_path(job, name) : mem_strdup(name);
	table->part_path = mem_printf("%s.part", table->path);
	table->fd = open(table->part_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (table->fd < 0)
		return err_set_errno(err, ERR_IO, "cannot write '%s'", table->part_path);
	return 0;
}

static int table_flush(struct features_table *table, struct err *err)
{
	if (file_write_all(table->fd, str_text(&table->pending), table->pending.len) != 0)
		return err_set_errno(err, ERR_IO, "cannot write '%s'", table->part_path);
	str_clear(&table->pending);
	return 0;
}

static int table_close(struct features_table *table, struct err *err)
{
	int code = 0;
	if (!table->path)
		return 0;
	if (table->fd >= 0) {
		code = table_flush(table, err);
		close(table->fd);
		if (!code && rename(table->part_path, table->path) != 0)
			code = err_set_errno(err, ERR_IO, "cannot write '%s'", table->path);
		if (code)
			unlink(table->part_path);
	}
	free(table->path);
	free(table->part_path);
	str_fini(&table->pending);
	*table = (struct features_table){.fd = -1};
	return code;
}

/* ---- progress ---- */

void features_progress_clear(struct features_job *job)
{
	if (job->progress.dirty)
		fprintf(stderr, "\r\033[K");
	job->progress.dirty = false;
}

void features_progress_phase(struct features_job *job, const char *phase)
{
	struct features_progress *progress = &job->progress;
	progress->phase = phase;
	progress->bytes = 0;
	progress->phase_ns = progress->last_ns = clock_mono_ns();
	if (!progress->shown)
		return;
	if (progress->live)
		fprintf(stderr, "\r\033[K%s ...", phase);
	else
		fprintf(stderr, "%s ...\n", phase);
	progress->dirty = progress->live;
}

static bool is_due(struct features_progress *progress)
{
	uint64_t now = clock_mono_ns();
	if (!progress->shown || !progress->live || now - progress->last_ns < REDRAW_NS)
		return false;
	progress->last_ns = now;
	return true;
}

/* The part of the file that was read tells how far it is, and so how long the rest will take. */
static void draw(struct features_progress *progress, uint64_t rows)
{
	double elapsed = (double)(progress->last_ns - progress->phase_ns) / 1e9;
	double done = progress->file_size ? (double)progress->bytes / (double)progress->file_size : 0;
	char count[FORMAT_SIZE], rate[FORMAT_SIZE], left[FORMAT_SIZE];
	struct str line = {0};
	str_appendf(&line, "\r\033[K%s", progress->phase);
	if (rows) {
		format_count((double)rows, count);
		format_count((double)rows / elapsed, rate);
		str_appendf(&line, ": %s rows, %s rows/s", count, rate);
	}
	if (done > 0 && done < 1) { /* all is read: what is left to do then is not known */
		format_seconds(elapsed * (1 - done) / done, left);
		str_appendf(&line, ", %.0f %%, %s left", 100 * done, left);
	}
	fprintf(stderr, "%s", str_text(&line));
	progress->dirty = true;
	str_fini(&line);
}

void features_progress_step(void *context, const char *what, size_t done, size_t total)
{
	struct features_job *job = context;
	struct features_progress *progress = &job->progress;
	char left[FORMAT_SIZE];
	if (!progress->phase || strncmp(progress->phase, what, strcspn(what, ":")) != 0) {
		features_progress_phase(job, what);
		progress->phase = what;
	}
	if (!progress->shown || !progress->live)
		return;
	fprintf(stderr, "\r\033[K%s, %zu of %zu", what, done + 1, total);
	if (done) {
		double elapsed = (double)(clock_mono_ns() - progress->phase_ns) / 1e9;
		format_seconds(elapsed * (double)(total - done) / (double)done, left);
		fprintf(stderr, ", %s left", left);
	}
	progress->dirty = true;
}

/* In a batch there is nothing else to tell how far the reading is. */
void features_watch_bytes(void *context, const char *bytes, size_t count)
{
	struct features_job *job = context;
	(void)bytes;
	job->progress.bytes += count;
	if (is_due(&job->progress))
		draw(&job->progress, 0);
}

/* ---- chunks ---- */

static bool is_kept(uint64_t number)
{
	uint64_t stride = 1;
	for (uint64_t bound = FIRST_CHUNKS; number >= bound; bound *= 2)
		stride *= 2;
	return number % stride == 0;
}

static uint64_t since_start(const struct features_job *job, uint64_t mono_ns)
{
	return mono_ns > job->start_mono_ns ? mono_ns - job->start_mono_ns : 0;
}

static void log_chunk(struct features_job *job, const struct engine_chunk *chunk)
{
	uint64_t begin = since_start(job, chunk->start_ns), end = begin + chunk->latency_ns;
	bool kept = is_kept(chunk->id);
	if (kept)
		span_log_chunk_begin(job->log, (int64_t)chunk->id, begin);
	for (int i = 0; i < ENGINE_OPERATOR_COUNT; i++) {
		uint64_t at = since_start(job, chunk->operator_start_ns[i]);
		span_log_span(job->log, job->log_operators[i], at, at + chunk->operator_ns[i]);
	}
	span_log_span(job->log, job->log_operators[ENGINE_OPERATOR_COUNT], begin, begin + chunk->read_ns);
	span_log_work(job->log, job->log_operators[ENGINE_OPERATOR_COUNT], 0, (double)chunk->input_bytes);
	struct chunk_row row = {.rows = chunk->rows,
				.bytes_in = chunk->input_bytes,
				.bytes_out = SPAN_UNKNOWN,
				.rss_bytes = SPAN_UNKNOWN,
				.heap_bytes = chunk->memory_after_bytes};
	if (chunk->matrix)
		row.bytes_out = chunk->matrix->rows * chunk->matrix->width * sizeof(double);
	if (kept)
		span_log_chunk_end(job->log, &row, end);
}

static int write_features(struct features_job *job, const struct engine_chunk *chunk, struct err *err)
{
	if (job->spool)
		return feature_spool_add(job->spool, chunk->matrix, chunk->target, err);
	if (!job->features_path)
		return 0;
	int code = feature_write_matrix(job->features_path, job->features_format, chunk->matrix, chunk->target,
					job->stop, err);
	job->features_written = job->features_written || !code;
	return code;
}

static int write_table(struct features_job *job, const struct engine_chunk *chunk, struct err *err)
{
	struct features_table *table = &job->typed;
	int code = 0;
	if (!table->path || !chunk->frame)
		return 0;
	if (chunk->first_row == 0)
		features_table_head(chunk->frame, &table->pending);
	for (size_t row = 0; row < chunk->frame->rows && !code; row++) {
		features_table_row(chunk->frame, row, &table->pending);
		if (table->pending.len < FLUSH_BYTES)
			continue;
		code = table_flush(table, err);
		if (!code && *job->stop && !job->chunks.path) /* a batch, which is one long chunk */
			code = err_set(err, ERR_INTERRUPTED, "interrupted after %zu rows of '%s'", row + 1,
				       table->path);
	}
	return code;
}

int features_watch_chunk(void *context, const struct engine_chunk *chunk, struct err *err)
{
	struct features_job *job = context;
	int code = 0;
	if (job->log)
		log_chunk(job, chunk);
	if (job->profile.path) {
		features_profile_row(chunk, job->profile_events, &job->profile.pending);
		if (job->profile.pending.len >= FLUSH_BYTES)
			code = table_flush(&job->profile, err);
	}
	if (job->chunks.path && !code) {
		size_t chunk_rows = job->streaming.effective_rows, batch_rows = job->batch.effective_rows;
		features_chunks_row(chunk, batch_rows, chunk_rows, &job->chunks.pending);
		if (job->chunks.pending.len >= FLUSH_BYTES)
			code = table_flush(&job->chunks, err);
	}
	if (!code && chunk->matrix)
		code = write_features(job, chunk, err);
	code = code ? code : write_table(job, chunk, err);
	job->progress.bytes = chunk->file_bytes_done;
	if (is_due(&job->progress))
		draw(&job->progress, chunk->rows_done);
	return code;
}

static void open_log(struct features_job *job)
{
	if (!job->store || job->store_code)
		return;
	job->log = span_log_open(job->store, job->stage.id, "pitot features", job->stage.start_ns);
	for (int i = 0; i < FEATURES_OPERATORS; i++)
		job->log_operators[i] = span_log_operator(
			job->log, 0,
			i < ENGINE_OPERATOR_COUNT ? engine_operator_name((enum engine_operator)i) : "read");
}

/* Columns are for what this machine counts; the engine opens counters of its own, in the threads that work. */
static unsigned countable_events(void)
{
	struct pmu_thread *pmu = NULL;
	if (pmu_thread_open(&pmu, NULL))
		return 0;
	unsigned events = pmu_thread_events(pmu);
	pmu_thread_close(pmu);
	return events;
}

int features_watch_begin(struct features_job *job, enum engine_mode mode, bool features, struct err *err)
{
	bool streaming = mode == ENGINE_STREAMING;
	int code = 0;
	features_progress_phase(job, streaming ? "streaming" : "batch");
	open_log(job);
	/* Where both modes run the profile is that of the stream. */
	if (streaming || !job->wants_streaming) {
		code = table_open(job, &job->profile, "profiles/operator_profile.csv", err);
		job->profile_events = countable_events();
		features_profile_head(job->profile_events, &job->profile.pending);
	}
	if (streaming && !code) {
		code = table_open(job, &job->chunks, "benchmarks/streaming_chunks.csv", err);
		features_chunks_head(&job->chunks.pending);
	}
	if (!code && job->args->write_table && !job->typed_written)
		code = table_open(NULL, &job->typed, job->args->write_table, err);
	if (!code && features && streaming)
		code = feature_spool_open(job->features_path, &job->spool, err);
	return code;
}

static int close_tables(struct features_job *job, struct err *err)
{
	bool profile = job->profile.path != NULL, chunks = job->chunks.path != NULL;
	struct err second;
	int code = table_close(&job->profile, err);
	if (profile && !code)
		features_artifact_note(job, "profiles/operator_profile.csv");
	int other = table_close(&job->chunks, code ? &second : err);
	if (chunks && !other)
		features_artifact_note(job, "benchmarks/streaming_chunks.csv");
	code = code ? code : other;
	job->typed_written = job->typed_written || job->typed.path;
	other = table_close(&job->typed, code ? &second : err);
	return code ? code : other;
}

int features_watch_end(struct features_job *job, struct study_run *run, struct err *err)
{
	struct err second;
	int code = close_tables(job, err);
	if (job->spool) {
		/* Each chunk's own statistics have no columns to end with. A stream that was interrupted is written as far as it
		 * came; an interrupt from now on means the writing. */
		bool all = job->settings.per_chunk || run->code;
		int other = feature_spool_close(job->spool, job->features_format,
						all ? NULL : run->result.features.items, run->result.features.len,
						*job->stop ? NULL : job->stop, code ? &second : err);
		job->spool = NULL;
		job->features_written = job->features_written || !other;
		code = code ? code : other;
	}
	if (job->log) {
		struct err log_err;
		int log_code = span_log_close(job->log, since_start(job, clock_mono_ns()), &log_err);
		job->log = NULL;
		if (log_code && !job->store_code) {
			job->store_code = log_code;
			job->store_err = log_err;
		}
	}
	features_progress_clear(job);
	return code;
}
