// trials.ts - the constraint experiment of `pitot features`: every setting as a point between two of what it gave, and which
// of them nothing beats.

import { Child, clean, h, svg } from "./dom";
import { bytes, count, seconds } from "./format";
import { param, set } from "./state";
import { bar, table } from "./table";

export interface Trial {
	chunk_asked: number; memory_limit_bytes: number; compute_limit: number; chunk_rows: number; rows: number; latency_s: number | null; rows_per_s: number | null;
	chunk_latency_s: number | null; memory_peak_bytes: number | null; r2: number | null; rmse: number | null; pareto: boolean; failure: string | null;
}

interface Axis { id: string; title: string; better: 1 | -1; value: (trial: Trial) => number | null; show: (value: number) => string }

const AXES: Axis[] = [
	{ id: "rate", title: "Rows per second", better: 1, value: (trial) => trial.rows_per_s, show: (value) => count(value) + "/s" },
	{ id: "memory", title: "Peak memory", better: -1, value: (trial) => trial.memory_peak_bytes, show: bytes },
	{ id: "chunk", title: "Time of a chunk", better: -1, value: (trial) => trial.chunk_latency_s, show: seconds },
	{ id: "time", title: "Time in all", better: -1, value: (trial) => trial.latency_s, show: seconds },
	{ id: "r2", title: "R\u00b2", better: 1, value: (trial) => trial.r2, show: (value) => value.toPrecision(4) },
];

const H = 360, BOTTOM = 46, TOP = 14, RIGHT = 24;

// Text of a drawing is as large as its scale: on a narrow screen the drawing is narrower, not smaller.
const narrow = (): boolean => matchMedia("(max-width: 640px)").matches;

const setting = (trial: Trial): string => `${count(trial.chunk_rows)} rows a chunk, ${bytes(trial.memory_limit_bytes)}, compute ${trial.compute_limit}`;

function spread(trials: Trial[], axis: Axis): number {
	const values = trials.map(axis.value).filter((value): value is number => value !== null);
	return values.length ? (Math.max(...values) - Math.min(...values)) / (Math.max(...values.map(Math.abs)) || 1) : 0;
}

// Memory across, unless it hardly differs: then what a chunk waits for.
function chosen(trials: Trial[]): { across: Axis; up: Axis; offered: Axis[] } {
	const offered = AXES.filter((axis) => trials.some((trial) => axis.value(trial) !== null));
	const named = (name: string): Axis | undefined => offered.find((axis) => axis.id === param(name));
	const memory = offered.find((axis) => axis.id === "memory"), chunk = offered.find((axis) => axis.id === "chunk");
	return { across: named("across") ?? (memory && spread(trials, memory) > 0.1 ? memory : chunk ?? offered[0]!), up: named("up") ?? offered[0]!, offered };
}

// Round steps within a range, about `wanted` of them.
function steps(low: number, high: number, wanted: number): number[] {
	const raw = (high - low) / wanted || 1, power = 10 ** Math.floor(Math.log10(raw));
	const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw)!;
	const out: number[] = [];
	for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) out.push(at);
	return out;
}

function scale(trials: Trial[], axis: Axis, from: number, to: number, wanted: number): { at: (value: number) => number; ticks: number[] } {
	const values = trials.map((trial) => axis.value(trial)!), low = Math.min(...values), high = Math.max(...values);
	const pad = (high - low || Math.abs(high) || 1) * 0.06, start = low > 0 && low - pad < 0 ? 0 : low - pad, end = high + pad;
	return { at: (value) => from + (value - start) / (end - start) * (to - from), ticks: steps(start, end, wanted) };
}

// Of the two axes alone: nothing is better in one and at least as good in the other.
function edge(trials: Trial[], across: Axis, up: Axis): Trial[] {
	const key = (trial: Trial): [number, number] => [across.value(trial)! * across.better, up.value(trial)! * up.better];
	let best = -Infinity;
	return trials.slice().sort((a, b) => key(b)[0] - key(a)[0] || key(b)[1] - key(a)[1]).filter((trial) => {
		const better = key(trial)[1] > best;
		if (better) best = key(trial)[1];
		return better;
	});
}

const hintOf = (trial: Trial) => (): Child => [h("b", null, setting(trial)),
	h("table", null, h("tbody", null, AXES.filter((axis) => axis.value(trial) !== null).map((axis) => h("tr", null, h("td", null, axis.title), h("td", { class: "n" }, axis.show(axis.value(trial)!)))))),
	h("p", null, trial.pareto ? "No other setting is at least as good in rate, chunk time, memory and R\u00b2, and better in one." : "Another setting is at least as good in everything, and better in something."),
	h("p", { class: "dim" }, `measured once, over ${count(trial.rows)} rows`)];

function mark(trial: Trial, x: number, y: number): Child {
	const props = { class: trial.pareto ? "trial best" : "trial", tabindex: "0", role: "img", "data-trial": trial.chunk_rows, hint: hintOf(trial),
		"aria-label": `${setting(trial)}: ${count(trial.rows_per_s)} rows per second${trial.pareto ? ", not beaten" : ""}` };
	return trial.pareto ? svg("path", { ...props, d: `M${x} ${y - 7}L${x + 7} ${y}L${x} ${y + 7}L${x - 7} ${y}Z` }) : svg("circle", { ...props, cx: x, cy: y, r: 4.5 });
}

function chart(trials: Trial[], across: Axis, up: Axis): HTMLElement {
	const W = narrow() ? 380 : 760, LEFT = narrow() ? 76 : 92;
	const shown = trials.filter((trial) => across.value(trial) !== null && up.value(trial) !== null);
	const x = scale(shown, across, LEFT, W - RIGHT, narrow() ? 3 : 6), y = scale(shown, up, H - BOTTOM, TOP, 5);
	const place = (trial: Trial): [number, number] => [x.at(across.value(trial)!), y.at(up.value(trial)!)];
	const line = edge(shown, across, up).map(place);
	return h("figure", { class: "trials" }, svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "group", "aria-label": `${up.title} against ${across.title}, ${shown.length} settings` },
		x.ticks.map((tick) => [svg("path", { class: "grid", d: `M${x.at(tick)} ${TOP}V${H - BOTTOM}` }), svg("text", { x: x.at(tick), y: H - BOTTOM + 17, "text-anchor": "middle" }, across.show(tick))]),
		y.ticks.map((tick) => [svg("path", { class: "grid", d: `M${LEFT} ${y.at(tick)}H${W - RIGHT}` }), svg("text", { x: LEFT - 8, y: y.at(tick) + 4, "text-anchor": "end" }, up.show(tick))]),
		svg("text", { class: "label", x: (LEFT + W - RIGHT) / 2, y: H - 8, "text-anchor": "middle" }, `${across.title} (${across.better > 0 ? "more" : "less"} is better)`),
		svg("text", { class: "label", transform: `translate(14 ${(TOP + H - BOTTOM) / 2}) rotate(-90)`, "text-anchor": "middle" }, `${up.title} (${up.better > 0 ? "more" : "less"} is better)`),
		line.length > 1 ? svg("path", { class: "edge", d: line.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("") }) : null,
		shown.filter((trial) => !trial.pareto).map((trial) => mark(trial, ...place(trial))), shown.filter((trial) => trial.pareto).map((trial) => mark(trial, ...place(trial)))),
	h("figcaption", { class: "dim" }, h("span", { class: "key-best", "aria-hidden": "true" }, "\u25c6"), " not beaten in rate, chunk time, memory and R\u00b2 together (Pareto-optimal) \u2003", h("span", { class: "key-rest", "aria-hidden": "true" }, "\u25cb"),
		" beaten \u2003 dashed: the best of these two axes alone"));
}

function axisChoice(label: string, name: string, offered: Axis[], now: Axis): Child {
	const element = h("select", { name, onchange: () => set({ [name]: element.value }) }, offered.map((axis) => h("option", { value: axis.id, selected: axis === now }, axis.title)));
	return h("label", { class: "field" }, h("span", null, label), element);
}

export function trialsPanel(trials: Trial[]): HTMLElement {
	const known = trials.filter((trial) => trial.failure === null), { across, up, offered } = chosen(known.length ? known : trials);
	const fastest = Math.max(...known.map((trial) => trial.rows_per_s ?? 0), 1e-12);
	return h("section", { class: "panel", id: "trials" }, h("h2", null, `Limits: ${trials.length} settings`),
		known.length ? [h("div", { class: "tools" }, axisChoice("Up", "up", offered, up), axisChoice("Across", "across", offered, across)), chart(known, across, up)] : h("p", null, "No setting ran to its end; the reasons are below."),
		table<Trial>([
			{ title: "Best", value: (trial) => trial.pareto ? 1 : 0, show: (trial) => trial.pareto ? h("span", { class: "key-best" }, "\u25c6") : "", hint: "Not beaten in rate, chunk time, memory and R\u00b2 together", tip: (trial) => trial.pareto ? "not beaten" : null },
			{ title: "Rows a chunk", number: true, value: (trial) => trial.chunk_rows, show: (trial) => count(trial.chunk_rows), tip: (trial) => `${count(trial.chunk_asked)} asked for, scaled by the limits` },
			{ title: "Memory limit", number: true, extra: true, value: (trial) => trial.memory_limit_bytes, show: (trial) => bytes(trial.memory_limit_bytes) },
			{ title: "Compute", number: true, extra: true, value: (trial) => trial.compute_limit, hint: "Share of the compute that may be used" },
			{ title: "Rows/s", number: true, value: (trial) => trial.rows_per_s, show: (trial) => trial.rows_per_s === null ? h("span", { class: "dim" }, "failed") : bar(trial.rows_per_s / fastest, count(trial.rows_per_s)), tip: (trial) => clean(trial.failure) || `${count(trial.rows)} rows in ${seconds(trial.latency_s)}` },
			{ title: "Chunk time", number: true, hint: "Mean time of a chunk", value: (trial) => trial.chunk_latency_s, show: (trial) => seconds(trial.chunk_latency_s) },
			{ title: "Peak memory", number: true, hint: "Of the engine's own account", value: (trial) => trial.memory_peak_bytes, show: (trial) => bytes(trial.memory_peak_bytes) },
			{ title: "Time", number: true, value: (trial) => trial.latency_s, show: (trial) => seconds(trial.latency_s) },
			...(known.some((trial) => trial.r2 !== null) ? [{ title: "R\u00b2", number: true, value: (trial: Trial) => trial.r2, show: (trial: Trial) => trial.r2 === null ? "n/a" : trial.r2.toPrecision(4) }] : []),
			...(known.length < trials.length ? [{ title: "Failure", wide: true, value: (trial: Trial) => trial.failure, show: (trial: Trial) => clean(trial.failure, 160) }] : []),
		], trials, { name: "Limits", sort: 4, most: 12, compact: true }));
}
