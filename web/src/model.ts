// model.ts - the page's model (docs/page-model.md): its types, and where it comes from, the file itself or the server.

import type { Memory } from "./memory";
import type { Models } from "./modelview";
import type { Spans } from "./spans";
import type { Trial } from "./trials";

export interface Metric {
	value: number | null; unit: string; method?: string; source?: string; coverage?: number; lower_bound?: boolean; reason?: string;
}
export type Metrics = Record<string, Metric>;

export interface Share { seconds: number; share: number; low: number; high: number; samples: number }
export interface Finding {
	id: string; title: string; severity: "fix" | "look" | "note"; stage: string | null; what: string; advice: string;
	gain_s: number | null; gain_percent: number | null; assumption: string | null; vital: boolean;
	evidence: { name: string; value: number; unit: string; method: string; source: string; lower_bound?: boolean }[];
}
export interface Process {
	pid: number; ppid: number; command: string; start_s: number; end_s: number | null; exit_code: number | null;
	cpu_user_s: number; cpu_system_s: number; rss_peak_bytes: number; io_read_bytes: number; io_write_bytes: number; source: string;
}
export interface Stage {
	stage: string; status: string; duration_s: number | null; share: number | null; verdict: string; evidence: string | null;
	command: string | null; needs: string[]; start_s: number | null; end_s: number | null; reason: string | null;
	exit_code: number | null; term_signal: number | null; attempts: number; log_tail: string | null; log_dropped_lines: number;
	repetitions: { n: number; median: number | null; min: number | null; max: number | null; sd: number | null; values: number[] };
	metrics: Metrics; artifacts: { kind: string; path: string; exists: boolean; bytes: number | null }[];
	processes_recorded: number; processes_top: Process[]; profile: CodeProfile | null;
}
export interface CodeProfile {
	repetitions: number; samples: number; seconds: number;
	quality: { achieved_hz: number | null; coverage: number | null; gap_share: number | null; requested_hz: number | null;
		lost: number; truncated: number;
		notes: { text: string; processes: number }[]; gaps: { command: string; reason: string; cpu_s: number }[] };
}
export interface Report {
	pitot_version: string; timestamp_utc: string; total_duration_s: number | null; stages: Stage[];
	quality: { name: string; value: number | null; source: string | null; reason: string | null }[];
	bottleneck: string | null; findings: Finding[]; metrics: Metrics;
	run: { name: string; id: string; status: string; live: boolean; argv: string[] | null; cwd: string | null;
		git_commit: string | null; config_path: string | null; repeat: number; warmup: number; jobs: number; interval_s: number;
		repetitions: { n: number; sd: number | null; min: number | null; max: number | null } };
	params: Record<string, { value: string; source: string | null }>; host: Record<string, string>;
	warnings: { kind: string; stage: string | null; at_s: number; text: string }[];
}
export interface Series {
	stage: number; name: string; unit: string; at_ms: number[]; mean: number[]; min?: number[]; max?: number[];
}
export interface TimelineProcess {
	stage: number; pid: number; ppid: number; command: string; start_s: number; end_s: number | null; cpu_s: number;
	rss_peak_bytes: number; read_bytes: number; write_bytes: number; exit_code: number; term_signal: number; source: string;
}
export interface Timeline {
	end_s: number;
	stages: { name: string; position: number; repetition: number; warmup: boolean; status: string; start_s: number;
		end_s: number | null }[];
	series: Series[]; processes_recorded: number; processes: TimelineProcess[];
}
export interface Code {
	bucket_s: number; buckets: number; folded_s: number; nodes_recorded: number;
	processes: { stage: number; pid: number; executable: string | null; python: string | null }[];
	threads: { process: number; tid: number; name: string | null; main: boolean }[];
	frames: [kind: number, name: number, module: number, file: number, line: number, first: number, inlined: number][];
	nodes: { parent: number[]; frame: number[] };
	entries: { thread: number[]; bucket: number[]; node: number[]; samples: number[]; us: number[] };
	sources: [file: number, line: number, text: number][];
	strings: string[];
}
export interface RunModel {
	page_model: number; kind: "run"; problems: string[]; headline: string | null; host_line: string; own_cost: string;
	status_words: string; registry: Record<string, { unit: string; direction: string; meaning: string }>;
	verdicts: Record<string, string>; report: Report; timeline: Timeline | null; spans: Spans | null; memory: Memory | null; models: Models | null;
	trials: Trial[] | null; code: Code | null;
}

export interface DiffRow {
	table: string; scope: string; name: string; unit: string | null; verdict: string; direction: string;
	[key: string]: unknown;
}
export interface DiffModel {
	page_model: number; kind: "diff"; problems: string[]; delta: Record<string, unknown>;
	sides: { name: string; file: string; runs: number; stages: string[]; code: Code | null; repetitions: number }[];
}
export type Model = RunModel | DiffModel;

export interface RunEntry {
	file: string; name: string; started_utc: string; wall_s: number | null; status: string; git_commit: string | null;
	stages: number; live: boolean; damaged: string | null; tags: string[];
}

export const VERSION = 1;

// Inside the file the model is base64 of a zlib stream.
async function inflate(text: string): Promise<string> {
	const binary = atob(text.trim());
	const packed = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++) packed[i] = binary.charCodeAt(i);
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
	return new Response(stream).text();
}

function check<T>(model: T): T {
	const version = (model as { page_model?: number }).page_model;
	if (version !== undefined && version !== VERSION)
		throw new Error(`The data is of version ${version}, and this page reads version ${VERSION}.`);
	return model;
}

export async function embedded(): Promise<Model | null> {
	const element = document.getElementById("model");
	if (!element) return null;
	const model = check(JSON.parse(await inflate(element.textContent ?? "")) as Model);
	element.remove();
	return model;
}

export async function ask<T>(address: string): Promise<T> {
	const response = await fetch(address, { credentials: "same-origin", cache: "no-store" });
	const answer = await response.json().catch(() => null) as (T & { error?: string }) | null;
	if (!answer || answer.error || !response.ok)
		throw new Error(answer?.error ?? `The server answered with status ${response.status}.`);
	return check(answer);
}
