// timeline.ts - the run's time from left to right: lanes of what ran, curves of what it used, and a brush that chooses a
// range for every view.
//
// The curves are drawn by uPlot; zooming, panning, brushing and the cursor are one layer above all of them, so that lanes
// and curves always show the same time.

import uPlot from "uplot";
import { Child, clean, clear, h, hideBubble, showBubble } from "./dom";
import { bytes, seconds } from "./format";
import { Chart, charts, reduced, roundTop, valueAt } from "./curves";
import { Bar, Group, Lanes, pack } from "./lanes";
import type { RunModel, Series } from "./model";
import { range, setRange } from "./state";
import { colour, lastMoment, stageColour } from "./words";

const GUTTER = 76, CHART = 98, RIGHT = 8;

export interface TimelineParts {
	groups: Group[]; // further lanes
	series: Series[]; // further curves
	note: string | null; // what is left out of them
	below: (range: [number, number]) => Child; // what is shown of a range
}

function stageBars(model: RunModel): Bar[] {
	const { stages } = model.timeline!, end_s = lastMoment(model);
	return stages.filter((stage) => stage.start_s > 0 || stage.end_s !== null).map((stage) => {
		const end = stage.end_s ?? end_s;
		return { start: stage.start_s, end, title: stage.name + (stage.repetition || stage.warmup ? ` \u00b7 ${stage.warmup ? "warm-up" : stage.repetition + 1}` : ""),
			colour: stageColour(stage.position), open: stage.end_s === null,
			hint: () => `${clean(stage.name, 100)}: ${seconds(end - stage.start_s)}, ${stage.status}` };
	});
}

function processBars(model: RunModel): Bar[] {
	const { processes, stages } = model.timeline!, end_s = lastMoment(model);
	return processes.map((process) => {
		const end = process.end_s ?? stages[process.stage]?.end_s ?? end_s;
		return { start: process.start_s, end: Math.max(end, process.start_s), title: process.command, open: process.end_s === null,
			colour: stageColour(stages[process.stage]?.position ?? 0),
			hint: () => `${process.pid} ${clean(process.command, 160)}\n${seconds(end - process.start_s)} elapsed, ${seconds(process.cpu_s)} CPU, ${bytes(process.rss_peak_bytes)}` };
	});
}

// Where the axis has its last number; what is a little larger is drawn above it.
const topOf = (chart: Chart, high: number): number => Math.min(chart.most, roundTop(high, chart.binary));

// Steps of a clock: of seconds by tens, of longer times by minutes, hours and days.
export function timeStep(rough: number): number {
	const power = 10 ** Math.floor(Math.log10(rough)), days = 86400 * 10 ** Math.max(0, Math.floor(Math.log10(rough / 86400)));
	const steps = rough <= 5 ? [1, 2, 5, 10].map((n) => n * power) : [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, ...[1, 2, 5, 10].map((n) => n * days)];
	return steps.find((step) => step >= rough) ?? rough;
}

export class TimelineView {
	readonly element: HTMLElement;
	private readonly charts: Chart[];
	private readonly plots: { plot: uPlot; chart: Chart; host: HTMLElement }[] = [];
	private readonly lanes: Lanes;
	private readonly end: number;
	private from = 0;
	private to: number;
	private readonly stack = h("div", { class: "stack" });
	private readonly layer = h("div", { class: "layer", tabindex: "0", role: "application",
		"aria-label": "Timeline: arrows pan, plus and minus zoom, Escape clears the chosen range" });
	private readonly brush = h("div", { class: "brush", hidden: true });
	private readonly cursor = h("div", { class: "cursor", hidden: true });
	private readonly axis = document.createElement("canvas");
	private readonly below = h("div", { class: "below" });
	private readonly laneHost: HTMLElement;
	private frame = 0;
	private shown = "";

	constructor(model: RunModel, private readonly parts: TimelineParts) {
		const timeline = model.timeline!;
		this.end = Math.max(lastMoment(model), ...timeline.processes.map((process) => process.end_s ?? 0), 1e-6);
		this.to = this.end;
		this.charts = charts(timeline, parts.series);
		const missing = timeline.processes_recorded - timeline.processes.length;
		this.lanes = new Lanes(pack([{ title: "Stages", bars: stageBars(model) }, ...parts.groups,
			{ title: "Processes", bars: processBars(model) }], 24), GUTTER);
		this.laneHost = h("div", { class: "lane-host" }, this.lanes.canvas);
		this.axis.className = "axis";
		this.axis.setAttribute("aria-hidden", "true");
		this.stack.append(this.axis, this.laneHost);
		for (const chart of this.charts) this.addChart(chart);
		this.layer.append(this.brush, this.cursor);
		this.stack.append(this.layer);
		this.element = h("section", { class: "view timeline" }, this.toolbar(), this.stack,
			missing > 0 ? h("p", { class: "dim" }, `The ${timeline.processes.length} costliest of ${timeline.processes_recorded} processes are shown.`) : null,
			parts.note ? h("p", { class: "dim" }, parts.note) : null, this.below);
		this.listen();
		new ResizeObserver(() => this.later()).observe(this.stack);
	}

	private toolbar(): HTMLElement {
		const button = (title: string, label: string, act: () => void): HTMLElement => h("button", { class: "tool", "aria-label": label, hint: label, onclick: act }, title);
		return h("div", { class: "tools" },
			button("\u2212", "Zoom out", () => this.zoomBy(1.6)), button("+", "Zoom in", () => this.zoomBy(1 / 1.6)),
			button("\u2190", "Earlier", () => this.panBy(-0.25)), button("\u2192", "Later", () => this.panBy(0.25)),
			button("Zoom to range", "Show the chosen range only", () => { const chosen = range(); if (chosen) this.view(chosen[0], chosen[1]); }),
			button("Whole run", "Show all of the run", () => this.view(0, this.end)),
			button("Clear range", "Choose nothing", () => setRange(null)),
			h("span", { class: "dim keys" }, "Drag chooses a range; Ctrl or Alt with the wheel zooms, Shift with it pans."));
	}

	private addChart(chart: Chart): void {
		const host = h("div", { class: "chart" }, h("div", { class: "chart-title", hint: chart.hint }, chart.title,
			h("span", { class: "chart-lines" }, chart.lines.map((line) => h("span", null, h("i", { style: { background: `var(${line.colour})` } }), line.title)))));
		const series: uPlot.Series[] = [{}];
		const bands: uPlot.Band[] = [];
		for (const line of chart.lines) {
			// mean, then the largest and the smallest with the space between them filled
			series.push({ stroke: () => colour(line.colour), width: 1.5, points: { show: false }, label: line.title });
			series.push({ stroke: "transparent", width: 0, points: { show: false } }, { stroke: "transparent", width: 0, points: { show: false } });
			bands.push({ series: [series.length - 2, series.length - 1], fill: () => colour(line.colour) + "38" });
		}
		const plot = new uPlot({ width: 600, height: CHART, series, bands, legend: { show: false }, cursor: { show: false }, padding: [20, RIGHT, 7, 0],
			scales: { x: { time: false, auto: false, range: () => [this.from, this.to] },
				y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(high ?? 0, topOf(chart, high || 1))] } },
			axes: [{ show: false }, { size: GUTTER, gap: 4, ticks: { show: false }, stroke: () => colour("--dim"), font: "11px " + colour("--sans"),
				grid: { stroke: () => colour("--line"), width: 1 }, splits: (_, __, low, high) => [low, (low + topOf(chart, high)) / 2, topOf(chart, high)],
				values: (_, splits) => splits.map((value, i) => i === 0 ? "0" : chart.show(value)) }],
		}, [[0, 1], ...series.slice(1).map(() => [null, null])] as unknown as uPlot.AlignedData, host);
		this.plots.push({ plot, chart, host });
		this.stack.appendChild(host);
	}

	view(from: number, to: number): void {
		const width = Math.max(this.end * 1e-7, Math.min(this.end, to - from));
		this.from = Math.max(0, Math.min(this.end - width, from));
		this.to = this.from + width;
		this.later();
	}

	// Of a run that goes on: what was looked at in the last picture of it; all of it follows the end.
	adopt(last: TimelineView): void {
		if (last.from > 0 || last.to < last.end) this.view(last.from, last.to);
	}

	visible(): [number, number] { return [this.from, this.to]; }
	get duration(): number { return this.end; }

	private zoomBy(factor: number, middle = (this.from + this.to) / 2): void {
		this.view(middle - (middle - this.from) * factor, middle + (this.to - middle) * factor);
	}

	private panBy(part: number): void {
		const by = (this.to - this.from) * part;
		this.view(this.from + by, this.to + by);
	}

	update(): void {
		this.later();
		const chosen = range() ?? [0, this.end] as [number, number];
		const key = chosen.join();
		if (key === this.shown) return;
		this.shown = key;
		clear(this.below, this.parts.below(chosen));
	}

	private later(): void {
		if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
	}

	private get inner(): number { return this.stack.clientWidth - GUTTER - RIGHT; }
	private x(time: number): number { return (time - this.from) / (this.to - this.from) * this.inner; }

	private draw(): void {
		if (!this.element.isConnected) return;
		const width = this.stack.clientWidth;
		this.drawAxis(width);
		this.lanes.draw(width - RIGHT, this.from, this.to);
		for (const { plot, chart } of this.plots) {
			if (plot.width !== width) plot.setSize({ width, height: CHART });
			plot.setData(this.aligned(chart, Math.max(50, this.inner)), true);
		}
		const chosen = range();
		this.brush.hidden = !chosen;
		if (chosen) {
			const left = Math.max(0, this.x(chosen[0])), right = Math.min(this.inner, this.x(chosen[1]));
			this.brush.style.left = left + "px";
			this.brush.style.width = Math.max(0, right - left) + "px";
			this.brush.hidden = right < 0 || left > this.inner;
		}
	}

	// uPlot wants one axis of time for all lines of a chart: lines that were sampled at other moments have gaps in it.
	private aligned(chart: Chart, columns: number): uPlot.AlignedData {
		const parts = chart.lines.map((line) => reduced(line, this.from, this.to, columns));
		const tables = parts.map((part) => [part.at, part.mean, part.max ?? part.mean, part.min ?? part.mean] as unknown as uPlot.AlignedData);
		return tables.length === 1 ? tables[0]! : uPlot.join(tables, tables.map((table) => table.map(() => 2)));
	}

	private drawAxis(width: number): void {
		const ratio = devicePixelRatio || 1, height = 22, context = this.axis.getContext("2d", { alpha: false })!;
		this.axis.width = Math.round(width * ratio);
		this.axis.height = Math.round(height * ratio);
		this.axis.style.height = height + "px";
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.fillStyle = colour("--panel");
		context.fillRect(0, 0, width, height);
		context.font = "11px " + colour("--sans");
		context.textAlign = "center";
		const rough = (this.to - this.from) / Math.max(2, this.inner / 110);
		const step = timeStep(rough);
		for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
			const x = GUTTER + this.x(time);
			context.fillStyle = colour("--line");
			context.fillRect(x, height - 5, 1, 5);
			context.fillStyle = colour("--dim");
			const decimals = Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9)));
			context.fillText(step >= 60 ? seconds(time) : time.toFixed(decimals) + " s", Math.max(GUTTER + 16, Math.min(width - 22, x)), 10);
		}
	}

	private timeAt(event: MouseEvent): number {
		const box = this.layer.getBoundingClientRect();
		return this.from + (event.clientX - box.left) / Math.max(1, box.width) * (this.to - this.from);
	}

	private listen(): void {
		const layer = this.layer;
		let drag: { at: number; x: number; moved: boolean } | null = null;
		layer.addEventListener("pointerdown", (event) => {
			if (event.button !== 0) return;
			layer.setPointerCapture(event.pointerId);
			drag = { at: this.timeAt(event), x: event.clientX, moved: false };
		});
		layer.addEventListener("pointermove", (event) => {
			const time = this.timeAt(event);
			if (drag) {
				if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
				if (drag.moved) setRange([Math.max(0, Math.min(drag.at, time)), Math.min(this.end, Math.max(drag.at, time))]);
			}
			this.hover(event, time);
		});
		layer.addEventListener("pointerup", (event) => {
			const still = drag && !drag.moved;
			drag = null;
			const bar = still ? this.barAt(event) : null;
			if (bar && bar.end > bar.start) setRange([bar.start, bar.end]);
			else if (still) setRange(null);
		});
		layer.addEventListener("pointerleave", () => { this.cursor.hidden = true; hideBubble(); });
		layer.addEventListener("dblclick", () => this.view(0, this.end));
		layer.addEventListener("wheel", (event) => {
			if (!event.ctrlKey && !event.altKey && !event.shiftKey) return;
			event.preventDefault();
			const by = event.deltaY || event.deltaX;
			if (event.shiftKey) this.panBy(by / 1000);
			else this.zoomBy(Math.exp(by / 300), this.timeAt(event));
		}, { passive: false });
		layer.addEventListener("keydown", (event) => {
			const acts: Record<string, () => void> = { ArrowLeft: () => this.panBy(-0.1), ArrowRight: () => this.panBy(0.1), "+": () => this.zoomBy(1 / 1.3),
				"=": () => this.zoomBy(1 / 1.3), "-": () => this.zoomBy(1.3), Escape: () => setRange(null), Home: () => this.view(0, this.end),
				Enter: () => { const chosen = range(); if (chosen) this.view(chosen[0], chosen[1]); } };
			const act = acts[event.key];
			if (!act) return;
			event.preventDefault();
			act();
		});
	}

	private barAt(event: MouseEvent): Bar | null {
		const box = this.lanes.canvas.getBoundingClientRect();
		const host = this.laneHost.getBoundingClientRect();
		if (event.clientY < host.top || event.clientY > host.bottom) return null;
		return this.lanes.at(event.clientY - box.top, this.timeAt(event), 2 * (this.to - this.from) / Math.max(1, this.inner));
	}

	private hover(event: MouseEvent, time: number): void {
		this.cursor.hidden = false;
		this.cursor.style.left = this.x(time) + "px";
		const bar = this.barAt(event);
		const values = this.charts.flatMap((chart) => chart.lines.map((line) => ({ chart, line, value: valueAt(line, time) }))).filter((one) => one.value !== null);
		showBubble(event.clientX, event.clientY, [h("b", null, seconds(time)), bar ? h("p", { class: "pre" }, bar.hint()) : null,
			bar ? null : h("table", { class: "values" }, values.map(({ chart, line, value }) => h("tr", null,
				h("td", null, h("i", { class: "dot", style: { background: `var(${line.colour})` } }), `${chart.title} ${line.title}`), h("td", { class: "n" }, chart.show(value)))))]);
	}
}
