/*
 * pitot.h - what a program can tell the pitot that runs it.
 *
 *	#include <pitot.h>                      cc … $(pkg-config --cflags --libs pitot)
 *
 *	pitot_mark("epoch 3");                  a moment on the run's time axis
 *	pitot_metric("validation_loss", 0.21);  a quality metric of the run; the last value counts
 *
 *	pitot_span span = pitot_span_begin("encode");
 *	…                                       where the time goes: operators, inside each other as they are called
 *	pitot_span_end(span);
 *
 * Without pitot around it a program behaves as if these calls were not there: nothing is written, printed or allocated.
 * They may be called from any thread and after fork, they leave errno as it was, and they never fail in a way that
 * the program could notice. A record that cannot be written is dropped. They are not for signal handlers.
 *
 * A span costs some tens of nanoseconds under pitot and one look at a variable elsewhere. Marks and metrics cost a handful of
 * system calls (some microseconds) under pitot and one look at the environment elsewhere: made for epochs and phases.
 *
 * Three ways to use this header:
 *	as it is                linked with libpitot (pkg-config --libs pitot)
 *	PITOT_HEADER_ONLY       defined before the include: nothing to link. Under a pitot the calls find its library
 *	                        (dlopen); without one they look at a variable and do nothing. There is no timer.
 *	PITOT_DISABLE           defined before the include: the calls compile to nothing and no library is needed
 */
#ifndef PITOT_H
#define PITOT_H

#if defined(PITOT_HEADER_ONLY) && !defined(PITOT_DISABLE)
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/auxv.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* A span that has begun: a value to be handed to pitot_span_end. What it holds is the library's. */
typedef struct pitot_span {
	void *place; /* NULL: not recorded */
	unsigned long long began;
} pitot_span;

/*
 * The timer: how long something takes, with what a careful reader asks of the answer.
 *
 *	struct pitot_timer *timer = pitot_timer_new(NULL);
 *	while (pitot_timer_next(timer))
 *		work();
 *	struct pitot_timing timing;
 *	if (pitot_timer_result(timer, &timing) == 0)
 *		printf("%.1f us\n", timing.median_ns / 1e3);
 *	pitot_timer_free(timer);
 *
 * The first runs warm up and are not counted. Then it goes on until the interval of the mean is narrow enough, or the time or
 * the number of runs is spent. What reading the clock costs is measured, taken off each run and stated. A percentile needs
 * enough runs to mean anything (64 for p90, 130 for p95, 662 for p99) and is NaN otherwise. Works with and without a pitot
 * around it; nothing is written. One timer belongs to one thread at a time. 0 in an option takes what is in brackets.
 */
struct pitot_timer_options {
	double budget_s;           /* for all runs after the warm-up [1] */
	double warmup_s;           /* at least so long, [a tenth of the budget] */
	unsigned long warmup_runs; /* and at least so often [3] */
	unsigned long least_runs;  /* even if the time is spent [10] */
	unsigned long most_runs;   /* [10000] */
	double precision;          /* half the interval of the mean over the mean [0.01] */
	double level;              /* of all intervals [0.95] */
	unsigned long long seed;   /* of the bootstrap */
};

enum pitot_timing_warning {
	PITOT_TIMING_DRIFT = 1,      /* later runs are slower or faster than earlier ones */
	PITOT_TIMING_TWO_MODES = 2,  /* the runs fall into two groups */
	PITOT_TIMING_IMPRECISE = 4,  /* the interval was not narrow enough when the budget was spent */
	PITOT_TIMING_TOO_SHORT = 8,  /* a run takes less than ten times what reading the clock takes */
	PITOT_TIMING_SLOW_START = 16 /* the first counted runs were slower: the warm-up was too short */
};

/* Nanoseconds of one run. What cannot be known from so few runs is NaN. */
struct pitot_timing {
	unsigned long runs, warmup_runs;
	double mean_ns, sd_ns, min_ns, max_ns;
	double median_ns, p90_ns, p95_ns, p99_ns;
	double mean_low_ns, mean_high_ns;     /* Student's t */
	double median_low_ns, median_high_ns; /* by `median_method` */
	const char *
		median_method; /* "BCa bootstrap"; above 1000 runs "order statistics", which then says the same sooner */
	double level;
	double overhead_ns;                                /* of the clock, already taken off */
	double drift_p;                                    /* Mann-Kendall, two-sided */
	double drift_tau;                                  /* above 0: slower and slower */
	double two_modes_p;                                /* against one peak */
	double mode_low_ns, mode_high_ns, mode_share_high; /* where the two groups lie */
	unsigned warnings;                                 /* of enum pitot_timing_warning */
};

enum { PITOT_P90_RUNS = 64, PITOT_P95_RUNS = 130, PITOT_P99_RUNS = 662 };

struct pitot_timer;

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

/* The timer runs the work once and knows nothing of it. */
struct pitot_timer {
	int asked;
};

static inline struct pitot_timer *pitot_timer_new(const struct pitot_timer_options *options)
{
	static struct pitot_timer timer;
	(void)options;
	timer.asked = 0;
	return &timer;
}

static inline int pitot_timer_next(struct pitot_timer *timer)
{
	return timer->asked++ == 0;
}

static inline int pitot_timer_result(struct pitot_timer *timer, struct pitot_timing *out)
{
	const struct pitot_timing nothing = {0};
	(void)timer;
	*out = nothing;
	return -1;
}

static inline void pitot_timer_free(struct pitot_timer *timer)
{
	(void)timer;
}

static inline int pitot_timer_run(void (*work)(void *context), void *context, const struct pitot_timer_options *options,
				  struct pitot_timing *out)
{
	const struct pitot_timing nothing = {0};
	(void)options;
	work(context);
	*out = nothing;
	return -1;
}

#else

#if defined(__GNUC__)
#define PITOT_API __attribute__((visibility("default")))
#else
#define PITOT_API
#endif

#ifndef PITOT_HEADER_ONLY

/* 1 where a pitot listens, else 0: for what is costly to compute only to be reported. */
PITOT_API int pitot_active(void);

/* A quality metric. The name has at most 255 bytes; an empty or longer one, and a value that is not finite, are
 * dropped. */
PITOT_API void pitot_metric(const char *name, double value);

/* A moment. A label of more than 255 bytes is cut between two characters. */
PITOT_API void pitot_mark(const char *label);

/* The library's version, "0.1.0". Never NULL, never to be freed. */
PITOT_API const char *pitot_version(void);

/* NULL where there is no memory; the functions below take that and answer "no more" and -1. */
PITOT_API struct pitot_timer *pitot_timer_new(const struct pitot_timer_options *options);
/* Ends the run that the last call began, and begins another; 0 where there are enough. */
PITOT_API int pitot_timer_next(struct pitot_timer *timer);
/* 0, or -1 where nothing was timed or memory ran out. The timer may go on afterwards. */
PITOT_API int pitot_timer_result(struct pitot_timer *timer, struct pitot_timing *out);
PITOT_API void pitot_timer_free(struct pitot_timer *timer);
/* All of it in one call. */
PITOT_API int pitot_timer_run(void (*work)(void *context), void *context, const struct pitot_timer_options *options,
			      struct pitot_timing *out);

#endif

#endif

/*
 * Spans, chunks and what goes with them.
 *
 *	pitot_chunk_begin(7);
 *	pitot_span parse = pitot_span_begin("parse");
 *	…
 *	pitot_span_end(parse);
 *	{
 *		PITOT_SPAN("encode");           ends with the block (gcc, clang)
 *		pitot_work(2.0 * n * m, 0);     floating-point operations, bytes moved: of the innermost span
 *		pitot_counter("cache_misses", 1);
 *		pitot_gauge("queue_length", length);
 *	}
 *	pitot_chunk_end(rows, bytes_in, bytes_out);
 *	pitot_snapshot("after chunk 7");        memory of the process, now
 *
 * Every span counts in its operator's totals, exactly. An operator is a name in its place: "encode" inside "chunk" and "encode"
 * alone are two. Names are for people, few and the same each time (a number belongs into a counter): at most 255 bytes, 1024 in
 * one place, 128 deep. A span ends in the thread that began it; when an outer one ends, so do those inside. A process records
 * 256 MiB at most; what has no room is counted.
 */

/* The calls behind the inline functions below; a program does not use them itself. */
#define PITOT_CALLS_(X)                                                                                                \
	X(void, span_begin_to, (const char *name, pitot_span *span))                                                   \
	X(void, span_end, (pitot_span span))                                                                           \
	X(void, work, (double flops, double bytes))                                                                    \
	X(void, counter, (const char *name, double by))                                                                \
	X(void, gauge, (const char *name, double value))                                                               \
	X(void, chunk_begin, (long long number))                                                                       \
	X(void, chunk_end, (long long rows, long long bytes_in, long long bytes_out))                                  \
	X(void, snapshot, (const char *label))                                                                         \
	X(void, mark, (const char *label))                                                                             \
	X(void, metric, (const char *name, double value))

struct pitot_calls_ {
	unsigned long bytes; /* of this struct: a library that knows more calls has a longer one */
#define PITOT_CALL_MEMBER_(type, name, arguments) type(*name) arguments;
	PITOT_CALLS_(PITOT_CALL_MEMBER_)
#undef PITOT_CALL_MEMBER_
};

#if defined(PITOT_DISABLE)

#define PITOT_RECORD_(call, arguments)

#elif defined(PITOT_HEADER_ONLY)

/* A static program may not have them. */
#pragma weak dlopen
#pragma weak dlsym

static const struct pitot_calls_ *pitot_found_;
static int pitot_looked_;

static inline const struct pitot_calls_ *pitot_find_(void)
{
	const char *path = getauxval(AT_SECURE) ? (const char *)0 : getenv("PITOT_LIBRARY");
	void *library = (void *)0;
	const struct pitot_calls_ *table = (const struct pitot_calls_ *)0;
	if (path && path[0] == '/' && getenv("PITOT_SPANS") && dlopen && dlsym)
		library = dlopen(path, RTLD_NOW);
	if (library)
		table = (const struct pitot_calls_ *)dlsym(library, "pitot_table_");
	if (table && table->bytes < sizeof(*table))
		table = (const struct pitot_calls_ *)0;
	__atomic_store_n(&pitot_found_, table, __ATOMIC_RELEASE);
	__atomic_store_n(&pitot_looked_, 1, __ATOMIC_RELEASE);
	return table;
}

static inline const struct pitot_calls_ *pitot_get_(void)
{
	return __builtin_expect(__atomic_load_n(&pitot_looked_, __ATOMIC_ACQUIRE), 1)
		       ? __atomic_load_n(&pitot_found_, __ATOMIC_RELAXED)
		       : pitot_find_();
}

static inline int pitot_active(void)
{
	return pitot_get_() != (const struct pitot_calls_ *)0;
}

static inline const char *pitot_version(void)
{
	return "header only";
}

static inline void pitot_metric(const char *name, double value)
{
	if (pitot_get_())
		pitot_found_->metric(name, value);
}

static inline void pitot_mark(const char *label)
{
	if (pitot_get_())
		pitot_found_->mark(label);
}

#define PITOT_RECORD_(call, arguments)                                                                                 \
	if (__builtin_expect(pitot_get_() != (const struct pitot_calls_ *)0, 0))                                       \
	pitot_found_->call arguments

#else

PITOT_API extern int pitot_recording_;
PITOT_API void pitot_span_begin_to_(const char *name, pitot_span *span);
PITOT_API void pitot_span_end_(pitot_span span);
PITOT_API void pitot_work_(double flops, double bytes);
PITOT_API void pitot_counter_(const char *name, double by);
PITOT_API void pitot_gauge_(const char *name, double value);
PITOT_API void pitot_chunk_begin_(long long number);
PITOT_API void pitot_chunk_end_(long long rows, long long bytes_in, long long bytes_out);
PITOT_API void pitot_snapshot_(const char *label);
PITOT_API extern const struct pitot_calls_ pitot_table_;

#if defined(__GNUC__)
#define PITOT_ON_ __builtin_expect(pitot_recording_, 0)
#else
#define PITOT_ON_ pitot_recording_
#endif
#define PITOT_RECORD_(call, arguments)                                                                                 \
	if (PITOT_ON_)                                                                                                 \
	pitot_##call##_ arguments

#endif

static inline pitot_span pitot_span_begin(const char *name)
{
	pitot_span span = {0, 0};
	(void)name;
	PITOT_RECORD_(span_begin_to, (name, &span));
	return span;
}

static inline void pitot_span_end(pitot_span span)
{
	if (span.place) {
		PITOT_RECORD_(span_end, (span));
	}
}

/* Floating-point operations that the innermost open span did, and bytes that it moved; 0 for what is not known. */
static inline void pitot_work(double flops, double bytes)
{
	(void)flops;
	(void)bytes;
	PITOT_RECORD_(work, (flops, bytes));
}

/* Adds to a counter of the process. */
static inline void pitot_counter(const char *name, double by)
{
	(void)name;
	(void)by;
	PITOT_RECORD_(counter, (name, by));
}

/* A value that goes up and down. */
static inline void pitot_gauge(const char *name, double value)
{
	(void)name;
	(void)value;
	PITOT_RECORD_(gauge, (name, value));
}

/* What this thread does from now on belongs to the chunk of data of that number, not negative. */
static inline void pitot_chunk_begin(long long number)
{
	(void)number;
	PITOT_RECORD_(chunk_begin, (number));
}

/* How large the chunk was; -1 for what is not known. */
static inline void pitot_chunk_end(long long rows, long long bytes_in, long long bytes_out)
{
	(void)rows;
	(void)bytes_in;
	(void)bytes_out;
	PITOT_RECORD_(chunk_end, (rows, bytes_in, bytes_out));
}

/* Resident, virtual and heap memory of the process, under a label. */
static inline void pitot_snapshot(const char *label)
{
	(void)label;
	PITOT_RECORD_(snapshot, (label));
}

#if defined(__GNUC__)
static inline void pitot_span_leave_(pitot_span *span)
{
	pitot_span_end(*span);
}
#define PITOT_PASTE_(a, b)  a##b
#define PITOT_UNIQUE_(a, b) PITOT_PASTE_(a, b)
#define PITOT_SPAN(name)                                                                                               \
	pitot_span PITOT_UNIQUE_(pitot_span_at_line_, __LINE__) __attribute__((cleanup(pitot_span_leave_), unused)) =  \
		pitot_span_begin(name)
#endif

#ifdef __cplusplus
}
#endif

#endif
