/*
 * wire.h - the file that the agent inside a profiled process writes and that pitot reads after it: the one header both
 * sides include.
 *
 * One file per process image, `PID-SEQUENCE.wire` in the run's own folder, mapped shared by the process. What was stored
 * is in the page cache the moment it is stored: a SIGKILL of the process, or of pitot, loses only the record that was being
 * written. A new image (fork, exec) makes a new file.
 *
 *	page 0        struct wire_header, the rest of the page zero
 *	page 1 ...    chunks, each a whole number of pages, one after the other without gaps
 *
 *	chunk         +--------------------+----------------------------------------------+
 *	              | struct wire_chunk  | `used` bytes of records, nodes or samples    |
 *	              +--------------------+----------------------------------------------+
 *
 * Every chunk has one writing thread (its owner). The writer fills an entry, then raises `used` with a release store;
 * a reader takes `used` first and never looks beyond it. `pages_used` of the header may run ahead of what was written (a
 * claim that failed, a kill): a chunk whose kind is 0 is an empty page.
 *
 * Things that are referred to have an id: their offset in the file divided by 16. 0 is none. All entries begin at
 * multiples of 16 bytes (samples: of 8, they have no ids). Numbers are in the machine's own order: the file is read where
 * it was written.
 *
 * A stack is a path in a tree of nodes: a node names its parent (the caller) and one frame. Equal paths are one node, up
 * to rare duplicates when two threads add the same one at once; a reader must not rely on uniqueness.
 *
 * CPU time that no sample stands for is known all the same, and a reader accounts for it: `cpu_start_ns` of the header is what
 * the image used before the agent began (loading, relocating; after an exec, less what the image before it used), and
 * `cpu_end_ns` less `cpu_last_ns` of a thread is what it used after its last sample. So the weights add up to the CPU time.
 *
 * The memory profile has a header of its own, memory.h.
 *
 * A reader must trust nothing: ids may point anywhere, sizes may be wrong, parents may form cycles (a parent's id is not
 * always smaller than its child's), texts may lack their end.
 */
#ifndef PITOT_WIRE_WIRE_H
#define PITOT_WIRE_WIRE_H

#include "wire/memory.h"

#include <stdatomic.h>
#include <stdint.h>

#define WIRE_MAGIC  0x3152495754495031ULL
#define WIRE_SUFFIX ".wire"
/* "dir=/tmp/x;stage=3;cpu=999;memory=524288": what the agent is to do, in the environment of every profiled process. */
#define WIRE_VARIABLE "PITOT_AGENT"

enum {
	WIRE_VERSION = 2,
	WIRE_PAGE = 4096,
	WIRE_UNIT = 16,
	WIRE_STACK_MAX = 2048, /* frames of one stack, native and Python ones together */
	WIRE_TEXT_MAX = 1024,  /* of a name or path, without its end */
	WIRE_LINES_MAX = 65536 /* of a code object's line table */
};

typedef uint32_t wire_id;

enum wire_end { WIRE_OPEN, WIRE_ENDED_EXIT, WIRE_ENDED_EXEC, WIRE_ENDED_STOPPED };
enum wire_birth { WIRE_BORN_EXEC = 1, WIRE_BORN_FORK };
/* What drives the samples. TICK: timer_create, no finer than the kernel's tick. USER: perf without the kernel's mode, and
 * the tick for what happens there. */
enum wire_clock { WIRE_CLOCK_NONE, WIRE_CLOCK_PERF, WIRE_CLOCK_PERF_USER, WIRE_CLOCK_TICK };
enum wire_python { WIRE_PYTHON_NONE, WIRE_PYTHON_READ, WIRE_PYTHON_UNKNOWN_VERSION, WIRE_PYTHON_NO_SYMBOLS };

struct wire_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes; /* sizeof(struct wire_header) of the writer */
	int32_t pid, ppid;
	int64_t stage_id;
	uint64_t start_ticks;   /* starttime of /proc/self/stat: tells two processes of one id apart */
	uint64_t start_mono_ns; /* when this file began */
	_Atomic uint64_t end_mono_ns;
	_Atomic uint32_t end;   /* enum wire_end; WIRE_OPEN for ever where the process was killed */
	uint32_t birth;         /* enum wire_birth */
	uint64_t period_ns;     /* asked for; 0: no CPU samples */
	_Atomic uint32_t clock; /* enum wire_clock */
	_Atomic uint32_t python;
	_Atomic uint32_t python_version; /* PY_VERSION_HEX */
	uint32_t pages_most;             /* the file never grows beyond */
	_Atomic uint32_t pages_used;     /* claimed, header included */
	_Atomic uint32_t pages_ready;    /* with storage behind them */
	/* Process CPU time at the beginning and at the end of the file (0 where it was killed). */
	uint64_t cpu_start_ns;
	_Atomic uint64_t cpu_end_ns;
	_Atomic uint64_t start_cost_ns;  /* CPU time that starting the agent took */
	_Atomic uint64_t lost_full;      /* samples without room */
	_Atomic uint64_t lost_thread;    /* samples of threads that have no record */
	_Atomic uint64_t threads_missed; /* threads without a record or a clock */
	char stop_reason[160];           /* why sampling ended early or never began; empty: it did not */
	char executable[WIRE_TEXT_MAX];
	char folder[WIRE_TEXT_MAX]; /* the current one when the file began: Python names its files relative to it */
};

_Static_assert(sizeof(struct wire_header) <= WIRE_PAGE, "the header has to fit into a page");

enum wire_chunk_kind { WIRE_RECORDS = 1, WIRE_NODES, WIRE_SAMPLES, WIRE_SITES };

struct wire_chunk {
	uint32_t kind;
	uint32_t pages;
	_Atomic uint32_t used; /* bytes after this header */
	wire_id owner;         /* the thread's record; of records and nodes the first that wrote, maybe 0 */
};

/* Records: variable in size, each begins with this; `bytes` is a multiple of 16 and counts the whole record. */
enum wire_record_kind { WIRE_MODULE = 1, WIRE_CODE, WIRE_THREAD, WIRE_TASK, WIRE_MEMORY, WIRE_RESIDENT, WIRE_TYPES };

struct wire_record {
	uint16_t kind;
	uint16_t reserved;
	uint32_t bytes;
};

/* A mapped object. Addresses of nodes with a generation >= first_generation belong to it, until a later record covers the
 * same addresses. */
struct wire_module {
	struct wire_record record;
	uint64_t start, end;
	uint64_t bias; /* address less the address in the file's own program headers */
	uint32_t first_generation;
	uint16_t path_bytes; /* without end */
	uint8_t build_id_bytes;
	uint8_t build_id[32];
	uint8_t reserved[5];
	char path[]; /* "[vdso]" for that */
};

/* A Python code object, copied when first seen. */
struct wire_code {
	struct wire_record record;
	uint32_t version; /* PY_VERSION_HEX: which format the line table has */
	int32_t first_line;
	uint16_t name_bytes, file_bytes; /* qualified name where the version has it */
	uint32_t line_bytes;             /* 0 where the table is too long or could not be read */
	char text[];                     /* name, file, line table, without ends */
};

/* A thread. Counters are written by the thread itself only. */
struct wire_thread {
	struct wire_record record;
	int32_t tid;
	uint32_t is_main;
	uint64_t start_mono_ns;
	_Atomic uint64_t end_mono_ns;               /* 0: still there, or killed */
	uint64_t start_routine;                     /* what pthread_create was given; 0: main */
	_Atomic uint64_t cpu_start_ns, cpu_last_ns; /* thread CPU time: when sampling began, at the last sample */
	_Atomic uint64_t cpu_end_ns;                /* when it ended; 0: unknown */
	_Atomic uint64_t samples, weight_ns;        /* weight_ns: sum of the weights */
	_Atomic uint64_t truncated;                 /* stacks without their root */
	_Atomic uint64_t unmatched;                 /* native and Python frames could not be brought together */
	_Atomic uint64_t busy;                      /* taken while the agent was at work, or had no room to: no stack */
	_Atomic uint64_t handler_ns;                /* CPU time spent in the handler */
	char name[16];
	wire_id creator; /* node of the stack that called pthread_create; 0: not known */
	uint32_t reserved;
	/* Memory (memory.h), heap kinds: exact in either mode, but that sampling tells of bytes when it samples: a
	 * thread that was killed may have allocated a period more. freed_bytes only where every event is recorded. */
	_Atomic uint64_t allocated_bytes, allocated_calls;
	_Atomic uint64_t freed_bytes, freed_calls;
};

/* An asyncio task, its name copied when first seen. */
struct wire_task {
	struct wire_record record;
	uint32_t name_bytes;
	uint32_t reserved;
	char name[];
};

/*
 * Node values: NATIVE an address; PYTHON the code record's id in the upper half, the offset of the instruction in bytes in
 * the lower; MARK one of wire_mark.
 */
enum wire_node_kind { WIRE_NODE_NATIVE = 1, WIRE_NODE_PYTHON, WIRE_NODE_MARK };
enum wire_node_flag { WIRE_NODE_EXACT = 1 /* the address is the instruction itself, not the one a call returns to */ };
enum wire_mark { WIRE_MARK_TRUNCATED = 1, WIRE_MARK_UNMATCHED, WIRE_MARK_BUSY };

struct wire_node {
	wire_id parent;
	uint8_t kind, flags;
	uint16_t generation; /* of the loaded modules: rises when one is unloaded */
	uint64_t value;
};

enum wire_sample_flag {
	WIRE_SAMPLE_TRUNCATED = 1,
	WIRE_SAMPLE_UNMATCHED = 2,
	WIRE_SAMPLE_GIL = 4,      /* the thread held its interpreter's lock */
	WIRE_SAMPLE_PYTHON = 8,   /* the thread has a Python state, so the flag above means something */
	WIRE_SAMPLE_SYSCALL = 16, /* it was inside a system call */
	WIRE_SAMPLE_BUSY = 32
};

struct wire_sample {
	uint64_t mono_ns;
	wire_id node;
	uint32_t weight_ns; /* thread CPU time since the sample before; 4 s at most */
	uint32_t flags;
	wire_id task; /* asyncio task; 0: none */
};

_Static_assert(sizeof(struct wire_chunk) == 16 && sizeof(struct wire_node) == 16 && sizeof(struct wire_sample) == 24,
	       "the format is what the diagrams say");

#endif
