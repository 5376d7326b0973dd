/* machine.c - see machine.h: the rates as data. Measuring is in machine_measure.c, the file in machine_cache.c. */
#include "model/machine.h"
#include "base/str.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *unit, *method;
} kinds[] = {
#define KIND_ROW(id, name, unit, method) {name, unit, method},
	MACHINE_KINDS(KIND_ROW)
#undef KIND_ROW
};

const char *machine_kind_name(enum machine_kind kind)
{
	return kinds[kind].name;
}

const char *machine_kind_unit(enum machine_kind kind)
{
	return kinds[kind].unit;
}

const char *machine_kind_method(enum machine_kind kind)
{
	return kinds[kind].method;
}

const char *machine_effort_name(enum machine_effort effort)
{
	static const char *const names[] = {"quick", "normal", "thorough"};
	return names[effort];
}

void machine_fini(struct machine *machine)
{
	for (size_t i = 0; i < machine->notes.len; i++)
		free(machine->notes.items[i]);
	vec_fini(&machine->notes);
	vec_fini(&machine->rates);
	vec_fini(&machine->sweep);
}

void machine_note(struct machine *machine, const char *format, ...)
{
	char text[512];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	vec_push(&machine->notes, mem_strdup(text));
}

const struct machine_rate *machine_best(const struct machine *machine, enum machine_kind kind, const char *what,
					const char *how, unsigned threads)
{
	const struct machine_rate *best = NULL;
	for (size_t i = 0; i < machine->rates.len; i++) {
		const struct machine_rate *rate = &machine->rates.items[i];
		if (rate->kind == kind && rate->known && rate->threads == threads &&
		    (!what || strcmp(rate->what, what) == 0) && (!how || strcmp(rate->how, how) == 0) &&
		    (!best || rate->best > best->best))
			best = rate;
	}
	return best;
}

double machine_spread(const struct machine_rate *rate)
{
	return rate->known && rate->median > 0 ? (rate->best - rate->worst) / rate->median : NAN;
}

/* What one thread was seen to do, several can do as well: on a busy machine a team may have been seen to do less. */
static double most(const struct machine *machine, enum machine_kind kind, const char *what, const char *how,
		   unsigned threads)
{
	const struct machine_rate *team = machine_best(machine, kind, what, how, threads);
	const struct machine_rate *one = machine_best(machine, kind, what, how, 1);
	return team ? fmax(team->best, one ? one->best : NAN) : NAN; /* fmax passes over NaN */
}

void machine_roof(const struct machine *machine, const char *precision, unsigned threads, struct roof *out)
{
	out->peak_flops = fmax(most(machine, MACHINE_FMA, NULL, precision, threads),
			       most(machine, MACHINE_GEMM, NULL, precision, threads));
	out->memory_bytes = most(machine, MACHINE_BANDWIDTH, "memory", NULL, threads);
	out->fastest_bytes = most(machine, MACHINE_BANDWIDTH, NULL, NULL, threads);
}
