/* memory_view.c - see memory_view.h. */
#include "analyze/memory_view.h"

#include <math.h>

/* 99 %: of 200 intervals two are missed on the mean, and never as many as ten. */
static const double z = 2.575829303548901;

struct memory_choice memory_choose(const struct profile_data *profile, const struct memory_data *memory,
				   const double *peak_parts)
{
	struct memory_choice choice = {.profile = profile, .memory = memory, .peak_parts = peak_parts};
	for (size_t i = 0; i < memory->processes.len; i++)
		choice.period = fmax(choice.period, (double)memory->processes.items[i].period_bytes);
	return choice;
}

struct memory_sum memory_site_sum(const struct memory_choice *choice, const struct memory_site *site,
				  enum memory_weight weight)
{
	const struct memory_amount *amount = &site->amounts[weight];
	double part = weight == MEMORY_BY_PEAK && choice->peak_parts ? choice->peak_parts[site->process_id - 1] : 1;
	return (struct memory_sum){.bytes = part * (double)amount->bytes,
				   .count = part * (double)amount->count,
				   .variance = part * part * amount->variance,
				   .unit = amount->samples ? choice->period : 0};
}

void memory_sum_add(struct memory_sum *to, const struct memory_sum *more)
{
	to->bytes += more->bytes;
	to->count += more->count;
	to->variance += more->variance;
	to->unit = fmax(to->unit, more->unit);
}

/* Wilson's interval for a count, in bytes. Small blocks are worth a period each; larger ones add less to the error, but small
 * ones beside them may have been missed. So the unit is the period, whatever was found. */
void memory_sum_interval(const struct memory_sum *sum, double *low, double *high)
{
	double middle = sum->bytes + sum->unit * z * z / 2;
	double half = z * sqrt(sum->variance + sum->unit * sum->unit * z * z / 4);
	*low = fmax(fmin(middle - half, sum->bytes), 0);
	*high = fmax(middle + half, sum->bytes);
}

/* Per process the id of a thread for sites that have none: the main one, else any; 0: it has none. */
static int64_t *find_threads(const struct profile_data *profile)
{
	int64_t *threads = mem_alloc((profile->processes.len + 1) * sizeof(*threads));
	for (size_t i = 0; i < profile->threads.len; i++) {
		const struct profile_thread *thread = &profile->threads.items[i];
		int64_t *place = &threads[thread->process_id - 1];
		if (*place == 0 || thread->is_main)
			*place = thread->id;
	}
	return threads;
}

struct placed {
	int64_t thread;
	uint32_t site;
};

static int by_thread(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->site > y->site) - (x->site < y->site);
}

static uint64_t weight_of(const struct memory_choice *choice, const struct memory_site *site, enum memory_weight weight)
{
	if (weight == MEMORY_WEIGHT_COUNT)
		return site->amounts[MEMORY_BY_ALLOCATED].bytes;
	return (uint64_t)llround(memory_site_sum(choice, site, weight).bytes);
}

void memory_view_open(const struct memory_choice *choice, enum memory_weight weight, struct memory_view *out)
{
	VEC(struct placed) placed = {0};
	const struct memory_data *memory = choice->memory;
	int64_t *threads = find_threads(choice->profile);
	*out = (struct memory_view){.profile = *choice->profile};
	out->profile.samples.items = NULL;
	out->profile.samples.len = out->profile.samples.cap = 0;
	for (uint32_t i = 0; i < memory->sites.len; i++) {
		const struct memory_site *site = &memory->sites.items[i];
		int64_t thread = site->thread_id ? site->thread_id : threads[site->process_id - 1];
		bool wanted = weight == MEMORY_WEIGHT_COUNT || weight_of(choice, site, weight) > 0;
		if (memory_kind_is_counted(site->kind) && thread && wanted)
			vec_push(&placed, ((struct placed){thread, i}));
	}
	if (placed.len > 1)
		qsort(placed.items, placed.len, sizeof(*placed.items), by_thread);
	for (size_t i = 0; i < placed.len; i++) {
		const struct memory_site *site = &memory->sites.items[placed.items[i].site];
		vec_push(&out->profile.samples,
			 ((struct profile_sample){.thread_id = placed.items[i].thread,
						  .stack_id = site->stack_id,
						  .weight_ns = weight_of(choice, site, weight)}));
		vec_push(&out->sites, placed.items[i].site);
	}
	vec_fini(&placed);
	free(threads);
}

void memory_view_close(struct memory_view *view)
{
	vec_fini(&view->profile.samples);
	vec_fini(&view->sites);
}
