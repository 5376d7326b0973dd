-- schema_model.sql - models that were counted and timed: one row per model, or per size of it, with its layers, operators and times.
--
-- Counts are of the whole batch. A multiply-accumulate (MAC) is 2 FLOPs. macs has causal attention as the whole square,
-- causal_macs only the pairs that the mask leaves; point_ops is what is no product. Bytes are compulsory traffic: each operand
-- and each result once. `position` counts from 0 within the model and is what other rows refer to.

CREATE TABLE model (
	id INTEGER PRIMARY KEY,
	stage_id INTEGER NOT NULL REFERENCES stage (id),
	name TEXT NOT NULL,
	source TEXT NOT NULL CHECK (source IN ('architecture', 'preset', 'text', 'onnx')),
	path TEXT,             -- of the file
	sizes TEXT NOT NULL,   -- "batch=32 width=512"
	input TEXT NOT NULL,   -- "synthetic, seed 1" or the file that was read
	threads INTEGER,       -- NULL where it was only counted
	parameters INTEGER NOT NULL, buffers INTEGER NOT NULL,
	macs INTEGER NOT NULL, causal_macs INTEGER NOT NULL,
	backward_macs INTEGER NOT NULL, needed_backward_macs INTEGER NOT NULL,
	point_ops INTEGER NOT NULL,
	weight_bytes INTEGER NOT NULL, read_bytes INTEGER NOT NULL, written_bytes INTEGER NOT NULL,
	uncounted INTEGER NOT NULL, -- operators
	-- Computed from the lifetimes of activations; peaks are without weights.
	weights_kept_bytes INTEGER NOT NULL,
	gradient_bytes INTEGER NOT NULL, -- momentum has as much again, Adam twice
	inference_bytes INTEGER NOT NULL,
	inference_op INTEGER, -- the operator at the peak
	saved_bytes INTEGER NOT NULL, -- kept for the backward pass
	training_bytes INTEGER NOT NULL,
	training_op INTEGER,
	-- Measured: growth of the process's resident memory while the model was made and ran; NULL where it was not run.
	measured_inference_bytes INTEGER,
	measured_training_bytes INTEGER,
	-- The roof of the machine for this many threads, as measured by pitot machine.
	roof_flops REAL, roof_memory_bytes REAL, roof_cache_bytes REAL
);

CREATE TABLE model_layer (
	model_id INTEGER NOT NULL REFERENCES model (id),
	position INTEGER NOT NULL,
	path TEXT NOT NULL, -- "encoder.0.attention"; "" is the model
	parent INTEGER,     -- position; NULL for the model
	parameters INTEGER NOT NULL, buffers INTEGER NOT NULL,
	macs INTEGER NOT NULL, causal_macs INTEGER NOT NULL,
	backward_macs INTEGER NOT NULL, needed_backward_macs INTEGER NOT NULL,
	point_ops INTEGER NOT NULL,
	weight_bytes INTEGER NOT NULL, read_bytes INTEGER NOT NULL, written_bytes INTEGER NOT NULL,
	uncounted INTEGER NOT NULL,
	forward_s REAL,  -- sum of its operators' medians
	backward_s REAL,
	PRIMARY KEY (model_id, position)
) WITHOUT ROWID;

CREATE TABLE model_op (
	model_id INTEGER NOT NULL REFERENCES model (id),
	position INTEGER NOT NULL,
	layer INTEGER NOT NULL, -- position
	name TEXT NOT NULL,
	type TEXT NOT NULL,  -- as the source calls it
	kind TEXT NOT NULL,  -- as pitot does
	input TEXT,          -- shape
	output TEXT,
	unknown TEXT,        -- why it is not counted; NULL: it is
	fused_into INTEGER,  -- position of the operator in whose time its own lies; NULL: it has its own
	parameters INTEGER NOT NULL, buffers INTEGER NOT NULL,
	macs INTEGER NOT NULL, causal_macs INTEGER NOT NULL,
	backward_macs INTEGER NOT NULL, needed_backward_macs INTEGER NOT NULL,
	point_ops INTEGER NOT NULL,
	weight_bytes INTEGER NOT NULL, read_bytes INTEGER NOT NULL, written_bytes INTEGER NOT NULL,
	uncounted INTEGER NOT NULL,
	PRIMARY KEY (model_id, position)
) WITHOUT ROWID;

-- How long the model or one of its operators took, and how that compares with the machine's roof.
CREATE TABLE model_time (
	model_id INTEGER NOT NULL REFERENCES model (id),
	op INTEGER NOT NULL, -- position; -1: the whole model
	phase TEXT NOT NULL CHECK (phase IN ('forward', 'backward')),
	runs INTEGER NOT NULL,
	mean_s REAL NOT NULL,
	sd_s REAL,
	median_s REAL NOT NULL,
	low_s REAL, high_s REAL, -- 95 % interval of the median
	p90_s REAL, p95_s REAL, p99_s REAL, -- NULL where there were too few runs
	flops REAL, bytes REAL, -- per second
	attainable_flops REAL,
	efficiency REAL, -- of the limit that binds
	bound TEXT,
	doubt TEXT, -- why the rate cannot be believed
	warning TEXT,
	PRIMARY KEY (model_id, op, phase)
) WITHOUT ROWID;

-- quantity ≈ c × variable^exponent over the sizes that were tried.
CREATE TABLE model_fit (
	id INTEGER PRIMARY KEY,
	stage_id INTEGER NOT NULL REFERENCES stage (id),
	model TEXT NOT NULL,
	variable TEXT NOT NULL, -- "batch", "width", "threads"
	quantity TEXT NOT NULL, -- "forward_s", "macs", …
	exponent REAL NOT NULL,
	low REAL, high REAL, -- 95 %
	r2 REAL,
	points INTEGER NOT NULL
);

CREATE TABLE model_note (
	id INTEGER PRIMARY KEY,
	model_id INTEGER NOT NULL REFERENCES model (id),
	text TEXT NOT NULL
);

-- Operators with their times side by side, the slowest first within a model.
CREATE VIEW model_ops AS
SELECT model.name AS model, model.sizes, model.threads, model_op.name AS operator, model_op.kind, layer.path AS layer,
	model_op.parameters, model_op.macs, 2 * model_op.macs AS flops, model_op.point_ops,
	model_op.weight_bytes + model_op.read_bytes + model_op.written_bytes AS bytes,
	forward.median_s AS forward_s, forward.low_s, forward.high_s, backward.median_s AS backward_s,
	forward.median_s / nullif(sum(forward.median_s) OVER (PARTITION BY model.id), 0) AS share,
	forward.flops / 1e9 AS gflops, forward.efficiency, forward.bound, forward.doubt, model_op.unknown
FROM model_op
JOIN model ON model.id = model_op.model_id
JOIN model_layer layer ON layer.model_id = model_op.model_id AND layer.position = model_op.layer
LEFT JOIN model_time forward
	ON forward.model_id = model_op.model_id AND forward.op = model_op.position AND forward.phase = 'forward'
LEFT JOIN model_time backward
	ON backward.model_id = model_op.model_id AND backward.op = model_op.position AND backward.phase = 'backward'
ORDER BY model.id, forward.median_s DESC, model_op.macs DESC;

-- One line per model, or per size of it.
CREATE VIEW model_summary AS
SELECT model.id, model.name, model.sizes, model.threads, model.parameters, model.macs, 2 * model.macs AS flops,
	model.uncounted, model.weights_kept_bytes, model.inference_bytes, model.training_bytes, model.measured_inference_bytes,
	forward.median_s AS forward_s, forward.low_s, forward.high_s, backward.median_s AS backward_s,
	forward.flops / 1e9 AS gflops, forward.efficiency, forward.bound
FROM model
LEFT JOIN model_time forward ON forward.model_id = model.id AND forward.op = -1 AND forward.phase = 'forward'
LEFT JOIN model_time backward ON backward.model_id = model.id AND backward.op = -1 AND backward.phase = 'backward'
ORDER BY model.id;
