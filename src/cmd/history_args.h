/*
 * history_args.h - what the parts of `pitot history` share: their options, the choice of runs, and opening the history.
 *
 * Each part (list, trend, tag, untag, prune) is a command with an option table of its own, so that an option which means
 * nothing to it is refused. The table of `pitot history` itself, for help and completions, has every row once.
 */
#ifndef PITOT_CMD_HISTORY_ARGS_H
#define PITOT_CMD_HISTORY_ARGS_H

#include "cmd/cmd.h"
#include "store/history.h"

struct history_args {
	const char *history;
	/* which runs */
	struct opt_texts statuses;
	const char *since, *until, *commit, *tag, *host;
	/* list and trend */
	int64_t limit;
	bool json, csv;
	/* trend */
	const char *metric, *stage, *quality;
	/* tag */
	bool force;
	/* prune */
	int64_t keep;
	const char *older_than, *name;
	bool damaged, yes;
};

#define HISTORY_FIELD(field) offsetof(struct history_args, field)

#define HISTORY_ROW_LIMIT                                                                                              \
	{                                                                                                              \
		"limit", 'n', OPT_INTEGER, HISTORY_FIELD(limit), "N", "the newest N runs; 0: all"                      \
	}
#define HISTORY_ROW_STATUS                                                                                             \
	{                                                                                                              \
		"status", 0, OPT_LIST, HISTORY_FIELD(statuses), "STATUS", "only runs that ended so"                    \
	}
#define HISTORY_ROW_SINCE                                                                                              \
	{                                                                                                              \
		"since", 0, OPT_TEXT, HISTORY_FIELD(since), "WHEN", "not before: 2026-01-31, 12h, 7d"                  \
	}
#define HISTORY_ROW_UNTIL                                                                                              \
	{                                                                                                              \
		"until", 0, OPT_TEXT, HISTORY_FIELD(until), "WHEN", "not after"                                        \
	}
#define HISTORY_ROW_COMMIT                                                                                             \
	{                                                                                                              \
		"commit", 0, OPT_TEXT, HISTORY_FIELD(commit), "PREFIX", "only runs of this commit"                     \
	}
#define HISTORY_ROW_TAG                                                                                                \
	{                                                                                                              \
		"tag", 0, OPT_TEXT, HISTORY_FIELD(tag), "PATTERN", "only runs with such a tag"                         \
	}
#define HISTORY_ROW_HOST                                                                                               \
	{                                                                                                              \
		"host", 0, OPT_TEXT, HISTORY_FIELD(host), "this|PRINT", "only runs of this machine"                    \
	}
#define HISTORY_ROW_JSON                                                                                               \
	{                                                                                                              \
		"json", 0, OPT_FLAG, HISTORY_FIELD(json), NULL, "as JSON"                                              \
	}
#define HISTORY_ROW_CSV                                                                                                \
	{                                                                                                              \
		"csv", 0, OPT_FLAG, HISTORY_FIELD(csv), NULL, "the trend's runs as CSV"                                \
	}
#define HISTORY_ROW_METRIC                                                                                             \
	{                                                                                                              \
		"metric", 'm', OPT_TEXT, HISTORY_FIELD(metric), "NAME", "trend of this metric"                         \
	}
#define HISTORY_ROW_STAGE                                                                                              \
	{                                                                                                              \
		"stage", 0, OPT_TEXT, HISTORY_FIELD(stage), "NAME", "of this stage, not of the run"                    \
	}
#define HISTORY_ROW_QUALITY                                                                                            \
	{                                                                                                              \
		"quality", 0, OPT_TEXT, HISTORY_FIELD(quality), "NAME", "trend of this quality metric"                 \
	}
#define HISTORY_ROW_FORCE                                                                                              \
	{                                                                                                              \
		"force", 0, OPT_FLAG, HISTORY_FIELD(force), NULL, "move a tag that is in use"                          \
	}
#define HISTORY_ROW_KEEP                                                                                               \
	{                                                                                                              \
		"keep", 0, OPT_INTEGER, HISTORY_FIELD(keep), "N", "prune: spare the newest N of each name"             \
	}
#define HISTORY_ROW_OLDER                                                                                              \
	{                                                                                                              \
		"older-than", 0, OPT_TEXT, HISTORY_FIELD(older_than), "WHEN", "prune: only older ones"                 \
	}
#define HISTORY_ROW_NAME                                                                                               \
	{                                                                                                              \
		"name", 0, OPT_TEXT, HISTORY_FIELD(name), "NAME", "prune: only of this pipeline"                       \
	}
#define HISTORY_ROW_DAMAGED                                                                                            \
	{                                                                                                              \
		"damaged", 0, OPT_FLAG, HISTORY_FIELD(damaged), NULL, "prune: only damaged files"                      \
	}
#define HISTORY_ROW_YES                                                                                                \
	{                                                                                                              \
		"yes", 0, OPT_FLAG, HISTORY_FIELD(yes), NULL, "prune: really remove them"                              \
	}
#define HISTORY_ROW_HISTORY                                                                                            \
	{                                                                                                              \
		"history", 0, OPT_TEXT, HISTORY_FIELD(history), "DIR", "the folder with the earlier runs"              \
	}

extern const struct cmd cmd_history;
extern const struct cmd cmd_history_list, cmd_history_trend, cmd_history_tag, cmd_history_untag, cmd_history_prune;

/* Which runs the options choose. */
struct history_filter {
	const char *name, *commit, *tag;
	uint64_t since_ns, until_ns;
	const char *const *statuses;
	size_t status_count;
	char host[65]; /* the beginning of a fingerprint; "" means any */
};

int history_filter_make(const struct history_args *args, const char *name, struct history_filter *out, struct err *err);
bool history_filter_passes(const struct history_filter *filter, const struct history_entry *entry);

/* A moment as a person writes it, against `now_ns`: a date, a date with time (UTC), or how long ago. `end`: of a day
 * the last moment. */
bool history_when(const char *text, uint64_t now_ns, bool end, uint64_t *out);

const char *history_file_name(const struct history_entry *entry);
const char *history_status_word(const struct history_entry *entry);
/* "2026-01-31 12:34"; `out` has 24 bytes. */
void history_moment(uint64_t utc_ns, char *out);

/* Opens it, with progress on a terminal where it takes long; warns where the tags cannot be read. `request` may be
 * NULL. */
int history_open_shown(const char *dir, const struct history_request *request, struct history *out, struct err *err);

#endif
