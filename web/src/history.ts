// history.ts - the runs of a history, the way of a metric through them, and the choice of two to compare. Served pages only.

import uPlot from "uplot";
import { Child, clean, clear, h, hideBubble, showBubble } from "./dom";
import { percent, quantity, seconds } from "./format";
import { ask, RunEntry } from "./model";
import { go, param, set } from "./state";
import { table } from "./table";
import { colour } from "./words";

interface Runs { history: string; metrics: string[]; runs: RunEntry[] }
interface Interval { estimate: number; low: number | null; high: number | null }
interface Change { index: number; git_commit: string | null; median_before: number; median_after: number; direction: string; note: string | null; ratio?: Interval; difference?: Interval }
interface Machine { is_this: boolean; points: { value: number; timestamp_utc: string; path: string }[]; changes: Change[]; stretches: { index: number; runs: number; median: number; min: number; max: number }[] }
interface Trend { unit: string; machines: Machine[] }

export class HistoryView {
	readonly element = h("section", { class: "view" });
	private runs: Runs | null = null;
	private readonly chart = h("div", { class: "trend" });
	private asked = "";

	constructor(private readonly open: (file: string) => void) {}

	update(): void {
		if (!this.runs) void this.load();
		else this.draw();
	}

	private async load(): Promise<void> {
		try {
			this.runs = await ask<Runs>("api/runs");
			this.draw();
		} catch (error) {
			clear(this.element, h("div", { class: "panel problem", role: "alert" }, clean(String(error instanceof Error ? error.message : error), 600)));
		}
	}

	private draw(): void {
		const { runs, metrics, history } = this.runs!;
		const a = param("a"), b = param("b");
		const names = [...new Set(runs.filter((run) => !run.damaged).map((run) => run.name))];
		const name = param("name") || names[0] || "";
		const choose = (side: "a" | "b", file: string): void => set({ [side]: param(side) === file ? "" : file });
		const mark = (side: "a" | "b", run: RunEntry): Child => run.damaged ? null : h("input", { type: "checkbox", "aria-label": `${side.toUpperCase()}: ${clean(run.file, 80)}`,
			checked: param(side) === run.file, onclick: (event: Event) => event.stopPropagation(), onchange: () => choose(side, run.file) });
		const select = (label: string, key: string, options: string[], value: string): Child => {
			const element = h("select", { name: key, onchange: () => set({ [key]: element.value }) }, options.map((one) => h("option", { value: one, selected: one === value }, clean(one, 60))));
			return h("label", { class: "field" }, h("span", null, label), element);
		};
		clear(this.element,
			names.length ? h("section", null, h("h2", null, "Trend"), h("div", { class: "tools" }, select("Pipeline", "name", names, name),
				select("Metric", "metric", metrics, param("metric") || "wall_s")), this.chart) : null,
			h("section", { class: "panel" }, h("div", { class: "panel-head" }, h("h2", null, `Runs in ${clean(history, 120)}`),
				h("button", { class: "tool", disabled: !(a && b), onclick: () => go("compare", { a, b }) }, "Compare A with B")),
			runs.length ? table<RunEntry>([
				{ title: "A", value: (run) => run.file === a ? 1 : 0, show: (run) => mark("a", run) }, { title: "B", value: (run) => run.file === b ? 1 : 0, show: (run) => mark("b", run) },
				{ title: "Started", value: (run) => run.started_utc, show: (run) => run.damaged ? h("span", { class: "dim" }, "damaged") : run.started_utc.slice(0, 19).replace("T", " ") },
				{ title: "Name", value: (run) => run.name, show: (run) => clean(run.name, 60) }, { title: "Time", number: true, value: (run) => run.wall_s, show: (run) => run.live ? "running" : seconds(run.wall_s) },
				{ title: "Status", value: (run) => run.live ? "running" : run.status, show: (run) => h("span", { class: "status " + (run.live ? "running" : run.status) }, run.live ? "running" : run.status ?? "") },
				...(runs.some((run) => run.git_commit) ? [{ title: "Commit", extra: true, value: (run: RunEntry) => run.git_commit, show: (run: RunEntry) => h("code", null, clean(run.git_commit, 12)) }] : []),
				...(runs.some((run) => run.tags.length) ? [{ title: "Tags", value: (run: RunEntry) => run.tags.join(" ") }] : []), { title: "File", wide: true, extra: true, value: (run) => run.file, show: (run) => run.damaged ? [h("code", null, clean(run.file, 100)), " ", clean(run.damaged, 200)] : h("code", null, clean(run.file, 100)) },
			], runs, { name: "Runs", most: 100, compact: true, pick: (run) => { if (!run.damaged) this.open(run.file); } }) :
				h("p", { class: "dim" }, "There is no run yet: pitot run makes one.")));
		if (names.length) void this.trend(name, param("metric") || "wall_s");
	}

	private async trend(name: string, metric: string): Promise<void> {
		const key = name + "\0" + metric;
		if (key === this.asked) return;
		this.asked = key;
		try {
			this.drawTrend(await ask<Trend>(`api/trend?name=${encodeURIComponent(name)}&metric=${encodeURIComponent(metric)}`));
		} catch (error) {
			clear(this.chart, h("p", { class: "dim" }, clean(String(error instanceof Error ? error.message : error), 400)));
		}
	}

	private drawTrend(trend: Trend): void {
		const machine = trend.machines.find((one) => one.is_this) ?? trend.machines[0], points = machine?.points ?? [];
		if (!machine || !points.length) return clear(this.chart, h("p", { class: "dim" }, "No run of this pipeline knows this metric."));
		const plotHost = h("div", { class: "trend-plot", tabindex: "0", role: "group", "aria-label": `${points.length} runs; arrows walk, Enter opens one` });
		clear(this.chart, plotHost, machine.changes.length ? h("ul", { class: "remarks" }, machine.changes.map((change) => h("li", { class: change.direction === "worse" ? "warning" : "" }, changeWords(change, trend.unit)))) :
			h("p", { class: "dim" }, `No change point in ${points.length} run${points.length === 1 ? "" : "s"}.`));
		const level = (pick: (stretch: Machine["stretches"][number]) => number): number[] => points.map((_, i) => pick([...machine.stretches].reverse().find((one) => one.index <= i)!));
		const plot = new uPlot({ width: Math.max(300, this.chart.clientWidth), height: 220, legend: { show: false }, cursor: { show: false },
			scales: { x: { time: false }, y: { range: (_, __, high) => [0, high * 1.1 || 1] } },
			axes: [{ stroke: () => colour("--dim"), grid: { show: false }, values: (_, splits) => splits.map((v) => Number.isInteger(v) ? String(v + 1) : "") },
				{ size: 76, stroke: () => colour("--dim"), grid: { stroke: () => colour("--line") }, values: (_, splits) => splits.map((v) => quantity(v, trend.unit)) }],
			series: [{}, { stroke: () => colour("--c1"), width: 1, points: { show: true, size: 6 } }, { stroke: () => colour("--dim"), width: 1.5, dash: [6, 4], points: { show: false } },
				{ stroke: "transparent", points: { show: false } }, { stroke: "transparent", points: { show: false } }],
			bands: [{ series: [3, 4], fill: () => colour("--c1") + "22" }],
			hooks: { draw: [(u) => {
				for (const change of machine.changes) {
					u.ctx.fillStyle = colour(change.direction === "worse" ? "--worse" : "--better");
					u.ctx.fillRect(u.valToPos(change.index - 0.5, "x", true), u.bbox.top, 2, u.bbox.height);
				}
			}] } }, [points.map((_, i) => i), points.map((point) => point.value), level((one) => one.median), level((one) => one.max), level((one) => one.min)], plotHost);
		this.point(plotHost, plot, trend, points);
	}

	// Hover and arrows name the run behind a point; a click or Enter opens it.
	private point(host: HTMLElement, plot: uPlot, trend: Trend, points: Machine["points"]): void {
		let at = points.length - 1;
		const show = (index: number): void => {
			at = Math.max(0, Math.min(points.length - 1, index));
			const one = points[at]!, box = plot.over.getBoundingClientRect();
			showBubble(box.left + plot.valToPos(at, "x"), box.top + plot.valToPos(one.value, "y"), [h("b", null, `${quantity(one.value, trend.unit)}`),
				h("p", null, `run ${at + 1} of ${points.length}, ${one.timestamp_utc.slice(0, 16).replace("T", " ")} UTC`), h("p", { class: "dim" }, clean(fileName(one.path), 100))]);
		};
		const nearest = (event: MouseEvent): number => Math.round(plot.posToVal(event.clientX - plot.over.getBoundingClientRect().left, "x"));
		plot.over.addEventListener("mousemove", (event) => show(nearest(event)));
		plot.over.addEventListener("mouseleave", hideBubble);
		plot.over.addEventListener("click", (event) => { show(nearest(event)); hideBubble(); this.open(fileName(points[at]!.path)); });
		host.addEventListener("keydown", (event) => {
			if (event.key === "ArrowLeft" || event.key === "ArrowRight") show(at + (event.key === "ArrowLeft" ? -1 : 1));
			else if (event.key === "Enter") { hideBubble(); this.open(fileName(points[at]!.path)); } else return;
			event.preventDefault();
		});
	}
}

const fileName = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

function changeWords(change: Change, unit: string): string {
	const size = change.ratio ? `${change.ratio.estimate > 1 ? "+" : ""}${percent(100 * (change.ratio.estimate - 1))} (${percent(100 * ((change.ratio.low ?? 1) - 1))} to ${percent(100 * ((change.ratio.high ?? 1) - 1))})` :
		change.difference ? quantity(change.difference.estimate, unit) : "";
	return `Run ${change.index + 1} on: ${change.direction}, ${quantity(change.median_before, unit)} to ${quantity(change.median_after, unit)}, ${size}` +
		(change.git_commit ? `, first at ${clean(change.git_commit, 12)}` : "") + (change.note ? `; ${clean(change.note, 300)}` : "");
}
