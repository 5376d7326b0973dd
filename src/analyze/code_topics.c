/*
 * code_topics.c - see code_topics.h. A list of marks, each telling one topic by a function's name and where it is from.
 *
 * A name that a program could well give a function of its own ("load", "match") only counts with the file or module that
 * it belongs to.
 */
#include "analyze/code_topics.h"
#include "analyze/code_tree.h"
#include "base/str.h"

#include <string.h>

/* How a text has to fit; NULL text: any does. */
enum fit { WHOLE, PREFIX, SUFFIX, WITHIN };

struct mark {
	enum code_topic topic;
	enum frame_kind kind;
	enum fit function_fit;
	const char *function;
	enum fit place_fit;
	const char *place; /* of a Python function its file, of a native one the name of its module */
};

#define PYTHON_FILE(topic, suffix)                                                                                     \
	{                                                                                                              \
		topic, FRAME_PYTHON, WHOLE, NULL, SUFFIX, suffix                                                       \
	}
#define PYTHON_PATH(topic, part)                                                                                       \
	{                                                                                                              \
		topic, FRAME_PYTHON, WHOLE, NULL, WITHIN, part                                                         \
	}
#define NATIVE_NAME(topic, name)                                                                                       \
	{                                                                                                              \
		topic, FRAME_NATIVE, WHOLE, name, WHOLE, NULL                                                          \
	}
#define NATIVE_PREFIX(topic, name)                                                                                     \
	{                                                                                                              \
		topic, FRAME_NATIVE, PREFIX, name, WHOLE, NULL                                                         \
	}
#define NATIVE_MODULE(topic, module)                                                                                   \
	{                                                                                                              \
		topic, FRAME_NATIVE, WHOLE, NULL, PREFIX, module                                                       \
	}
#define LIBC_NAME(topic, name)                                                                                         \
	{                                                                                                              \
		topic, FRAME_NATIVE, WHOLE, name, PREFIX, "libc"                                                       \
	}

static const struct mark marks[] = {
	{TOPIC_IMPORT, FRAME_PYTHON, WHOLE, "_find_and_load", WITHIN, "importlib._bootstrap"},
	{TOPIC_IMPORT, FRAME_PYTHON, WHOLE, "_find_and_load", SUFFIX, "importlib/_bootstrap.py"},

	PYTHON_FILE(TOPIC_SERIALIZE, "/pickle.py"),
	PYTHON_FILE(TOPIC_SERIALIZE, "/json/__init__.py"),
	PYTHON_FILE(TOPIC_SERIALIZE, "/json/encoder.py"),
	PYTHON_FILE(TOPIC_SERIALIZE, "/json/decoder.py"),
	PYTHON_FILE(TOPIC_SERIALIZE, "/multiprocessing/reduction.py"),
	PYTHON_FILE(TOPIC_SERIALIZE, "/csv.py"),
	PYTHON_FILE(TOPIC_SERIALIZE, "/pandas/io/formats/csvs.py"),
	PYTHON_PATH(TOPIC_SERIALIZE, "/pandas/io/parsers/"),
	PYTHON_PATH(TOPIC_SERIALIZE, "/pandas/io/json/"),
	PYTHON_PATH(TOPIC_SERIALIZE, "-packages/yaml/"),
	PYTHON_PATH(TOPIC_SERIALIZE, "/ruamel/yaml/"),
	{TOPIC_SERIALIZE, FRAME_PYTHON, WHOLE, "loadtxt", WITHIN, "/numpy/lib/"},
	{TOPIC_SERIALIZE, FRAME_PYTHON, WHOLE, "genfromtxt", WITHIN, "/numpy/lib/"},
	{TOPIC_SERIALIZE, FRAME_PYTHON, WHOLE, "savetxt", WITHIN, "/numpy/lib/"},
	NATIVE_MODULE(TOPIC_SERIALIZE, "_pickle."),
	NATIVE_MODULE(TOPIC_SERIALIZE, "_json."),
	NATIVE_MODULE(TOPIC_SERIALIZE, "orjson."),
	NATIVE_MODULE(TOPIC_SERIALIZE, "ujson."),
	NATIVE_MODULE(TOPIC_SERIALIZE, "_csv."),
	NATIVE_MODULE(TOPIC_SERIALIZE, "_yaml."),
	NATIVE_MODULE(TOPIC_SERIALIZE, "libyaml"),
	NATIVE_NAME(TOPIC_SERIALIZE, "Reader_iternext"),
	NATIVE_NAME(TOPIC_SERIALIZE, "csv_writerow"),
	NATIVE_PREFIX(TOPIC_SERIALIZE, "_pickle_"),
	NATIVE_NAME(TOPIC_SERIALIZE, "scan_once_unicode"),
	NATIVE_NAME(TOPIC_SERIALIZE, "encoder_listencode_obj"),

	LIBC_NAME(TOPIC_ALLOCATE, "malloc"),
	LIBC_NAME(TOPIC_ALLOCATE, "free"),
	LIBC_NAME(TOPIC_ALLOCATE, "cfree"),
	LIBC_NAME(TOPIC_ALLOCATE, "calloc"),
	LIBC_NAME(TOPIC_ALLOCATE, "realloc"),
	NATIVE_NAME(TOPIC_ALLOCATE, "__libc_malloc"),
	NATIVE_NAME(TOPIC_ALLOCATE, "__libc_free"),
	NATIVE_NAME(TOPIC_ALLOCATE, "__libc_calloc"),
	NATIVE_NAME(TOPIC_ALLOCATE, "__libc_realloc"),
	LIBC_NAME(TOPIC_ALLOCATE, "_int_malloc"),
	LIBC_NAME(TOPIC_ALLOCATE, "_int_free"),
	LIBC_NAME(TOPIC_ALLOCATE, "_int_realloc"),
	LIBC_NAME(TOPIC_ALLOCATE, "malloc_consolidate"),
	LIBC_NAME(TOPIC_ALLOCATE, "unlink_chunk"),
	NATIVE_MODULE(TOPIC_ALLOCATE, "libjemalloc"),
	NATIVE_MODULE(TOPIC_ALLOCATE, "libtcmalloc"),
	NATIVE_MODULE(TOPIC_ALLOCATE, "libmimalloc"),

	PYTHON_FILE(TOPIC_REGEX, "/re.py"),
	PYTHON_FILE(TOPIC_REGEX, "/re/__init__.py"),
	PYTHON_FILE(TOPIC_REGEX, "/regex/regex.py"),
	NATIVE_PREFIX(TOPIC_REGEX, "sre_"),
	NATIVE_PREFIX(TOPIC_REGEX, "_sre_SRE_"),
	NATIVE_PREFIX(TOPIC_REGEX, "pattern_subx"),
	LIBC_NAME(TOPIC_REGEX, "regexec"),
	NATIVE_MODULE(TOPIC_REGEX, "libpcre"),
	NATIVE_PREFIX(TOPIC_REGEX, "std::__detail::_Executor"),

	PYTHON_FILE(TOPIC_REGEX_COMPILE, "/sre_compile.py"),
	PYTHON_FILE(TOPIC_REGEX_COMPILE, "/sre_parse.py"),
	PYTHON_FILE(TOPIC_REGEX_COMPILE, "/re/_compiler.py"),
	PYTHON_FILE(TOPIC_REGEX_COMPILE, "/re/_parser.py"),
	LIBC_NAME(TOPIC_REGEX_COMPILE, "regcomp"),

	PYTHON_FILE(TOPIC_DATES, "/_strptime.py"),
	PYTHON_PATH(TOPIC_DATES, "/dateutil/parser/"),
	LIBC_NAME(TOPIC_DATES, "strptime"),
	NATIVE_PREFIX(TOPIC_DATES, "__strptime"),
};

static bool fits(const char *text, enum fit fit, const char *wanted)
{
	if (!wanted)
		return true;
	if (!text)
		return false;
	switch (fit) {
	case PREFIX:
		return str_starts(text, wanted);
	case SUFFIX:
		return str_ends(text, wanted);
	case WITHIN:
		return strstr(text, wanted) != NULL;
	default:
		return strcmp(text, wanted) == 0;
	}
}

static const char *place_of(const struct code_frame *frame)
{
	if (frame->kind == FRAME_PYTHON)
		return frame->file;
	const char *slash = frame->module ? strrchr(frame->module, '/') : NULL;
	return slash ? slash + 1 : frame->module;
}

unsigned code_topics_of(const struct code_frame *frame)
{
	unsigned topics = 0;
	const char *place = place_of(frame);
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const struct mark *mark = &marks[i];
		if (mark->kind == frame->kind && fits(frame->function, mark->function_fit, mark->function) &&
		    fits(place, mark->place_fit, mark->place))
			topics |= 1u << mark->topic;
	}
	return topics;
}
