/*
 * set.c - all probes of a run: who serves which channel, and why nobody does.
 *
 * Invariant: every channel has either a server or a reason.
 */
#include "base/str.h"
#include "base/vec.h"
#include "probe/probe.h"

#include <stdlib.h>
#include <string.h>

struct member {
	const struct probe *probe;
	void *state;
	char source[METRIC_SOURCE_SIZE];
	uint64_t read_ns;
	bool was_read;
};

struct probe_set {
	VEC(struct member) members;
	int server[CHANNEL_COUNT]; /* index of the member; -1: none */
	struct str reason[CHANNEL_COUNT];
	bool out_of_reach[CHANNEL_COUNT]; /* some candidate is there, but could not be read */
};

static void add_reason(struct probe_set *set, int channel, const char *words)
{
	struct str *reason = &set->reason[channel];
	if (reason->len && strstr(reason->text, words))
		return;
	str_appendf(reason, "%s%s", reason->len ? "; " : "", words);
}

static bool serves_any(const struct probe_set *set, const struct probe *probe)
{
	for (const int *channel = probe->channels; *channel >= 0; channel++)
		if (set->server[*channel] >= 0)
			return true;
	return false;
}

static void add_failure(struct probe_set *set, const struct probe *probe, const struct err *err)
{
	for (const int *channel = probe->channels; *channel >= 0; channel++) {
		add_reason(set, *channel, err->text);
		set->out_of_reach[*channel] |= err->code != ERR_UNAVAILABLE;
	}
}

static void add_member(struct probe_set *set, const struct member *member)
{
	for (const int *channel = member->probe->channels; *channel >= 0; channel++) {
		const char *lack = member->probe->lacks ? member->probe->lacks(member->state, *channel) : NULL;
		if (lack) {
			add_reason(set, *channel, lack);
			set->out_of_reach[*channel] = true;
		} else {
			set->server[*channel] = (int)set->members.len;
		}
	}
	vec_push(&set->members, *member);
}

/* "No GPU" can be said only when every candidate answered that it is not there. */
static void finish_reasons(struct probe_set *set, bool with_gpu)
{
	for (int channel = CHANNEL_GPU_UTIL; channel <= CHANNEL_GPU_ENERGY; channel++) {
		struct str *reason = &set->reason[channel];
		if (!with_gpu || set->out_of_reach[channel] || !reason->len)
			continue;
		char *candidates = str_take(reason);
		str_appendf(reason, "no GPU: %s", candidates);
		free(candidates);
	}
}

struct probe_set *probe_set_open(bool with_gpu)
{
	struct probe_set *set = mem_alloc(sizeof(*set));
	for (int channel = 0; channel < CHANNEL_COUNT; channel++)
		set->server[channel] = -1;
	for (const struct probe *const *probe = probe_table; *probe; probe++) {
		struct member member = {.probe = *probe};
		struct err err = {0};
		if ((*probe)->is_gpu && !with_gpu)
			err_set(&err, ERR_UNAVAILABLE, "GPU sampling is switched off");
		else if (serves_any(set, *probe))
			continue;
		else
			(*probe)->open(&member.state, member.source, &err);
		if (err.code)
			add_failure(set, *probe, &err);
		else
			add_member(set, &member);
	}
	finish_reasons(set, with_gpu);
	return set;
}

void probe_set_read(struct probe_set *set, uint64_t now_ns, bool edge, struct probe_frame *frame)
{
	*frame = (struct probe_frame){0};
	for (size_t i = 0; i < set->members.len; i++) {
		struct member *member = &set->members.items[i];
		if (!edge && member->was_read && now_ns - member->read_ns < member->probe->least_interval_ns)
			continue;
		member->read_ns = now_ns;
		member->was_read = true;
		struct probe_frame own = {0};
		member->probe->read(member->state, &own);
		for (const int *channel = member->probe->channels; *channel >= 0; channel++) {
			if (set->server[*channel] != (int)i)
				continue;
			frame->value[*channel] = own.value[*channel];
			frame->known[*channel] = own.known[*channel];
		}
	}
}

const char *probe_set_source(const struct probe_set *set, enum probe_channel channel)
{
	int server = set->server[channel];
	return server >= 0 ? set->members.items[server].source : NULL;
}

const char *probe_set_reason(const struct probe_set *set, enum probe_channel channel)
{
	return set->server[channel] >= 0 ? "the source is there, but its readings failed"
					 : str_text(&set->reason[channel]);
}

void probe_set_close(struct probe_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->members.len; i++)
		set->members.items[i].probe->close(set->members.items[i].state);
	for (int channel = 0; channel < CHANNEL_COUNT; channel++)
		str_fini(&set->reason[channel]);
	vec_fini(&set->members);
	free(set);
}
