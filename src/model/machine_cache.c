/* machine_cache.c - see machine_cache.h. */
#include "model/machine_cache.h"
#include "base/file.h"
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MOST = 1 << 20, RATES_MOST = 2000, RATE_FIELDS = 17, HOST_FIELDS = 6 };

#define HEAD "pitot-machine\t1\n"
#define END  "end\t"

char *machine_cache_path(const char *fingerprint)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	/* The XDG rules say that a relative path is to be ignored. */
	if (cache && cache[0] == '/')
		return mem_printf("%s/pitot/machine-%s", cache, fingerprint);
	const struct passwd *user = home && home[0] ? NULL : getpwuid(geteuid());
	if (user && user->pw_dir && user->pw_dir[0])
		home = user->pw_dir;
	return mem_printf("%s/.cache/pitot/machine-%s", home && home[0] ? home : "", fingerprint);
}

static uint64_t sum_of(const char *text, size_t size)
{
	uint64_t sum = 0xcbf29ce484222325ull;
	for (size_t i = 0; i < size; i++)
		sum = (sum ^ (unsigned char)text[i]) * 0x100000001b3ull;
	return sum;
}

static void put_number(struct str *out, double value)
{
	char text[32] = "-";
	if (isfinite(value))
		json_format_number(value, text, sizeof(text));
	str_appendf(out, "\t%s", text);
}

/* A tab or a line's end within a text would begin another field. */
static void put_text(struct str *out, const char *text)
{
	str_append_char(out, '\t');
	for (; *text; text++)
		str_append_char(out, (unsigned char)*text < ' ' ? ' ' : *text);
}

static void put_rate(const struct machine_rate *rate, struct str *out)
{
	str_append(out, "rate");
	put_text(out, machine_kind_name(rate->kind));
	put_text(out, rate->what);
	put_text(out, rate->how);
	str_appendf(out, "\t%d\t%u\t%" PRIu64 "\t%d\t%zu", rate->non_temporal, rate->threads, rate->size, rate->known,
		    rate->runs);
	put_number(out, rate->best);
	put_number(out, rate->median);
	put_number(out, rate->worst);
	put_number(out, rate->low);
	put_number(out, rate->high);
	put_number(out, rate->level);
	put_text(out, rate->source);
	put_text(out, rate->reason);
	str_append_char(out, '\n');
}

void machine_write(const struct machine *machine, struct str *out)
{
	str_clear(out);
	str_append(out, HEAD);
	str_appendf(out, "host\t%s\t%" PRIu64, machine->fingerprint, machine->measured_utc_ns);
	put_number(out, machine->took_s);
	str_appendf(out, "\t%s\t%u\n", machine_effort_name(machine->effort), machine->threads);
	for (size_t i = 0; i < machine->rates.len; i++)
		put_rate(&machine->rates.items[i], out);
	for (size_t i = 0; i < machine->sweep.len; i++) {
		str_appendf(out, "point\t%" PRIu64, machine->sweep.items[i].bytes);
		put_number(out, machine->sweep.items[i].best);
		str_append_char(out, '\n');
	}
	for (size_t i = 0; i < machine->notes.len; i++) {
		str_append(out, "note");
		put_text(out, machine->notes.items[i]);
		str_append_char(out, '\n');
	}
	str_appendf(out, END "%016" PRIx64 "\n", sum_of(out->text, out->len));
}

static bool read_text(const char *field, char *out, size_t size)
{
	return (size_t)snprintf(out, size, "%s", field) < size;
}

static bool read_whole(const char *field, uint64_t most, uint64_t *out)
{
	int64_t number;
	if (!str_to_int64(field, &number) || number < 0 || (uint64_t)number > most)
		return false;
	*out = (uint64_t)number;
	return true;
}

static bool read_number(const char *field, double *out)
{
	*out = NAN;
	return strcmp(field, "-") == 0 || (str_to_double(field, out) && isfinite(*out) && *out >= 0);
}

static bool read_kind(const char *field, enum machine_kind *out)
{
	for (int kind = 0; kind < MACHINE_KIND_COUNT; kind++)
		if (strcmp(field, machine_kind_name(kind)) == 0) {
			*out = kind;
			return true;
		}
	return false;
}

static bool read_effort(const char *field, enum machine_effort *out)
{
	for (int effort = MACHINE_QUICK; effort <= MACHINE_THOROUGH; effort++)
		if (strcmp(field, machine_effort_name(effort)) == 0) {
			*out = effort;
			return true;
		}
	return false;
}

static bool read_host(char **fields, size_t count, struct machine *out)
{
	uint64_t threads;
	if (count != HOST_FIELDS || out->threads || strlen(fields[1]) != sizeof(out->fingerprint) - 1)
		return false;
	if (!read_text(fields[1], out->fingerprint, sizeof(out->fingerprint)) ||
	    !read_whole(fields[2], INT64_MAX, &out->measured_utc_ns) || !read_number(fields[3], &out->took_s) ||
	    isnan(out->took_s) || !read_effort(fields[4], &out->effort) ||
	    !read_whole(fields[5], TOPOLOGY_MOST_CPUS, &threads) || threads == 0)
		return false;
	out->threads = (unsigned)threads;
	return true;
}

static bool read_rate(char **fields, size_t count, struct machine *out)
{
	struct machine_rate rate = {0};
	uint64_t past, threads, known, runs;
	if (count != RATE_FIELDS || out->rates.len >= RATES_MOST || !read_kind(fields[1], &rate.kind) ||
	    !read_text(fields[2], rate.what, sizeof(rate.what)) || !read_text(fields[3], rate.how, sizeof(rate.how)) ||
	    !read_whole(fields[4], 1, &past) || !read_whole(fields[5], TOPOLOGY_MOST_CPUS, &threads) ||
	    !read_whole(fields[6], INT64_MAX, &rate.size) || !read_whole(fields[7], 1, &known) ||
	    !read_whole(fields[8], 1000000, &runs) || !read_number(fields[9], &rate.best) ||
	    !read_number(fields[10], &rate.median) || !read_number(fields[11], &rate.worst) ||
	    !read_number(fields[12], &rate.low) || !read_number(fields[13], &rate.high) ||
	    !read_number(fields[14], &rate.level) || !read_text(fields[15], rate.source, sizeof(rate.source)) ||
	    !read_text(fields[16], rate.reason, sizeof(rate.reason)) || threads == 0)
		return false;
	rate.non_temporal = past;
	rate.threads = (unsigned)threads;
	rate.known = known;
	rate.runs = runs;
	/* What is known has its numbers, in their order; what is not has its reason. */
	if (known ? !(rate.worst > 0 && rate.worst <= rate.median && rate.median <= rate.best && runs)
		  : !rate.reason[0])
		return false;
	vec_push(&out->rates, rate);
	return true;
}

static bool read_point(char **fields, size_t count, struct machine *out)
{
	struct machine_point point;
	if (count != 3 || out->sweep.len >= RATES_MOST || !read_whole(fields[1], INT64_MAX, &point.bytes) ||
	    !read_number(fields[2], &point.best) || !(point.best > 0))
		return false;
	vec_push(&out->sweep, point);
	return true;
}

static bool read_note(char **fields, size_t count, struct machine *out)
{
	if (count != 2 || out->notes.len >= RATES_MOST)
		return false;
	machine_note(out, "%s", fields[1]);
	return true;
}

static bool read_line(char *line, struct machine *out)
{
	static const struct {
		const char *name;
		bool (*read)(char **fields, size_t count, struct machine *out);
	} lines[] = {{"host", read_host}, {"rate", read_rate}, {"point", read_point}, {"note", read_note}};
	char *fields[RATE_FIELDS + 1] = {NULL};
	size_t count = 0;
	for (char *field; count <= RATE_FIELDS && (field = strsep(&line, "\t"));)
		fields[count++] = field;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (strcmp(fields[0], lines[i].name) == 0)
			return lines[i].read(fields, count, out);
	return false;
}

/* How many bytes stand before a last line that is right about them; 0: there is none. */
static size_t sealed_size(const char *text, size_t size)
{
	char last[32];
	size_t length = (size_t)snprintf(last, sizeof(last), END "%016" PRIx64 "\n", UINT64_C(0));
	if (size < length || memchr(text, '\0', size))
		return 0;
	snprintf(last, sizeof(last), END "%016" PRIx64 "\n", sum_of(text, size - length));
	return memcmp(text + size - length, last, length) == 0 ? size - length : 0;
}

int machine_parse(const char *text, size_t size, struct machine *out, struct err *err)
{
	*out = (struct machine){0};
	size_t sealed = sealed_size(text, size);
	if (sealed < strlen(HEAD) || memcmp(text, HEAD, strlen(HEAD)) != 0)
		return err_set(err, ERR_INPUT, "it is cut short, changed, or of another version");
	char *copy = mem_strndup(text, sealed), *rest = copy + strlen(HEAD);
	int code = 0, number = 1;
	for (char *line; !code && (line = strsep(&rest, "\n")) && (rest || line[0]);) {
		number++;
		if (!read_line(line, out))
			code = err_set(err, ERR_INPUT, "line %d is not as it should be", number);
	}
	if (!code && (out->threads == 0 || out->rates.len == 0))
		code = err_set(err, ERR_INPUT, "it has no measurement in it");
	free(copy);
	if (code) {
		machine_fini(out);
		*out = (struct machine){0};
	}
	return code;
}

int machine_cache_load(const char *fingerprint, struct machine *out, struct err *err)
{
	char *path = machine_cache_path(fingerprint), *text = NULL;
	size_t size;
	*out = (struct machine){0};
	int code = ERR_UNAVAILABLE;
	if (access(path, F_OK) != 0)
		err_set(err, ERR_UNAVAILABLE, "this machine has not been measured yet");
	else if ((code = file_read(path, FILE_MOST, &text, &size, err)) == 0 &&
		 (code = machine_parse(text, size, out, err)) != 0)
		err_prefix(err, "'%s' is damaged", path);
	if (!code && strcmp(out->fingerprint, fingerprint) != 0) {
		code = err_set(err, ERR_INPUT, "'%s' is of another machine", path);
		machine_fini(out);
		*out = (struct machine){0};
	}
	free(text);
	free(path);
	return code;
}

int machine_cache_store(const struct machine *machine, struct err *err)
{
	struct str text = {0};
	char *path = machine_cache_path(machine->fingerprint), *folder = mem_strdup(path);
	*strrchr(folder, '/') = '\0';
	machine_write(machine, &text);
	int code = file_make_dirs(folder, err);
	if (!code)
		code = file_write_atomic(path, text.text, text.len, err);
	str_fini(&text);
	free(folder);
	free(path);
	return code;
}
