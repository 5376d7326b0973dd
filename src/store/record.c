/* record.c - see record.h. Frees what a record owns; half-built records and NULL are fine. */
#include "store/record.h"
#include "store/store.h"

#include <string.h>

const char *status_name(enum stage_status status)
{
	static const char *const names[STATUS_COUNT] = {
#define STATUS_NAME(id, name) [STATUS_##id] = name,
		STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
	};
	return names[status];
}

int status_find(const char *name)
{
	for (int status = 0; status < STATUS_COUNT; status++)
		if (strcmp(status_name(status), name) == 0)
			return status;
	return -1;
}

const char *process_source_name(enum process_source source)
{
	static const char *const names[] = {"exit record", "wait4", "sample"};
	return names[source];
}

static void run_row_fini(struct run_row *row)
{
	char *const texts[] = {row->name,        row->uuid,        row->argv_json,  row->cwd,
			       row->config_path, row->config_text, row->git_commit, row->pitot_version,
			       row->fingerprint, row->boot_id};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
}

static void name_value_fini(struct name_value *pair)
{
	free(pair->name);
	free(pair->value);
	free(pair->source);
}

static void stage_record_fini(struct stage_record *stage)
{
	char *const texts[] = {stage->row.name, stage->row.command, stage->row.reason,
			       stage->row.tier, stage->row.needs,   stage->log};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	for (size_t i = 0; i < stage->artifacts.len; i++)
		free(stage->artifacts.items[i].path);
	vec_fini(&stage->artifacts);
}

void run_record_free(struct run_record *record)
{
	if (!record)
		return;
	free(record->path);
	run_row_fini(&record->row);
	for (size_t i = 0; i < record->params.len; i++)
		name_value_fini(&record->params.items[i]);
	for (size_t i = 0; i < record->host.len; i++)
		name_value_fini(&record->host.items[i]);
	for (size_t i = 0; i < record->gates.len; i++)
		name_value_fini(&record->gates.items[i]);
	for (size_t i = 0; i < record->stages.len; i++)
		stage_record_fini(&record->stages.items[i]);
	for (size_t i = 0; i < record->quality.len; i++) {
		free(record->quality.items[i].name);
		free(record->quality.items[i].source);
		free(record->quality.items[i].reason);
	}
	for (size_t i = 0; i < record->events.len; i++) {
		free(record->events.items[i].kind);
		free(record->events.items[i].text);
	}
	vec_fini(&record->params);
	vec_fini(&record->host);
	vec_fini(&record->gates);
	vec_fini(&record->stages);
	vec_fini(&record->quality);
	vec_fini(&record->events);
	free(record);
}

void series_list_fini(struct series_list *list)
{
	for (size_t i = 0; i < list->items.len; i++) {
		free(list->items.items[i].name);
		vec_fini(&list->items.items[i].buckets);
	}
	vec_fini(&list->items);
}

void process_list_fini(struct process_list *list)
{
	for (size_t i = 0; i < list->items.len; i++)
		free(list->items.items[i].command);
	vec_fini(&list->items);
}
