// words.ts - sentences and hints that several views share.

import { Child, clean, h } from "./dom";
import { percent, quantity, share } from "./format";
import type { Metric, RunModel, Stage } from "./model";

// The value with its unit; "~" where it is estimated, "at least" where it is a lower bound.
export function metricText(metric: Metric | undefined): string {
	if (!metric || metric.value === null) return "n/a";
	return (metric.lower_bound ? "\u2265\u00a0" : metric.method === "estimated" ? "~" : "") + quantity(metric.value, metric.unit);
}

export function provenance(model: RunModel, name: string, metric: Metric | undefined): Child {
	const about = model.registry[name];
	const lines: Child[] = [h("b", null, name), about ? h("p", null, about.meaning) : null];
	if (!metric) lines.push(h("p", null, "not in this run"));
	else if (metric.value === null) lines.push(h("p", null, "Not measured: " + clean(metric.reason)));
	else {
		const covered = metric.coverage !== undefined && metric.coverage < 1 ? `, ${share(metric.coverage)} covered` : "";
		lines.push(h("p", { class: "dim" }, `${metric.method}, ${clean(metric.source)}${covered}` +
			(metric.lower_bound ? "; the truth may be larger" : "")));
	}
	return lines;
}

// Which number stands for "the memory it needed": as src/render/words.c chooses.
export function memoryName(metrics: Record<string, Metric>): string {
	const known = (name: string): boolean => metrics[name]?.value !== null && metrics[name]?.value !== undefined;
	const tree = known("memory_anon_peak_bytes") ? "memory_anon_peak_bytes" : "rss_sum_peak_bytes";
	if (!known(tree)) return "rss_process_peak_bytes";
	if (!known("rss_process_peak_bytes")) return tree;
	return metrics[tree]!.value! >= metrics["rss_process_peak_bytes"]!.value! ? tree : "rss_process_peak_bytes";
}

export function statusOf(stage: Stage, live: boolean): string {
	return stage.status === "interrupted" && live && stage.end_s === null ? "running" : stage.status;
}

// How far a run has come: its end, or the last sample of one that goes on.
export function lastMoment(model: RunModel): number {
	const { timeline } = model;
	return Math.max(timeline?.end_s ?? 0, ...(timeline?.series ?? []).map((series) => (series.at_ms[series.at_ms.length - 1] ?? 0) / 1000));
}

export function failure(stage: Stage): string {
	if (stage.reason) return stage.reason;
	if (stage.term_signal) return `killed by signal ${stage.term_signal}`;
	if (stage.exit_code !== null && stage.exit_code !== 0) return `exit status ${stage.exit_code}`;
	return "";
}

export function gain(finding: { gain_s: number | null; gain_percent: number | null }): string {
	if (finding.gain_s === null || finding.gain_s === undefined) return "";
	return `saves about ${quantity(finding.gain_s, "s")} (${percent(finding.gain_percent)})`;
}

// Colours by place in the pipeline: Okabe and Ito's, which the colour-blind can tell apart.
export const STAGE_COLOURS = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6", "--c7"];
export const stageColour = (index: number): string => STAGE_COLOURS[index % STAGE_COLOURS.length]!;

export function colour(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
