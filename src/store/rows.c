/*
 * rows.c - one function per kind of row in the run file.
 *
 * Where a struct marks "none" with a number (-1, 0), the file has NULL, so that SQL's own rules for unknown values
 * hold. A number that is not finite is stored as unknown with a reason: it would poison every sum over it.
 */
#include "base/mem.h"
#include "store/owner.h"
#include "store/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static void put_int_or_null(struct sql_row *row, int64_t value, int64_t none)
{
	if (value == none)
		sql_put_null(row);
	else
		sql_put_int(row, value);
}

static void put_real_or_null(struct sql_row *row, double value)
{
	if (isfinite(value))
		sql_put_real(row, value);
	else
		sql_put_null(row);
}

static void put_seconds(struct sql_row *row, double value)
{
	sql_put_real(row, isfinite(value) ? value : 0);
}

static const char *text_or(const char *text, const char *otherwise)
{
	return text ? text : otherwise;
}

static void make_uuid(char out[33])
{
	unsigned char bytes[16] = {0};
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		memcpy(bytes, &(uint64_t){(uint64_t)getpid()}, sizeof(uint64_t));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

int writer_run(struct store *store, const struct run_row *run, struct err *err)
{
	char uuid[33], boot_id[64];
	make_uuid(uuid);
	owner_boot_id(boot_id, sizeof(boot_id));
	int64_t pid = run->owner_pid ? run->owner_pid : getpid();
	struct sql_row row = writer_row(store, STATEMENT_RUN);
	sql_put_text(&row, text_or(run->name, "run"));
	sql_put_text(&row, text_or(run->uuid, uuid));
	sql_put_uint(&row, run->started_utc_ns);
	sql_put_text(&row, run->argv_json);
	sql_put_text(&row, run->cwd);
	sql_put_text(&row, run->config_path);
	sql_put_text(&row, run->config_text);
	sql_put_text(&row, run->git_commit);
	sql_put_text(&row, text_or(run->pitot_version, PITOT_VERSION));
	sql_put_text(&row, run->fingerprint);
	sql_put_uint(&row, run->interval_ns);
	sql_put_int(&row, run->repeat);
	sql_put_int(&row, run->warmup);
	sql_put_int(&row, run->jobs);
	sql_put_int(&row, pid);
	sql_put_uint(&row, run->owner_start ? run->owner_start : owner_start_ticks(pid));
	sql_put_text(&row, text_or(run->boot_id, boot_id));
	return writer_step(store, &row, err);
}

int writer_run_end(struct store *store, enum stage_status status, uint64_t wall_ns, struct err *err)
{
	struct sql_row row = writer_row(store, STATEMENT_RUN_END);
	sql_put_text(&row, status_name(status));
	/* 0 is what marks a run that was never ended. */
	sql_put_uint(&row, wall_ns ? wall_ns : 1);
	return writer_step(store, &row, err);
}

int store_param(struct store *store, const char *name, const char *value, const char *source, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_PARAM);
	sql_put_text(&row, name);
	sql_put_text(&row, text_or(value, ""));
	sql_put_text(&row, source);
	return writer_step(store, &row, err);
}

int store_host_fact(struct store *store, const char *key, const char *value, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_HOST);
	sql_put_text(&row, key);
	sql_put_text(&row, text_or(value, ""));
	return writer_step(store, &row, err);
}

int store_gate(struct store *store, const char *name, double limit, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_GATE);
	sql_put_text(&row, name);
	sql_put_real(&row, limit);
	return writer_step(store, &row, err);
}

int store_stage_begin(struct store *store, struct stage_row *stage, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_STAGE_BEGIN);
	sql_put_int(&row, stage->repetition);
	sql_put_int(&row, stage->warmup);
	sql_put_int(&row, stage->position);
	sql_put_text(&row, stage->name);
	sql_put_text(&row, stage->command);
	sql_put_int(&row, stage->attempts);
	sql_put_uint(&row, stage->start_ns);
	sql_put_text(&row, stage->tier);
	sql_put_text(&row, stage->needs);
	code = writer_step(store, &row, err);
	if (code)
		return code;
	stage->id = sqlite3_last_insert_rowid(store->db);
	store->stage_begun = true;
	/* At once: a kill right after this must still show that the stage had begun. */
	return store_commit(store, err);
}

int store_stage_end(struct store *store, const struct stage_row *stage, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	bool ran = stage->start_ns || stage->end_ns;
	struct sql_row row = writer_row(store, STATEMENT_STAGE_END);
	sql_put_text(&row, status_name(stage->status));
	sql_put_text(&row, stage->reason);
	sql_put_int(&row, stage->attempts);
	put_int_or_null(&row, stage->exit_code, -1);
	put_int_or_null(&row, stage->term_signal, 0);
	put_int_or_null(&row, ran ? (int64_t)stage->start_ns : -1, -1);
	put_int_or_null(&row, (int64_t)stage->end_ns, 0);
	sql_put_text(&row, stage->tier);
	sql_put_int(&row, stage->id);
	return writer_step(store, &row, err);
}

static int put_metric(struct store *store, int64_t stage_id, int id, const struct metric_value *value, struct err *err)
{
	bool known = value->state == METRIC_KNOWN && isfinite(value->value);
	const char *reason = value->state == METRIC_KNOWN ? "the measurement gave no finite number" : value->reason;
	struct sql_row row = writer_row(store, STATEMENT_METRIC);
	sql_put_int(&row, stage_id);
	sql_put_text(&row, metrics[id].name);
	sql_put_text(&row, metric_unit_name(metrics[id].unit));
	put_real_or_null(&row, known ? value->value : NAN);
	sql_put_text(&row, known ? metric_method_name(value->method) : NULL);
	sql_put_text(&row, known ? value->source : NULL);
	put_real_or_null(&row, known ? fmin(fmax(value->coverage, 0), 1) : NAN);
	sql_put_int(&row, known && value->lower_bound);
	sql_put_text(&row, known ? NULL : reason);
	return writer_step(store, &row, err);
}

int store_metrics(struct store *store, int64_t stage_id, const struct metric_value *values, struct err *err)
{
	int code = writer_failed(store, err);
	for (int id = 0; id < METRIC_COUNT && !code; id++)
		if (values[id].state != METRIC_UNSET)
			code = put_metric(store, stage_id, id, &values[id], err);
	return code;
}

int store_process(struct store *store, const struct process_row *process, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_PROCESS);
	sql_put_int(&row, process->stage_id);
	sql_put_int(&row, process->pid);
	sql_put_int(&row, process->ppid);
	sql_put_uint(&row, process->start_ns);
	put_int_or_null(&row, (int64_t)process->end_ns, 0);
	sql_put_text(&row, process->command);
	sql_put_int(&row, process->ended);
	put_int_or_null(&row, process->exit_code, -1);
	put_int_or_null(&row, process->term_signal, 0);
	put_seconds(&row, process->cpu_user_s);
	put_seconds(&row, process->cpu_system_s);
	const uint64_t counts[] = {process->rss_peak_bytes,         process->io_read_bytes,
				   process->io_write_bytes,         process->io_device_read_bytes,
				   process->io_device_write_bytes,  process->page_faults_minor,
				   process->page_faults_major,      process->context_switches_voluntary,
				   process->context_switches_forced};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		sql_put_uint(&row, counts[i]);
	sql_put_text(&row, process_source_name(process->source));
	return writer_step(store, &row, err);
}

/* There are a few dozen series and the names are static, so a look at the pointers nearly always finds it. */
static int64_t known_series(const struct store *store, const char *name)
{
	for (size_t i = 0; i < store->series.len; i++)
		if (store->series.items[i] == name)
			return (int64_t)i + 1;
	for (size_t i = 0; i < store->series.len; i++)
		if (strcmp(store->series.items[i], name) == 0)
			return (int64_t)i + 1;
	return 0;
}

static int series_id(struct store *store, const char *name, enum metric_unit unit, int64_t *out, struct err *err)
{
	*out = known_series(store, name);
	if (*out)
		return 0;
	struct sql_row row = writer_row(store, STATEMENT_SERIES);
	sql_put_int(&row, (int64_t)store->series.len + 1);
	sql_put_text(&row, name);
	sql_put_text(&row, metric_unit_name(unit));
	int code = writer_step(store, &row, err);
	if (code)
		return code;
	vec_push(&store->series, name);
	*out = (int64_t)store->series.len;
	return 0;
}

int store_sample(struct store *store, int64_t stage_id, const char *series, enum metric_unit unit, uint64_t at_ns,
		 double value, struct err *err)
{
	int64_t id = 0;
	int code = writer_failed(store, err);
	if (!code && isfinite(value))
		code = series_id(store, series, unit, &id, err);
	/* A sample that is no number is a gap in the series, as a sample that was not taken is. */
	if (code || !isfinite(value))
		return code;
	struct sql_row row = writer_row(store, STATEMENT_SAMPLE);
	sql_put_int(&row, stage_id);
	sql_put_uint(&row, at_ns);
	sql_put_int(&row, id);
	sql_put_real(&row, value);
	return writer_step(store, &row, err);
}

int store_log(struct store *store, int64_t stage_id, const char *text, size_t size, uint64_t dropped_lines,
	      struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_LOG);
	sql_put_int(&row, stage_id);
	sql_put_bytes(&row, size ? text : "", size);
	sql_put_uint(&row, dropped_lines);
	return writer_step(store, &row, err);
}

int store_artifact(struct store *store, int64_t stage_id, const struct artifact *artifact, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_ARTIFACT);
	sql_put_int(&row, stage_id);
	sql_put_text(&row, artifact->is_output ? "output" : "input");
	sql_put_text(&row, artifact->path);
	sql_put_int(&row, artifact->exists);
	if (artifact->exists)
		sql_put_uint(&row, artifact->bytes);
	else
		sql_put_null(&row);
	return writer_step(store, &row, err);
}

int store_quality(struct store *store, const struct quality_row *quality, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	bool known = quality->known && isfinite(quality->value);
	struct sql_row row = writer_row(store, STATEMENT_QUALITY);
	sql_put_text(&row, quality->name);
	put_real_or_null(&row, known ? quality->value : NAN);
	sql_put_text(&row, quality->source);
	sql_put_text(&row, known ? NULL : text_or(quality->reason, quality->known ? "not a finite number" : "unknown"));
	return writer_step(store, &row, err);
}

int store_event(struct store *store, const struct event_row *event, struct err *err)
{
	int code = writer_failed(store, err);
	if (code)
		return code;
	struct sql_row row = writer_row(store, STATEMENT_EVENT);
	sql_put_int(&row, event->stage_id);
	sql_put_uint(&row, event->at_ns);
	sql_put_text(&row, event->kind);
	sql_put_text(&row, event->text);
	return writer_step(store, &row, err);
}
