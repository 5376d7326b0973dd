// calls.ts - from a profile's entries to the tree of calls that is shown: chosen, filtered, merged, reversed, compared.
//
// A tree is columns, children after their parents, so that a hundred thousand nodes are a few arrays and not as many objects.
// Weights are seconds (or bytes); `a` is the other side's where two profiles are compared.

import type { Code } from "./model";

export interface Weighted { code: Code; self: Float64Array; samples: Float64Array } // per node of the model

export interface Filter {
	stage: number; // -1: all
	absent?: boolean; // what was chosen is not in this profile: nothing counts
	process: number; // index; -1: all
	thread: number;
	range: [number, number] | null;
	repetitions: (stage: number) => number; // by which times are divided, where no range is chosen
}

export interface Shape {
	frames: "both" | "python" | "native";
	lines: boolean; // a frame is a line of a function, not the whole
	reverse: boolean; // leaves first
	merge: boolean; // calls of itself are one frame
	matchNames: boolean; // two profiles: files by their names alone, and no lines
}

export interface Tree {
	parent: Int32Array;
	key: Int32Array; // index of `names`; -1 for the root
	self: Float64Array;
	total: Float64Array;
	selfA: Float64Array; // of the other side; empty where there is none
	totalA: Float64Array;
	depth: Int32Array;
	start: Float64Array; // from the left, as a part of the root's total
	children: Int32Array[]; // only where there are any, the heaviest first
	keys: Key[];
	rest: number; // weight that was too much to reverse
	size: number;
}

export interface Key { name: string; module: string | null; file: string | null; line: number; kind: number; search: string }

export const KINDS = ["native", "python", "jit", "kernel", "mark", "operator"];

export const SPAN = 5;

export function weigh(code: Code, filter: Filter): Weighted {
	const self = new Float64Array(code.nodes.parent.length), samples = new Float64Array(self.length);
	const weight = code.threads.map((thread, index) => {
		const process = code.processes[thread.process];
		const stage = process ? process.stage : -1;
		if (filter.absent || (filter.stage >= 0 && stage !== filter.stage)) return 0;
		if (filter.process >= 0 && thread.process !== filter.process) return 0;
		if (filter.thread >= 0 && index !== filter.thread) return 0;
		return filter.range ? 1 : 1 / Math.max(1, filter.repetitions(stage));
	});
	const { thread, bucket, node, us, samples: taken } = code.entries;
	const from = filter.range ? filter.range[0] : -Infinity, to = filter.range ? filter.range[1] : Infinity;
	for (let i = 0; i < us.length; i++) {
		const factor = weight[thread[i]!]!;
		const middle = (bucket[i]! + 0.5) * code.bucket_s;
		if (!factor || middle < from || middle > to) continue;
		self[node[i]!]! += us[i]! * factor / 1e6;
		samples[node[i]!]! += taken[i]!;
	}
	return { code, self, samples };
}

const baseName = (file: string): string => file.slice(file.lastIndexOf("/") + 1);

// Frames of the model become keys: what is one box is one key. -1: the view leaves the frame out.
class Keys {
	readonly keys: Key[] = [];
	private readonly known = new Map<string, number>();
	constructor(private readonly shape: Shape) {}

	of(code: Code): Int32Array {
		const out = new Int32Array(code.frames.length);
		for (let i = 0; i < out.length; i++) out[i] = this.one(code, code.frames[i]!);
		return out;
	}

	private one(code: Code, [kind, name, module, file, line]: Code["frames"][number]): number {
		const python = kind === 1, want = this.shape.frames;
		if (want === "python" && !python && kind !== 4 && kind !== SPAN) return -1;
		if (want === "native" && python) return -1;
		const text = (index: number): string | null => index < 0 ? null : code.strings[index] ?? "";
		const path = text(file) ?? text(module) ?? "";
		const place = this.shape.matchNames ? baseName(path) : path;
		const at = this.shape.lines && !this.shape.matchNames ? line : 0;
		const id = kind + "\0" + name2(text(name)) + "\0" + place + "\0" + at;
		let index = this.known.get(id);
		if (index === undefined) {
			index = this.keys.length;
			const shown = name2(text(name));
			this.keys.push({ name: shown, module: text(module), file: text(file), line: at, kind,
				search: shown + " " + (path ? baseName(path) + " " + path : "") });
			this.known.set(id, index);
		}
		return index;
	}
}

const name2 = (name: string | null): string => name || "[no name]";

// Nodes as they are found, by (parent, key).
class Builder {
	parent: number[] = [-1];
	key: number[] = [-1];
	private readonly child = new Map<number, number>();
	constructor(private readonly keyCount: number) {}

	get(parent: number, key: number): number {
		const id = parent * this.keyCount + key;
		let node = this.child.get(id);
		if (node === undefined) {
			node = this.parent.length;
			this.parent.push(parent);
			this.key.push(key);
			this.child.set(id, node);
		}
		return node;
	}

	// The nearest node of that key on the way to the root, or -1.
	above(node: number, key: number): number {
		for (; node > 0; node = this.parent[node]!) if (this.key[node] === key) return node;
		return -1;
	}
}

// Per node of the model: the node that is shown.
function forward(code: Code, keyOf: Int32Array, builder: Builder, merge: boolean): Int32Array {
	const { parent, frame } = code.nodes;
	const shown = new Int32Array(parent.length);
	for (let i = 1; i < parent.length; i++) {
		const above = shown[parent[i]!]!, key = keyOf[frame[i]!]!;
		if (key < 0) {
			shown[i] = above;
			continue;
		}
		const same = merge ? builder.above(above, key) : -1;
		shown[i] = same >= 0 ? same : builder.get(above, key);
	}
	return shown;
}

const REVERSE_STEPS = 3000000;

// Each node with time of its own, from itself to the root; the heaviest first, so that what is left out is the least.
function backward(side: Weighted, keyOf: Int32Array, builder: Builder, shape: Shape): { shown: Int32Array; rest: number } {
	const { parent, frame } = side.code.nodes;
	const shown = new Int32Array(parent.length);
	const order: number[] = [];
	for (let i = 1; i < parent.length; i++) if (side.self[i]! > 0) order.push(i);
	order.sort((a, b) => side.self[b]! - side.self[a]!);
	let steps = 0, rest = 0;
	for (const leaf of order) {
		if (steps > REVERSE_STEPS) {
			rest += side.self[leaf]!;
			continue;
		}
		let at = 0, last = -1;
		for (let node = leaf; node > 0; node = parent[node]!, steps++) {
			const key = keyOf[frame[node]!]!;
			if (key < 0 || (shape.merge && key === last)) continue;
			at = builder.get(at, key);
			last = key;
		}
		shown[leaf] = at;
	}
	return { shown, rest };
}

export function grow(side: Weighted, other: Weighted | null, shape: Shape): Tree {
	const keys = new Keys(shape);
	const sides = other ? [side, other] : [side];
	const keyOf = sides.map((one) => keys.of(one.code));
	const builder = new Builder(keys.keys.length + 1);
	const self: Float64Array[] = [], total: Float64Array[] = [];
	const shown: Int32Array[] = [];
	let rest = 0;
	sides.forEach((one, i) => {
		if (shape.reverse) {
			const back = backward(one, keyOf[i]!, builder, shape);
			shown.push(back.shown);
			if (i === 0) rest = back.rest;
		} else shown.push(forward(one.code, keyOf[i]!, builder, shape.merge));
	});
	const size = builder.parent.length;
	const parent = Int32Array.from(builder.parent), key = Int32Array.from(builder.key);
	sides.forEach((one, i) => {
		const own = new Float64Array(size), all = new Float64Array(size);
		for (let n = 0; n < one.self.length; n++) {
			const node = shown[i]![n]!;
			own[node]! += one.self[n]!;
		}
		all.set(own);
		for (let n = size - 1; n > 0; n--) all[parent[n]!]! += all[n]!;
		self.push(own);
		total.push(all);
	});
	return layOut({ parent, key, self: self[0]!, total: total[0]!, selfA: self[1] ?? new Float64Array(0),
		totalA: total[1] ?? new Float64Array(0), keys: keys.keys, rest, size });
}

function layOut(tree: Omit<Tree, "depth" | "start" | "children">): Tree {
	const { parent, total, totalA, size } = tree;
	const weight = (node: number): number => Math.max(total[node]!, totalA.length ? totalA[node]! : 0);
	const depth = new Int32Array(size), start = new Float64Array(size), count = new Int32Array(size);
	for (let n = 1; n < size; n++) {
		depth[n] = depth[parent[n]!]! + 1;
		count[parent[n]!]!++;
	}
	const children: Int32Array[] = new Array(size);
	for (let n = 0; n < size; n++) if (count[n]) children[n] = new Int32Array(count[n]!);
	const filled = new Int32Array(size);
	for (let n = 1; n < size; n++) children[parent[n]!]![filled[parent[n]!]!++] = n;
	for (let n = 0; n < size; n++) {
		const own = children[n];
		if (!own) continue;
		own.sort((a, b) => weight(b) - weight(a));
		let at = start[n]!;
		for (const child of own) {
			start[child] = at;
			at += total[child]!;
		}
	}
	return { ...tree, depth, start, children };
}

// Per key: own time, and the time in which it was on the stack at least once.
export interface FunctionRow { key: Key; index: number; self: number; total: number; selfA: number; totalA: number }

export function functions(tree: Tree): FunctionRow[] {
	const rows: FunctionRow[] = tree.keys.map((key, index) => ({ key, index, self: 0, total: 0, selfA: 0, totalA: 0 }));
	const onPath = new Int32Array(tree.keys.length);
	const compared = tree.totalA.length > 0;
	// Depth first without recursion; a node is left when its number comes again, as -1 - node.
	const stack: number[] = [0];
	while (stack.length) {
		const node = stack.pop()!;
		if (node < 0) {
			onPath[tree.key[-1 - node]!]!--;
			continue;
		}
		const key = tree.key[node]!;
		if (key >= 0) {
			const row = rows[key]!;
			row.self += tree.self[node]!;
			if (compared) row.selfA += tree.selfA[node]!;
			if (onPath[key]!++ === 0) {
				row.total += tree.total[node]!;
				if (compared) row.totalA += tree.totalA[node]!;
			}
			stack.push(-1 - node);
		}
		for (const child of tree.children[node] ?? []) stack.push(child);
	}
	return rows.filter((row) => row.total > 0 || row.totalA > 0);
}

// The share of all time in which something on the stack matches.
export function matching(tree: Tree, pattern: RegExp): { nodes: Uint8Array; weight: number } {
	const hit = tree.keys.map((key) => pattern.test(key.search));
	const nodes = new Uint8Array(tree.size);
	let weight = 0;
	for (let n = 1; n < tree.size; n++) {
		const own = hit[tree.key[n]!] ? 1 : 0;
		// 2: something above matches already, so its time has been counted.
		const above = nodes[tree.parent[n]!]! ? 2 : 0;
		nodes[n] = own | above;
		if (own && !above) weight += tree.total[n]!;
	}
	return { nodes, weight };
}

export interface LineRow { line: number; time: number; text: string | null }

// The lines of one function: the time at each or in what it called, and its text where the run has it.
export function linesOf(side: Weighted, key: Key): LineRow[] {
	const { code } = side;
	const rows = new Map<number, LineRow>();
	const texts = new Map<string, string>();
	for (const [file, line, text] of code.sources) texts.set(file + ":" + line, code.strings[text] ?? "");
	const { frame, parent } = code.nodes;
	const total = Float64Array.from(side.self);
	for (let n = total.length - 1; n > 0; n--) total[parent[n]!]! += total[n]!;
	for (let n = 1; n < frame.length; n++) {
		const [kind, name, module, file, line] = code.frames[frame[n]!]!;
		if (kind !== key.kind || code.strings[name] !== key.name || (code.strings[file] ?? null) !== key.file ||
			(module < 0 ? null : code.strings[module] ?? null) !== key.module || !line) continue;
		let row = rows.get(line);
		if (!row) rows.set(line, row = { line, time: 0, text: texts.get(file + ":" + line) ?? null });
		// A line that calls itself again counts once.
		let above = parent[n]!;
		while (above > 0 && frame[above] !== frame[n]) above = parent[above]!;
		if (above <= 0) row.time += total[n]!;
	}
	return [...rows.values()].sort((a, b) => a.line - b.line);
}
