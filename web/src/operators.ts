// operators.ts - what programs said of themselves through spans: operators, chunks of data, and their lanes on the timeline.

import { Child, clean, h, hideBubble, showBubble } from "./dom";
import { bytes, count, percent, seconds, share, si } from "./format";
import type { Bar, Group } from "./lanes";
import type { RunModel } from "./model";
import { repetitionsOf, Spans } from "./spans";
import { param, range, set } from "./state";
import { bar, table } from "./table";
import { trialsPanel } from "./trials";
import { colour, STAGE_COLOURS } from "./words";

interface Operator {
	path: string; name: string; depth: number; calls: number; total: number; self: number; min: number | null; max: number | null;
	flops: number | null; bytes: number | null; durations: Map<number, [high: number, calls: number]>;
}

const chosenStage = (model: RunModel): number => param("stage") ? model.report.stages.findIndex((stage) => stage.stage === param("stage")) : -1;

const depthOf = (spans: Spans, operator: number): number => {
	let depth = 0;
	for (let parent = spans.operators[operator]!.parent; parent >= 0; parent = spans.operators[parent]!.parent) depth++;
	return depth;
};

const least = (a: number | null, b: number | null): number | null => a === null || b === null ? a ?? b : Math.min(a, b);
const largest = (a: number | null, b: number | null): number | null => a === null || b === null ? a ?? b : Math.max(a, b);

// One row per path of names: processes and lanes that did the same are one, and times are those of one repetition.
export function merged(model: RunModel, spans: Spans): Operator[] {
	const stage = chosenStage(model), rows = new Map<string, Operator>(), repetitions = repetitionsOf(spans);
	const index = spans.operators.map((one, i) => {
		const owner = spans.processes[one.process]?.stage ?? -1, part = 1 / repetitions(owner);
		if (owner < 0 || (stage >= 0 && owner !== stage)) return null;
		let row = rows.get(one.path);
		if (!row) rows.set(one.path, row = { path: one.path, name: one.name, depth: depthOf(spans, i), calls: 0, total: 0, self: 0, min: null, max: null, flops: null, bytes: null, durations: new Map() });
		row.calls += one.calls * part;
		row.total += one.total_s * part;
		row.self += one.total_s * part;
		row.min = least(row.min, one.min_s);
		row.max = largest(row.max, one.max_s);
		if (one.flops !== null) row.flops = (row.flops ?? 0) + one.flops * part;
		if (one.bytes !== null) row.bytes = (row.bytes ?? 0) + one.bytes * part;
		// What is inside may have run in another process, of which the row above knows nothing.
		const above = one.parent < 0 ? undefined : rows.get(spans.operators[one.parent]!.path);
		if (above) above.self -= one.total_s * part;
		return row;
	});
	for (const row of rows.values()) row.self = Math.max(0, row.self);
	for (const [operator, low, high, calls] of spans.durations) {
		const row = index[operator];
		if (row) row.durations.set(low, [high, calls + (row.durations.get(low)?.[1] ?? 0)]);
	}
	return [...rows.values()];
}

// From how many calls lay in each range of durations; within a range as if they were spread evenly.
function percentile(row: Operator, part: number): number | null {
	const ranges = [...row.durations].sort((a, b) => a[0] - b[0]), all = ranges.reduce((sum, [, [, calls]]) => sum + calls, 0);
	let before = 0;
	for (const [low, [high, calls]] of ranges) {
		if (before + calls >= part * all && calls) {
			const value = (low + (high - low) * (part * all - before) / calls) / 1e9;
			return Math.min(row.max ?? Infinity, Math.max(row.min ?? 0, value));
		}
		before += calls;
	}
	return null;
}

const quantile = (sorted: number[], part: number): number => sorted.length ? sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]! : NaN;

interface Chunk { number: number; begin: number; time: number; rows: number | null; rss: number | null; parts: Map<string, number> }

function chunksOf(model: RunModel, spans: Spans): Chunk[] {
	const stage = chosenStage(model), chosen = range();
	const out: (Chunk | null)[] = spans.chunks.map(([process, number, begin, length, rows, , , rss]) => {
		const owner = spans.processes[process]?.stage ?? -1;
		if (owner < 0 || (stage >= 0 && owner !== stage)) return null;
		if (chosen && ((begin + length) / 1e6 < chosen[0] || begin / 1e6 > chosen[1])) return null;
		return { number, begin: begin / 1e6, time: length / 1e6, rows, rss, parts: new Map() };
	});
	for (const [chunk, operator, self] of spans.parts) {
		const one = out[chunk], path = spans.operators[operator]?.path;
		if (one && path !== undefined) one.parts.set(path, (one.parts.get(path) ?? 0) + self / 1e6);
	}
	return out.filter((one): one is Chunk => one !== null);
}

const GUTTER = 64, CHART = 196, AXIS = 20, HEAD = 10;

// The scale of the chart: that of most chunks, so that one that is far longer does not make all others invisible.
function chunkScale(chunks: Chunk[]): { top: number; cut: number } {
	const times = chunks.map((one) => one.time).sort((a, b) => a - b), most = times[times.length - 1] ?? 0, usual = 2 * quantile(times, 0.95);
	const top = most > 2 * usual && usual > 0 ? usual : most || 1e-12;
	return { top, cut: times.filter((time) => time > top).length };
}

// Neighbours share a column where there are more chunks than pixels: a column is their mean.
function columnsOf(chunks: Chunk[], width: number): Chunk[][] {
	const columns = Math.max(1, Math.min(chunks.length, Math.floor(width)));
	return Array.from({ length: columns }, (_, c) => chunks.slice(Math.floor(c * chunks.length / columns), Math.floor((c + 1) * chunks.length / columns)));
}

function drawAxes(context: CanvasRenderingContext2D, width: number, height: number, top: number, chunks: Chunk[]): void {
	context.font = "11px " + colour("--sans");
	context.textBaseline = "middle";
	for (const part of [0, 0.5, 1]) {
		const y = height - AXIS - part * (height - AXIS - HEAD);
		context.fillStyle = colour("--line");
		context.fillRect(GUTTER, Math.round(y), width - GUTTER, 1);
		context.fillStyle = colour("--dim");
		context.textAlign = "right";
		context.fillText(part ? seconds(part * top) : "0", GUTTER - 8, y);
	}
	context.textAlign = "left";
	context.fillText(`chunk ${chunks[0]!.number}`, GUTTER, height - 7);
	context.textAlign = "right";
	if (chunks.length > 1) context.fillText(`chunk ${chunks[chunks.length - 1]!.number}`, width, height - 7);
}

function chunkChart(chunks: Chunk[], paths: string[]): HTMLElement {
	const canvas = h("canvas", { class: "chunks", role: "img", "aria-label": "Time of each chunk by operator" });
	const { top, cut } = chunkScale(chunks), room = CHART - AXIS - HEAD;
	const draw = (): void => {
		const width = canvas.clientWidth, ratio = devicePixelRatio || 1, context = canvas.getContext("2d", { alpha: false })!;
		if (!width) return;
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(CHART * ratio);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.fillStyle = colour("--panel");
		context.fillRect(0, 0, width, CHART);
		drawAxes(context, width, CHART, top, chunks);
		const groups = columnsOf(chunks, width - GUTTER), step = (width - GUTTER) / groups.length, w = Math.max(0.75, step - (step > 4 ? 1 : 0));
		const colours = [...paths.map((_, i) => colour(STAGE_COLOURS[i] ?? "--mark")), colour("--mark")], long = colour("--fix");
		groups.forEach((group, c) => {
			const x = GUTTER + c * step, mean = (of: (one: Chunk) => number): number => group.reduce((sum, one) => sum + of(one), 0) / group.length;
			const parts = paths.map((path) => mean((one) => one.parts.get(path) ?? 0)), all = mean((one) => one.time);
			let y = CHART - AXIS;
			[...parts, Math.max(0, all - parts.reduce((sum, part) => sum + part, 0))].forEach((part, i) => {
				const size = Math.min(part / top * room, y - HEAD);
				context.fillStyle = colours[i]!;
				context.fillRect(x, y - size, w, size);
				y -= size;
			});
			if (all <= top) return;
			context.fillStyle = long; // a chunk that goes on above the chart
			context.beginPath();
			context.moveTo(x + w / 2 - 4, 8);
			context.lineTo(x + w / 2, 1);
			context.lineTo(x + w / 2 + 4, 8);
			context.fill();
		});
	};
	canvas.style.height = CHART + "px";
	new ResizeObserver(draw).observe(canvas);
	canvas.addEventListener("mousemove", (event) => {
		const x = event.clientX - canvas.getBoundingClientRect().left - GUTTER, one = x < 0 ? undefined : chunks[Math.floor(x / Math.max(1, canvas.clientWidth - GUTTER) * chunks.length)];
		if (!one) return hideBubble();
		showBubble(event.clientX, event.clientY, [h("b", null, `chunk ${one.number}: ${seconds(one.time)}`), one.rows !== null ? h("p", null, `${count(one.rows)} rows`) : null,
			[...one.parts].sort((a, b) => b[1] - a[1]).slice(0, 8).map(([path, time]) => h("p", null, `${clean(path, 60)} ${seconds(time)}`))]);
	});
	canvas.addEventListener("mouseleave", hideBubble);
	return h("div", null, canvas, h("p", { class: "legend dim" }, paths.map((path, i) => h("span", null, h("i", { style: { background: `var(${STAGE_COLOURS[i] ?? "--mark"})` } }), clean(path, 50))),
		h("span", null, h("i", { style: { background: "var(--mark)" } }), "other"), cut ? h("span", { id: "chunks-cut" }, `\u25b2 ${cut} chunk${cut === 1 ? " is" : "s are"} longer than ${seconds(top)} and cut`) : null));
}

function chunkSummary(chunks: Chunk[], recorded: number): Child {
	const times = chunks.map((one) => one.time).sort((a, b) => a - b), half = Math.floor(chunks.length / 2);
	const median = (list: Chunk[]): number => quantile(list.map((one) => one.time).sort((a, b) => a - b), 0.5);
	const rows = chunks.reduce((sum, one) => sum + (one.rows ?? 0), 0), busy = times.reduce((sum, time) => sum + time, 0);
	const drift = half >= 5 ? median(chunks.slice(half)) / median(chunks.slice(0, half)) - 1 : null;
	const facts: [string, string, number][] = [["Chunks", count(recorded), recorded], ["Median", seconds(quantile(times, 0.5)), quantile(times, 0.5)], ["90 %", seconds(quantile(times, 0.9)), quantile(times, 0.9)],
		["99 %", seconds(quantile(times, 0.99)), quantile(times, 0.99)], ["Longest", seconds(times[times.length - 1]), times[times.length - 1] ?? NaN]];
	if (rows) facts.push(["Rows per second", count(rows / busy), rows / busy]);
	if (drift !== null) facts.push(["Second half", (drift >= 0 ? "+" : "") + percent(100 * drift), drift]);
	return h("dl", { class: "facts", id: "chunk-facts" }, facts.map(([title, text, value]) => h("div", null, h("dt", null, title), h("dd", { "data-value": value }, text))));
}

export function operators(model: RunModel): HTMLElement {
	return h("section", { class: "view operators" }, model.spans && model.spans.operators.length ? spanPanels(model, model.spans) : null, model.trials ? trialsPanel(model.trials) : null);
}

function spanPanels(model: RunModel, spans: Spans): Child {
	const rows = merged(model, spans).sort((a, b) => b.self - a.self), all = rows.reduce((sum, row) => sum + row.self, 0) || 1;
	const most = Math.max(...rows.map((row) => row.total), 1e-12), chunks = chunksOf(model, spans);
	const paths = rows.slice(0, 7).map((row) => row.path);
	const stages = [...new Set(spans.processes.map((process) => process.stage))].filter((stage) => stage >= 0).map((stage) => model.report.stages[stage]!.stage);
	const lost = spans.processes.reduce((sum, process) => sum + process.lost, 0);
	const pick = h("select", { name: "stage", onchange: () => set({ stage: pick.value }) }, ["", ...stages].map((one) => h("option", { value: one, selected: param("stage") === one }, clean(one, 60) || "all")));
	return [stages.length > 1 ? h("div", { class: "tools" }, h("label", { class: "field" }, h("span", null, "Stage"), pick)) : null,
		chunks.length ? h("section", null, h("h2", null, "Chunks"), chunkSummary(chunks, chosenStage(model) < 0 && !range() ? spans.chunks_recorded : chunks.length), chunkChart(chunks, paths),
			chunks.length < spans.chunks_recorded && chosenStage(model) < 0 && !range() ? h("p", { class: "dim" }, `${chunks.length} of ${spans.chunks_recorded} chunks are drawn.`) : null) : null,
		h("section", { class: "panel" }, h("h2", null, "Operators"), lost ? h("p", { class: "dim" }, `${count(lost)} spans were not counted for want of room.`) : null,
			table<Operator>([
				{ title: "Operator", wide: true, value: (row) => row.path, show: (row) => h("code", null, clean(row.path, 160)) },
				{ title: "Calls", number: true, value: (row) => row.calls, show: (row) => count(row.calls) },
				{ title: "Own", number: true, hint: "Without the operators inside it", value: (row) => row.self, show: (row) => bar(row.self / most, seconds(row.self)), tip: () => "exact, all spans counted" },
				{ title: "Share", number: true, value: (row) => row.self / all, show: (row) => share(row.self / all) },
				{ title: "Total", number: true, value: (row) => row.total, show: (row) => bar(row.total / most, seconds(row.total), "quiet") },
				{ title: "Median", number: true, hint: "From ranges of durations", value: (row) => percentile(row, 0.5), show: (row) => seconds(percentile(row, 0.5)) },
				{ title: "90 %", number: true, value: (row) => percentile(row, 0.9), show: (row) => seconds(percentile(row, 0.9)) },
				{ title: "99 %", number: true, value: (row) => percentile(row, 0.99), show: (row) => seconds(percentile(row, 0.99)) },
				{ title: "Longest", number: true, value: (row) => row.max, show: (row) => seconds(row.max) },
				...(rows.some((row) => row.flops) ? [{ title: "FLOP/s", number: true, value: (row: Operator) => row.flops === null ? null : row.flops / row.total, show: (row: Operator) => row.flops === null ? "" : si(row.flops / row.total, "FLOP/s") }] : []),
				...(rows.some((row) => row.bytes) ? [{ title: "Bytes/s", number: true, value: (row: Operator) => row.bytes === null ? null : row.bytes / row.total, show: (row: Operator) => row.bytes === null ? "" : bytes(row.bytes / row.total) + "/s" }] : []),
			], rows, { name: "Operators", sort: 2, most: 60, compact: true })),
		spans.processes.some((process) => process.note) ? h("ul", { class: "remarks" }, spans.processes.filter((process) => process.note).slice(0, 10).map((process) => h("li", null, `${process.pid}: ${clean(process.note)}`))) : null];
}

// In words, where not all that was recorded is drawn.
export function spansLeftOut(spans: Spans): string | null {
	const parts = [spans.spans.length < spans.spans_kept ? `the ${spans.spans.length} longest of ${spans.spans_kept} spans` : null,
		spans.chunks.length < spans.chunks_recorded ? `${spans.chunks.length} of ${spans.chunks_recorded} chunks, evenly chosen` : null].filter(Boolean);
	return parts.length ? `Drawn are ${parts.join(", and ")}; sums are of all.` : null;
}

// Lanes of the timeline: chunks, and spans one below the other.
export function spanLanes(spans: Spans): Group[] {
	const colours = new Map<string, string>();
	const paint = (name: string): string => {
		if (!colours.has(name)) colours.set(name, STAGE_COLOURS[colours.size % STAGE_COLOURS.length]!);
		return colours.get(name)!;
	};
	const depth = spans.operators.map((_, i) => depthOf(spans, i));
	const bars: Bar[] = spans.spans.map(([operator, thread, begin, length]) => {
		const one = spans.operators[operator]!, start = begin / 1e6, end = (begin + length) / 1e6;
		return { start, end, title: one.name, colour: paint(one.name), depth: depth[operator], hint: () => `${clean(one.path, 200)}: ${seconds(length / 1e6)}${spans.threads[thread]?.name ? " in " + clean(spans.threads[thread]!.name!, 40) : ""}` };
	});
	const chunks: Bar[] = spans.chunks.map(([, number, begin, length, rows]) => ({ start: begin / 1e6, end: (begin + length) / 1e6, title: String(number), colour: number % 2 ? "--c5" : "--c1",
		hint: () => `chunk ${number}: ${seconds(length / 1e6)}${rows === null ? "" : `, ${count(rows)} rows`}` }));
	return [...(chunks.length ? [{ title: "Chunks", bars: chunks }] : []), ...(bars.length ? [{ title: "Spans", bars }] : [])];
}
