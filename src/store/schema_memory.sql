
-- The memory profile (pitot run --memory). Bytes are those that the program asked for, not what the allocator took for them.

-- One row per process image whose allocations were watched. What was allocated in all is exact in either mode; in sampled mode
-- the rest is estimated, and freed_bytes is not known.
CREATE TABLE memory_process (
	process_id INTEGER PRIMARY KEY REFERENCES profile_process (id),
	mode TEXT NOT NULL CHECK (mode IN ('sampled', 'exact')),
	period_bytes INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	allocated_bytes INTEGER NOT NULL,
	frees INTEGER NOT NULL,
	freed_bytes INTEGER,
	peak_bytes INTEGER NOT NULL,
	peak_variance REAL NOT NULL,
	peak_slack_bytes INTEGER NOT NULL,
	peak_at_ns INTEGER NOT NULL,
	leaked_bytes INTEGER NOT NULL,
	leaked_variance REAL NOT NULL,
	discarded_bytes INTEGER NOT NULL,
	unknown_frees INTEGER NOT NULL,
	lost INTEGER NOT NULL,
	truncated INTEGER NOT NULL,
	unmatched INTEGER NOT NULL,
	agent_bytes INTEGER NOT NULL,
	python_seen INTEGER NOT NULL CHECK (python_seen IN (0, 1)),
	allocator TEXT,
	step_ns INTEGER NOT NULL,
	snapshots INTEGER NOT NULL,
	note TEXT
);

-- Where memory was asked for. Numbers of a process in sampled mode are unbiased estimates: from so many samples, with that variance.
CREATE TABLE memory_site (
	id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL REFERENCES memory_process (process_id),
	thread_id INTEGER REFERENCES profile_thread (id),
	stack_id INTEGER REFERENCES stack (id),
	kind TEXT NOT NULL CHECK (kind IN ('malloc', 'new', 'python', 'anonymous', 'shared', 'file', 'reserved', 'arena', 'allocator')),
	peak_bytes INTEGER NOT NULL,
	peak_blocks INTEGER NOT NULL,
	peak_samples INTEGER NOT NULL,
	peak_variance REAL NOT NULL,
	leaked_bytes INTEGER NOT NULL,
	leaked_blocks INTEGER NOT NULL,
	leaked_samples INTEGER NOT NULL,
	leaked_variance REAL NOT NULL,
	allocated_bytes INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	samples INTEGER NOT NULL,
	allocated_variance REAL NOT NULL,
	temporary_bytes INTEGER NOT NULL,
	temporary_calls INTEGER NOT NULL,
	temporary_samples INTEGER NOT NULL,
	temporary_variance REAL NOT NULL,
	sizes TEXT,
	lifetimes TEXT
);

-- Blocks by their size in bytes and by their life in nanoseconds: those from `low` up to the next bucket's.
CREATE TABLE memory_bucket (
	process_id INTEGER NOT NULL REFERENCES memory_process (process_id),
	what TEXT NOT NULL CHECK (what IN ('size', 'lifetime')),
	low INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	PRIMARY KEY (process_id, what, low)
) WITHOUT ROWID;

-- Live bytes over time: at the end of a step that began at at_ns, and the most within it.
CREATE TABLE memory_point (
	process_id INTEGER NOT NULL REFERENCES memory_process (process_id),
	at_ns INTEGER NOT NULL,
	live_bytes INTEGER NOT NULL,
	high_bytes INTEGER NOT NULL,
	PRIMARY KEY (process_id, at_ns)
) WITHOUT ROWID;

-- Live bytes of a site over the snapshots of its process: sums over x, the snapshot's number from 0 on, and y, the bytes.
CREATE TABLE memory_growth (
	site_id INTEGER PRIMARY KEY REFERENCES memory_site (id),
	points INTEGER NOT NULL,
	last_bytes REAL NOT NULL,
	sum_x REAL NOT NULL,
	sum_y REAL NOT NULL,
	sum_xx REAL NOT NULL,
	sum_xy REAL NOT NULL,
	sum_yy REAL NOT NULL
);

-- The same over the chunks of its process (pitot.chunks, pitot_chunk_end): x is the chunk's number from 0 on. Where there are many, sites
-- were looked at at the ends of some.
CREATE TABLE memory_chunk_growth (
	site_id INTEGER PRIMARY KEY REFERENCES memory_site (id),
	chunks INTEGER NOT NULL,
	points INTEGER NOT NULL,
	last_bytes REAL NOT NULL,
	sum_x REAL NOT NULL,
	sum_y REAL NOT NULL,
	sum_xx REAL NOT NULL,
	sum_xy REAL NOT NULL,
	sum_yy REAL NOT NULL
);

-- The resident memory of a process at one moment, and what it was. NULL: not known.
CREATE TABLE memory_resident (
	id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL REFERENCES memory_process (process_id),
	at_ns INTEGER NOT NULL,
	cause TEXT NOT NULL CHECK (cause IN ('end', 'growth', 'snapshot')),
	live_bytes INTEGER,
	python_bytes INTEGER,
	arena_bytes INTEGER,
	rss_bytes INTEGER,
	break_bytes INTEGER,
	anonymous_bytes INTEGER,
	stack_bytes INTEGER,
	file_bytes INTEGER,
	file_dirty_bytes INTEGER,
	shared_bytes INTEGER,
	agent_bytes INTEGER,
	swap_bytes INTEGER,
	malloc_arena_bytes INTEGER,
	malloc_mapped_bytes INTEGER,
	malloc_used_bytes INTEGER,
	malloc_free_bytes INTEGER
);

-- Where Python's objects were to be told by type: one row per process, for the moment near its peak at which they were looked at. No
-- moment, no bytes: absent says why.
CREATE TABLE memory_look (
	process_id INTEGER PRIMARY KEY REFERENCES memory_process (process_id),
	at_ns INTEGER,
	live_bytes INTEGER,
	period_bytes INTEGER,
	looks INTEGER NOT NULL,
	cost_ns INTEGER,
	absent TEXT CHECK ((absent IS NULL) = (at_ns IS NOT NULL))
);

-- The blocks of CPython's objects by type, at that moment: estimates, from so many samples.
CREATE TABLE memory_type (
	id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL REFERENCES memory_look (process_id),
	kind TEXT NOT NULL CHECK (kind IN ('named', 'other', 'unknown')),
	name TEXT CHECK ((name IS NOT NULL) = (kind = 'named')),
	bytes INTEGER NOT NULL,
	blocks INTEGER NOT NULL,
	samples INTEGER NOT NULL,
	variance REAL NOT NULL
);

CREATE VIEW memory_site_named AS
SELECT
	stage.name AS stage,
	stage.repetition,
	process.pid,
	process.executable,
	thread.tid,
	site.kind,
	frame.function,
	frame.module,
	frame.file,
	frame.line,
	site.stack_id,
	site.calls,
	site.allocated_bytes,
	site.peak_bytes,
	site.leaked_bytes,
	site.temporary_bytes,
	2.576 * sqrt(site.allocated_variance) AS allocated_error_bytes,
	2.576 * sqrt(site.peak_variance) AS peak_error_bytes,
	2.576 * sqrt(site.leaked_variance) AS leaked_error_bytes,
	2.576 * sqrt(site.temporary_variance) AS temporary_error_bytes
FROM memory_site site
JOIN profile_process process ON process.id = site.process_id
LEFT JOIN profile_thread thread ON thread.id = site.thread_id
LEFT JOIN stage ON stage.id = process.stage_id
LEFT JOIN stack ON stack.id = site.stack_id
LEFT JOIN frame ON frame.id = stack.frame_id;

CREATE VIEW memory_peak_sites AS
SELECT stage, repetition, pid, kind, function, file, line, peak_bytes, peak_error_bytes, stack_id
FROM memory_site_named
WHERE peak_bytes > 0
ORDER BY peak_bytes DESC;

CREATE VIEW memory_leaks AS
SELECT stage, repetition, pid, kind, function, file, line, leaked_bytes, leaked_error_bytes, stack_id
FROM memory_site_named
WHERE leaked_bytes > 0
ORDER BY leaked_bytes DESC;

CREATE VIEW memory_churn AS
SELECT stage, repetition, pid, kind, function, file, line, allocated_bytes, allocated_error_bytes, calls,
       temporary_bytes, temporary_error_bytes, stack_id
FROM memory_site_named
WHERE allocated_bytes > 0
ORDER BY allocated_bytes DESC;

CREATE VIEW memory_by_process AS
SELECT
	stage.name AS stage,
	stage.repetition,
	process.pid,
	process.executable,
	memory.mode,
	memory.calls,
	memory.allocated_bytes,
	memory.peak_bytes,
	memory.peak_at_ns / 1e9 AS peak_at_s,
	memory.leaked_bytes,
	memory.lost
FROM memory_process memory
JOIN profile_process process ON process.id = memory.process_id
LEFT JOIN stage ON stage.id = process.stage_id
ORDER BY memory.peak_bytes DESC;
