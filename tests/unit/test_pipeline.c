/* test_pipeline.c - pipeline files: what is accepted and what it becomes, what is refused and in which words. */
#include "base/clock.h"
#include "base/str.h"
#include "config/pipeline.h"
#include "unit.h"

#include <limits.h>
#include <sys/stat.h>

static int parse_with(const char *text, const struct pipeline_overrides *overrides, struct pipeline **out,
		      struct err *err)
{
	*out = NULL;
	return pipeline_parse(text, strlen(text), "p.yaml", overrides, NULL, out, err);
}

static struct pipeline *parse(const char *text)
{
	struct pipeline *pipeline;
	struct err err = {0};
	if (parse_with(text, NULL, &pipeline, &err) != 0)
		fail_msg("refused: %s", err.text);
	return pipeline;
}

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' does not contain '%s'", text, part);
}

/* Refused as bad input, with these words in the message. */
static void assert_refused(const char *text, const char *words)
{
	struct pipeline *pipeline;
	struct err err = {0};
	int code = parse_with(text, NULL, &pipeline, &err);
	if (code == 0) {
		pipeline_free(pipeline);
		fail_msg("accepted, but expected: %s", words);
	}
	assert_int_equal(code, ERR_INPUT);
	assert_int_equal(err.code, ERR_INPUT);
	assert_null(pipeline);
	assert_contains(err.text, words);
}

static void a_stage_keeps_every_key_that_was_written(void **state)
{
	(void)state;
	struct pipeline *p = parse("name: demo\n"
				   "stages:\n"
				   "  - name: one\n"
				   "    run: echo hi\n"
				   "    env: {A: 1, B: two words}\n"
				   "    cwd: /tmp\n"
				   "    timeout: 90\n"
				   "    retries: 3\n"
				   "    inputs: in.csv\n"
				   "    outputs: [./out.csv, /abs/*.json]\n"
				   "    survivors: leave\n"
				   "    profile: {interval: 20ms, gpu: off, pss: true}\n");
	const struct stage_spec *s = &p->stages.items[0];
	assert_string_equal(p->name, "demo");
	assert_string_equal(s->shell, "echo hi");
	assert_int_equal(s->argv.len, 3);
	assert_string_equal(s->argv.items[0], "/bin/sh");
	assert_string_equal(s->argv.items[1], "-c");
	assert_string_equal(s->argv.items[2], "echo hi");
	assert_int_equal(s->line, 3);
	assert_int_equal(s->env.len, 2);
	assert_string_equal(s->env.items[0], "A=1");
	assert_string_equal(s->env.items[1], "B=two words");
	assert_string_equal(s->cwd, "/tmp");
	assert_true(s->timeout_ns == 90 * NS_PER_S);
	assert_int_equal(s->retries, 3);
	assert_string_equal(s->inputs.items[0], "/tmp/in.csv");
	assert_string_equal(s->outputs.items[0], "/tmp/out.csv");
	assert_string_equal(s->outputs.items[1], "/abs/*.json");
	assert_int_equal(s->survivors, SURVIVORS_LEAVE);
	assert_true(s->profile.interval_ns == 20 * NS_PER_S / 1000);
	assert_int_equal(s->profile.gpu, 0);
	assert_int_equal(s->profile.pss, 1);
	assert_int_equal(s->profile.pmu, -1);
	assert_true(s->profile.watts < 0);
	assert_null(s->manual);
	assert_null(s->skip);
	pipeline_free(p);
}

static void a_list_runs_without_a_shell(void **state)
{
	(void)state;
	struct pipeline *p = parse("params: {d: 'a b; c'}\nstages: [{name: x, run: [prog, '${d}', '$${HOME}', 5]}]\n");
	const struct stage_spec *s = &p->stages.items[0];
	assert_null(s->shell);
	assert_int_equal(s->argv.len, 4);
	assert_string_equal(s->argv.items[1], "a b; c");
	assert_string_equal(s->argv.items[2], "${HOME}");
	assert_string_equal(s->argv.items[3], "5");
	pipeline_free(p);
}

static void json_goes_through_the_same_parser(void **state)
{
	(void)state;
	struct pipeline *p = parse("{\"stages\": [{\"name\": \"a\", \"run\": [\"x\"], \"timeout\": \"2m\"}], \"gate\": "
				   "{\"max_wall_s\": 2.5}}");
	assert_true(p->stages.items[0].timeout_ns == 120 * NS_PER_S);
	assert_true(p->gates.items[0].limit == 2.5);
	assert_string_equal(p->gates.items[0].name, "max_wall_s");
	pipeline_free(p);
}

static void needs_default_to_the_stage_before(void **state)
{
	(void)state;
	struct pipeline *p = parse("stages:\n- {name: a, run: x}\n- {name: b, run: x}\n- {name: c, run: x, needs: []}\n"
				   "- {name: d, run: x, needs: [a, c]}\n- {name: e, run: x, needs: f}\n"
				   "- {name: f, run: x, needs: d}\n");
	assert_int_equal(p->stages.items[0].needs.len, 0);
	assert_int_equal(p->stages.items[1].needs.len, 1);
	assert_int_equal(p->stages.items[1].needs.items[0], 0);
	assert_int_equal(p->stages.items[2].needs.len, 0);
	assert_int_equal(p->stages.items[3].needs.len, 2);
	assert_int_equal(p->stages.items[3].needs.items[1], 2);
	assert_int_equal(p->stages.items[4].needs.items[0], 5);
	pipeline_free(p);
}

static void the_name_defaults_to_the_folder_and_paths_to_it(void **state)
{
	(void)state;
	char folder[] = "/tmp/pitot-pipe-XXXXXX", path[PATH_MAX];
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/pipeline.yaml", folder);
	FILE *file = fopen(path, "w");
	fputs("stages: [{name: a, run: x, outputs: o}, {name: b, run: x, cwd: sub, inputs: i}]\n"
	      "quality: [{name: q, file: 'r/*.json', pointer: /a}]\n",
	      file);
	fclose(file);
	struct pipeline *p;
	struct err err;
	assert_int_equal(pipeline_load(path, NULL, NULL, &p, &err), 0);
	char want[PATH_MAX];
	assert_string_equal(p->name, strrchr(folder, '/') + 1);
	assert_string_equal(p->dir, folder);
	assert_string_equal(p->stages.items[0].cwd, folder);
	snprintf(want, sizeof(want), "%s/o", folder);
	assert_string_equal(p->stages.items[0].outputs.items[0], want);
	snprintf(want, sizeof(want), "%s/sub/i", folder);
	assert_string_equal(p->stages.items[1].inputs.items[0], want);
	snprintf(want, sizeof(want), "%s/r/*.json", folder);
	assert_string_equal(p->quality.items[0].file, want);
	assert_contains(p->text, "stages: [");
	pipeline_free(p);
	unlink(path);
	assert_int_equal(pipeline_load(path, NULL, NULL, &p, &err), ERR_INPUT);
	assert_contains(err.text, path);
	rmdir(folder);
}

static void skip_and_manual_take_a_reason_or_a_truth(void **state)
{
	(void)state;
	struct pipeline *p =
		parse("params: {lazy: true}\n"
		      "stages:\n- {name: a, manual: requires GUI}\n- {name: b, run: x, skip: true}\n"
		      "- {name: c, run: x, skip: 'disk is full'}\n- {name: d, run: x, skip: false, manual: no}\n"
		      "- name: e\n  run: x\n  skip: ${lazy}\n");
	assert_string_equal(p->stages.items[0].manual, "requires GUI");
	assert_int_equal(p->stages.items[0].argv.len, 0);
	assert_string_equal(p->stages.items[1].skip, "skip: true in the pipeline file");
	assert_string_equal(p->stages.items[2].skip, "disk is full");
	assert_null(p->stages.items[3].skip);
	assert_null(p->stages.items[3].manual);
	assert_non_null(p->stages.items[4].skip);
	pipeline_free(p);
}

static void when_decides_by_comparison_or_truth(void **state)
{
	(void)state;
	static const struct {
		const char *when;
		bool runs;
	} cases[] = {
		{"${d} == coco128", true},
		{"${d} != coco128", false},
		{"${d}==coco32", false},
		{"${empty}", false},
		{"${zero}", false},
		{"'NO'", false},
		{"'Off'", false},
		{"yes", true},
		{"${d}", true},
		{"'${empty} == \"\"'", true},
		{"${eq} == 'a == b'", true},
		{"${eq} == a", false},
		{"${d} != coco32", true},
		{"false", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[400];
		snprintf(text, sizeof(text),
			 "params: {d: coco128, empty: '', zero: 0, eq: 'a == b'}\nstages:\n- name: x\n  run: x\n  "
			 "when: %s\n",
			 cases[i].when);
		struct pipeline *p = parse(text);
		if ((p->stages.items[0].skip == NULL) != cases[i].runs)
			fail_msg("when: %s gave %s", cases[i].when, p->stages.items[0].skip ? "skip" : "run");
		pipeline_free(p);
	}
	struct pipeline *p = parse("params: {d: x}\nstages:\n- name: x\n  run: x\n  when: ${d} == y\n");
	assert_string_equal(p->stages.items[0].skip, "when: ${d} == y is false");
	pipeline_free(p);
}

static void a_gate_may_ask_about_stages_and_about_quality_metrics(void **state)
{
	(void)state;
	struct pipeline *p =
		parse("gate: {'max_train:wall_s_increase_pct': 5, max_f1_drop: 0.1, 'min_quality:auc': 0.5}\n"
		      "quality: [{name: f1, file: grade.json, pointer: /f1}]\n"
		      "stages: [{name: train, run: x}]\n");
	assert_int_equal(p->gates.len, 3);
	assert_string_equal(p->gates.items[1].name, "max_f1_drop");
	pipeline_free(p);
}

static void the_rate_of_the_code_profile_is_read(void **state)
{
	(void)state;
	struct pipeline *p = parse("profile: {cpu: true}\nstages:\n"
				   "- {name: a, run: x}\n"
				   "- {name: b, run: x, profile: {cpu: off}}\n"
				   "- {name: c, run: x, profile: {cpu: 200}}\n");
	assert_int_equal(p->profile.cpu_hz, PROFILE_CPU_HZ);
	assert_int_equal(p->stages.items[0].profile.cpu_hz, -1);
	assert_int_equal(p->stages.items[1].profile.cpu_hz, 0);
	assert_int_equal(p->stages.items[2].profile.cpu_hz, 200);
	pipeline_free(p);
}

static void the_period_of_the_memory_profile_is_read(void **state)
{
	(void)state;
	struct pipeline *p =
		parse("profile: {memory: true, memory_types: yes, span_counters: yes}\nstages:\n"
		      "- {name: a, run: x}\n"
		      "- {name: b, run: x, profile: {memory: no}}\n"
		      "- {name: c, run: x, profile: {memory: exact, memory_types: no, span_counters: no}}\n"
		      "- {name: d, run: x, profile: {memory: 65536}}\n");
	assert_int_equal(p->profile.memory_period, PROFILE_MEMORY);
	assert_int_equal(p->stages.items[0].profile.memory_period, -1);
	assert_int_equal(p->stages.items[1].profile.memory_period, 0);
	assert_int_equal(p->stages.items[2].profile.memory_period, PROFILE_MEMORY_EXACT);
	assert_int_equal(p->stages.items[3].profile.memory_period, 65536);
	assert_int_equal(p->profile.memory_types, 1);
	assert_int_equal(p->stages.items[0].profile.memory_types, -1);
	assert_int_equal(p->stages.items[2].profile.memory_types, 0);
	assert_int_equal(p->profile.span_counters, 1);
	assert_int_equal(p->stages.items[0].profile.span_counters, -1);
	assert_int_equal(p->stages.items[2].profile.span_counters, 0);
	pipeline_free(p);
}

static void profile_and_quality_and_gate_are_read(void **state)
{
	(void)state;
	struct pipeline *p =
		parse("profile: {interval: 0.5, jobs: 4, pss: true, enable_gpu_sampling: false, pmu: no, watts: 0}\n"
		      "stages: [{name: a, run: x}]\n"
		      "quality:\n"
		      "- {name: a.b, file: /f, regex: 'x=([0-9]+)'}\n"
		      "- {name: c, file: /f, regex: 'x=[0-9]+'}\n"
		      "- {name: d, file: /f, column: acc}\n"
		      "- {name: e, file: /f, regex: '(a)(b)', group: 2}\n"
		      "gate: {max_recall_drop: 0.02, min_run_grade_delta: -1}\n");
	assert_int_equal(p->jobs, 4);
	assert_true(p->profile.interval_ns == NS_PER_S / 2);
	assert_int_equal(p->profile.gpu, 0);
	assert_int_equal(p->profile.pmu, 0);
	assert_true(p->profile.watts == 0);
	assert_int_equal(p->quality.items[0].group, 1);
	assert_int_equal(p->quality.items[1].group, 0);
	assert_string_equal(p->quality.items[2].row, "last");
	assert_int_equal(p->quality.items[2].how, QUALITY_COLUMN);
	assert_int_equal(p->quality.items[3].group, 2);
	assert_int_equal(p->gates.len, 2);
	assert_true(p->gates.items[1].limit == -1);
	assert_int_equal(p->gates.items[1].line, 8);
	pipeline_free(p);
}

static void empty_sections_are_as_if_not_there(void **state)
{
	(void)state;
	struct pipeline *p = parse("params:\nprofile:\nconfig:\nquality:\ngate:\nstages: [{name: a, run: 'true'}]\n");
	assert_int_equal(p->params.len + p->quality.len + p->gates.len + p->overlays.len, 0);
	pipeline_free(p);
}

static void a_wrong_file_is_refused_with_line_and_advice(void **state)
{
	(void)state;
	static const struct {
		const char *text, *words;
	} cases[] = {
		{"", "p.yaml: the file is empty"},
		{"[1]", "p.yaml:1: a pipeline file is a map"},
		{"name: x\n", "p.yaml:1: there are no 'stages'"},
		{"stages: []\n", "p.yaml:1: 'stages' is empty"},
		{"stages: 5\n", "p.yaml:1: 'stages' must be a list of stages, not '5'"},
		{"stages: [x]\n", "must be a list of maps"},
		{"stagse: []\n", "unknown key 'stagse' in the pipeline file; did you mean 'stages'?"},
		{"zzzzzzzz: 1\n", "the keys are: name, params, config"},
		{"stages:\n- name: a\n  rum: x\n", "p.yaml:3: unknown key 'rum' in a stage; did you mean 'run'?"},
		{"stages:\n- run: x\n", "p.yaml:2: this stage has no 'name'"},
		{"stages:\n- name: a\n", "stage 'a' has no 'run'"},
		{"stages:\n- name: a/b\n  run: x\n", "cannot be a stage's name"},
		{"stages:\n- name: ..\n  run: x\n", "cannot be a stage's name"},
		{"stages:\n- name: a\n  run: []\n", "p.yaml:3: 'run' names no program"},
		{"stages:\n- name: a\n  run: [[x]]\n", "'run' must be a text, or a list of texts"},
		{"stages:\n- name: a\n  run: {x: y}\n", "'run' must be a text for the shell, or a list"},
		{"stages:\n- name: a\n  run:\n",
		 "'run' must be a text for the shell, or a list: program and arguments, not nothing"},
		{"stages:\n- name: a\n  run: ' '\n", "'run' is empty"},
		{"stages:\n- name: a\n  run: x\n- name: a\n  run: y\n",
		 "p.yaml:4: stage 'a' stands twice, first in line 2"},
		{"stages:\n- name: a\n  name: b\n  run: x\n", "p.yaml:3: key 'name' stands twice, first in line 2"},
		{"stages:\n- {name: fetch, run: x}\n- {name: b, run: x, needs: fecth}\n",
		 "p.yaml:3: stage 'b' needs 'fecth', but no stage has that name; did you mean 'fetch'?"},
		{"stages:\n- {name: a, run: x, needs: {}}\n", "'needs' must be a stage's name or a list of names"},
		{"stages:\n- {name: a, run: x}\n- {name: b, run: x, needs: [a, a]}\n", "names 'a' twice"},
		{"stages:\n- {name: a, run: x, timeout: soon}\n", "'timeout' must be a duration"},
		{"stages:\n- {name: a, run: x, retries: -1}\n", "'retries' must be a whole number from 0 to 100"},
		{"stages:\n- {name: a, run: x, survivors: eat}\n", "must be wait, kill or leave"},
		{"stages:\n- {name: a, run: x, env: {1A: x}}\n", "cannot be an environment variable"},
		{"stages:\n- {name: a, run: x, env: [x]}\n", "'env' must be a map"},
		{"stages:\n- {name: a, run: x, profile: {jobs: 2}}\n", "'jobs' belongs to the pipeline's own profile"},
		{"stages:\n- {name: a, run: x, inputs: {a: b}}\n", "'inputs' must be a text or a list of texts"},
		{"profile: {interval: 0}\nstages: []\n", "'interval' must lie between"},
		{"profile: {gpu: true, enable_gpu_sampling: true}\nstages: []\n", "mean the same"},
		{"profile: {pss: maybe}\nstages: []\n", "'pss' must be true or false, not 'maybe'"},
		{"profile: {watts: -3}\nstages: []\n", "must not be negative"},
		{"profile: {cpu: 0}\nstages: []\n", "'cpu' must be true, false or samples per second from 1 to 10000"},
		{"profile: {cpu: 10001}\nstages: []\n", "not '10001'"},
		{"profile: {cpu: fast}\nstages: []\n", "not 'fast'"},
		{"profile: {memory: 5}\nstages: []\n",
		 "'memory' must be true, false, exact or the mean number of bytes"},
		{"profile: {memory: all}\nstages: []\n", "not 'all'"},
		{"profile: {cpu: [1]}\nstages: []\n", "'cpu' must be"},
		{"params: [a]\nstages: []\n", "'params' must be a map"},
		{"params: {a-b: 1}\nstages: []\n", "cannot be a parameter's name"},
		{"params: {env: 1}\nstages: []\n", "cannot be named 'env'"},
		{"params: {a: [1]}\nstages: []\n", "'a' must be a text"},
		{"params: {a: {help: x}}\nstages: []\n", "parameter 'a' has no 'value'"},
		{"params: {a: '${b}', b: 1}\nstages: []\n", "${b} names no declared parameter"},
		{"stages: [{name: a, run: x}]\nquality: [{name: q, file: f}]\n",
		 "needs one of 'pointer', 'regex' or 'column'"},
		{"stages: [{name: a, run: x}]\nquality: [{name: q, file: f, pointer: a.b}]\n", "must begin with '/'"},
		{"stages: [{name: a, run: x}]\nquality: [{name: q, file: f, regex: '('}]\n",
		 "no extended regular expression"},
		{"stages: [{name: a, run: x}]\nquality: [{name: q, file: f, regex: '((a{99}){99}){99}'}]\n",
		 "multiply to more"},
		{"stages: [{name: a, run: x}]\nquality: [{name: q, file: f, regex: a, group: 1}]\n", "has only 0"},
		{"stages: [{name: a, run: x}]\nquality: [{name: q, file: f, pointer: /a, regex: b}]\n", "not two"},
		{"stages: [{name: a, run: x}]\nquality: [{name: q, file: f, column: a, row: 7}]\n",
		 "'row' must be last"},
		{"stages: [{name: a, run: x}]\nquality: [{name: q, file: f, pointer: /a, row: max}]\n",
		 "goes with 'column'"},
		{"stages: [{name: a, run: x}]\nquality:\n- {name: q, file: f, pointer: /a}\n- {name: q, file: f, "
		 "pointer: /b}\n",
		 "p.yaml:4: quality metric 'q' stands twice, first in line 3"},
		{"stages: [{name: a, run: x}]\ngate: {max_wall_s: much}\n",
		 "'max_wall_s' must be a number, not 'much'"},
		{"stages: [{name: a, run: x}]\ngate: {max_wall_a: 1}\n",
		 ":2: unknown threshold 'max_wall_a'; did you mean 'max_wall_s'?"},
		{"stages: [{name: train, run: x}]\ngate: {'max_trian:wall_s': 1}\n",
		 ":2: gate: no stage is called 'trian'; did you mean 'train'?"},
		{"stages: [{name: train, run: x}]\ngate: {'max_zzz:wall_s': 1}\n", "gate: no stage is called 'zzz'"},
		{"stages: [{name: a, run: x}]\ngate: {max_accuracy_drop: 1}\n",
		 "unknown threshold 'max_accuracy_drop': expected"},
		{"stages: [{name: a, run: x}]\ngate: [1]\n", "'gate' must be a map"},
		{"stages:\n\t- name: a\n", "p.yaml:2: not valid YAML"},
		{"stages:\n- name: 'a\n", "not valid YAML"},
		{"a: 1\n---\nb: 2\n", "a second document begins here"},
		{"stages: *x\n", "alias '*x' has no anchor"},
		{"stages: &x [*x]\n", "alias '*x' has no anchor"},
		{"? [a]\n: b\n", "a key must be a text"},
		{"name: !python/object:x y\nstages: []\n", "has no meaning here"},
		{"name: \"a\\0b\"\nstages: []\n", "must not contain the NUL character"},
		{"name: \xff\n", "not a text file in UTF-8"},
		{"stages:\n- &d {name: a, run: x}\n- {<<: *d, name: b}\n", "merge keys"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_refused(cases[i].text, cases[i].words);
}

static void a_cycle_is_told_as_a_path(void **state)
{
	(void)state;
	assert_refused("stages:\n- {name: a, run: x, needs: c}\n- {name: b, run: x, needs: a}\n- {name: c, run: x, "
		       "needs: b}\n",
		       "p.yaml:2: stages need one another in a circle: a -> c -> b -> a");
	assert_refused("stages:\n- {name: z, run: x}\n- {name: a, run: x, needs: [z, a]}\n", "circle: a -> a");
	assert_refused("stages:\n- {name: s, run: x, needs: a}\n- {name: a, run: x, needs: b}\n- {name: b, run: x, "
		       "needs: a}\n",
		       "circle: a -> b -> a");
}

static void ten_thousand_stages_in_a_chain_are_accepted_in_any_order(void **state)
{
	(void)state;
	struct str text = {0};
	str_append(&text, "stages:\n");
	for (int i = 0; i < 9999; i++)
		str_appendf(&text, "- {name: s%d, run: x, needs: s%d}\n", i, i + 1);
	str_append(&text, "- {name: s9999, run: x, needs: []}\n");
	struct pipeline *p = parse(text.text);
	assert_int_equal(p->stages.len, 10000);
	assert_int_equal(p->stages.items[17].needs.items[0], 18);
	pipeline_free(p);
	str_fini(&text);
}

static void aliases_that_unfold_without_end_are_refused(void **state)
{
	(void)state;
	struct str text = {0};
	str_append(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 12; i++)
		str_appendf(&text, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i, i - 1, i - 1,
			    i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	assert_refused(text.text, "too large");
	str_clear(&text);
	for (int i = 0; i < 100; i++)
		str_append_char(&text, '[');
	assert_refused(text.text, "nested more than 64 levels deep");
	/* The same by substitution: each parameter twice the one before. */
	str_clear(&text);
	str_append(&text, "params:\n  p0: xxxxxxxx\n");
	for (int i = 1; i < 40; i++)
		str_appendf(&text, "  p%d: ${p%d}${p%d}\n", i, i - 1, i - 1);
	assert_refused(text.text, "longer than 128 KiB after substitution");
	str_fini(&text);
}

static void aliases_repeat_what_was_anchored(void **state)
{
	(void)state;
	struct pipeline *p = parse("stages:\n- {name: a, run: x, env: &e {A: b}}\n- {name: b, run: y, env: *e}\n");
	assert_string_equal(p->stages.items[1].env.items[0], "A=b");
	pipeline_free(p);
}

static void a_command_becomes_a_stage_named_after_what_it_runs(void **state)
{
	(void)state;
	static const struct {
		const char *argv[6];
		const char *name;
	} cases[] = {
		{{"/usr/bin/make", "all"}, "make"},
		{{"python3", "-u", "dir/train.py", "--x"}, "train"},
		{{"python3.11", "-W", "ignore", "train.v2.py"}, "train.v2"},
		{{"python", "-m", "pkg.mod"}, "pkg.mod"},
		{{"python3", "-c", "print(1)"}, "python3"},
		{{"sh", "-c", " /bin/echo hi; ls"}, "echo"},
		{{"/bin/bash", "-euc", "sleep 1"}, "sleep"},
		{{"bash", "run.sh"}, "run"},
		{{"sh", "-c", ""}, "sh"},
		{{"shellcheck", "x"}, "shellcheck"},
		{{"./.hidden"}, ".hidden"},
		{{"python3", ".."}, "python3"},
	};
	char here[PATH_MAX];
	assert_non_null(getcwd(here, sizeof(here)));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t count = 0;
		while (count < 6 && cases[i].argv[count])
			count++;
		struct pipeline *p;
		struct err err;
		assert_int_equal(pipeline_for_command(cases[i].argv, count, &p, &err), 0);
		assert_string_equal(p->name, cases[i].name);
		assert_string_equal(p->stages.items[0].name, cases[i].name);
		assert_int_equal(p->stages.items[0].argv.len, count);
		assert_string_equal(p->stages.items[0].cwd, here);
		assert_int_equal(p->stages.items[0].needs.len, 0);
		assert_int_equal(p->profile.gpu, -1);
		assert_null(p->path);
		pipeline_free(p);
	}
	struct pipeline *p = NULL;
	struct err err;
	assert_int_equal(pipeline_for_command(NULL, 0, &p, &err), ERR_USAGE);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(a_stage_keeps_every_key_that_was_written),
	cmocka_unit_test(a_list_runs_without_a_shell),
	cmocka_unit_test(json_goes_through_the_same_parser),
	cmocka_unit_test(needs_default_to_the_stage_before),
	cmocka_unit_test(the_name_defaults_to_the_folder_and_paths_to_it),
	cmocka_unit_test(skip_and_manual_take_a_reason_or_a_truth),
	cmocka_unit_test(when_decides_by_comparison_or_truth),
	cmocka_unit_test(a_gate_may_ask_about_stages_and_about_quality_metrics),
	cmocka_unit_test(profile_and_quality_and_gate_are_read),
	cmocka_unit_test(the_rate_of_the_code_profile_is_read),
	cmocka_unit_test(the_period_of_the_memory_profile_is_read),
	cmocka_unit_test(empty_sections_are_as_if_not_there),
	cmocka_unit_test(a_wrong_file_is_refused_with_line_and_advice),
	cmocka_unit_test(a_cycle_is_told_as_a_path),
	cmocka_unit_test(ten_thousand_stages_in_a_chain_are_accepted_in_any_order),
	cmocka_unit_test(aliases_that_unfold_without_end_are_refused),
	cmocka_unit_test(aliases_repeat_what_was_anchored),
	cmocka_unit_test(a_command_becomes_a_stage_named_after_what_it_runs),
};

UNIT_MAIN(tests)
