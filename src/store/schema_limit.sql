-- schema_limit.sql - the constraint experiment of `pitot features`: the same table under settings of chunk size, memory and
-- compute.

-- One row per setting, in the order in which they were tried. What failed has a reason and no measurements.
CREATE TABLE limit_trial (
	id INTEGER PRIMARY KEY,
	chunk_asked REAL NOT NULL,
	memory_limit_bytes INTEGER NOT NULL,
	compute_limit REAL NOT NULL CHECK (compute_limit > 0),
	chunk_rows INTEGER NOT NULL,
	rows INTEGER NOT NULL,
	latency_s REAL,
	rows_per_s REAL,
	chunk_latency_s REAL,
	memory_peak_bytes INTEGER,
	r2 REAL,
	rmse REAL,
	pareto INTEGER NOT NULL CHECK (pareto IN (0, 1)),
	failure TEXT,
	CHECK ((latency_s IS NULL) = (failure IS NOT NULL))
);

-- The settings that no other beats in everything, the fastest first.
CREATE VIEW limit_front AS
SELECT chunk_rows, memory_limit_bytes, compute_limit, rows_per_s, chunk_latency_s, memory_peak_bytes, r2
FROM limit_trial
WHERE pareto = 1
ORDER BY rows_per_s DESC;
