/* limits.c - see limits.h. */
#include "cmd/limits.h"
#include "model/machine_cache.h"
#include "model/machine_measure.h"

#include <stdio.h>
#include <unistd.h>

/* On a terminal one line that is written over, elsewhere one line at the start. */
struct meter {
	bool live, begun;
};

static void show_progress(void *context, const char *what, double share)
{
	struct meter *meter = context;
	if (meter->live)
		fprintf(stderr, "\r\033[Kmeasuring this machine: %3.0f %%  %s", 100 * share, what);
	else if (!meter->begun)
		fprintf(stderr, "measuring this machine ...\n");
	meter->begun = true;
}

static int measure(const struct limits_request *request, struct machine *out, struct err *err)
{
	struct meter meter = {.live = isatty(STDERR_FILENO) == 1};
	struct machine_request how = {.effort = request->least,
				      .topology = request->topology,
				      .host = request->host,
				      .progress = request->quiet ? NULL : show_progress,
				      .context = &meter};
	int code = machine_measure(&how, out, err);
	if (meter.live && meter.begun)
		fprintf(stderr, "\r\033[K");
	struct err stored;
	if (!code && machine_cache_store(out, &stored) != 0)
		fprintf(stderr, "pitot %s: cannot remember this, so the next call measures again: %s\n",
			request->cmd->name, stored.text);
	return code;
}

/* What is stored and was made with no less effort than is asked for. */
static bool load(const struct limits_request *request, struct machine *out)
{
	struct err err;
	if (request->fresh)
		return false;
	int code = machine_cache_load(request->host->fingerprint, out, &err);
	if (code && code != ERR_UNAVAILABLE)
		fprintf(stderr, "pitot %s: %s; measuring again\n", request->cmd->name, err.text);
	if (!code && out->effort < request->least) {
		machine_fini(out);
		return false;
	}
	return code == 0;
}

int limits_get(const struct limits_request *request, struct machine *out, bool *stored, struct err *err)
{
	*stored = load(request, out);
	return *stored ? 0 : measure(request, out, err);
}

int limits_get_quickly(const struct cmd *cmd, bool quiet, struct machine *out, struct err *err)
{
	struct topology_ids allowed;
	struct topology topology;
	struct host_facts host;
	bool stored;
	topology_allowed(&allowed);
	topology_read(&allowed, &topology);
	host_facts_read(&host);
	struct limits_request request = {
		.cmd = cmd, .least = MACHINE_QUICK, .quiet = quiet, .topology = &topology, .host = &host};
	int code = limits_get(&request, out, &stored, err);
	host_facts_fini(&host);
	topology_fini(&topology);
	vec_fini(&allowed.items);
	return code;
}
