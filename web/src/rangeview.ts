// rangeview.ts - what a range of the timeline holds: its stages, functions and processes.

import { Child, clean, h } from "./dom";
import { bytes, seconds, share } from "./format";
import { functions, grow, weigh } from "./calls";
import type { RunModel, Series } from "./model";
import { go, range } from "./state";
import { bar, table } from "./table";
import { stageColour } from "./words";

interface Part { name: string; index: number; time: number; cpu: number | null; memory: number | null; read: number | null; written: number | null }

// Within the range: mean of a rate times its time, or the largest value.
function within(series: Series | undefined, from: number, to: number, end: number, kind: "sum" | "max"): number | null {
	if (!series) return null;
	let sum = 0, largest = -Infinity;
	for (let i = 0; i < series.mean.length; i++) {
		const begin = series.at_ms[i]! / 1000, until = i + 1 < series.mean.length ? series.at_ms[i + 1]! / 1000 : end;
		const overlap = Math.min(until, to) - Math.max(begin, from);
		if (overlap <= 0) continue;
		sum += series.mean[i]! * overlap;
		largest = Math.max(largest, (series.max ?? series.mean)[i]!);
	}
	return kind === "sum" ? sum : largest === -Infinity ? null : largest;
}

function parts(model: RunModel, [from, to]: [number, number]): Part[] {
	const timeline = model.timeline!;
	const out: Part[] = [];
	timeline.stages.forEach((stage, i) => {
		const end = stage.end_s ?? timeline.end_s, time = Math.min(end, to) - Math.max(stage.start_s, from);
		if (!(time > 0) || (stage.end_s === null && !stage.start_s)) return;
		const series = (name: string): Series | undefined => timeline.series.find((one) => one.stage === i && one.name === name);
		const cpu = within(series("cpu_percent"), from, to, end, "sum");
		out.push({ name: stage.name + (stage.repetition || stage.warmup ? ` (${stage.warmup ? "warm-up" : "repetition " + (stage.repetition + 1)})` : ""),
			index: stage.position, time, cpu: cpu === null ? null : cpu / 100, memory: within(series("memory_anon") ?? series("memory"), from, to, end, "max"),
			read: within(series("io_read"), from, to, end, "sum"), written: within(series("io_write"), from, to, end, "sum") });
	});
	return out;
}

export function rangePanels(model: RunModel, chosen: [number, number]): Child {
	const timeline = model.timeline!, [from, to] = chosen;
	const whole = !range();
	const processes = timeline.processes.filter((process) => process.start_s <= to && (process.end_s ?? timeline.end_s) >= from);
	const rows = parts(model, chosen), longest = Math.max(...rows.map((row) => row.time), 1e-12);
	const repetitions = (stage: number): number => model.report.stages[stage]?.profile?.repetitions ?? 1;
	const side = model.code ? weigh(model.code, { stage: -1, process: -1, thread: -1, range: whole ? null : chosen, repetitions }) : null;
	const tree = side ? grow(side, null, { frames: "both", lines: false, reverse: false, merge: false, matchNames: false }) : null;
	const hot = tree ? functions(tree).sort((a, b) => b.self - a.self).slice(0, 200) : [];
	return [
		h("h2", { id: "range-title" }, whole ? "The whole run" : `${seconds(from)} to ${seconds(to)}: ${seconds(to - from)}`),
		h("div", { class: "columns" },
			h("section", { class: "panel" }, h("h3", null, "Stages"), table<Part>([
				{ title: "Stage", value: (row) => row.name, show: (row) => h("span", { class: "name" }, h("i", { class: "dot", style: { background: `var(${stageColour(row.index)})` } }), h("bdi", null, clean(row.name, 60))) },
				{ title: "Time", number: true, value: (row) => row.time, show: (row) => bar(row.time / longest, seconds(row.time)) },
				{ title: "CPU", number: true, hint: "From the samples of the range", value: (row) => row.cpu, show: (row) => seconds(row.cpu) },
				{ title: "Memory", number: true, hint: "The largest sample of the range", value: (row) => row.memory, show: (row) => bytes(row.memory) },
				{ title: "Read", number: true, value: (row) => row.read, show: (row) => bytes(row.read) },
				{ title: "Written", number: true, value: (row) => row.written, show: (row) => bytes(row.written) },
			], rows, { name: "Stages in the range", compact: true })),
			tree && tree.total[0]! > 0 ? h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h3", null, "Functions"),
				h("button", { class: "link", onclick: () => go("code") }, "Flame graph of this range")), table([
				{ title: "Function", wide: true, value: (row) => row.key.name, show: (row) => h("code", null, clean(row.key.name, 60)) },
				{ title: "Own", number: true, value: (row) => row.self, show: (row) => bar(row.self / tree.total[0]!, seconds(row.self)) },
				{ title: "Share", number: true, value: (row) => row.self / tree.total[0]!, show: (row) => share(row.self / tree.total[0]!) },
			], hot, { name: "Functions in the range", sort: 1, most: 10, compact: true })) : null),
		h("section", { class: "panel" }, h("h3", null, `Processes (${processes.length})`), table([
			{ title: "PID", number: true, value: (process) => process.pid },
			{ title: "Command", wide: true, value: (process) => process.command, show: (process) => h("code", null, clean(process.command, 120)) },
			{ title: "Start", number: true, extra: true, value: (process) => process.start_s, show: (process) => seconds(process.start_s) },
			{ title: "CPU", number: true, hint: "Of its whole life", value: (process) => process.cpu_s, show: (process) => seconds(process.cpu_s), tip: (process) => "from " + process.source },
			{ title: "Peak memory", number: true, value: (process) => process.rss_peak_bytes, show: (process) => bytes(process.rss_peak_bytes) },
			{ title: "Read", number: true, value: (process) => process.read_bytes, show: (process) => bytes(process.read_bytes) },
			{ title: "Written", number: true, value: (process) => process.write_bytes, show: (process) => bytes(process.write_bytes) },
			{ title: "End", value: (process) => process.end_s === null ? "not seen" : process.term_signal > 0 ? `signal ${process.term_signal}` : process.exit_code >= 0 ? `exit ${process.exit_code}` : "not known" },
		], processes, { name: "Processes in the range", sort: 3, most: 12, compact: true })),
	];
}
