// sources.ts - what the flame graph of a run can weigh: CPU time, wall time of spans, memory; and what can be chosen of each.

import { weigh, Weighted } from "./calls";
import { Choices, CodeView, Source } from "./codeview";
import { memorySources } from "./memory";
import type { Code, RunModel } from "./model";
import { repetitionsOf, Spans } from "./spans";
import { param, range } from "./state";

interface Owner { stage: number; pid: number; executable: string | null }

// Every process that any of the profiles knows. Those of the CPU profile come first, with their own numbers.
function owners(model: RunModel): Owner[] {
	const all: Owner[] = [...(model.code?.processes ?? [])], known = new Set(all.map((one) => `${one.stage} ${one.pid}`));
	for (const one of [...(model.memory?.processes ?? []), ...(model.spans?.processes ?? [])]) {
		const key = `${one.stage} ${one.pid}`;
		if (one.stage >= 0 && !known.has(key)) all.push({ stage: one.stage, pid: one.pid, executable: one.executable });
		known.add(key);
	}
	return all;
}

interface Chosen { stage: number; process: number; thread: number }

// Operators are frames and their own time is the weight, so that the tree of operators is a tree of calls.
function spanCode(spans: Spans): Code {
	const strings: string[] = [], known = new Map<string, number>();
	const text = (value: string): number => {
		let index = known.get(value);
		if (index === undefined) known.set(value, index = strings.push(value) - 1);
		return index;
	};
	return { bucket_s: 1, buckets: 1, folded_s: 0, nodes_recorded: spans.operators.length + 1, processes: [], threads: [], sources: [], strings,
		frames: [[4, text(""), -1, -1, 0, 0, 0], ...spans.operators.map((one): Code["frames"][number] => [5, text(one.name), -1, -1, 0, 0, 0])],
		nodes: { parent: [-1, ...spans.operators.map((one) => one.parent + 1)], frame: [0, ...spans.operators.map((_, i) => i + 1)] },
		entries: { thread: [], bucket: [], node: [], samples: [], us: [] } };
}

// Within a range only the spans that the page has one by one can be counted: for the part of them that lies in it.
function totals(spans: Spans, chosen: [number, number] | null): Float64Array {
	if (!chosen) return Float64Array.from(spans.operators, (one) => one.total_s);
	const out = new Float64Array(spans.operators.length), [from, to] = chosen;
	for (const [operator, , begin, length] of spans.spans) {
		const part = Math.min(to, (begin + length) / 1e6) - Math.max(from, begin / 1e6);
		if (part > 0) out[operator]! += part;
	}
	return out;
}

function weighSpans(spans: Spans, code: Code, chosen: Chosen, all: Owner[]): Weighted {
	const self = new Float64Array(spans.operators.length + 1), samples = new Float64Array(self.length), total = totals(spans, range()), repetitions = repetitionsOf(spans);
	const thread = chosen.thread < 0 ? null : spans.threads[chosen.thread], owner = chosen.process < 0 ? null : all[chosen.process];
	spans.operators.forEach((one, i) => {
		const process = spans.processes[one.process];
		if (!process || process.stage < 0 || (chosen.stage >= 0 && process.stage !== chosen.stage)) return;
		if (owner && (process.pid !== owner.pid || process.stage !== owner.stage)) return;
		if (thread && (one.process !== thread.process || one.lane !== thread.lane)) return;
		const weight = total[i]! / (range() ? 1 : repetitions(process.stage));
		self[i + 1]! += weight;
		if (one.parent >= 0) self[one.parent + 1]! -= weight;
		samples[i + 1] = one.calls;
	});
	for (let i = 0; i < self.length; i++) self[i] = Math.max(0, self[i]!);
	return { code, self, samples };
}

function spanSource(spans: Spans, chosen: () => Chosen, all: Owner[]): Source {
	const code = spanCode(spans), recorded = spans.processes.reduce((sum, process) => sum + process.recorded, 0);
	return { id: "wall", title: "Wall time (spans)", unit: "s", about: "wall time in spans, threads added up", weigh: () => weighSpans(spans, code, chosen(), all),
		note: () => range() && spans.spans.length < recorded ? `of the ${spans.spans.length} longest of ${recorded} spans` : null };
}

const base = (path: string | null): string => path ? path.slice(path.lastIndexOf("/") + 1) : "process";

export function codeView(model: RunModel): CodeView {
	const { code, memory, spans } = model, { stages } = model.report, all = owners(model);
	const repetitions = (stage: number): number => stages[stage]?.profile?.repetitions ?? 1;
	const hasCode = !!code && code.entries.us.length > 0, hasSpans = !!spans && spans.operators.length > 0;
	const weight = (): string => param("weight") || sources[0]!.id;
	const threads = (): { process: number; title: string; stage: number }[] => weight() === "cpu" ? (code?.threads ?? []).map((thread) => ({ process: thread.process, stage: all[thread.process]?.stage ?? -1, title: `${thread.name ?? "thread"} ${thread.tid}` })) :
		weight() === "wall" ? (spans?.threads ?? []).map((thread) => {
			const owner = spans!.processes[thread.process]!;
			return { process: all.findIndex((one) => one.pid === owner.pid && one.stage === owner.stage), stage: owner.stage, title: `${thread.name ?? "thread"} ${thread.lane + 1} of ${owner.pid}` };
		}) : []; // sites of the memory profile know their process only
	const index = (): Chosen => {
		const stage = param("stage") ? stages.findIndex((one) => one.stage === param("stage")) : -1;
		const process = param("process") ? Number(param("process")) : -1, thread = param("thread") ? Number(param("thread")) : -1;
		return { stage, process: all[process] ? process : -1, thread: threads()[thread] ? thread : -1 };
	};
	const sources: Source[] = [];
	if (hasCode) sources.push({ id: "cpu", title: "CPU time", unit: "s", about: "CPU time", weigh: () => weigh(code, { ...index(), range: range(), repetitions }) });
	if (hasSpans) sources.push(spanSource(spans, index, all));
	if (memory) sources.push(...memorySources(memory, () => ({ stage: index().stage, pid: index().process < 0 ? 0 : all[index().process]!.pid }), repetitions));
	const choices = (): Choices => {
		const now = index(), known = new Set(all.map((one) => one.stage));
		const own = all.map((process, i) => ({ process, i })).filter(({ process }) => now.stage < 0 || process.stage === now.stage);
		const inside = threads().map((thread, i) => ({ thread, i })).filter(({ thread }) => (now.process < 0 || thread.process === now.process) && (now.stage < 0 || thread.stage === now.stage));
		return { stages: [{ id: "", title: "all" }, ...stages.filter((_, i) => known.has(i)).map((stage) => ({ id: stage.stage, title: stage.stage }))],
			processes: [{ id: "", title: "all" }, ...own.slice(0, 500).map(({ process, i }) => ({ id: String(i), title: `${base(process.executable)} ${process.pid}` }))],
			threads: [{ id: "", title: "all" }, ...inside.slice(0, 500).map(({ thread, i }) => ({ id: String(i), title: thread.title }))],
			absent: hasSpans ? null : "By wall time there is no graph: code is sampled by CPU time, and this run has no spans, which say where programs wait (docs/spans.md)." };
	};
	return new CodeView(() => sources, choices);
}
