// lanes.ts - things that last: stages, processes, spans, as bars in lanes, none over another.

import { clean } from "./dom";
import { colour } from "./words";

export interface Bar { start: number; end: number; title: string; colour: string; hint: () => string; open?: boolean; depth?: number }
export interface Group { title: string; bars: Bar[]; note?: string }
export interface Lane { group: string; first: boolean; bars: Bar[] } // by start; none overlaps

export const LANE = 18;

// Each bar goes to the first lane that is free at its start. A bar may ask for a lane no higher than its depth.
export function pack(groups: Group[], most: number): Lane[] {
	const out: Lane[] = [];
	for (const group of groups) {
		const lanes: Bar[][] = [], ends: number[] = [];
		for (const bar of [...group.bars].sort((a, b) => a.start - b.start || b.end - a.end)) {
			let lane = bar.depth ?? 0;
			while (lane < ends.length && ends[lane]! > bar.start + 1e-9) lane++;
			if (lane >= most) continue;
			while (lanes.length <= lane) {
				lanes.push([]);
				ends.push(-Infinity);
			}
			lanes[lane]!.push(bar);
			ends[lane] = bar.end;
		}
		lanes.forEach((bars, i) => out.push({ group: group.title, first: i === 0, bars }));
	}
	return out;
}

function firstVisible(bars: Bar[], from: number): number {
	let low = 0, high = bars.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (bars[middle]!.end < from) low = middle + 1;
		else high = middle;
	}
	return low;
}

export class Lanes {
	readonly canvas = document.createElement("canvas");
	private readonly context = this.canvas.getContext("2d", { alpha: false })!;

	constructor(readonly lanes: Lane[], private readonly gutter: number) {
		this.canvas.className = "lanes";
		this.canvas.setAttribute("aria-hidden", "true");
	}

	get height(): number { return this.lanes.length * LANE + 4; }

	draw(width: number, from: number, to: number): void {
		const ratio = devicePixelRatio || 1, context = this.context, height = this.height;
		if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
			this.canvas.width = Math.round(width * ratio);
			this.canvas.height = Math.round(height * ratio);
			this.canvas.style.height = height + "px";
		}
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.fillStyle = colour("--panel");
		context.fillRect(0, 0, width, height);
		context.textBaseline = "middle";
		const text = colour("--text"), dim = colour("--dim"), line = colour("--line"), inner = colour("--bar-text");
		const scale = (width - this.gutter) / (to - from), font = colour("--sans");
		const cache = new Map<string, string>();
		const paint = (name: string): string => cache.get(name) ?? (cache.set(name, colour(name)), cache.get(name)!);
		this.lanes.forEach((lane, row) => {
			const y = row * LANE + 2;
			if (lane.first) {
				context.fillStyle = line;
				if (row) context.fillRect(0, y - 1, width, 1);
				context.fillStyle = dim;
				context.font = "12px " + font;
				context.fillText(lane.group, 0, y + LANE / 2);
			}
			context.save();
			context.beginPath();
			context.rect(this.gutter, y - 1, width - this.gutter, LANE + 1);
			context.clip();
			context.font = "11.5px " + font;
			let drawn = -1;
			for (let i = firstVisible(lane.bars, from); i < lane.bars.length && lane.bars[i]!.start <= to; i++) {
				const bar = lane.bars[i]!;
				const left = this.gutter + (bar.start - from) * scale, right = this.gutter + (bar.end - from) * scale;
				if (right < drawn + 0.5) continue; // nothing of it would be seen
				drawn = right;
				context.fillStyle = paint(bar.colour);
				context.globalAlpha = bar.open ? 0.55 : 1;
				context.fillRect(left, y + 1, Math.max(0.75, right - left - (right - left > 4 ? 1 : 0)), LANE - 3);
				context.globalAlpha = 1;
				const room = Math.min(right, width) - Math.max(left, this.gutter) - 8;
				if (room > 24) {
					context.fillStyle = bar.open ? text : inner;
					const most = Math.floor(room / 6.2), title = clean(bar.title, 200);
					context.fillText(title.length > most ? title.slice(0, Math.max(1, most - 1)) + "\u2026" : title, Math.max(left, this.gutter) + 4, y + LANE / 2);
				}
			}
			context.restore();
		});
	}

	at(y: number, time: number, slack: number): Bar | null {
		const lane = this.lanes[Math.floor((y - 2) / LANE)];
		if (!lane) return null;
		for (let i = firstVisible(lane.bars, time - slack); i < lane.bars.length && lane.bars[i]!.start <= time + slack; i++)
			if (lane.bars[i]!.end >= time - slack) return lane.bars[i]!;
		return null;
	}
}
