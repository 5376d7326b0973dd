// hot.ts - the overview's answer to "where": the functions and operators with the most time, and what made the peak of memory.

import { Child, clean, h } from "./dom";
import { bytes, seconds, share } from "./format";
import { FunctionRow, functions, grow, Tree, weigh, Weighted } from "./calls";
import { memorySources } from "./memory";
import type { RunModel } from "./model";
import { merged } from "./operators";
import { go } from "./state";
import { bar, table } from "./table";

const MOST = 6;

const treeOf = (side: Weighted, frames: "both" | "python"): Tree => grow(side, null, { frames, lines: false, reverse: false, merge: false, matchNames: false });

// Of a Python program people know the Python functions: the time of native code counts for the one that called it.
function hottest(side: Weighted): { tree: Tree; frames: "both" | "python" } {
	const python = treeOf(side, "python");
	return python.keys.some((key) => key.kind === 1) && python.self[0]! < 0.5 * python.total[0]! ? { tree: python, frames: "python" } : { tree: treeOf(side, "both"), frames: "both" };
}

const fileOf = (row: FunctionRow): string => clean(row.key.file ?? row.key.module ?? "", 200);

function functionTable(name: string, side: Weighted, show: (value: number) => string, weight: string): Child {
	const { tree, frames } = hottest(side), all = tree.total[0] || 1;
	if (!(tree.total[0]! > 0)) return null;
	const rows = functions(tree).sort((a, b) => b.self - a.self).slice(0, MOST);
	return [h("div", { class: "panel-head" }, h("h2", null, name), h("button", { class: "link", onclick: () => go("code", { weight, frames: frames === "python" ? frames : "" }) }, "Flame graph")),
		table<FunctionRow>([
			{ title: frames === "python" ? "Python function" : "Function", wide: true, value: (row) => row.key.name, show: (row) => h("code", null, clean(row.key.name, 70)), tip: (row) => fileOf(row) || null },
			{ title: weight === "cpu" ? "Own time" : "Own", number: true, hint: frames === "python" ? "In the function itself and in native code that it called" : "In the function itself", value: (row) => row.self, show: (row) => bar(row.self / (rows[0]!.self || 1), show(row.self)) },
			{ title: "Share", number: true, value: (row) => row.self / all, show: (row) => share(row.self / all), tip: () => `of ${show(all)} in all` },
		], rows, { name, compact: true, pick: (row) => go("code", { weight, frames: frames === "python" ? frames : "", function: row.key.name }) })];
}

function operatorTable(model: RunModel): Child {
	const rows = merged(model, model.spans!).sort((a, b) => b.self - a.self), all = rows.reduce((sum, row) => sum + row.self, 0) || 1;
	return [h("div", { class: "panel-head" }, h("h2", null, "Operators with the most time"), h("button", { class: "link", onclick: () => go("operators") }, "All operators")),
		table(
			[{ title: "Operator", wide: true, value: (row) => row.path, show: (row) => h("code", null, clean(row.path, 70)) },
				{ title: "Own time", number: true, hint: "Elapsed, without the operators inside it", value: (row) => row.self, show: (row) => bar(row.self / (rows[0]!.self || 1), seconds(row.self)) },
				{ title: "Share", number: true, value: (row) => row.self / all, show: (row) => share(row.self / all) }],
			rows.slice(0, MOST), { name: "Operators with the most time", compact: true })];
}

export function hot(model: RunModel): HTMLElement | null {
	const { code, memory, spans, report } = model;
	const repetitions = (stage: number): number => report.stages[stage]?.profile?.repetitions ?? 1;
	const parts: Child[] = [];
	if (code && code.entries.us.length) parts.push(functionTable("Functions with the most CPU time", weigh(code, { stage: -1, process: -1, thread: -1, range: null, repetitions }), seconds, "cpu"));
	if (spans && spans.operators.length) parts.push(operatorTable(model));
	if (memory && memory.sites.length) parts.push(functionTable("Memory at the peak", memorySources(memory, () => ({ stage: -1, pid: 0 }), repetitions)[0]!.weigh(), bytes, "peak"));
	const shown = parts.filter(Boolean).slice(0, 2);
	if (shown.length) return h("div", { class: "hot", id: "hot" }, shown.map((part) => h("section", { class: "panel" }, part)));
	const recorded = !!(model.models || model.trials);
	return recorded || report.run.live ? null : h("div", { class: "hot", id: "hot" }, h("section", { class: "panel" }, h("h2", null, "Which code?"),
		h("p", { class: "dim" }, "This run has stages only. ", h("code", null, "pitot run --cpu"), " records which functions and lines use the time, ", h("code", null, "--memory"), " which of them allocate.")));
}
