/*
 * rule_topic.c - CPU time spent on something that the names of functions tell, and that usually need not be: importing,
 * serialising, allocating, compiling regular expressions, reading dates.
 */
#include "analyze/rule_code.h"

#include <math.h>

static const double import_share = 0.3, import_least_s = 0.1;
static const double serialise_share = 0.4, serialise_factor = 3;
static const double allocate_share = 0.2, allocate_factor = 3;
static const double compile_share = 0.1;
static const double dates_share = 0.2, dates_factor = 4;

/* What the code profile says about the topic where it is surely as much as that; NULL: it is not. */
static const struct code_about *about(const struct evidence *evidence, enum code_topic topic, double least)
{
	const struct code_report *code = rule_code_profile(evidence);
	if (!code || !rule_code_surely(&code->topics[topic].share, least))
		return NULL;
	return &code->topics[topic];
}

/* ", most of it from load (etl.py:7)"; nothing where no line is known. Owned by the caller. */
static char *origin(const struct code_about *topic)
{
	if (!topic->line.function)
		return mem_strdup("");
	char *words = code_row_words(&topic->line), *origin = mem_printf(", most of it from %s", words);
	free(words);
	return origin;
}

static struct finding *tell(struct finding_list *out, const struct finding_rule *rule, const struct evidence *evidence,
			    const struct code_about *topic, const char *what)
{
	char *from = origin(topic);
	struct finding *finding = finding_add(out, rule, evidence, FINDING_LOOK);
	finding_say(finding, "%.0f %% of its CPU time goes into %s%s.", 100 * topic->share.share, what, from);
	rule_code_cite(finding, "topic_share", &topic->share);
	free(from);
	return finding;
}

static void examine_import(const struct evidence *evidence, struct finding_list *out)
{
	const struct code_about *topic = about(evidence, TOPIC_IMPORT, import_share);
	if (!topic || topic->share.seconds < import_least_s)
		return;
	struct finding *finding = tell(out, &rule_import_time, evidence, topic, "importing Python modules");
	finding_advise(finding, "Import less: only what this stage uses, inside the function that needs it "
				"(python3 -X importtime lists the costs). Do several short stages in one process.");
	finding_predict(finding, evidence, rule_code_saved_s(evidence, topic->share.share, 2),
			"half of the imports can go");
}

const struct finding_rule rule_import_time = {
	.id = "import-time",
	.title = "Time spent importing",
	.fires =
		"by CPU samples (run --cpu) at least 30 % of a stage's CPU time, and 0.1 s, are spent importing Python "
		"modules",
	.why = "every start of the interpreter pays it again before any work is done",
	.todo = "import only what is used, where it is used; do more per start",
	.depth = 3,
	.examine = examine_import,
};

static void examine_serialising(const struct evidence *evidence, struct finding_list *out)
{
	const struct code_about *topic = about(evidence, TOPIC_SERIALIZE, serialise_share);
	if (!topic)
		return;
	struct finding *finding =
		tell(out, &rule_serialising, evidence, topic, "turning data into CSV, JSON, YAML or pickle and back");
	finding_advise(finding,
		       "Keep tables and arrays in a binary format (Parquet, Arrow, npy, HDF5, SQLite) instead "
		       "of text, read only the columns that are used, and read what many steps need once. Between "
		       "processes pass file names or shared memory instead of objects.");
	finding_predict(finding, evidence, rule_code_saved_s(evidence, topic->share.share, serialise_factor),
			"it takes a third in another format");
}

const struct finding_rule rule_serialising = {
	.id = "serialising",
	.title = "Busy serialising",
	.fires = "by CPU samples (run --cpu) at least 40 % of a stage's CPU time is spent reading or writing CSV, "
		 "JSON, YAML or pickle",
	.why = "the data is walked object by object, on both ends, and nothing is computed meanwhile",
	.todo = "pass less data, or pass it in a form that needs no walking",
	.depth = 3,
	.examine = examine_serialising,
};

static void examine_allocator(const struct evidence *evidence, struct finding_list *out)
{
	const struct code_about *topic = about(evidence, TOPIC_ALLOCATE, allocate_share);
	if (!topic)
		return;
	struct finding *finding = tell(out, &rule_allocator, evidence, topic, "malloc and free");
	finding_advise(finding, "Allocate less often: reuse buffers, reserve the final size at once, put small objects "
				"into arrays, or try another allocator (LD_PRELOAD of jemalloc or mimalloc).");
	finding_predict(finding, evidence, rule_code_saved_s(evidence, topic->share.share, allocate_factor),
			"a third of the allocating is left");
}

const struct finding_rule rule_allocator = {
	.id = "allocator",
	.title = "Busy allocating memory",
	.fires =
		"by CPU samples (run --cpu) at least 20 % of a stage's CPU time is spent in malloc, free and their kin",
	.why = "each small block costs a search, a lock or a fault, and the time does no work",
	.todo = "allocate less often, in larger pieces",
	.depth = 3,
	.examine = examine_allocator,
};

static void examine_compile(const struct evidence *evidence, struct finding_list *out)
{
	const struct code_about *topic = about(evidence, TOPIC_REGEX_COMPILE, compile_share);
	if (!topic)
		return;
	struct finding *finding = tell(out, &rule_regex_compile, evidence, topic, "compiling regular expressions");
	finding_advise(finding, "Compile each pattern once, before the loop (re.compile at the top of the module), and "
				"match with what came out.");
	finding_predict(finding, evidence, rule_code_saved_s(evidence, topic->share.share, INFINITY),
			"patterns are compiled once");
}

const struct finding_rule rule_regex_compile = {
	.id = "regex-compile",
	.title = "Compiling regular expressions again and again",
	.fires = "by CPU samples (run --cpu) at least 10 % of a stage's CPU time is spent compiling regular "
		 "expressions, "
		 "imports left out",
	.why = "compiling a pattern takes hundreds of times as long as matching a line with it",
	.todo = "compile once, match often",
	.depth = 3,
	.examine = examine_compile,
};

static void examine_dates(const struct evidence *evidence, struct finding_list *out)
{
	const struct code_about *topic = about(evidence, TOPIC_DATES, dates_share);
	if (!topic)
		return;
	struct finding *finding = tell(out, &rule_date_parsing, evidence, topic, "reading dates and times");
	finding_advise(finding,
		       "strptime and dateutil are slow: datetime.fromisoformat for ISO dates, one pandas.to_datetime "
		       "with format= for a column, or remember what a text meant when it comes again.");
	finding_predict(finding, evidence, rule_code_saved_s(evidence, topic->share.share, dates_factor),
			"a quarter of it is left");
}

const struct finding_rule rule_date_parsing = {
	.id = "date-parsing",
	.title = "Busy reading dates",
	.fires = "by CPU samples (run --cpu) at least 20 % of a stage's CPU time is spent in strptime or dateutil",
	.why = "they look at every text as if it could be anything, one at a time",
	.todo = "say the format, read whole columns, or remember repeated values",
	.depth = 3,
	.examine = examine_dates,
};
