// spans.ts - what programs said of themselves through spans, as the model has it.

export interface Spans {
	processes: { stage: number; repetition: number; pid: number; executable: string | null; source: string; recorded: number; lost: number; note: string | null }[];
	threads: { process: number; lane: number; name: string | null }[];
	operators: { parent: number; process: number; lane: number; name: string; path: string; calls: number; unended: number; total_s: number; self_s: number;
		min_s: number | null; max_s: number | null; flops: number | null; bytes: number | null }[];
	durations: [operator: number, low_ns: number, high_ns: number, calls: number][];
	spans_kept: number;
	spans: [operator: number, thread: number, begin_us: number, length_us: number][];
	chunks_recorded: number;
	chunks: [process: number, number: number, begin_us: number, length_us: number, rows: number | null, bytes_in: number | null,
		bytes_out: number | null, rss: number | null, heap: number | null][];
	parts: [chunk: number, operator: number, self_us: number][];
}

// How many repetitions of a stage recorded spans: times are those of one.
export function repetitionsOf(spans: Spans): (stage: number) => number {
	const seen = new Map<number, Set<number>>();
	for (const process of spans.processes) seen.set(process.stage, (seen.get(process.stage) ?? new Set()).add(process.repetition));
	return (stage) => Math.max(1, seen.get(stage)?.size ?? 1);
}
