// flame.ts - draws a tree of calls on a canvas: only what is at least a pixel wide and within the window, so that the
// cost of a picture is that of the screen, not that of the profile.

import { clean, hideBubble, showBubble, Child } from "./dom";
import type { Key, Tree } from "./calls";
import { colour } from "./words";

const ROW = 18, LEAST_WIDTH = 1, TEXT_WIDTH = 26;

export interface FlameOptions {
	icicle: boolean; // root above
	onPick: (node: number) => void; // a click
	hint: (node: number) => Child;
	label: string;
}

interface Theme { font: string; text: string; page: string; line: string; kinds: string[][]; match: string; more: string; less: string; same: string }

function mix(from: string, to: string, part: number): string {
	const parse = (hex: string): number[] => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
	const a = parse(from), b = parse(to);
	return "#" + a.map((value, i) => Math.round(value + (b[i]! - value) * part).toString(16).padStart(2, "0")).join("");
}

export class Flame {
	readonly element: HTMLElement;
	private readonly canvas: HTMLCanvasElement;
	private readonly context: CanvasRenderingContext2D;
	private readonly scroller: HTMLElement;
	private tree: Tree | null = null;
	private root = 0;
	private from = 0; // the visible part of the root's total
	private to = 1;
	private matches: Uint8Array | null = null;
	private selected = 0;
	private theme: Theme | null = null; // a view is made anew when the colours change
	private icicle: boolean;
	private frame = 0;
	private height = 0;
	private deepest = 0;
	private toRoot = true; // the root has to come into sight

	constructor(private readonly options: FlameOptions) {
		this.icicle = options.icicle;
		this.canvas = document.createElement("canvas");
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute("role", "application");
		this.canvas.setAttribute("aria-label", options.label);
		this.context = this.canvas.getContext("2d", { alpha: false })!;
		this.scroller = document.createElement("div");
		this.scroller.className = "flame";
		this.scroller.appendChild(this.canvas);
		this.element = this.scroller;
		this.listen();
		new ResizeObserver(() => this.later()).observe(this.scroller);
	}

	show(tree: Tree): void {
		this.tree = tree;
		this.root = 0;
		this.selected = 0;
		this.from = 0;
		this.to = 1;
		this.deepest = 0;
		this.toRoot = true;
		this.later();
	}

	setIcicle(icicle: boolean): void {
		this.toRoot = this.toRoot || icicle !== this.icicle;
		this.icicle = icicle;
		this.later();
	}

	setMatches(nodes: Uint8Array | null): void {
		this.matches = nodes;
		this.later();
	}

	zoom(node: number): void {
		if (!this.tree) return;
		this.root = node;
		this.selected = node;
		this.deepest = 0;
		const all = this.tree.total[0] || 1;
		this.from = this.tree.start[node]! / all;
		this.to = (this.tree.start[node]! + this.tree.total[node]!) / all;
		if (this.to <= this.from) this.to = this.from + 1e-9;
		this.later();
	}

	get zoomed(): number { return this.root; }

	// Zooms and pans freely within the root: used by the wheel, by tests and by the benchmark.
	view(from: number, to: number): void {
		const width = Math.min(1, Math.max(1e-9, to - from));
		this.from = Math.max(0, Math.min(1 - width, from));
		this.to = this.from + width;
		this.later();
	}

	visible(): [number, number] { return [this.from, this.to]; }

	redraw(): void { this.later(); }

	private later(): void {
		if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.draw(); });
	}

	private readTheme(): Theme {
		const page = colour("--page");
		const shades = (name: string): string[] => [0, 0.12, 0.24, 0.36].map((part) => mix(colour(name), page, part));
		return { font: "11.5px " + colour("--mono"), text: colour("--flame-text"), page, line: colour("--line"),
			kinds: ["--native", "--python", "--jit", "--kernel", "--mark", "--span"].map(shades), match: colour("--match"),
			more: colour("--worse"), less: colour("--better"), same: colour("--mark") };
	}

	private depthBelow(): number {
		// Depth of what is wide enough to be seen.
		const tree = this.tree!, all = tree.total[0] || 1;
		const least = (this.to - this.from) * LEAST_WIDTH / Math.max(1, this.scroller.clientWidth);
		let deepest = 0;
		const stack = [this.root];
		while (stack.length) {
			const node = stack.pop()!;
			if (tree.depth[node]! > deepest) deepest = tree.depth[node]!;
			for (const child of tree.children[node] ?? []) {
				if (tree.total[child]! / all < least) break;
				stack.push(child);
			}
		}
		return deepest - tree.depth[this.root]! + 1;
	}

	private draw(): void {
		const tree = this.tree;
		if (!tree || !this.scroller.isConnected) return;
		this.theme ??= this.readTheme();
		const ratio = devicePixelRatio || 1, width = this.scroller.clientWidth;
		const above = this.path(this.root).length - 1;
		// Only grows while one looks around: a picture that jumps cannot be followed.
		this.deepest = Math.max(this.deepest, 4, this.depthBelow() + above);
		this.height = this.deepest * ROW + 2;
		if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(this.height * ratio)) {
			this.canvas.width = Math.round(width * ratio);
			this.canvas.height = Math.round(this.height * ratio);
			this.canvas.style.height = this.height + "px";
		}
		const context = this.context;
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.fillStyle = this.theme!.page;
		context.fillRect(0, 0, width, this.height);
		context.font = this.theme.font;
		context.textBaseline = "middle";
		for (const node of this.path(this.root).slice(0, -1)) this.box(node, 0, width, true);
		this.visit(this.root, width, (node, x, w) => this.box(node, x, w, false));
		if (this.toRoot) this.scroller.scrollTop = this.icicle ? 0 : this.scroller.scrollHeight;
		this.toRoot = false;
	}

	private path(node: number): number[] {
		const out = [node];
		for (; node > 0; node = this.tree!.parent[node]!) out.unshift(this.tree!.parent[node]!);
		return out;
	}

	// Calls `found` for every box that can be seen; those below a box that cannot be seen cannot be seen either.
	private visit(root: number, width: number, found: (node: number, x: number, w: number) => void): void {
		const tree = this.tree!, all = tree.total[0] || 1;
		const scale = width / (this.to - this.from);
		const stack = [root];
		while (stack.length) {
			const node = stack.pop()!;
			const x = (tree.start[node]! / all - this.from) * scale, w = tree.total[node]! / all * scale;
			if (x + w < 0 || x > width) continue;
			found(node, Math.max(0, x), Math.min(width, x + w) - Math.max(0, x));
			for (const child of tree.children[node] ?? []) {
				const part = tree.total[child]! / all * scale;
				if (part < LEAST_WIDTH) break; // the heaviest come first
				stack.push(child);
			}
		}
	}

	private rowTop(node: number): number {
		const depth = this.tree!.depth[node]!;
		return this.icicle ? depth * ROW + 1 : this.height - (depth + 1) * ROW - 1;
	}

	private fill(node: number): string {
		const tree = this.tree!, theme = this.theme!;
		if (this.matches && this.matches[node]! & 1) return theme.match;
		if (node === 0) return theme.same;
		if (tree.totalA.length) return this.difference(node);
		const key = tree.keys[tree.key[node]!]!;
		return theme.kinds[key.kind]![shadeOf(key)]!;
	}

	// Compared with all time of its side: what takes a larger part than before, and what a smaller.
	private difference(node: number): string {
		const tree = this.tree!;
		const change = tree.total[node]! - tree.totalA[node]!;
		const size = Math.min(1, Math.sqrt(Math.abs(change) / (Math.max(tree.total[0]!, tree.totalA[0]!) || 1)) * 2.2);
		return mix(this.theme!.same, change > 0 ? this.theme!.more : this.theme!.less, size < 0.12 ? 0 : size);
	}

	private box(node: number, x: number, w: number, passed: boolean): void {
		const context = this.context, y = this.rowTop(node);
		const alpha = passed ? 0.45 : this.matches && node && !this.matches[node] ? 0.35 : 1;
		if (alpha !== 1) context.globalAlpha = alpha;
		context.fillStyle = this.fill(node);
		context.fillRect(x, y, w - (w > 3 ? 1 : 0), ROW - 1);
		if (node === this.selected && node !== 0) {
			context.strokeStyle = this.theme!.text;
			context.lineWidth = 1.5;
			context.strokeRect(x + 0.75, y + 0.75, Math.max(1, w - 2.5), ROW - 2.5);
		}
		if (w >= TEXT_WIDTH) {
			if (alpha !== 1) context.globalAlpha = Math.max(alpha, 0.7);
			context.fillStyle = this.theme!.text;
			context.fillText(fitting(this.nameOf(node), w - 8), x + 4, y + ROW / 2);
		}
		if (alpha !== 1) context.globalAlpha = 1;
	}

	nameOf(node: number): string {
		if (node === 0) return "all";
		const key = this.tree!.keys[this.tree!.key[node]!]!;
		return clean(key.name, 200) + (key.line ? ":" + key.line : "");
	}

	private at(event: MouseEvent): number {
		if (!this.tree) return -1;
		const box = this.canvas.getBoundingClientRect();
		const x = event.clientX - box.left, y = event.clientY - box.top;
		const row = this.icicle ? Math.floor((y - 1) / ROW) : Math.floor((this.height - 1 - y) / ROW);
		const passed = this.path(this.root).slice(0, -1);
		if (row < passed.length) return passed[row] ?? -1;
		let found = -1;
		this.visit(this.root, box.width, (node, left, w) => {
			if (this.tree!.depth[node] === row && x >= left && x <= left + w) found = node;
		});
		return found;
	}

	private listen(): void {
		const canvas = this.canvas;
		let drag: { x: number; from: number; to: number; moved: boolean } | null = null;
		canvas.addEventListener("mousemove", (event) => {
			if (drag) {
				const by = (event.clientX - drag.x) / canvas.clientWidth * (drag.to - drag.from);
				if (Math.abs(event.clientX - drag.x) > 3) drag.moved = true;
				if (drag.moved) this.view(drag.from - by, drag.to - by);
				return;
			}
			const node = this.at(event);
			canvas.style.cursor = node > 0 ? "pointer" : "default";
			if (node < 0) hideBubble();
			else showBubble(event.clientX, event.clientY, this.options.hint(node));
		});
		canvas.addEventListener("mouseleave", () => { drag = null; hideBubble(); });
		canvas.addEventListener("mousedown", (event) => {
			if (event.button === 0) drag = { x: event.clientX, from: this.from, to: this.to, moved: false };
		});
		canvas.addEventListener("mouseup", (event) => {
			const moved = drag?.moved;
			drag = null;
			const node = this.at(event);
			if (!moved && event.button === 0 && node >= 0) this.options.onPick(node);
		});
		canvas.addEventListener("wheel", (event) => {
			if (!event.ctrlKey && !event.shiftKey && !event.altKey) return; // the page scrolls
			event.preventDefault();
			const box = canvas.getBoundingClientRect();
			const width = this.to - this.from, middle = this.from + width * (event.clientX - box.left) / box.width;
			if (event.ctrlKey || event.altKey) {
				const next = width * Math.exp((event.deltaY || event.deltaX) / 300);
				this.view(middle - (middle - this.from) * next / width, middle + (this.to - middle) * next / width);
			} else this.view(this.from + width * (event.deltaX || event.deltaY) / box.width, this.to + width * (event.deltaX || event.deltaY) / box.width);
		}, { passive: false });
		canvas.addEventListener("keydown", (event) => this.key(event));
	}

	// Arrows walk the tree, Enter zooms, Escape leaves the zoom.
	private key(event: KeyboardEvent): void {
		const tree = this.tree;
		if (!tree) return;
		const node = this.selected;
		const siblings = node ? tree.children[tree.parent[node]!]! : new Int32Array([0]);
		const place = siblings.indexOf(node);
		const moves: Record<string, number | undefined> = {
			ArrowLeft: siblings[place - 1],
			ArrowRight: siblings[place + 1],
			[this.icicle ? "ArrowUp" : "ArrowDown"]: node ? tree.parent[node] : undefined,
			[this.icicle ? "ArrowDown" : "ArrowUp"]: tree.children[node]?.[0],
		};
		if (event.key in moves) {
			this.selected = moves[event.key] ?? node;
			const box = this.canvas.getBoundingClientRect();
			showBubble(box.left + 20, box.top + this.rowTop(this.selected), this.options.hint(this.selected));
		} else if (event.key === "Enter") this.options.onPick(node);
		else if (event.key === "Escape" && this.root) this.options.onPick(0);
		else return;
		event.preventDefault();
		this.later();
	}
}

const shades = new WeakMap<Key, number>();
function shadeOf(key: Key): number {
	let shade = shades.get(key);
	if (shade === undefined) {
		let hash = 0;
		for (const c of key.module ?? key.file ?? key.name) hash = (hash * 31 + c.charCodeAt(0)) | 0;
		shade = Math.abs(hash) % 4;
		shades.set(key, shade);
	}
	return shade;
}

// Letters of a monospaced font are all alike, so nothing has to be measured.
const LETTER = 6.95;
function fitting(text: string, width: number): string {
	const most = Math.floor(width / LETTER);
	return text.length <= most ? text : most < 2 ? "" : text.slice(0, most - 1) + "\u2026";
}
