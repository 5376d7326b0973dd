/* machine.c - pitot machine: what this machine can do at best, measured once and remembered. */
#include "render/machine.h"
#include "base/clock.h"
#include "cmd/limits.h"
#include "render/open_run.h"

#include <string.h>
#include <unistd.h>

struct machine_args {
	const char *format, *output;
	bool quick, thorough, fresh, quiet, verbose;
	int64_t width;
};

static const struct opt machine_options[] = {
	{"quick", 0, OPT_FLAG, offsetof(struct machine_args, quick), NULL, "about 3 seconds instead of 12"},
	{"thorough", 0, OPT_FLAG, offsetof(struct machine_args, thorough), NULL, "up to two minutes"},
	{"fresh", 0, OPT_FLAG, offsetof(struct machine_args, fresh), NULL, "measure again, whatever is stored"},
	{"format", 'f', OPT_CHOICE, offsetof(struct machine_args, format), "term|md|json|svg", "how to show it"},
	{"output", 'o', OPT_TEXT, offsetof(struct machine_args, output), "FILE", "write there instead of to stdout"},
	{"verbose", 'v', OPT_FLAG, offsetof(struct machine_args, verbose), NULL, "every rate, with its provenance"},
	{"quiet", 'q', OPT_FLAG, offsetof(struct machine_args, quiet), NULL, "no progress"},
	{"width", 0, OPT_INTEGER, offsetof(struct machine_args, width), "N", "columns of the terminal format"},
	{0}};

extern const struct cmd cmd_machine;

static int show(const struct machine_args *args, const struct machine_view *view)
{
	static const struct {
		const char *name;
		void (*render)(const struct machine_view *view, const struct render_options *options, struct str *out);
	} formats[] = {{"term", machine_term}, {"md", machine_md}, {"json", machine_json}, {"svg", machine_svg}};
	struct render_options options;
	struct str text = {0};
	render_options_for(args->output ? -1 : STDOUT_FILENO, (int)args->width, args->verbose, &options);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (strcmp(formats[i].name, args->format) == 0)
			formats[i].render(view, &options, &text);
	int status = cmd_output(&cmd_machine, args->output, str_text(&text), text.len);
	str_fini(&text);
	return status;
}

static int look(const struct machine_args *args)
{
	struct topology_ids allowed;
	struct topology topology;
	struct host_facts host;
	struct machine machine = {0};
	struct err err;
	int status;
	topology_allowed(&allowed);
	topology_read(&allowed, &topology);
	host_facts_read(&host);
	struct machine_view view = {.machine = &machine, .topology = &topology, .host = &host};
	struct limits_request request = {.cmd = &cmd_machine,
					 .least = args->quick      ? MACHINE_QUICK
						  : args->thorough ? MACHINE_THOROUGH
								   : MACHINE_NORMAL,
					 .fresh = args->fresh,
					 .quiet = args->quiet,
					 .topology = &topology,
					 .host = &host};
	int code = limits_get(&request, &machine, &view.stored, &err);
	uint64_t now = clock_utc_ns();
	if (view.stored && now > machine.measured_utc_ns)
		view.age_s = (double)(now - machine.measured_utc_ns) / 1e9;
	status = code ? cmd_fail(&cmd_machine, &err) : show(args, &view);
	machine_fini(&machine);
	host_facts_fini(&host);
	topology_fini(&topology);
	vec_fini(&allowed.items);
	return status;
}

static int run_machine(int argc, char **argv)
{
	struct machine_args args = {.format = "term"};
	struct opt_texts rest = {0};
	int status = 0;
	if (!cmd_parse(&cmd_machine, argc, argv, &args, &rest, &status))
		goto out;
	if (rest.len)
		status = cmd_usage_error(&cmd_machine, "takes no argument, but got '%s'", rest.items[0]);
	else if (args.quick && args.thorough)
		status = cmd_usage_error(&cmd_machine, "--quick and --thorough: one of them");
	else if (args.width < 0 || args.width > 10000)
		status = cmd_usage_error(&cmd_machine, "--width: expected 1 to 10000 columns");
	else
		status = look(&args);
out:
	vec_fini(&rest);
	return status;
}

const struct cmd cmd_machine = {.name = "machine",
				.summary = "measure what this machine can do at best: peaks, bandwidths, roofline",
				.arguments = "[--quick | --thorough] [--fresh] [--format term|md|json|svg]",
				.options = machine_options,
				.run = run_machine};
