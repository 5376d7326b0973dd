// curves.ts - the time series as charts over the run's time: which go together, in which unit, stages joined to one line.

import type { Series, Timeline } from "./model";
import { bytes, count, percent, si } from "./format";

export interface Line { title: string; colour: string; at: number[]; mean: (number | null)[]; min: (number | null)[] | null; max: (number | null)[] | null }
export interface Chart { title: string; hint: string; show: (value: number | null) => string; lines: Line[]; binary: boolean; most: number }

interface Want { name: string; title: string; factor?: number }
interface Spec { title: string; hint: string; show: (value: number | null) => string; want: Want[]; machine?: boolean; binary?: boolean; most?: number }

const SPECS: Spec[] = [
	{ title: "CPU", hint: "CPU use of the stage; 100 % is one core. The second line is the whole machine.", show: (v) => percent(v),
		want: [{ name: "cpu_percent", title: "stage" }, { name: "system_cpu", title: "machine", factor: 100 }] },
	{ title: "Memory", hint: "Memory of the stage's processes; page cache is in the second line only.", show: (v) => bytes(v), binary: true,
		want: [{ name: "memory_anon", title: "anonymous" }, { name: "memory", title: "with cache" }, { name: "pss", title: "proportional" }] },
	{ title: "Heap", hint: "Bytes that programs had allocated, as the memory profile saw them", show: (v) => bytes(v), binary: true, want: [{ name: "heap_live", title: "live" }] },
	{ title: "I/O", hint: "Bytes per second asked for and handed over by system calls", show: (v) => bytes(v) + "/s", binary: true,
		want: [{ name: "io_read", title: "read" }, { name: "io_write", title: "written" }] },
	{ title: "Pressure", hint: "Part of the time in which something on this machine waited for the resource", show: (v) => percent(v), most: 100,
		want: [{ name: "pressure_cpu", title: "CPU", factor: 100 }, { name: "pressure_io", title: "storage", factor: 100 },
			{ name: "pressure_memory", title: "memory", factor: 100 }], machine: true },
	{ title: "GPU", hint: "Utilisation of the GPUs", show: (v) => percent(v), want: [{ name: "gpu_util", title: "busy" }], machine: true },
	{ title: "Power", hint: "Of the whole machine", show: (v) => si(v, "W"),
		want: [{ name: "power", title: "packages" }, { name: "power_dram", title: "memory" }, { name: "gpu_power", title: "GPUs" }], machine: true },
	{ title: "Tasks", hint: "Processes and threads that were alive", show: (v) => count(v),
		want: [{ name: "processes", title: "processes" }, { name: "threads", title: "threads" }] },
];

export const LINE_COLOURS = ["--c1", "--c2", "--c3"];

// The end of an axis that reaches a value, or nearly: a number that people would choose, in powers of 1024 for bytes.
export function roundTop(value: number, binary: boolean): number {
	const base = binary ? 1024 : 10, power = base ** Math.floor(Math.log(value) / Math.log(base) + 1e-9);
	const steps = binary ? [1, 2, 4, 8, 16, 32, 50, 64, 80, 100, 128, 160, 200, 256, 320, 400, 512, 640, 800, 1024] : [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10];
	return power * (steps.find((step) => step * power >= value * 0.98) ?? base);
}

const scaled = (values: number[] | undefined, factor: number): number[] | null => values ? factor === 1 ? values : values.map((v) => v * factor) : null;

// One stage after the other: a gap between them is a gap in the line.
function joined(parts: Series[], factor: number): Omit<Line, "title" | "colour"> {
	const at: number[] = [], mean: (number | null)[] = [], min: (number | null)[] = [], max: (number | null)[] = [];
	let spread = false;
	for (const part of parts) {
		const means = scaled(part.mean, factor)!, lows = scaled(part.min, factor), highs = scaled(part.max, factor);
		spread = spread || !!lows;
		for (let i = 0; i < means.length; i++) {
			at.push(part.at_ms[i]! / 1000);
			mean.push(means[i]!);
			min.push(lows ? lows[i]! : means[i]!);
			max.push(highs ? highs[i]! : means[i]!);
		}
		if (means.length) {
			at.push(part.at_ms[means.length - 1]! / 1000 + 1e-6);
			mean.push(null);
			min.push(null);
			max.push(null);
		}
	}
	return { at, mean, min: spread ? min : null, max: spread ? max : null };
}

const GRID = 4000;

// Stages that ran side by side: their sum, or of the machine's own numbers any one of them.
function summed(parts: Series[], factor: number, machine: boolean): Omit<Line, "title" | "colour"> {
	const first = Math.min(...parts.map((part) => part.at_ms[0]!)), last = Math.max(...parts.map((part) => part.at_ms[part.at_ms.length - 1]!));
	const at: number[] = [], mean: (number | null)[] = [];
	const places = parts.map(() => 0);
	for (let i = 0; i <= GRID; i++) {
		const now = first + (last - first) * i / GRID;
		let sum: number | null = null;
		parts.forEach((part, k) => {
			if (now < part.at_ms[0]! || now > part.at_ms[part.at_ms.length - 1]!) return;
			while (places[k]! + 1 < part.at_ms.length && part.at_ms[places[k]! + 1]! <= now) places[k]!++;
			const value = part.mean[places[k]!]! * factor;
			sum = sum === null || machine ? value : sum + value;
		});
		at.push(now / 1000);
		mean.push(sum);
	}
	return { at, mean, min: null, max: null };
}

function overlap(parts: Series[]): boolean {
	for (let i = 1; i < parts.length; i++)
		if (parts[i]!.at_ms[0]! < parts[i - 1]!.at_ms[parts[i - 1]!.at_ms.length - 1]!) return true;
	return false;
}

export function charts(timeline: Timeline, more: Series[] = []): Chart[] {
	const byName = new Map<string, Series[]>();
	for (const series of [...timeline.series, ...more])
		if (series.at_ms.length) byName.set(series.name, [...(byName.get(series.name) ?? []), series]);
	const out: Chart[] = [];
	for (const spec of SPECS) {
		const lines: Line[] = [];
		spec.want.forEach((want, i) => {
			const parts = byName.get(want.name)?.sort((a, b) => a.at_ms[0]! - b.at_ms[0]!);
			if (!parts) return;
			const machine = !!spec.machine || want.name.startsWith("system_");
			const line = overlap(parts) ? summed(parts, want.factor ?? 1, machine) : joined(parts, want.factor ?? 1);
			lines.push({ title: want.title, colour: LINE_COLOURS[i % 3]!, ...line });
		});
		// A line that is nothing all the time says nothing.
		const some = lines.filter((line) => line.mean.some((value) => value !== null && value !== 0));
		if (some.length) out.push({ title: spec.title, hint: spec.hint, show: spec.show, lines: some, binary: !!spec.binary, most: spec.most ?? Infinity });
	}
	return out;
}

// The value at a moment: that of the last sample before it, where the line has one there.
export function valueAt(line: Line, at: number): number | null {
	let low = 0, high = line.at.length - 1;
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (line.at[middle]! <= at) low = middle;
		else high = middle - 1;
	}
	return line.at[low]! <= at ? line.mean[low] ?? null : null;
}

// As many points as the screen has columns: each keeps its smallest, mean and largest value.
export function reduced(line: Line, from: number, to: number, columns: number): Omit<Line, "title" | "colour"> {
	let first = 0, last = line.at.length;
	while (first < last && line.at[first + 1]! < from) first++;
	while (last > first && line.at[last - 2]! > to) last--;
	if (last - first <= 2 * columns)
		return { at: line.at.slice(first, last), mean: line.mean.slice(first, last),
			min: line.min?.slice(first, last) ?? null, max: line.max?.slice(first, last) ?? null };
	const at: number[] = [], mean: (number | null)[] = [], min: (number | null)[] = [], max: (number | null)[] = [];
	const step = (last - first) / columns;
	for (let c = 0; c < columns; c++) {
		const begin = first + Math.floor(c * step), end = first + Math.floor((c + 1) * step);
		let sum = 0, known = 0, low = Infinity, high = -Infinity;
		for (let i = begin; i < end; i++) {
			const value = line.mean[i];
			if (value === null || value === undefined) continue;
			sum += value;
			known++;
			low = Math.min(low, line.min ? line.min[i]! : value);
			high = Math.max(high, line.max ? line.max[i]! : value);
		}
		at.push(line.at[begin]!);
		mean.push(known ? sum / known : null);
		min.push(known ? low : null);
		max.push(known ? high : null);
	}
	return { at, mean, min, max };
}
