/*
 * mem.h - allocation that cannot fail, for the command line only.
 *
 * pitot's command line may end when memory runs out; the agent and the public library never may. The agent does not include
 * this header. The library calls what does (src/stats) within mem_try only.
 */
#ifndef PITOT_BASE_MEM_H
#define PITOT_BASE_MEM_H

#include <stdbool.h>
#include <stddef.h>

void *mem_alloc(size_t bytes); /* zeroed */
void *mem_resize(void *old, size_t bytes);
char *mem_strdup(const char *text);                 /* NULL gives NULL */
char *mem_strndup(const char *text, size_t length); /* always terminated */
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Calls `work`; false where memory ran out inside it. What it had allocated by then is lost, so it must hold nothing else. */
bool mem_try(void (*work)(void *context), void *context);

#endif
