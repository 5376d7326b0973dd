/* test_pipeline_params.c - parameters: declared, overridden, substituted, and never turned into code. */
#include "base/str.h"
#include "config/pipeline.h"
#include "unit.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void assert_contains(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' does not contain '%s'", text, part);
}

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

static const char declaring[] = "params:\n  dataset: coco128\n  train_epochs: {value: 50, help: how long}\n"
				"  out: runs/${dataset}\nstages: [{name: a, run: x}]\n";

static void later_overrides_win_and_later_params_see_them(void **state)
{
	(void)state;
	struct param_override values[] = {{.name = "dataset", .value = "x", .source = "--set"},
					  {.name = "train-epochs", .value = "10", .source = "--train-epochs"},
					  {.name = "dataset", .value = "${coco32}", .source = "--dataset"}};
	struct pipeline_overrides overrides = {.values = {values, 3, 3}};
	struct pipeline *p;
	struct err err;
	assert_int_equal(parse_with(declaring, &overrides, &p, &err), 0);
	assert_string_equal(pipeline_param(p, "dataset")->value, "${coco32}");
	assert_string_equal(pipeline_param(p, "dataset")->source, "--dataset");
	assert_string_equal(pipeline_param(p, "train_epochs")->value, "10");
	assert_string_equal(pipeline_param(p, "train_epochs")->help, "how long");
	assert_string_equal(pipeline_param(p, "out")->value, "runs/${coco32}");
	assert_string_equal(pipeline_param(p, "out")->source, "p.yaml");
	assert_null(pipeline_param(p, "none"));
	pipeline_free(p);
}

static void an_undeclared_override_is_a_usage_error_with_a_suggestion(void **state)
{
	(void)state;
	struct param_override values[] = {{.name = "datasett", .value = "x", .source = "--set"}};
	struct pipeline_overrides overrides = {.values = {values, 1, 1}};
	struct pipeline *p;
	struct err err;
	assert_int_equal(parse_with(declaring, &overrides, &p, &err), ERR_USAGE);
	assert_string_equal(err.text,
			    "--set: p.yaml declares no parameter 'datasett'; did you mean 'dataset'? (declared: "
			    "dataset, train_epochs, out)");
	assert_int_equal(parse_with("stages: [{name: a, run: x}]", &overrides, &p, &err), ERR_USAGE);
	assert_contains(err.text, "no params: at all");
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void parameter_files_come_before_single_values(void **state)
{
	(void)state;
	char path[] = "/tmp/pitot-params-XXXXXX";
	close(mkstemp(path));
	write_file(path, "{\"dataset\": \"coco32\", \"train-epochs\": 7}");
	const char *files[] = {path};
	struct param_override values[] = {{.name = "train_epochs", .value = "3", .source = "--set"}};
	struct pipeline_overrides overrides = {.values = {values, 1, 1}, .param_files = {files, 1, 1}};
	struct pipeline *p;
	struct err err;
	assert_int_equal(parse_with(declaring, &overrides, &p, &err), 0);
	assert_string_equal(pipeline_param(p, "dataset")->value, "coco32");
	assert_string_equal(pipeline_param(p, "train_epochs")->value, "3");
	assert_contains(pipeline_param(p, "dataset")->source, "--param /tmp/pitot-params-");
	pipeline_free(p);
	write_file(path, "dataset: x\ndatset: y\n");
	assert_int_equal(parse_with(declaring, &overrides, &p, &err), ERR_USAGE);
	assert_contains(err.text, ":2: p.yaml declares no parameter 'datset'; did you mean 'dataset'?");
	write_file(path, "dataset: [x]\n");
	assert_int_equal(parse_with(declaring, &overrides, &p, &err), ERR_INPUT);
	write_file(path, "- x\n");
	assert_int_equal(parse_with(declaring, &overrides, &p, &err), ERR_INPUT);
	unlink(path);
	assert_int_equal(parse_with(declaring, &overrides, &p, &err), ERR_INPUT);
	assert_contains(err.text, "cannot open");
}

static void environment_variables_are_read_at_load_time(void **state)
{
	(void)state;
	setenv("PITOT_TEST_VALUE", "it's", 1);
	unsetenv("PITOT_TEST_NONE");
	struct pipeline *p = parse("params: {a: '${env:PITOT_TEST_NONE:-some words}'}\n"
				   "stages: [{name: a, run: ['${env:PITOT_TEST_VALUE}', '${a}']},"
				   "{name: b, run: 'echo ${env:PITOT_TEST_VALUE}'}]\n");
	assert_string_equal(p->stages.items[0].argv.items[0], "it's");
	assert_string_equal(p->stages.items[0].argv.items[1], "some words");
	assert_string_equal(p->stages.items[1].shell, "echo 'it'\\''s'");
	pipeline_free(p);
	struct err err;
	assert_int_equal(parse_with("stages:\n- name: a\n  run: echo ${env:PITOT_TEST_NONE}\n", NULL, &p, &err),
			 ERR_INPUT);
	assert_contains(err.text, "p.yaml:3: environment variable 'PITOT_TEST_NONE' is not set");
}

static void unknown_names_are_refused_where_no_shell_reads_them(void **state)
{
	(void)state;
	static const struct {
		const char *stage, *words;
	} cases[] = {
		{"run: [x, '${datasett}']", "${datasett} names no declared parameter; did you mean 'dataset'?"},
		{"run: [x, '${HOME}']", "write ${env:HOME} for an environment variable"},
		{"{run: x, env: {A: '${HOME}'}}", "names no declared parameter"},
		{"run: [x, '${a b}']", "cannot read '${a b}'"},
		{"run: [x, '${']", "cannot read '${'"},
		{"run: [x, '${dataset:-y}']", "cannot read '${dataset:-y}'"},
		{"run: 'echo ${datasett}'",
		 "did you mean 'dataset'? (for a variable of the shell's own write $datasett"},
		{"run: 'echo ${dataset%.x}'", "cannot read '${dataset%.x}'"},
		{"run: 'echo ${datum:raw}'", "names no declared parameter"},
		{"run: 'echo ${env:1}'", "cannot read '${env:1}'"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[300];
		bool flow = cases[i].stage[0] == '{';
		snprintf(text, sizeof(text), "params: {dataset: x}\nstages:\n- {name: a, %.*s}\n",
			 (int)strlen(cases[i].stage) - 2 * flow, cases[i].stage + flow);
		struct pipeline *p;
		struct err err;
		assert_int_equal(parse_with(text, NULL, &p, &err), ERR_INPUT);
		assert_contains(err.text, cases[i].words);
	}
}

/* The script of one stage with the parameters `v` and `n`; NULL, with the message in *err, where it is refused. */
static char *script(const char *template, const char *value, struct err *err)
{
	struct param_override values[] = {{.name = "value", .value = value, .source = "--set"}};
	struct pipeline_overrides overrides = {.values = {values, 1, 1}};
	struct str text = {0};
	str_append(&text, "params: {value: x, num: 41}\nstages:\n- name: a\n  run: |\n");
	for (const char *line = template; *line;) {
		size_t length = strcspn(line, "\n");
		str_appendf(&text, "    %.*s\n", (int)length, line);
		line += length + (line[length] == '\n');
	}
	struct pipeline *p;
	int code = parse_with(text.text, &overrides, &p, err);
	str_fini(&text);
	if (code)
		return NULL;
	char *shell = strdup(p->stages.items[0].shell);
	shell[strlen(shell) - 1] = '\0';
	pipeline_free(p);
	return shell;
}

static void a_value_is_quoted_for_the_place_where_it_stands(void **state)
{
	(void)state;
	static const struct {
		const char *template, *value, *want;
	} cases[] = {
		{"echo ${value}", "a b", "echo 'a b'"},
		{"echo ${value}", "", "echo ''"},
		{"echo ${value}.txt", "it's", "echo 'it'\\''s'.txt"},
		{"echo \"${value}\"", "a\"$`\\b'", "echo \"a\\\"\\$\\`\\\\b'\""},
		{"echo '${value}'", "it's $x", "echo 'it'\\''s $x'"},
		{"echo \"it's ${value}\"", "\"", "echo \"it's \\\"\""},
		{"echo \\\"${value}", "a b", "echo \\\"'a b'"},
		{"echo \"$(echo ${value})\"", "a b", "echo \"$(echo 'a b')\""},
		{"echo \"$(echo \"${value}\") ${value}\"", "$", "echo \"$(echo \"\\$\") \\$\""},
		{"echo # ${value}", "a\nb", "echo # ${value}"},
		{"echo a#${value}", "a b", "echo a#'a b'"},
		{"echo # it's\necho ${value}", "a b", "echo # it's\necho 'a b'"},
		{"echo $((${num} + 1)) ${value}", "a b", "echo $((41 + 1)) 'a b'"},
		{"echo $((1 << 2)) ${value}", "a b", "echo $((1 << 2)) 'a b'"},
		{"echo `echo ${value}`", "a/b", "echo `echo a/b`"},
		{"echo ${HOME:-${value}} ${num}", "a-b", "echo ${HOME:-a-b} '41'"},
		{"echo ${HOME} ${HOME%/} $HOME $$ ${#x} ${1} $x", "a", "echo ${HOME} ${HOME%/} $HOME $$ ${#x} ${1} $x"},
		{"echo $${value} \\${value} '$${value}'", "a", "echo ${value} \\${value} '${value}'"},
		{"echo ${value:raw}", "a b; ${num}", "echo a b; ${num}"},
		{"echo ${value:raw}${num}\"", "\"", "echo \"41\""},
		{"for i in 1; do echo ${i}; done", "a", "for i in 1; do echo ${i}; done"},
		{"cat <<EOF\n${value}\nEOF\necho ${value}", "a.b", "cat <<EOF\na.b\nEOF\necho 'a.b'"},
		{"cat <<-'EOF' | tr a b\n\t${value}\n\tEOF\necho ${num}", "a",
		 "cat <<-'EOF' | tr a b\n\ta\n\tEOF\necho '41'"},
		{"case x in a) echo ${value};; esac", "a b", "case x in a) echo 'a b';; esac"},
		{"(cd x && echo ${value})", ";", "(cd x && echo ';')"},
		{"echo \\\n# it's\necho \\\n${value}", "a b", "echo \\\n# it's\necho \\\n'a b'"},
		{"echo \"$$( ${value}\" $$${num}", "\"", "echo \"$$( \\\"\" $$'41'"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		char *got = script(cases[i].template, cases[i].value, &err);
		if (!got)
			fail_msg("%s: %s", cases[i].template, err.text);
		assert_string_equal(got, cases[i].want);
		free(got);
	}
}

static void a_value_is_refused_where_no_quoting_is_safe(void **state)
{
	(void)state;
	static const struct {
		const char *template, *value;
	} cases[] = {
		{"echo $((${value}))", "a[$(id)]"},
		{"echo $((${value}))", ""},
		{"echo `echo ${value}`", "a b"},
		{"echo `echo '${value}'`", "a`b"},
		{"echo ${HOME:-${value}}", "a}b"},
		{"echo \"${HOME:-${value}}\"", "a\"b"},
		{"cat <<EOF\n${value}\nEOF", "$(id)"},
		{"cat <<A <<B\n${value}\nA\n${value}\nB\n: ${value}", "a b"},
		{"echo $'a\\'b' ${value}", "a b"},
		{"echo \"$(case x in x) echo ${value};; esac)\"", "; id"},
		{"echo `echo ${value}`", ""},
		{"(('${value}'))", "$(id)"},
		{"echo $['${value}']", "$(id)"},
		{"echo $\\\n('${value}')", "a b"},
		{"echo `# \\`\necho ${value}`", "; id"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {0};
		char *got = script(cases[i].template, cases[i].value, &err);
		if (got)
			fail_msg("%s became %s", cases[i].template, got);
		assert_contains(err.text, "cannot be put in place of ${value} here");
	}
}

static char *output_of(const char *shell, const char *text)
{
	int pipe_ends[2];
	assert_int_equal(pipe(pipe_ends), 0);
	pid_t child = fork();
	if (child == 0) {
		dup2(pipe_ends[1], STDOUT_FILENO);
		close(STDERR_FILENO);
		close(pipe_ends[0]);
		close(pipe_ends[1]);
		execlp(shell, shell, "-c", text, (char *)NULL);
		_exit(127);
	}
	close(pipe_ends[1]);
	struct str out = {0};
	char bytes[512];
	for (ssize_t got; (got = read(pipe_ends[0], bytes, sizeof(bytes))) > 0;)
		str_append_bytes(&out, bytes, (size_t)got);
	close(pipe_ends[0]);
	waitpid(child, NULL, 0);
	return str_take(&out);
}

static const char *const hostile[] = {
	"plain",
	"two words",
	"it's",
	"\"; touch MARK; \"",
	"'; touch MARK; '",
	"$(touch MARK)",
	"`touch MARK`",
	"\\",
	"a\\",
	"$HOME ${HOME}",
	"*",
	"line\nbreak; touch MARK",
	"# no comment",
	"~",
	"a}b",
	") ; touch MARK ; (",
	"))",
	"!x",
	"\\$(touch MARK)",
	"'\"'\"'",
	"-n",
	"&& touch MARK",
	"<<EOF",
	"\t tab ",
};

/* The real shell is asked: what it prints is the value, byte by byte. */
static void the_shell_reads_back_exactly_the_value(void **state)
{
	(void)state;
	static const char *const templates[] = {
		"printf %s ${value}",
		"printf %s \"${value}\"",
		"printf %s '${value}'",
		"printf %s \"$(printf '%s.' ${value})\" | sed '$ s/[.]$//'",
		"printf %s \"$(printf '%s.' \"${value}\")\" | sed '$ s/[.]$//'",
		"x=${value}; printf %s \"$x\"",
		"# it's a comment with a quote\nprintf %s ${value}",
		"case a in a) printf %s ${value};; esac",
		"if (true); then printf %s \"\"${value}''; fi",
		"cat >/dev/null <<E\nit's \"\nE\nprintf %s ${value}",
	};
	for (size_t t = 0; t < sizeof(templates) / sizeof(templates[0]); t++) {
		for (size_t v = 0; v < sizeof(hostile) / sizeof(hostile[0]); v++) {
			struct err err = {0};
			char *text = script(templates[t], hostile[v], &err);
			if (!text)
				fail_msg("%s with %s: %s", templates[t], hostile[v], err.text);
			char *got = output_of("sh", text);
			/* sed ends its last line. */
			size_t length = strlen(hostile[v]);
			if (strncmp(got, hostile[v], length) != 0 || (got[length] && strcmp(got + length, "\n") != 0))
				fail_msg("%s gave '%s' for '%s'", text, got, hostile[v]);
			free(got);
			free(text);
		}
	}
}

static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* A script around ${value}, nested at random, every third time with a stray piece that may break the nesting. */
static char *random_template(uint32_t *seed)
{
	static const char *const wrappers[][2] = {
		{"\"", "\""},
		{"'", "'"},
		{"$(echo ", ")"},
		{"`echo ", "`"},
		{"${z:-", "}"},
		{"$((", "))"},
		{"(echo ", ")"},
		{"\"$(echo ", ")\""},
		{"cat <<E\n", "\nE\n"},
		{"case x in x) echo ", ";; esac"},
		{"$[", "]"},
		{"((", "))"},
		{"a\\\"", "b"},
		{"echo # it's\necho ", ""},
		{"x=", "; echo $x"},
		{"$(case x in x) echo ", ";; esac)"},
	};
	static const char *const strays[] = {"\"",  "'",    "\\",    "$(", ")", "`",   " ",   "\n", "#",
					     "}",   "$'",   "<<E\n", "((", "$", "$$",  "$[",  "]",  "{",
					     "<<<", "\\\n", "$\"",   "))", ";", "\\`", "${z#"};
	struct str text = {0};
	str_append(&text, "${value}");
	for (uint32_t depth = next_random(seed) % 5; depth > 0; depth--) {
		size_t at = next_random(seed) % (sizeof(wrappers) / sizeof(wrappers[0]));
		char *inner = str_take(&text);
		str_appendf(&text, "%s%s%s%s", wrappers[at][0], next_random(seed) % 3 ? "" : "x ${value} ", inner,
			    wrappers[at][1]);
		free(inner);
	}
	if (next_random(seed) % 3 == 0) {
		char *whole = str_take(&text);
		size_t at = next_random(seed) % strlen(whole);
		str_appendf(&text, "%.*s%s%s", (int)at, whole,
			    strays[next_random(seed) % (sizeof(strays) / sizeof(strays[0]))], whole + at);
		free(whole);
	}
	return str_take(&text);
}

static void remove_folder(char *folder)
{
	pid_t child = fork();
	if (child == 0) {
		execlp("rm", "rm", "-rf", folder, (char *)NULL);
		_exit(127);
	}
	waitpid(child, NULL, 0);
}

/* Whatever the shells make of such scripts, no value is parsed as code. The mark is a redirection, because a script may
 * well run the words of a value as a command, as $(echo ${value}) does, but no redirection comes out of an expansion.
 */
static void no_random_script_turns_a_value_into_code(void **state)
{
	(void)state;
	static const char *const attacks[] = {"; >MARK ;",   "$(>MARK)",  "`>MARK`",   "';>MARK;'",
					      "\";>MARK;\"", "\n>MARK\n", ");>MARK;(", "};>MARK;"};
	char folder[] = "/tmp/pitot-quote-XXXXXX", here[PATH_MAX];
	assert_non_null(mkdtemp(folder));
	assert_non_null(getcwd(here, sizeof(here)));
	assert_int_equal(chdir(folder), 0);
	uint32_t seed = 7;
	int ran = 0;
	for (int round = 0; round < 3000; round++) {
		char *template = random_template(&seed);
		char *line = mem_printf("echo %s", template);
		struct err err = {0};
		char *text = script(line, attacks[next_random(&seed) % 8], &err);
		if (text && strstr(text, ">MARK")) {
			ran++;
			free(output_of(ran % 2 ? "sh" : "bash", text));
			if (access("MARK", F_OK) == 0)
				fail_msg("a value was executed: template %s gave %s", line, text);
		}
		free(text);
		free(line);
		free(template);
	}
	assert_true(ran > 300);
	assert_int_equal(chdir(here), 0);
	remove_folder(folder);
}

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(later_overrides_win_and_later_params_see_them),
	cmocka_unit_test(an_undeclared_override_is_a_usage_error_with_a_suggestion),
	cmocka_unit_test(parameter_files_come_before_single_values),
	cmocka_unit_test(environment_variables_are_read_at_load_time),
	cmocka_unit_test(unknown_names_are_refused_where_no_shell_reads_them),
	cmocka_unit_test(a_value_is_quoted_for_the_place_where_it_stands),
	cmocka_unit_test(a_value_is_refused_where_no_quoting_is_safe),
	cmocka_unit_test(the_shell_reads_back_exactly_the_value),
	cmocka_unit_test(no_random_script_turns_a_value_into_code),
};

UNIT_MAIN(tests)
