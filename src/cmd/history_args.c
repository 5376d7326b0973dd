/* history_args.c - see history_args.h. */
#include "cmd/history_args.h"
#include "base/clock.h"
#include "probe/host.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Statuses of stages, and what a run can be besides. */
static const char *const status_words[] = {"ok",      "error",  "timeout", "interrupted",
					   "skipped", "manual", "running", "damaged"};

enum { STATUS_WORDS = sizeof(status_words) / sizeof(status_words[0]) };

const char *history_file_name(const struct history_entry *entry)
{
	const char *slash = strrchr(entry->path, '/');
	return slash ? slash + 1 : entry->path;
}

const char *history_status_word(const struct history_entry *entry)
{
	return entry->damaged ? "damaged" : entry->live ? "running" : status_name(entry->status);
}

void history_moment(uint64_t utc_ns, char *out)
{
	clock_format_utc(utc_ns, out, 24);
	out[10] = ' ';
	out[16] = '\0';
}

/* "90m", "12h", "7d", "2w": so long ago. */
static bool parse_ago(const char *text, uint64_t now_ns, uint64_t *out)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 7 * 86400}};
	char number[24];
	size_t length = strlen(text);
	if (length < 2 || length > sizeof(number))
		return false;
	memcpy(number, text, length - 1);
	number[length - 1] = '\0';
	double amount;
	if (!str_to_double(number, &amount) || !(amount >= 0))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (text[length - 1] != units[i].unit)
			continue;
		double ago_ns = amount * (double)units[i].seconds * 1e9;
		*out = ago_ns < (double)now_ns ? now_ns - (uint64_t)ago_ns : 0;
		return true;
	}
	return false;
}

bool history_when(const char *text, uint64_t now_ns, bool end, uint64_t *out)
{
	static const struct {
		const char *format;
		uint64_t span_s; /* how much of time it names */
	} forms[] = {{"%Y-%m-%d", 86400},      {"%Y-%m-%dT%H:%M", 60},   {"%Y-%m-%d %H:%M", 60},
		     {"%Y-%m-%dT%H:%M:%S", 1}, {"%Y-%m-%d %H:%M:%S", 1}, {"%Y-%m-%dT%H:%MZ", 60},
		     {"%Y-%m-%dT%H:%M:%SZ", 1}};
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm parts = {0};
		const char *rest = strptime(text, forms[i].format, &parts);
		if (!rest || *rest)
			continue;
		int day = parts.tm_mday;
		time_t seconds = timegm(&parts);
		/* 2026-02-30 would silently become the second of March. */
		if (seconds < 0 || parts.tm_mday != day)
			return false;
		*out = (uint64_t)seconds * NS_PER_S + (end ? forms[i].span_s * NS_PER_S - 1 : 0);
		return true;
	}
	return parse_ago(text, now_ns, out);
}

static int make_host(const char *word, struct history_filter *out, struct err *err)
{
	if (strcmp(word, "this") == 0) {
		struct host_facts facts;
		host_facts_read(&facts);
		snprintf(out->host, sizeof(out->host), "%s", facts.fingerprint);
		host_facts_fini(&facts);
		return 0;
	}
	if (!word[0] || strlen(word) >= sizeof(out->host))
		return err_set(err, ERR_USAGE, "--host: expected 'this' or a machine's fingerprint, not '%s'", word);
	snprintf(out->host, sizeof(out->host), "%s", word);
	return 0;
}

static int check_statuses(const struct opt_texts *statuses, struct err *err)
{
	for (size_t i = 0; i < statuses->len; i++) {
		size_t at = 0;
		while (at < STATUS_WORDS && strcmp(status_words[at], statuses->items[i]) != 0)
			at++;
		if (at < STATUS_WORDS)
			continue;
		const char *meant = str_suggest(statuses->items[i], status_words, STATUS_WORDS);
		return err_set(
			err, ERR_USAGE, "--status: '%s' is none of ok error timeout interrupted running damaged%s%s%s",
			statuses->items[i], meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");
	}
	return 0;
}

int history_filter_make(const struct history_args *args, const char *name, struct history_filter *out, struct err *err)
{
	uint64_t now_ns = clock_utc_ns();
	*out = (struct history_filter){.name = name,
				       .commit = args->commit,
				       .tag = args->tag && args->tag[0] == '@' ? args->tag + 1 : args->tag,
				       .until_ns = UINT64_MAX,
				       .statuses = args->statuses.items,
				       .status_count = args->statuses.len};
	static const char words[] =
		"%s: '%s' is no date (2026-01-31, 2026-01-31T12:34) and no time ago (90m, 12h, 7d, 2w)";
	if (args->since && !history_when(args->since, now_ns, false, &out->since_ns))
		return err_set(err, ERR_USAGE, words, "--since", args->since);
	if (args->until && !history_when(args->until, now_ns, true, &out->until_ns))
		return err_set(err, ERR_USAGE, words, "--until", args->until);
	int code = check_statuses(&args->statuses, err);
	return code || !args->host ? code : make_host(args->host, out, err);
}

static bool has_tag(const struct history_entry *entry, const char *pattern)
{
	for (size_t i = 0; i < entry->tags.len; i++)
		if (fnmatch(pattern, entry->tags.items[i], 0) == 0)
			return true;
	return false;
}

static bool has_status(const struct history_filter *filter, const struct history_entry *entry)
{
	for (size_t i = 0; i < filter->status_count; i++)
		if (strcmp(filter->statuses[i], history_status_word(entry)) == 0)
			return true;
	return filter->status_count == 0;
}

bool history_filter_passes(const struct history_filter *filter, const struct history_entry *entry)
{
	if (filter->name && (entry->damaged || strcmp(entry->name, filter->name) != 0))
		return false;
	if (entry->started_utc_ns < filter->since_ns || entry->started_utc_ns > filter->until_ns)
		return false;
	if (filter->commit && !(entry->git_commit && str_starts(entry->git_commit, filter->commit)))
		return false;
	if (filter->host[0] && !(entry->fingerprint && str_starts(entry->fingerprint, filter->host)))
		return false;
	return (!filter->tag || has_tag(entry, filter->tag)) && has_status(filter, entry);
}

struct shown {
	uint64_t began_ns, drawn_ns;
};

static void show_progress(void *context, size_t done, size_t total)
{
	struct shown *shown = context;
	uint64_t now_ns = clock_mono_ns();
	if (now_ns < shown->began_ns + NS_PER_S / 2 || now_ns < shown->drawn_ns + NS_PER_S / 10)
		return;
	shown->drawn_ns = now_ns;
	fprintf(stderr, "\rlooking at new runs: %zu of %zu ", done, total);
	fflush(stderr);
}

int history_open_shown(const char *dir, const struct history_request *request, struct history *out, struct err *err)
{
	struct shown shown = {.began_ns = clock_mono_ns()};
	struct history_request watched = request ? *request : (struct history_request){0};
	if (isatty(STDERR_FILENO)) {
		watched.progress = show_progress;
		watched.context = &shown;
	}
	int code = history_open_with(dir, &watched, out, err);
	if (shown.drawn_ns)
		fprintf(stderr, "\r\033[K");
	if (!code && out->tags_broken)
		fprintf(stderr, "pitot history: cannot read the tags: %s\n", out->tags_broken);
	return code;
}
