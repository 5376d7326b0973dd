/*
 * pitot.h - what a program can tell the pitot that runs it.
 *
 *	#include <pitot.h>                      cc … $(pkg-config --cflags --libs pitot)
 *
 *	pitot_mark("epoch 3");                  a moment on the run's time axis
 *	pitot_metric("validation_loss", 0.21);  a quality metric of the run; the last value counts
 *
 * Without pitot around it a program behaves as if these calls were not there: nothing is written, printed or allocated.
 * They may be called from any thread and after fork, they leave errno as it was, and they never fail in a way that
 * the program could notice. A record that cannot be written is dropped. They are not for signal handlers.
 *
 * A call costs a handful of system calls (some microseconds) under pitot and one look at the environment elsewhere:
 * made for epochs, chunks and phases, not for inner loops.
 *
 * With PITOT_DISABLE defined before the include the calls compile to nothing and no library is needed.
 */
#ifndef PITOT_H
#define PITOT_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef PITOT_DISABLE

static inline int pitot_active(void)
{
	return 0;
}

static inline void pitot_metric(const char *name, double value)
{
	(void)name;
	(void)value;
}

static inline void pitot_mark(const char *label)
{
	(void)label;
}

static inline const char *pitot_version(void)
{
	return "disabled";
}

#else

#if defined(__GNUC__)
#define PITOT_API __attribute__((visibility("default")))
#else
#define PITOT_API
#endif

/* 1 where a pitot listens, else 0: for what is costly to compute only to be reported. */
PITOT_API int pitot_active(void);

/* A quality metric. The name has at most 255 bytes; an empty or longer one, and a value that is not finite, are
 * dropped. */
PITOT_API void pitot_metric(const char *name, double value);

/* A moment. A label of more than 255 bytes is cut between two characters. */
PITOT_API void pitot_mark(const char *label);

/* The library's version, "0.1.0". Never NULL, never to be freed. */
PITOT_API const char *pitot_version(void);

#endif

#ifdef __cplusplus
}
#endif

#endif
