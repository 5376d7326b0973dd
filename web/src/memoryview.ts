// memoryview.ts - the memory profile in words and tables: by line, what grows, what resident memory is, Python's objects by type. The tree of calls
// is the flame graph's, live bytes over time are the timeline's.

import { Child, clean, h } from "./dom";
import { bytes, count, percent, seconds, share } from "./format";
import type { RunModel, Stage } from "./model";
import { go, param, set } from "./state";
import { bar, table } from "./table";

interface Estimate { bytes: number; low: number; high: number; share: number; count: number }
interface Place { kind: string; function: string | null; module: string | null; file: string | null; line: number | null }
interface Line extends Place { source: string | null; self: Estimate; total: Estimate }
interface Trend extends Place { grows: boolean; per: "chunk" | "snapshot"; bytes_per_chunk: number | null; bytes_per_snapshot: number | null; chunks: number | null; snapshots: number | null; low: number; high: number }
interface Type { kind: "named" | "other" | "unknown"; name: string | null; bytes: number; low: number; high: number; share: number; blocks: number }
interface Types { pid: number; reason: string | null; at_s?: number; live_bytes?: number; peak_bytes?: number; rows: Type[] }
interface Process { pid: number; executable: string | null; end: string; mode: string; peak_bytes: number; peak_at_s: number; leaked_bytes: number; allocated_bytes: number; calls: number; note: string | null }
export interface StageMemory {
	calls: number; allocated_bytes: number; peak: Estimate; peak_at_s: number; tables: Record<string, { all: Estimate; lines: Line[] }>; processes: Process[];
	trends: Trend[]; resident: { pid?: number; at_s: number; rss_bytes: number; untouched_bytes: number; coverage: number; parts: Record<string, number> } | null; types: Types | null;
	quality: { processes: number; sampled: number; period_bytes: number; samples: number; notes: string[]; gaps: { command: string; reason: string }[] };
}

const WEIGHTS: [id: string, title: string, about: string][] = [["peak", "At the peak", "What has to become smaller, so that the stage needs less memory"],
	["leaked", "Never given back", "What was still there at the end; what a program needs to its end is among them"],
	["allocated", "Allocated in all", "Who keeps the allocator busy"], ["temporary", "Given back at once", "Freed before the thread allocated again: could be reused"]];

// The same keys as the JSON report; the colours are the stages'.
const PARTS: [key: string, title: string, colour: string][] = [["heap_in_use", "allocated by the program", "--c1"], ["allocator_overhead", "malloc's heads and rounding", "--c5"],
	["unseen_blocks", "of blocks that the agent did not see (from before it or before a fork)", "--span"], ["allocator_free", "free but kept by malloc", "--c2"], ["python_free", "free but kept in Python's arenas", "--c7"], ["mapped_files", "libraries and mapped files", "--c3"],
	["shared", "shared memory", "--c4"], ["stack", "stack of the main thread", "--c6"], ["agent", "taken by pitot's agent", "--kernel"], ["unexplained", "not explained", "--mark"]];

const memoryOf = (stage: Stage): StageMemory | null => (stage as unknown as { memory: StageMemory | null }).memory ?? null;

export const hasMemory = (model: RunModel): boolean => model.report.stages.some((stage) => memoryOf(stage));

const base = (path: string): string => path.slice(path.lastIndexOf("/") + 1);
const where = (place: Place): string => place.file ? `${base(place.file)}${place.line ? `:${place.line}` : ""}` : place.module ? base(place.module) : "";
const within = (one: { bytes: number; low: number; high: number }): string => one.high > one.low ? `${bytes(one.low)} to ${bytes(one.high)} (99 %)` : "exact, every allocation counted";
const fact = (title: string, text: string, value: number): Child => h("div", null, h("dt", null, title), h("dd", { "data-value": value }, text));

function facts(memory: StageMemory): Child {
	const { quality } = memory, leaked = memory.tables["leaked"]!.all.bytes;
	return [h("dl", { class: "facts", id: "memory-facts" }, fact("Peak", bytes(memory.peak.bytes), memory.peak.bytes), fact("at", seconds(memory.peak_at_s), memory.peak_at_s),
		fact("Allocated", bytes(memory.allocated_bytes), memory.allocated_bytes), fact("in calls", count(memory.calls), memory.calls), fact("Never given back", bytes(leaked), leaked)),
	h("p", { class: "dim" }, `${quality.processes} process${quality.processes === 1 ? "" : "es"}, ${quality.sampled ? `one sample per ${bytes(quality.period_bytes)} on the mean, ${count(quality.samples)} samples; totals are exact` : "every allocation counted"}. Bytes are those that programs asked for.`)];
}

function lines(stage: Stage, memory: StageMemory): Child {
	const weight = WEIGHTS.find(([id]) => id === param("by")) ?? WEIGHTS[0]!, chosen = memory.tables[weight[0]]!, most = chosen.lines[0]?.self.bytes || 1;
	return h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", null, "By line"), h("button", { class: "link", onclick: () => go("code", { weight: weight[0], stage: stage.stage }) }, "Flame graph")),
		h("div", { class: "tools" }, h("div", { class: "toggle", role: "group", "aria-label": "Weight" }, WEIGHTS.map(([id, title, about]) => h("button", { "aria-pressed": String(id === weight[0]), hint: about, onclick: () => set({ by: id === "peak" ? "" : id }) }, title))),
			h("span", { class: "dim" }, `${bytes(chosen.all.bytes)} in all`)),
		chosen.lines.length ? table<Line>([
			{ title: "Line", wide: true, value: (row) => row.source?.trim() || row.function, show: (row) => h("code", null, clean(row.source?.trim() || row.function, 90)), tip: (row) => clean(row.function, 200) || null },
			{ title: "Where", extra: true, value: where, show: (row) => clean(where(row), 32), tip: (row) => clean(row.file ?? row.module, 300) || null },
			{ title: "Own", number: true, hint: "By the line itself and the libraries that it calls", value: (row) => row.self.bytes, show: (row) => bar(row.self.bytes / most, bytes(row.self.bytes)), tip: (row) => within(row.self) },
			{ title: "Share", number: true, value: (row) => row.self.share, show: (row) => share(row.self.share) },
			{ title: "Total", number: true, extra: true, hint: "Of all stacks with the line on them", value: (row) => row.total.share, show: (row) => share(row.total.share) },
			{ title: weight[0] === "allocated" || weight[0] === "temporary" ? "Calls" : "Blocks", number: true, extra: true, value: (row) => row.self.count, show: (row) => count(row.self.count) },
		], chosen.lines, { name: "Memory by line", most: 20, compact: true }) : h("p", { class: "dim" }, "Nothing."));
}

function trends(memory: StageMemory): Child {
	const rows = memory.trends.filter((one) => one.grows);
	if (!rows.length) return null;
	const growth = (row: Trend): number => row.bytes_per_chunk ?? row.bytes_per_snapshot ?? 0;
	return h("section", { class: "panel", id: "memory-trends" }, h("h2", null, "What grows from turn to turn"), table<Trend>([
		{ title: "Function", wide: true, value: (row) => row.function, show: (row) => h("code", null, clean(row.function, 80)) },
		{ title: "Where", extra: true, value: where, show: (row) => clean(where(row), 32), tip: (row) => clean(row.file ?? row.module, 300) || null },
		{ title: "Grows by", number: true, value: growth, show: (row) => `${bytes(growth(row))} per ${row.per}`, tip: (row) => `${bytes(row.low)} to ${bytes(row.high)}, one interval for all lines together` },
		{ title: "Over", number: true, extra: true, value: (row) => row.chunks ?? row.snapshots, show: (row) => `${count(row.chunks ?? row.snapshots)} ${row.per}s` },
	], rows, { name: "Memory that grows", most: 20, compact: true }));
}

function resident(memory: StageMemory): Child {
	const now = memory.resident;
	if (!now) return null;
	const parts = PARTS.map(([key, title, colour]) => ({ title, colour, bytes: now.parts[key] ?? 0 })).filter((part) => part.bytes >= now.rss_bytes / 200);
	return h("section", { class: "panel", id: "memory-resident" }, h("h2", null, "What resident memory is"),
		h("p", { class: "dim" }, `${bytes(now.rss_bytes)} in ${now.pid ? `process ${now.pid}` : "one process"} at ${seconds(now.at_s)}, ${percent(100 * now.coverage)} explained${now.untouched_bytes > now.rss_bytes / 10 ? `; ${bytes(now.untouched_bytes)} were allocated and never touched` : ""}.`),
		h("div", { class: "parts", "aria-hidden": "true" }, parts.map((part) => h("i", { style: { width: `${100 * part.bytes / now.rss_bytes}%`, background: `var(${part.colour})` } }))),
		table<(typeof parts)[number]>([
			{ title: "Part", wide: true, value: (row) => row.title, show: (row) => h("span", null, h("i", { class: "dot", style: { background: `var(${row.colour})` } }), row.title) },
			{ title: "Bytes", number: true, value: (row) => row.bytes, show: (row) => bytes(row.bytes) },
			{ title: "Share", number: true, value: (row) => row.bytes / now.rss_bytes, show: (row) => share(row.bytes / now.rss_bytes) },
		], parts, { name: "Resident memory", compact: true }));
}

const typeName = (row: Type): string => row.kind === "named" ? clean(row.name, 80) : row.kind === "other" ? "types further down" : "without a type";

function types(memory: StageMemory): Child {
	const found = memory.types;
	if (!found) return null;
	const all = found.rows.reduce((sum, row) => sum + row.bytes, 0), most = found.rows[0]?.bytes || 1, live = found.live_bytes ?? 0, peak = found.peak_bytes ?? 0;
	return h("section", { class: "panel", id: "memory-types" }, h("h2", null, "Python's objects by type"),
		found.rows.length ? [h("p", { class: "dim" }, `${bytes(all)} in objects of process ${found.pid} at ${seconds(found.at_s ?? 0)}${peak ? `, with ${percent(100 * Math.min(1, live / peak))} of its peak allocated` : ""}; estimated from a sample. The arrays of lists and the tables of dicts belong to no object here.`),
			table<Type>([
				{ title: "Type", wide: true, value: typeName, show: (row) => row.kind === "named" ? h("code", null, typeName(row)) : h("span", { class: "dim" }, typeName(row)) },
				{ title: "Bytes", number: true, value: (row) => row.bytes, show: (row) => bar(row.bytes / most, bytes(row.bytes)), tip: within },
				{ title: "\u00b1", number: true, extra: true, hint: "Half of the 99 % interval", value: (row) => (row.high - row.low) / 2, show: (row) => bytes((row.high - row.low) / 2) },
				{ title: "Share", number: true, value: (row) => row.share, show: (row) => share(row.share) },
				{ title: "Objects", number: true, extra: true, value: (row) => row.blocks, show: (row) => count(row.blocks) },
			], found.rows, { name: "Objects by type", most: 20, compact: true })] : h("p", { class: "dim" }, `None are told: ${clean(found.reason, 300) || "none were seen"}.`));
}

function processes(memory: StageMemory): Child {
	const { notes, gaps } = memory.quality;
	return h("section", { class: "panel" }, h("h2", null, "Processes"), table<Process>([
		{ title: "PID", number: true, value: (row) => row.pid }, { title: "Program", wide: true, value: (row) => row.executable, show: (row) => h("code", null, clean(base(row.executable ?? ""), 60)), tip: (row) => clean(row.executable, 300) || null },
		{ title: "Peak", number: true, value: (row) => row.peak_bytes, show: (row) => bytes(row.peak_bytes), tip: (row) => `at ${seconds(row.peak_at_s)}` },
		{ title: "Never given back", number: true, extra: true, value: (row) => row.leaked_bytes, show: (row) => bytes(row.leaked_bytes) },
		{ title: "Allocated", number: true, extra: true, value: (row) => row.allocated_bytes, show: (row) => bytes(row.allocated_bytes) }, { title: "Calls", number: true, extra: true, value: (row) => row.calls, show: (row) => count(row.calls) },
		{ title: "End", extra: true, value: (row) => row.end },
	], memory.processes, { name: "Processes with a memory profile", most: 20, compact: true }),
	notes.length || gaps.length ? h("ul", { class: "remarks", id: "memory-notes" }, notes.slice(0, 10).map((text) => h("li", { class: "warning" }, clean(text, 400))),
		gaps.slice(0, 10).map((gap) => h("li", { class: "warning" }, `Not covered: ${clean(gap.command, 120)} (${clean(gap.reason, 200)})`))) : null);
}

export function memoryView(model: RunModel): HTMLElement {
	const known = model.report.stages.filter(memoryOf), stage = known.find((one) => one.stage === param("stage")) ?? known[0]!, memory = memoryOf(stage)!;
	const pick = h("select", { name: "stage", onchange: () => set({ stage: pick.value }) }, known.map((one) => h("option", { value: one.stage, selected: one === stage }, clean(one.stage, 60))));
	return h("section", { class: "view memory" }, known.length > 1 ? h("div", { class: "tools" }, h("label", { class: "field" }, h("span", null, "Stage"), pick)) : null,
		facts(memory), lines(stage, memory), trends(memory), h("div", { class: "columns" }, types(memory), resident(memory)), processes(memory));
}
