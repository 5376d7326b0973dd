// compare.ts - two runs, or two sets of runs: what changed, how sure that is, and where in the code.

import { Child, clean, h } from "./dom";
import { percent, quantity } from "./format";
import { weigh } from "./calls";
import { CodeView } from "./codeview";
import type { DiffModel } from "./model";
import { param, set } from "./state";
import { table } from "./table";

interface Sample { n: number; median: number | null; reason?: string }
interface Row {
	name: string; unit: string; better: string; presence: string; minor: boolean; a: Sample; b: Sample; difference: number | null;
	ratio: number | null; ratio_low: number | null; ratio_high: number | null; detectable: number | null; verdict: string; why: string; method: string;
}
interface Delta {
	verdict: string; summary: string; threshold_pct: number; confidence_pct: number; counts: Record<string, number>;
	sides: Record<"a" | "b", { repetitions: number; runs: { path: string; name: string; timestamp_utc: string; status: string; git_commit: string | null }[] }>;
	warnings: { kind: string; text: string }[]; tables: { scope: string; name: string; presence: string; rows: Row[] }[];
}

const ORDER = ["regressed", "improved", "differs", "inconclusive", "equivalent"];
const MARKS: Record<string, string> = { regressed: "\u25b2", improved: "\u25bc", differs: "\u25c6", inconclusive: "?", equivalent: "=" };

const change = (row: Row): string => row.ratio === null ? "n/a" : (row.ratio > 1 ? "+" : "") + percent(100 * (row.ratio - 1));
const interval = (row: Row): string => row.ratio_low === null || row.ratio_high === null ? "" :
	`${percent(100 * (row.ratio_low - 1))} to ${percent(100 * (row.ratio_high - 1))}`;

function verdict(name: string): HTMLElement {
	return h("span", { class: "change " + name }, h("span", { "aria-hidden": "true" }, (MARKS[name] ?? "") + " "), name);
}

export function compare(model: DiffModel): HTMLElement {
	const delta = model.delta as unknown as Delta;
	const all = param("all") === "1";
	const rows = delta.tables.flatMap((one) => one.rows.map((row) => ({ row, where: one.name, scope: one.scope })));
	const shown = rows.filter(({ row }) => all || (!row.minor && ["regressed", "improved", "differs"].includes(row.verdict)) || (row.name === "wall_s" && !row.minor));
	shown.sort((a, b) => ORDER.indexOf(a.row.verdict) - ORDER.indexOf(b.row.verdict) || Math.abs(Math.log(b.row.ratio || 1)) - Math.abs(Math.log(a.row.ratio || 1)));
	type Shown = typeof shown[number];
	const side = (key: "a" | "b"): Child => {
		const { runs, repetitions } = delta.sides[key];
		return h("li", null, h("b", null, key === "a" ? "A, before: " : "B, after: "), runs.slice(0, 3).map((run, i) => [i ? ", " : "",
			`${clean(run.name, 60)} of ${run.timestamp_utc.slice(0, 16).replace("T", " ")}${run.git_commit ? ` (${clean(run.git_commit, 10)})` : ""}`]),
		runs.length > 3 ? ` and ${runs.length - 3} more` : "", `, ${repetitions} repetition${repetitions === 1 ? "" : "s"}`);
	};
	return h("section", { class: "view" },
		h("p", { class: "headline" }, verdict(delta.verdict), " "), h("p", { class: "answer", id: "summary" }, clean(delta.summary, 400)),
		h("ul", { class: "remarks sides" }, side("a"), side("b")),
		delta.warnings.length ? h("ul", { class: "remarks" }, delta.warnings.map((one) => h("li", { class: "warning" }, clean(one.text, 400)))) : null,
		h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", null, "What changed"),
			h("label", { class: "check" }, h("input", { type: "checkbox", checked: all, onchange: () => set({ all: all ? "" : "1" }) }), `all ${rows.length} rows`)),
		table<Shown>([
			{ title: "Verdict", value: ({ row }) => row.verdict, show: ({ row }) => verdict(row.verdict), tip: ({ row }) => clean(row.why) || null },
			{ title: "Where", value: ({ where }) => where }, { title: "Metric", wide: true, value: ({ row }) => row.name },
			{ title: "A", number: true, value: ({ row }) => row.a.median, show: ({ row }) => quantity(row.a.median, row.unit), tip: ({ row }) => clean(row.a.reason) || `median of ${row.a.n}` },
			{ title: "B", number: true, value: ({ row }) => row.b.median, show: ({ row }) => quantity(row.b.median, row.unit), tip: ({ row }) => clean(row.b.reason) || `median of ${row.b.n}` },
			{ title: "Change", number: true, value: ({ row }) => row.ratio, show: ({ row }) => change(row), tip: ({ row }) => clean(row.method) || null },
			{ title: `${delta.confidence_pct} % interval`, number: true, value: ({ row }) => row.ratio_low, show: ({ row }) => interval(row) },
			{ title: "Would have seen", number: true, hint: "The smallest change that would have been found in four of five tries", value: ({ row }) => row.detectable,
				show: ({ row }) => row.detectable === null ? "" : percent(100 * row.detectable) },
		], shown, { name: "Changes", most: 60, compact: true })));
}

// Stages are found on both sides by their names; one that a side does not have is nothing there.
export function diffCode(model: DiffModel): CodeView {
	const one = (index: 0 | 1) => () => {
		const { code, stages, repetitions } = model.sides[index]!, chosen = param("stage");
		return weigh(code!, { stage: chosen ? stages.indexOf(chosen) : -1, absent: !!chosen && !stages.includes(chosen), process: -1, thread: -1, range: null, repetitions: () => repetitions });
	};
	const names = [...new Set(model.sides.flatMap((side) => side.stages))].filter((name) => model.sides.some((side) => side.code!.processes.some((process) => side.stages[process.stage] === name)));
	const options = [{ id: "", title: "all" }, ...names.map((name) => ({ id: name, title: name + (model.sides[0]!.stages.includes(name) ? model.sides[1]!.stages.includes(name) ? "" : " (only in A)" : " (only in B)") }))];
	return new CodeView(() => [{ id: "cpu", title: "CPU time", unit: "s", about: "CPU time in B", weigh: one(1), other: one(0) }],
		() => ({ stages: options, processes: [], threads: [] }));
}
