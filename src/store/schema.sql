-- schema.sql - the run file: one SQLite database per run, schema version 6.
--
-- Compiled into pitot as a string and executed once, when a run file is made. docs/run-file.md describes every table,
-- column and view; a test holds the two together.
--
-- Conventions
--   *_ns     nanoseconds since the run began; only started_utc_ns is UTC (since 1970)
--   *_s      seconds, as a real number
--   *_bytes  bytes
--   stage_id refers to stage.id; 0 means the run as a whole (metric, event, sample)
--   NULL     not known, not applicable, or still open - never 0 in its place
-- Foreign keys are declared to show the joins. The writer does not enforce them: a row that comes late must not be lost
-- because of a row that could not be written. STRICT tables are not used, so that sqlite3 before 3.37 can open the file.
--
-- A reader accepts a file by application_id ("Pito") and user_version; later versions add tables and columns.
--   2        the code profile: profile_process, profile_thread, frame, stack, task, cpu_sample, source_line, profile_gap
--   3        spans (schema_span.sql), allocations (schema_memory.sql), models (schema_model.sql)
--   4        the constraint experiment of `pitot features` (schema_limit.sql)
--   5        growth per chunk (schema_memory.sql)
--   6        counters of operators: span_counting, operator_count (schema_span.sql)

PRAGMA application_id = 0x5069746F;
PRAGMA user_version = 6;

-- Exactly one row: what was run, by which pitot, where and how.
CREATE TABLE run (
	id INTEGER PRIMARY KEY CHECK (id = 1),
	name TEXT NOT NULL,
	uuid TEXT NOT NULL,
	started_utc_ns INTEGER NOT NULL,
	wall_ns INTEGER, -- NULL while the run is open, and for ever when pitot was killed
	status TEXT NOT NULL CHECK (status IN ('interrupted', 'ok', 'error', 'timeout', 'skipped', 'manual')),
	argv_json TEXT,
	cwd TEXT,
	config_path TEXT,
	config_text TEXT,
	git_commit TEXT,
	pitot_version TEXT NOT NULL,
	fingerprint TEXT,
	interval_ns INTEGER NOT NULL,
	repeat INTEGER NOT NULL,
	warmup INTEGER NOT NULL,
	jobs INTEGER NOT NULL,
	-- These three tell a run that goes on from one whose pitot is gone: process ids are used again, start times are not.
	owner_pid INTEGER NOT NULL,
	owner_start INTEGER NOT NULL,
	boot_id TEXT
);

-- The pipeline's parameters with their final values.
CREATE TABLE param (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	value TEXT NOT NULL,
	source TEXT
);

-- Facts about the machine.
CREATE TABLE host (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	value TEXT NOT NULL
);

-- The limits that the pipeline file sets for comparisons.
CREATE TABLE gate (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	max_value REAL NOT NULL
);

-- One row per stage and repetition, inserted as 'interrupted' when the stage begins.
CREATE TABLE stage (
	id INTEGER PRIMARY KEY,
	repetition INTEGER NOT NULL CHECK (repetition >= 0),
	warmup INTEGER NOT NULL CHECK (warmup IN (0, 1)),
	position INTEGER NOT NULL CHECK (position >= 0),
	name TEXT NOT NULL,
	command TEXT,
	status TEXT NOT NULL CHECK (status IN ('interrupted', 'ok', 'error', 'timeout', 'skipped', 'manual')),
	reason TEXT,
	attempts INTEGER NOT NULL CHECK (attempts >= 0),
	exit_code INTEGER,
	term_signal INTEGER,
	start_ns INTEGER,
	end_ns INTEGER,
	tier TEXT,
	needs TEXT,
	UNIQUE (repetition, position)
);

-- One row per value, of a stage or of the run (stage_id 0). A value that could not be had is NULL with a reason.
CREATE TABLE metric (
	stage_id INTEGER NOT NULL,
	name TEXT NOT NULL,
	value REAL,
	unit TEXT NOT NULL CHECK (unit IN ('s', 'bytes', 'count', 'percent', 'J', 'W', 'ratio')),
	method TEXT CHECK (method IN ('exact', 'sampled', 'estimated')),
	source TEXT,
	coverage REAL CHECK (coverage BETWEEN 0 AND 1),
	lower_bound INTEGER NOT NULL CHECK (lower_bound IN (0, 1)),
	reason TEXT,
	PRIMARY KEY (stage_id, name),
	CHECK ((value IS NULL) = (method IS NULL)),
	CHECK (value IS NOT NULL OR reason IS NOT NULL)
) WITHOUT ROWID;

-- Every process that was seen, with what it used.
CREATE TABLE process (
	id INTEGER PRIMARY KEY,
	stage_id INTEGER NOT NULL REFERENCES stage (id),
	pid INTEGER NOT NULL,
	ppid INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	end_ns INTEGER,
	command TEXT,
	ended INTEGER NOT NULL CHECK (ended IN (0, 1)),
	exit_code INTEGER,
	term_signal INTEGER,
	cpu_user_s REAL NOT NULL,
	cpu_system_s REAL NOT NULL,
	rss_peak_bytes INTEGER NOT NULL,
	io_read_bytes INTEGER NOT NULL,
	io_write_bytes INTEGER NOT NULL,
	io_device_read_bytes INTEGER NOT NULL,
	io_device_write_bytes INTEGER NOT NULL,
	page_faults_minor INTEGER NOT NULL,
	page_faults_major INTEGER NOT NULL,
	context_switches_voluntary INTEGER NOT NULL,
	context_switches_forced INTEGER NOT NULL,
	source TEXT NOT NULL CHECK (source IN ('exit record', 'wait4', 'sample'))
);
-- process_tree goes both ways: from a child to its parent and back.
CREATE INDEX process_by_pid ON process (stage_id, pid);
CREATE INDEX process_by_parent ON process (stage_id, ppid);

-- The names of the time series, the same for all stages.
CREATE TABLE series (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	unit TEXT NOT NULL CHECK (unit IN ('s', 'bytes', 'count', 'percent', 'J', 'W', 'ratio'))
);

-- By far the largest table. The key is the order in which samples come, so pages fill one after the other without
-- splits, and all of a stage lies together; a row takes about 25 bytes.
CREATE TABLE sample (
	stage_id INTEGER NOT NULL,
	at_ns INTEGER NOT NULL,
	series_id INTEGER NOT NULL REFERENCES series (id),
	value REAL NOT NULL,
	PRIMARY KEY (stage_id, at_ns, series_id)
) WITHOUT ROWID;

-- The last lines that a stage printed, where they were kept.
CREATE TABLE log (
	stage_id INTEGER PRIMARY KEY REFERENCES stage (id),
	text TEXT NOT NULL,
	dropped_lines INTEGER NOT NULL CHECK (dropped_lines >= 0)
);

-- Declared inputs and outputs of a stage.
CREATE TABLE artifact (
	id INTEGER PRIMARY KEY,
	stage_id INTEGER NOT NULL REFERENCES stage (id),
	direction TEXT NOT NULL CHECK (direction IN ('input', 'output')),
	path TEXT NOT NULL,
	present INTEGER NOT NULL CHECK (present IN (0, 1)),
	bytes INTEGER
);
CREATE INDEX artifact_by_stage ON artifact (stage_id);

-- How good the result is, as opposed to how fast it came. The last value of a name stands.
CREATE TABLE quality (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL UNIQUE,
	value REAL,
	source TEXT,
	reason TEXT,
	CHECK (value IS NOT NULL OR reason IS NOT NULL)
);

-- What a reader should know besides the numbers.
CREATE TABLE event (
	id INTEGER PRIMARY KEY,
	stage_id INTEGER NOT NULL,
	at_ns INTEGER NOT NULL,
	kind TEXT NOT NULL CHECK (kind IN ('warning', 'note', 'mark')),
	text TEXT NOT NULL
);

-- The code profile (pitot run --cpu). Ids count from 1 without gaps, and a stack's parent has a smaller id than its own.

-- One row per process image that had an agent; a process that called exec has one per image.
CREATE TABLE profile_process (
	id INTEGER PRIMARY KEY,
	stage_id INTEGER NOT NULL REFERENCES stage (id),
	pid INTEGER NOT NULL,
	ppid INTEGER NOT NULL,
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	executable TEXT,
	python TEXT,
	clock TEXT,
	ending TEXT NOT NULL CHECK (ending IN ('exit', 'exec', 'killed', 'stopped')),
	note TEXT,
	period_ns INTEGER NOT NULL,
	cpu_ns INTEGER NOT NULL,
	samples INTEGER NOT NULL,
	weight_ns INTEGER NOT NULL,
	lost INTEGER NOT NULL,
	truncated INTEGER NOT NULL,
	unmatched INTEGER NOT NULL,
	busy INTEGER NOT NULL,
	handler_ns INTEGER NOT NULL,
	start_cost_ns INTEGER NOT NULL
);

CREATE TABLE profile_thread (
	id INTEGER PRIMARY KEY,
	process_id INTEGER NOT NULL REFERENCES profile_process (id),
	tid INTEGER NOT NULL,
	is_main INTEGER NOT NULL CHECK (is_main IN (0, 1)),
	name TEXT,
	entry TEXT,
	creator_stack_id INTEGER REFERENCES stack (id),
	start_ns INTEGER NOT NULL,
	end_ns INTEGER NOT NULL,
	cpu_ns INTEGER NOT NULL,
	weight_ns INTEGER NOT NULL,
	samples INTEGER NOT NULL,
	truncated INTEGER NOT NULL,
	unmatched INTEGER NOT NULL,
	busy INTEGER NOT NULL,
	handler_ns INTEGER NOT NULL
);

-- A place in some code; unique by all that it says.
CREATE TABLE frame (
	id INTEGER PRIMARY KEY,
	kind TEXT NOT NULL CHECK (kind IN ('native', 'python', 'jit', 'kernel', 'mark')),
	function TEXT NOT NULL,
	module TEXT,
	file TEXT,
	line INTEGER,
	first_line INTEGER,
	inlined INTEGER NOT NULL CHECK (inlined IN (0, 1))
);

-- Stacks as a tree: a row is one frame, called by the stack that is its parent.
CREATE TABLE stack (
	id INTEGER PRIMARY KEY,
	parent_id INTEGER REFERENCES stack (id),
	frame_id INTEGER NOT NULL REFERENCES frame (id)
);

-- Names of asyncio tasks.
CREATE TABLE task (
	id INTEGER PRIMARY KEY,
	name TEXT NOT NULL
);

-- One row per sample, thread after thread, each in the order of time. weight_ns is the CPU time that it stands for.
CREATE TABLE cpu_sample (
	id INTEGER PRIMARY KEY,
	thread_id INTEGER NOT NULL REFERENCES profile_thread (id),
	at_ns INTEGER NOT NULL,
	stack_id INTEGER REFERENCES stack (id),
	weight_ns INTEGER NOT NULL,
	flags INTEGER NOT NULL,
	task_id INTEGER REFERENCES task (id)
);

-- Text of the lines that samples hit, where the file could be read.
CREATE TABLE source_line (
	file TEXT NOT NULL,
	line INTEGER NOT NULL,
	text TEXT NOT NULL,
	PRIMARY KEY (file, line)
) WITHOUT ROWID;

-- Processes without an agent, and the CPU time that this hides.
CREATE TABLE profile_gap (
	id INTEGER PRIMARY KEY,
	stage_id INTEGER NOT NULL REFERENCES stage (id),
	pid INTEGER NOT NULL,
	command TEXT,
	reason TEXT NOT NULL,
	cpu_s REAL NOT NULL
);

-- Views: for people with sqlite3. pitot itself reads tables only.

CREATE VIEW run_summary AS
SELECT
	run.name,
	run.status,
	strftime('%Y-%m-%dT%H:%M:%SZ', run.started_utc_ns / 1000000000, 'unixepoch') AS started_utc,
	run.wall_ns / 1e9 AS wall_s,
	(SELECT count(*) FROM stage) AS stages,
	(SELECT count(*) FROM stage WHERE stage.status NOT IN ('ok', 'manual')) AS stages_not_ok,
	(SELECT count(*) FROM process) AS processes,
	(SELECT count(*) FROM event WHERE event.kind = 'warning') AS warnings,
	run.git_commit,
	run.fingerprint,
	run.pitot_version
FROM run;

CREATE VIEW stage_summary AS
SELECT
	stage.id AS stage_id,
	stage.repetition,
	stage.warmup,
	stage.position,
	stage.name,
	stage.status,
	stage.reason,
	stage.start_ns / 1e9 AS start_s,
	coalesce((SELECT m.value FROM metric m WHERE m.stage_id = stage.id AND m.name = 'wall_s'),
	         (stage.end_ns - stage.start_ns) / 1e9) AS wall_s,
	(SELECT m.value FROM metric m WHERE m.stage_id = stage.id AND m.name = 'cpu_time_s') AS cpu_time_s,
	(SELECT m.value FROM metric m WHERE m.stage_id = stage.id AND m.name = 'cpu_percent_avg') AS cpu_percent_avg,
	(SELECT m.value FROM metric m WHERE m.stage_id = stage.id AND m.name = 'memory_peak_bytes') AS memory_peak_bytes,
	(SELECT m.value FROM metric m WHERE m.stage_id = stage.id AND m.name = 'io_read_bytes') AS io_read_bytes,
	(SELECT m.value FROM metric m WHERE m.stage_id = stage.id AND m.name = 'io_write_bytes') AS io_write_bytes,
	(SELECT m.value FROM metric m WHERE m.stage_id = stage.id AND m.name = 'energy_j') AS energy_j,
	(SELECT m.value FROM metric m WHERE m.stage_id = stage.id AND m.name = 'processes') AS processes,
	stage.exit_code,
	stage.term_signal,
	stage.tier
FROM stage
ORDER BY stage.repetition, stage.position;

CREATE VIEW slowest_stages AS
SELECT
	name,
	count(*) AS repetitions,
	avg(wall_s) AS wall_s_mean,
	min(wall_s) AS wall_s_min,
	max(wall_s) AS wall_s_max,
	100.0 * sum(wall_s) / (SELECT sum(wall_s) FROM stage_summary WHERE warmup = 0) AS share_percent
FROM stage_summary
WHERE warmup = 0 AND wall_s IS NOT NULL
GROUP BY name
ORDER BY wall_s_mean DESC;

CREATE VIEW metric_named AS
SELECT
	coalesce(stage.name, '(run)') AS stage,
	stage.repetition,
	metric.name,
	metric.value,
	metric.unit,
	metric.method,
	metric.source,
	metric.coverage,
	metric.lower_bound,
	metric.reason
FROM metric
LEFT JOIN stage ON stage.id = metric.stage_id;

CREATE VIEW not_measured AS
SELECT name, reason, count(*) AS stages
FROM metric
WHERE value IS NULL
GROUP BY name, reason;

CREATE VIEW costliest_processes AS
SELECT
	stage.name AS stage,
	stage.repetition,
	process.pid,
	process.ppid,
	process.command,
	process.cpu_user_s + process.cpu_system_s AS cpu_time_s,
	(process.end_ns - process.start_ns) / 1e9 AS wall_s,
	process.rss_peak_bytes,
	process.exit_code,
	process.term_signal,
	process.source
FROM process
LEFT JOIN stage ON stage.id = process.stage_id
ORDER BY cpu_time_s DESC;

-- A process id is used again after a while, so a parent is the latest process of that id that began before its child.
-- The order is that of a tree printed with its children below each process.
CREATE VIEW process_tree AS
WITH RECURSIVE
	linked AS (
		SELECT child.id AS id, (
			SELECT p.id FROM process p
			WHERE p.stage_id = child.stage_id AND p.pid = child.ppid AND p.id <> child.id
			      AND p.start_ns <= child.start_ns
			ORDER BY p.start_ns DESC, p.id DESC
			LIMIT 1) AS parent_id
		FROM process child),
	tree (id, parent_id, depth, place) AS (
		SELECT linked.id, NULL, 0, printf('%012d/', linked.id)
		FROM linked
		WHERE linked.parent_id IS NULL
		UNION ALL
		SELECT child.id, tree.id, tree.depth + 1, tree.place || printf('%012d/', child.id)
		FROM tree
		JOIN process parent ON parent.id = tree.id
		JOIN process child ON child.stage_id = parent.stage_id AND child.ppid = parent.pid
		JOIN linked ON linked.id = child.id AND linked.parent_id = tree.id)
SELECT
	process.id AS process_id,
	tree.parent_id,
	tree.depth,
	process.stage_id,
	process.pid,
	process.command,
	process.start_ns / 1e9 AS start_s,
	process.cpu_user_s + process.cpu_system_s AS cpu_time_s,
	process.rss_peak_bytes
FROM tree
JOIN process ON process.id = tree.id
ORDER BY process.stage_id, tree.place;

CREATE VIEW series_named AS
SELECT
	coalesce(stage.name, '(run)') AS stage,
	stage.repetition,
	series.name AS series,
	series.unit,
	sample.at_ns / 1e9 AS at_s,
	(sample.at_ns - stage.start_ns) / 1e9 AS stage_at_s,
	sample.value
FROM sample
JOIN series ON series.id = sample.series_id
LEFT JOIN stage ON stage.id = sample.stage_id;

CREATE VIEW series_summary AS
SELECT
	stage,
	repetition,
	series,
	unit,
	count(*) AS samples,
	min(value) AS value_min,
	avg(value) AS value_mean,
	max(value) AS value_max
FROM series_named
GROUP BY stage, repetition, series, unit;

CREATE VIEW problems AS
SELECT stage.name AS stage, stage.repetition, stage.status AS problem, stage.reason AS text
FROM stage
WHERE stage.status NOT IN ('ok', 'manual')
UNION ALL
SELECT coalesce(stage.name, '(run)'), stage.repetition, event.kind, event.text
FROM event
LEFT JOIN stage ON stage.id = event.stage_id
WHERE event.kind = 'warning';

CREATE VIEW cpu_sample_named AS
SELECT
	stage.name AS stage,
	stage.repetition,
	process.pid,
	thread.tid,
	thread.name AS thread,
	sample.at_ns / 1e9 AS at_s,
	sample.weight_ns / 1e9 AS weight_s,
	frame.function,
	frame.module,
	frame.file,
	frame.line,
	sample.stack_id,
	task.name AS task,
	(sample.flags & 4) / 4 AS gil
FROM cpu_sample sample
JOIN profile_thread thread ON thread.id = sample.thread_id
JOIN profile_process process ON process.id = thread.process_id
LEFT JOIN stage ON stage.id = process.stage_id
LEFT JOIN stack ON stack.id = sample.stack_id
LEFT JOIN frame ON frame.id = stack.frame_id
LEFT JOIN task ON task.id = sample.task_id;

-- A function that is on a stack more than once counts once for it.
CREATE VIEW hot_functions AS
WITH RECURSIVE
	weight (stage_id, stack_id, ns, samples) AS (
		SELECT process.stage_id, sample.stack_id, sum(sample.weight_ns), count(*)
		FROM cpu_sample sample
		JOIN profile_thread thread ON thread.id = sample.thread_id
		JOIN profile_process process ON process.id = thread.process_id
		GROUP BY process.stage_id, sample.stack_id),
	path (stage_id, leaf_id, stack_id, ns, samples) AS (
		SELECT stage_id, stack_id, stack_id, ns, samples FROM weight WHERE stack_id IS NOT NULL
		UNION ALL
		SELECT path.stage_id, path.leaf_id, stack.parent_id, path.ns, path.samples
		FROM path
		JOIN stack ON stack.id = path.stack_id
		WHERE stack.parent_id IS NOT NULL),
	hit AS (
		SELECT path.stage_id, path.leaf_id, path.ns, path.samples, frame.kind, frame.function, frame.module,
		       frame.file, max(path.stack_id = path.leaf_id) AS is_leaf
		FROM path
		JOIN stack ON stack.id = path.stack_id
		JOIN frame ON frame.id = stack.frame_id
		GROUP BY path.stage_id, path.leaf_id, frame.kind, frame.function, frame.module, frame.file)
SELECT
	stage.name AS stage,
	stage.repetition,
	hit.kind,
	hit.function,
	hit.module,
	hit.file,
	sum(hit.ns * hit.is_leaf) / 1e9 AS self_s,
	sum(hit.ns) / 1e9 AS total_s,
	100.0 * sum(hit.ns * hit.is_leaf) / all_of.ns AS self_percent,
	100.0 * sum(hit.ns) / all_of.ns AS total_percent,
	sum(hit.samples * hit.is_leaf) AS self_samples
FROM hit
JOIN (SELECT stage_id, sum(ns) AS ns FROM weight GROUP BY stage_id) all_of ON all_of.stage_id = hit.stage_id
LEFT JOIN stage ON stage.id = hit.stage_id
GROUP BY hit.stage_id, hit.kind, hit.function, hit.module, hit.file
ORDER BY self_s DESC;

CREATE VIEW hot_lines AS
SELECT
	stage.name AS stage,
	stage.repetition,
	frame.file,
	frame.line,
	frame.function,
	sum(sample.weight_ns) / 1e9 AS self_s,
	count(*) AS samples,
	source_line.text
FROM cpu_sample sample
JOIN profile_thread thread ON thread.id = sample.thread_id
JOIN profile_process process ON process.id = thread.process_id
JOIN stack ON stack.id = sample.stack_id
JOIN frame ON frame.id = stack.frame_id
LEFT JOIN stage ON stage.id = process.stage_id
LEFT JOIN source_line ON source_line.file = frame.file AND source_line.line = frame.line
WHERE frame.file IS NOT NULL AND frame.line IS NOT NULL
GROUP BY process.stage_id, frame.file, frame.line, frame.function
ORDER BY self_s DESC;

CREATE VIEW hot_modules AS
SELECT
	stage.name AS stage,
	stage.repetition,
	coalesce(frame.module, frame.file, frame.function) AS module,
	sum(sample.weight_ns) / 1e9 AS self_s,
	count(*) AS samples
FROM cpu_sample sample
JOIN profile_thread thread ON thread.id = sample.thread_id
JOIN profile_process process ON process.id = thread.process_id
JOIN stack ON stack.id = sample.stack_id
JOIN frame ON frame.id = stack.frame_id
LEFT JOIN stage ON stage.id = process.stage_id
GROUP BY process.stage_id, coalesce(frame.module, frame.file, frame.function)
ORDER BY self_s DESC;

CREATE VIEW threads_by_cpu AS
SELECT
	stage.name AS stage,
	stage.repetition,
	process.pid,
	process.executable,
	thread.tid,
	thread.name AS thread,
	thread.entry,
	thread.cpu_ns / 1e9 AS cpu_s,
	(thread.end_ns - thread.start_ns) / 1e9 AS wall_s,
	thread.samples
FROM profile_thread thread
JOIN profile_process process ON process.id = thread.process_id
LEFT JOIN stage ON stage.id = process.stage_id
ORDER BY cpu_s DESC;

CREATE VIEW profile_quality AS
SELECT
	stage.name AS stage,
	stage.repetition,
	count(*) AS processes,
	sum(process.samples) AS samples,
	1e9 / max(process.period_ns) AS asked_hz,
	1e9 * sum(process.samples) / nullif(sum(process.cpu_ns), 0) AS achieved_hz,
	sum(process.cpu_ns) / 1e9 AS cpu_s,
	sum(process.weight_ns) / 1e9 AS weight_s,
	sum(process.lost) AS lost,
	sum(process.truncated) AS truncated,
	sum(process.unmatched) AS unmatched,
	sum(process.busy) AS busy,
	sum(process.handler_ns) * 1.0 / nullif(sum(process.cpu_ns), 0) AS overhead,
	(SELECT coalesce(sum(gap.cpu_s), 0) FROM profile_gap gap WHERE gap.stage_id = process.stage_id) AS not_covered_s
FROM profile_process process
LEFT JOIN stage ON stage.id = process.stage_id
GROUP BY process.stage_id;
