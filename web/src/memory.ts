// memory.ts - the memory profile: where memory was asked for, by four weights, and live bytes over time.

import type { Weighted } from "./calls";
import type { Source } from "./codeview";
import type { Code, Series } from "./model";

export interface Memory {
	processes: { stage: number; pid: number; executable: string | null; mode: string; period_bytes: number; calls: number; allocated_bytes: number;
		peak_bytes: number; peak_at_s: number; leaked_bytes: number; note: string | null; points: [at_ms: number, live: number, high: number][] }[];
	frames: Code["frames"]; nodes: Code["nodes"]; sources: Code["sources"]; strings: string[];
	sites: [process: number, thread: number, node: number, kind: number, peak: number, leaked: number, allocated: number, temporary: number][];
}

const WEIGHTS = [
	{ id: "peak", title: "Memory at the peak", about: "memory when each process had most" },
	{ id: "leaked", title: "Leaked memory", about: "memory never freed" },
	{ id: "allocated", title: "Allocated memory (churn)", about: "memory allocated in all" },
	{ id: "temporary", title: "Temporary memory", about: "memory freed before the next allocation" },
];

// A tree of calls as the flame graph wants it: the entries are the sites.
function codeOf(memory: Memory): Code {
	return { bucket_s: 1, buckets: 1, folded_s: 0, nodes_recorded: memory.nodes.parent.length, processes: memory.processes, threads: [], frames: memory.frames,
		nodes: memory.nodes, entries: { thread: [], bucket: [], node: [], samples: [], us: [] }, sources: memory.sources, strings: memory.strings } as unknown as Code;
}

// `pid` 0: of all processes. A site belongs to the whole life of its process, so a range of time chooses nothing here.
export function memorySources(memory: Memory, choice: () => { stage: number; pid: number }, repetitions: (stage: number) => number): Source[] {
	const code = codeOf(memory);
	return WEIGHTS.map((weight, column) => ({ id: weight.id, title: weight.title, unit: "bytes", about: weight.about + ", whatever the range",
		weigh: (): Weighted => {
			const self = new Float64Array(memory.nodes.parent.length), samples = new Float64Array(self.length), { stage, pid } = choice();
			for (const site of memory.sites) {
				const process = memory.processes[site[0]]!;
				if ((stage >= 0 && process.stage !== stage) || (pid && process.pid !== pid)) continue;
				self[site[2]]! += (site[4 + column] as number) / Math.max(1, repetitions(process.stage));
				samples[site[2]]! += 1;
			}
			return { code, self, samples };
		} }));
}

// Live bytes as a series of the timeline; processes at the same time are added up there.
export function memorySeries(memory: Memory): Series[] {
	return memory.processes.filter((process) => process.points.length > 1).map((process) => ({ stage: process.stage, name: "heap_live", unit: "bytes",
		at_ms: process.points.map((point) => point[0]), mean: process.points.map((point) => point[1]), min: process.points.map((point) => Math.min(point[1], point[2])), max: process.points.map((point) => point[2]) }));
}
