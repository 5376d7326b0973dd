-- schema_span.sql - operators and chunks: what programs told through spans (include/pitot.h, python/pitot.py), and what
-- `pitot features` tells of itself.
--
-- Every span is counted in `operator`, exactly; `span` holds some of them, for the time axis. Ids count from 1 without gaps,
-- and an operator's parent has a smaller id than its own.

-- One row per process image that recorded anything.
CREATE TABLE span_process (
	id INTEGER PRIMARY KEY,
	stage_id INTEGER NOT NULL REFERENCES stage (id),
	pid INTEGER NOT NULL,
	ppid INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	executable TEXT,
	source TEXT NOT NULL,
	clock TEXT NOT NULL,
	ending TEXT NOT NULL CHECK (ending IN ('exit', 'open')),
	recorded INTEGER NOT NULL,
	kept INTEGER NOT NULL,
	lost INTEGER NOT NULL,
	unbalanced INTEGER NOT NULL,
	note TEXT
);

-- Threads that came one after the other share a lane, so that a program of many short threads stays small.
CREATE TABLE span_thread (
	id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL REFERENCES span_process (id),
	lane INTEGER NOT NULL,
	tid INTEGER NOT NULL,
	name TEXT,
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL
);

-- A name in its place: one row per process, lane and path of names.
CREATE TABLE operator (
	id INTEGER PRIMARY KEY,
	parent_id INTEGER REFERENCES operator (id),
	process_id INTEGER NOT NULL REFERENCES span_process (id),
	lane INTEGER NOT NULL,
	name TEXT NOT NULL,
	path TEXT NOT NULL,
	calls INTEGER NOT NULL,
	unended INTEGER NOT NULL,
	total_ns INTEGER NOT NULL,
	self_ns INTEGER NOT NULL,
	min_ns INTEGER,
	max_ns INTEGER,
	kept INTEGER NOT NULL,
	kept_ns INTEGER NOT NULL,
	flops REAL,
	bytes REAL
);

-- How long an operator's spans took: how many lay in each range of durations.
CREATE TABLE operator_duration (
	operator_id INTEGER NOT NULL REFERENCES operator (id),
	low_ns INTEGER NOT NULL,
	high_ns INTEGER NOT NULL,
	calls INTEGER NOT NULL,
	PRIMARY KEY (operator_id, low_ns)
) WITHOUT ROWID;

-- Where counters were asked for (pitot run --span-counters): what they are of, and why some or all are missing.
CREATE TABLE span_counting (
	process_id INTEGER PRIMARY KEY REFERENCES span_process (id),
	source TEXT,
	reason TEXT
);

-- What the counters said of an operator's spans, as they came: not scaled.
CREATE TABLE operator_count (
	operator_id INTEGER PRIMARY KEY REFERENCES operator (id),
	calls INTEGER NOT NULL,
	instructions INTEGER,
	cycles INTEGER,
	cache_misses INTEGER,
	enabled_ns INTEGER NOT NULL,
	running_ns INTEGER NOT NULL
);

-- The spans that were kept one by one.
CREATE TABLE span (
	id INTEGER PRIMARY KEY,
	operator_id INTEGER NOT NULL REFERENCES operator (id),
	thread_id INTEGER NOT NULL REFERENCES span_thread (id),
	begin_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL
);

-- Portions of the data, as the program numbers them. Two threads that work on one chunk have a row each.
CREATE TABLE chunk (
	id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL REFERENCES span_process (id),
	thread_id INTEGER NOT NULL REFERENCES span_thread (id),
	number INTEGER NOT NULL,
	begin_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	rows INTEGER,
	bytes_in INTEGER,
	bytes_out INTEGER,
	rss_bytes INTEGER,
	heap_bytes INTEGER
);

-- What each operator took of a chunk.
CREATE TABLE chunk_operator (
	chunk_id INTEGER NOT NULL REFERENCES chunk (id),
	operator_id INTEGER NOT NULL REFERENCES operator (id),
	calls INTEGER NOT NULL,
	total_ns INTEGER NOT NULL,
	self_ns INTEGER NOT NULL,
	PRIMARY KEY (chunk_id, operator_id)
) WITHOUT ROWID;

CREATE TABLE span_counter (
	id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL REFERENCES span_process (id),
	name TEXT NOT NULL,
	total REAL NOT NULL,
	calls INTEGER NOT NULL
);

CREATE TABLE span_gauge (
	id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL REFERENCES span_process (id),
	name TEXT NOT NULL,
	calls INTEGER NOT NULL,
	last REAL NOT NULL,
	min REAL NOT NULL,
	max REAL NOT NULL,
	mean REAL NOT NULL
);

-- Some of a gauge's values, for the time axis.
CREATE TABLE span_gauge_point (
	gauge_id INTEGER NOT NULL REFERENCES span_gauge (id),
	at_ns INTEGER NOT NULL,
	value REAL NOT NULL
);

CREATE TABLE span_snapshot (
	id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL REFERENCES span_process (id),
	thread_id INTEGER NOT NULL REFERENCES span_thread (id),
	operator_id INTEGER REFERENCES operator (id),
	at_ns INTEGER NOT NULL,
	label TEXT NOT NULL,
	rss_bytes INTEGER,
	vms_bytes INTEGER,
	heap_bytes INTEGER
);

CREATE VIEW operator_summary AS
SELECT
	stage.name AS stage,
	stage.repetition,
	operator.path,
	operator.name,
	sum(operator.calls) AS calls,
	sum(operator.total_ns) / 1e9 AS total_s,
	sum(operator.self_ns) / 1e9 AS self_s,
	100.0 * sum(operator.self_ns) / nullif((
		SELECT sum(other.self_ns) FROM operator other
		JOIN span_process owner ON owner.id = other.process_id
		WHERE owner.stage_id = process.stage_id), 0) AS self_percent,
	min(operator.min_ns) / 1e9 AS min_s,
	max(operator.max_ns) / 1e9 AS max_s,
	sum(operator.flops) AS flops,
	sum(operator.bytes) AS bytes,
	CASE WHEN count(counted.instructions) = count(*)
		THEN sum(counted.instructions) * 1.0 * sum(counted.enabled_ns) / nullif(sum(counted.running_ns), 0) END AS instructions,
	CASE WHEN count(counted.cycles) = count(*)
		THEN sum(counted.cycles) * 1.0 * sum(counted.enabled_ns) / nullif(sum(counted.running_ns), 0) END AS cycles,
	CASE WHEN count(counted.cache_misses) = count(*)
		THEN sum(counted.cache_misses) * 1.0 * sum(counted.enabled_ns) / nullif(sum(counted.running_ns), 0) END AS cache_misses
FROM operator
JOIN span_process process ON process.id = operator.process_id
LEFT JOIN stage ON stage.id = process.stage_id
LEFT JOIN operator_count counted ON counted.operator_id = operator.id
GROUP BY process.stage_id, operator.path, operator.name
ORDER BY self_s DESC;

CREATE VIEW chunk_summary AS
SELECT
	stage.name AS stage,
	stage.repetition,
	process.pid,
	chunk.id AS chunk_id,
	chunk.number,
	chunk.rows,
	chunk.begin_ns / 1e9 AS begin_s,
	(chunk.end_ns - chunk.begin_ns) / 1e9 AS latency_s,
	chunk.rows * 1e9 / nullif(chunk.end_ns - chunk.begin_ns, 0) AS rows_per_s,
	chunk.bytes_in * 1e9 / nullif(chunk.end_ns - chunk.begin_ns, 0) AS bytes_in_per_s,
	chunk.rss_bytes,
	chunk.heap_bytes
FROM chunk
JOIN span_process process ON process.id = chunk.process_id
LEFT JOIN stage ON stage.id = process.stage_id
ORDER BY chunk.id;
