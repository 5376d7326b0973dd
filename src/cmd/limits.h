/*
 * limits.h - this machine's measured limits for the commands that need them: from the file where they are remembered, else
 * measured now, with progress on stderr.
 */
#ifndef PITOT_CMD_LIMITS_H
#define PITOT_CMD_LIMITS_H

#include "cmd/cmd.h"
#include "model/machine.h"

struct limits_request {
	const struct cmd *cmd; /* who asks, for messages */
	enum machine_effort least;
	bool fresh; /* whatever is remembered */
	bool quiet;
	const struct topology *topology;
	const struct host_facts *host;
};

/* *stored says whether it was remembered. */
int limits_get(const struct limits_request *request, struct machine *out, bool *stored, struct err *err);
/* The same for a command that does not care how: the machine is looked at here, quickly. */
int limits_get_quickly(const struct cmd *cmd, bool quiet, struct machine *out, struct err *err);

#endif
