/* machine_json.c - see machine.h: `pitot machine` as JSON; docs/machine.schema.json describes it. */
#include "base/clock.h"
#include "base/json.h"
#include "render/machine.h"
#include "stats/interval.h"

#include <math.h>
#include <string.h>

static void put_topology(struct json *json, const struct machine_view *view)
{
	const struct topology *topology = view->topology;
	size_t allowed = 0;
	for (size_t i = 0; i < topology->cpus.len; i++)
		allowed += topology->cpus.items[i].allowed;
	json_object_begin(json, "topology");
	json_put_integer(json, "cpus", (int64_t)topology->cpus.len);
	json_put_integer(json, "cpus_allowed", (int64_t)allowed);
	json_put_integer(json, "cores", topology->cores);
	/* 0: not told. */
	json_put_number(json, "packages", topology->packages ? topology->packages : NAN);
	json_put_number(json, "nodes", topology->nodes ? topology->nodes : NAN);
	json_array_begin(json, "kinds");
	for (size_t i = 0; i < topology->kinds.len; i++) {
		const struct topology_kind *kind = &topology->kinds.items[i];
		json_object_begin(json, NULL);
		json_put_string(json, "name", kind->name[0] ? kind->name : NULL);
		json_put_integer(json, "cpus", kind->cpus);
		json_put_integer(json, "cores", kind->cores);
		json_object_end(json);
	}
	json_array_end(json);
	json_array_begin(json, "caches");
	for (size_t i = 0; i < topology->caches.len; i++) {
		const struct topology_cache *cache = &topology->caches.items[i];
		json_object_begin(json, NULL);
		json_put_integer(json, "level", cache->level);
		json_put_string(json, "type", cache->type[0] ? cache->type : NULL);
		json_put_integer(json, "bytes", (int64_t)cache->bytes);
		json_put_number(json, "line_bytes", cache->line_bytes ? cache->line_bytes : NAN);
		json_put_number(json, "ways", cache->ways ? cache->ways : NAN);
		json_put_integer(json, "instances", cache->instances);
		json_put_number(json, "shared_by_cpus", cache->shared_by ? cache->shared_by : NAN);
		json_object_end(json);
	}
	json_array_end(json);
	json_object_end(json);
}

static void put_interval(struct json *json, const struct machine_rate *rate)
{
	if (!rate->known || isnan(rate->low)) {
		json_put_null(json, "interval");
		return;
	}
	json_object_begin(json, "interval");
	json_put_number(json, "low", rate->low);
	json_put_number(json, "high", rate->high);
	json_put_number(json, "level", rate->level);
	json_put_string(json, "of", "median");
	json_put_string(json, "method", interval_method_words(INTERVAL_ORDER));
	json_object_end(json);
}

static void put_size(struct json *json, const struct machine_rate *rate)
{
	if (rate->kind == MACHINE_GEMM && rate->size)
		json_put_integer(json, "n", (int64_t)rate->size);
	else
		json_put_null(json, "n");
	if (rate->kind == MACHINE_BANDWIDTH && rate->size)
		json_put_integer(json, "working_set_bytes", (int64_t)rate->size);
	else
		json_put_null(json, "working_set_bytes");
}

static void put_rate(struct json *json, const struct machine_rate *rate)
{
	json_object_begin(json, NULL);
	json_put_string(json, "kind", machine_kind_name(rate->kind));
	json_put_string(json, "what", rate->what);
	json_put_string(json, "how", rate->how[0] ? rate->how : NULL);
	json_put_bool(json, "non_temporal", rate->non_temporal);
	json_put_integer(json, "threads", rate->threads);
	put_size(json, rate);
	json_put_string(json, "unit", machine_kind_unit(rate->kind));
	json_put_number(json, "value", rate->known ? rate->best : NAN);
	json_put_integer(json, "runs", (int64_t)rate->runs);
	json_put_number(json, "median", rate->known ? rate->median : NAN);
	json_put_number(json, "min", rate->known ? rate->worst : NAN);
	json_put_number(json, "max", rate->known ? rate->best : NAN);
	put_interval(json, rate);
	json_put_string(json, "method", machine_kind_method(rate->kind));
	json_put_string(json, "source", rate->source[0] ? rate->source : NULL);
	json_put_string(json, "reason", rate->known ? NULL : rate->reason);
	json_object_end(json);
}

static void put_roofs(struct json *json, const struct machine *machine)
{
	static const char *const precisions[] = {"fp32", "fp64"};
	json_array_begin(json, "roofs");
	for (unsigned threads = 1; threads <= machine->threads;
	     threads = threads == machine->threads ? threads + 1 : machine->threads) {
		for (size_t i = 0; i < sizeof(precisions) / sizeof(precisions[0]); i++) {
			struct roof roof;
			machine_roof(machine, precisions[i], threads, &roof);
			json_object_begin(json, NULL);
			json_put_string(json, "precision", precisions[i]);
			json_put_integer(json, "threads", threads);
			json_put_number(json, "peak_flops", roof.peak_flops);
			json_put_number(json, "memory_bytes_per_s", roof.memory_bytes);
			json_put_number(json, "fastest_bytes_per_s", roof.fastest_bytes);
			json_put_number(json, "ridge_flop_per_byte", roof_ridge(&roof));
			json_object_end(json);
		}
	}
	json_array_end(json);
}

static void put_sweep(struct json *json, const struct machine *machine)
{
	json_array_begin(json, "sweep");
	for (size_t i = 0; i < machine->sweep.len; i++) {
		json_object_begin(json, NULL);
		json_put_integer(json, "working_set_bytes", (int64_t)machine->sweep.items[i].bytes);
		json_put_number(json, "read_bytes_per_s", machine->sweep.items[i].best);
		json_object_end(json);
	}
	json_array_end(json);
}

void machine_json(const struct machine_view *view, const struct render_options *options, struct str *out)
{
	const struct machine *machine = view->machine;
	struct json json = {.out = out, .pretty = true};
	char when[24];
	(void)options;
	clock_format_utc(machine->measured_utc_ns, when, sizeof(when));
	json_object_begin(&json, NULL);
	json_put_integer(&json, "schema_version", 1);
	json_put_string(&json, "pitot_version", PITOT_VERSION);
	json_put_string(&json, "measured_utc", when);
	json_put_bool(&json, "stored", view->stored);
	json_put_number(&json, "age_s", view->age_s);
	json_put_string(&json, "effort", machine_effort_name(machine->effort));
	json_put_number(&json, "took_s", machine->took_s);
	json_put_integer(&json, "threads", machine->threads);
	json_put_string(&json, "fingerprint", machine->fingerprint);
	json_object_begin(&json, "host");
	for (size_t i = 0; i < view->host->facts.len; i++)
		json_put_string(&json, view->host->facts.items[i].key, view->host->facts.items[i].value);
	json_object_end(&json);
	put_topology(&json, view);
	json_array_begin(&json, "rates");
	for (size_t i = 0; i < machine->rates.len; i++)
		put_rate(&json, &machine->rates.items[i]);
	json_array_end(&json);
	put_roofs(&json, machine);
	put_sweep(&json, machine);
	json_array_begin(&json, "notes");
	for (size_t i = 0; i < machine->notes.len; i++)
		json_put_string(&json, NULL, machine->notes.items[i]);
	json_array_end(&json);
	json_object_end(&json);
	str_append_char(out, '\n');
}
