/* wire_memory.c - see wire_memory.h and, for what the numbers mean, wire/memory.h. Nothing is trusted. */
#include "run/wire_memory.h"
#include "base/map.h"
#include "base/mem.h"
#include "run/wire_parse.h"

#include <math.h>
#include <string.h>

/* A sum of counts of one site and its mirrors, which may be below 0 on the way. */
struct sum {
	int64_t bytes, calls, samples;
	double variance;
};

/* A site while its mirrors are being added. */
struct site_sum {
	struct wire_site first;
	struct sum allocated, live, peak, temporary;
	uint64_t sizes[WIRE_SIZE_BUCKETS], lifetimes[WIRE_LIFETIME_BUCKETS];
};

struct merging {
	struct wire_file *file;
	uint32_t call_unit, peak_number;
	bool is_rising;
	struct map by_id; /* index + 1 of those that are their own */
	VEC(struct site_sum) sums;
};

static uint64_t not_negative(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

static double finite_or_0(double value)
{
	return isfinite(value) && value > 0 ? value : 0;
}

static uint64_t at_most(uint64_t count)
{
	return count < INT64_MAX ? count : INT64_MAX;
}

/* ---- the record ---- */

static void read_course(const struct wire_memory *record, struct read_memory *out)
{
	uint64_t last = 0, step = record->course_step_ns;
	for (uint64_t i = 0; step && i < WIRE_COURSE_STEPS; i++) {
		uint64_t most = record->course[i].most, now = record->course[i].last;
		if ((most == 0 && now == 0) || i > (UINT64_MAX - record->course_start_ns) / step)
			continue;
		/* Torn by a kill, or not written yet: what is there stands for both. */
		last = now ? now - 1 : last;
		most = most ? most - 1 : last;
		if (most > INT64_MAX || last > INT64_MAX)
			break;
		vec_push(&out->course,
			 ((struct read_moment){record->course_start_ns + i * step, most > last ? most : last, last}));
	}
}

struct read_memory *wire_memory_new(const uint8_t *bytes, uint32_t size)
{
	struct wire_memory record;
	if (size < sizeof(record))
		return NULL;
	memcpy(&record, bytes, sizeof(record));
	struct read_memory *memory = mem_alloc(sizeof(*memory));
	*memory = (struct read_memory){.period_bytes = record.period_bytes,
				       .peak_slack_bytes = record.peak_slack_bytes,
				       .live_bytes = not_negative(record.live_bytes),
				       .peak_bytes = not_negative(record.peak_bytes),
				       .peak_mono_ns = record.peak_mono_ns,
				       .discarded_bytes = record.discarded_bytes,
				       .orphan_bytes = record.orphan_bytes,
				       .orphan_calls = record.orphan_calls,
				       .orphan_frees = record.orphan_frees,
				       .unknown_frees = record.unknown_frees,
				       .missed_calls = record.missed_calls,
				       .lost_calls = record.lost_calls,
				       .truncated = record.truncated,
				       .unmatched = record.unmatched,
				       .own_bytes = record.own_bytes,
				       .python_domains = record.python_domains,
				       .allocator_kind = record.allocator_kind <= WIRE_ALLOCATOR_PROGRAM
								 ? record.allocator_kind
								 : WIRE_ALLOCATOR_LIBC,
				       .course_step_ns = record.course_step_ns,
				       .call_unit = record.call_unit ? record.call_unit : 1,
				       .peak_number = record.peak_number,
				       .is_rising = record.is_rising != 0};
	memcpy(memory->allocator, record.allocator, sizeof(record.allocator));
	for (int i = 0; i < WIRE_TURN_KINDS; i++)
		memory->turns[i] = (struct read_turns){.count = at_most(record.turns[i].count),
						       .points = at_most(record.turns[i].points),
						       .sum_x = finite_or_0(record.turns[i].sum_x),
						       .sum_xx = finite_or_0(record.turns[i].sum_xx)};
	read_course(&record, memory);
	return memory;
}

void wire_memory_free(struct read_memory *memory)
{
	if (!memory)
		return;
	vec_fini(&memory->course);
	vec_fini(&memory->sites);
	free(memory);
}

/* ---- sites ---- */

/* Added as unsigned numbers: what is torn may wrap, but is never undefined. */
static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static void add(struct sum *to, int64_t bytes, int64_t calls, int64_t samples, double variance)
{
	to->bytes = plus(to->bytes, bytes);
	to->calls = plus(to->calls, calls);
	to->samples = plus(to->samples, samples);
	to->variance += isfinite(variance) ? variance : 0;
}

static void add_site(const struct merging *merging, struct site_sum *to, const struct wire_site *site)
{
	add(&to->allocated, (int64_t)site->allocated_bytes, (int64_t)site->allocated_calls, site->samples,
	    site->variance);
	add(&to->live, site->live_bytes, site->live_calls, site->live_samples, site->live_variance);
	add(&to->temporary, (int64_t)site->temporary_bytes, (int64_t)site->temporary_calls, 0, 0);
	if (!merging->is_rising && site->peak_number == merging->peak_number)
		add(&to->peak, site->peak_bytes, site->peak_calls, site->peak_samples, site->peak_variance);
	else
		add(&to->peak, site->live_bytes, site->live_calls, site->live_samples, site->live_variance);
	for (size_t i = 0; i < WIRE_SIZE_BUCKETS; i++)
		to->sizes[i] += site->sizes[i];
	for (size_t i = 0; i < WIRE_LIFETIME_BUCKETS; i++)
		to->lifetimes[i] += site->lifetimes[i];
}

static void add_principal(struct merging *merging, const struct wire_site *site, wire_id id)
{
	if (site->principal)
		return;
	vec_push(&merging->sums, ((struct site_sum){.first = *site}));
	add_site(merging, vec_last(&merging->sums), site);
	map_put(&merging->by_id, id, (void *)(uintptr_t)merging->sums.len);
}

/* One whose principal is not there stands for itself: what another thread freed of it is not known. */
static void add_mirror(struct merging *merging, const struct wire_site *site, wire_id id)
{
	(void)id;
	if (!site->principal)
		return;
	uintptr_t found = (uintptr_t)map_get(&merging->by_id, site->principal);
	if (found)
		add_site(merging, &merging->sums.items[found - 1], site);
	else
		merging->file->dropped.records++;
}

typedef void site_fn(struct merging *merging, const struct wire_site *site, wire_id id);

static void each_site(struct merging *merging, site_fn *act)
{
	const struct held_chunks *chunks = &merging->file->inside->sites;
	for (size_t i = 0; i < chunks->items.len; i++) {
		const struct held_chunk *chunk = &chunks->items.items[i];
		for (size_t at = WIRE_SITES_FROM; at <= chunk->used && chunk->used - at >= sizeof(struct wire_site);
		     at += sizeof(struct wire_site)) {
			struct wire_site site;
			uint64_t id = (chunk->at + sizeof(struct wire_chunk) + at) / WIRE_UNIT;
			memcpy(&site, chunk->bytes + at, sizeof(site));
			if (id <= UINT32_MAX && site.kind >= WIRE_HEAP_MALLOC && site.kind < WIRE_MEMORY_KINDS)
				act(merging, &site, (wire_id)id);
			else if (act == add_principal)
				merging->file->dropped.records++;
		}
	}
}

static struct read_amount amount_of(const struct merging *merging, const struct sum *sum)
{
	double period = (double)merging->file->memory->period_bytes;
	uint64_t calls = not_negative(sum->calls), unit = merging->call_unit;
	return (struct read_amount){.bytes = not_negative(sum->bytes),
				    .calls = calls / unit + (calls % unit >= (unit + 1) / 2),
				    .samples = not_negative(sum->samples),
				    .variance = finite_or_0(sum->variance * period * period)};
}

/* Of what was given back at once only the bytes are counted: it is as sure as all that the site allocated. */
static void estimate_temporary(struct read_site *site)
{
	double share = site->allocated.bytes ? (double)site->temporary.bytes / (double)site->allocated.bytes : 0;
	share = share < 1 ? share : 1;
	site->temporary.samples = (uint64_t)llround(share * (double)site->allocated.samples);
	site->temporary.variance = share * site->allocated.variance;
}

static uint32_t find_node(const struct wire_file *file, wire_id id)
{
	uint32_t node = id ? parse_find_node(file, id) : WIRE_NOWHERE;
	return node != WIRE_NOWHERE && file->nodes.items[node].whole ? node : WIRE_NOWHERE;
}

static void put_site(struct merging *merging, const struct site_sum *sum)
{
	struct wire_file *file = merging->file;
	const struct wire_site *first = &sum->first;
	struct read_site *site = vec_add(&file->memory->sites);
	site->node = find_node(file, first->node);
	site->thread = first->thread ? parse_find(file, first->thread, WIRE_THREAD) : WIRE_NOWHERE;
	site->kind = first->kind;
	site->allocated = amount_of(merging, &sum->allocated);
	site->live = amount_of(merging, &sum->live);
	site->peak = amount_of(merging, &sum->peak);
	site->temporary = amount_of(merging, &sum->temporary);
	if (file->memory->period_bytes)
		estimate_temporary(site);
	for (int i = 0; i < WIRE_TURN_KINDS; i++)
		site->growth[i] = (struct wire_growth){.last_y = finite_or_0(first->growth[i].last_y),
						       .sum_y = finite_or_0(first->growth[i].sum_y),
						       .sum_xy = finite_or_0(first->growth[i].sum_xy),
						       .sum_yy = finite_or_0(first->growth[i].sum_yy)};
	memcpy(site->sizes, sum->sizes, sizeof(site->sizes));
	memcpy(site->lifetimes, sum->lifetimes, sizeof(site->lifetimes));
}

void wire_memory_sites(struct wire_file *file)
{
	if (!file->memory)
		return;
	struct merging merging = {.file = file,
				  .call_unit = file->memory->call_unit,
				  .peak_number = file->memory->peak_number,
				  .is_rising = file->memory->is_rising};
	each_site(&merging, add_principal);
	each_site(&merging, add_mirror);
	for (size_t i = 0; i < merging.sums.len; i++)
		put_site(&merging, &merging.sums.items[i]);
	vec_fini(&merging.sums);
	map_fini(&merging.by_id);
}
