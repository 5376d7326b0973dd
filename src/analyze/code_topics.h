/*
 * code_topics.h - what the time was spent on, where the names of functions tell: importing modules, (de)serialising, allocating
 * memory, regular expressions, dates. What the findings about code rest on.
 *
 * Pure. A call of a topic is counted with all that it calls, the outermost one only; what happens while modules are
 * imported counts as importing and as nothing else.
 */
#ifndef PITOT_ANALYZE_CODE_TOPICS_H
#define PITOT_ANALYZE_CODE_TOPICS_H

#include "store/profile.h"

#define CODE_TOPICS(X)                                                                                                 \
	X(IMPORT, "importing")                                                                                         \
	X(SERIALIZE, "serialising")                                                                                    \
	X(ALLOCATE, "allocating")                                                                                      \
	X(REGEX, "regular expressions")                                                                                \
	X(REGEX_COMPILE, "compiling regular expressions")                                                              \
	X(DATES, "reading dates")

enum code_topic {
#define CODE_TOPIC_ID(id, name) TOPIC_##id,
	CODE_TOPICS(CODE_TOPIC_ID)
#undef CODE_TOPIC_ID
		TOPIC_COUNT
};

struct code_frame;

/* One bit for each topic that a call of this function is about. */
unsigned code_topics_of(const struct code_frame *frame);

#endif
