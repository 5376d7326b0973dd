// codeview.ts - the flame graph with what goes around it: what is chosen, what is searched, the functions, the lines.

import { Child, clean, clear, h } from "./dom";
import { bytes, count, quantity, seconds, share } from "./format";
import { Flame } from "./flame";
import { FunctionRow, functions, grow, Key, KINDS, linesOf, matching, Shape, Tree, Weighted } from "./calls";
import { param, range, set } from "./state";
import { bar, table } from "./table";

// Something that can be drawn as a flame graph: CPU time, memory at its peak, …
export interface Source {
	id: string;
	title: string;
	unit: string;
	about: string;
	weigh: () => Weighted;
	other?: () => Weighted; // the older side of a comparison
	note?: () => string | null; // what the reader of the sum should know
}

export interface Choices {
	stages: { id: string; title: string }[];
	processes: { id: string; title: string }[];
	threads: { id: string; title: string }[];
	absent?: string | null; // a weight that people look for and this run does not have, and why
}

const plain = (unit: string, value: number): string => unit === "s" ? seconds(value) : unit === "bytes" ? bytes(value) :
	unit === "count" ? count(value) : quantity(value, unit);

// Where there is nothing to choose (one thing, or all and the one) there is no choice.
function choice(label: string, name: string, options: { id: string; title: string }[], fallback = ""): Child {
	if (options.length < (options[0]?.id === "" ? 3 : 2)) return null;
	// Threads are numbered per weight, so another weight begins with all of them.
	const element = h("select", { name, onchange: () => set({ [name]: element.value, zoom: "", ...(name === "weight" ? { thread: "" } : {}) }) },
		options.map((one) => h("option", { value: one.id, selected: (param(name) || fallback) === one.id }, clean(one.title, 80))));
	return h("label", { class: "field" }, h("span", null, label), element);
}

function flag(label: string, name: string, hint: string): Child {
	const box = h("input", { type: "checkbox", name, checked: param(name) === "1",
		onchange: () => set({ [name]: box.checked ? "1" : "", zoom: "" }) });
	return h("label", { class: "check", hint }, box, label);
}

const place = (key: Key): string => {
	const path = key.file ?? key.module;
	return path ? path.slice(path.lastIndexOf("/") + 1) : KINDS[key.kind]!;
};

export class CodeView {
	readonly element: HTMLElement;
	private readonly flame: Flame;
	private tree: Tree | null = null;
	private side: Weighted | null = null;
	private source!: Source;
	private shapeKey = "";
	private readonly summary = h("p", { class: "dim", "aria-live": "polite", id: "flame-summary" });
	private readonly crumbs = h("nav", { class: "crumbs", "aria-label": "Zoom" });
	private readonly below = h("div", { class: "columns" });
	private readonly tools = h("div", { class: "tools" });
	private readonly search: HTMLInputElement;
	private readonly legend = h("p", { class: "legend dim" });
	private readonly absent = h("p", { class: "dim missing", id: "absent-weight" });
	private readonly found = h("output", { class: "found", id: "found" });

	constructor(private readonly sources: () => Source[], private readonly choices: () => Choices) {
		this.flame = new Flame({ icicle: param("root") !== "bottom", label: "Flame graph: arrows walk, Enter zooms, Escape leaves",
			onPick: (node) => this.pick(node), hint: (node) => this.hint(node) });
		this.search = h("input", { type: "search", name: "search", placeholder: "regular expression", "aria-label": "Search functions",
			value: param("search"), oninput: () => set({ search: this.search.value }) });
		this.element = h("section", { class: "view code" }, this.tools, this.summary, this.crumbs, this.flame.element, this.legend, this.absent, this.below);
	}

	// Draws what the address says; only what has changed since the last time.
	update(): void {
		const sources = this.sources();
		this.source = sources.find((one) => one.id === param("weight")) ?? sources[0]!;
		const shape: Shape = { frames: (param("frames") || "both") as Shape["frames"], lines: param("lines") === "1",
			reverse: param("reverse") === "1", merge: param("merge") === "1", matchNames: !!this.source.other };
		const key = JSON.stringify([this.source.id, shape, param("stage"), param("process"), param("thread"), range()]);
		this.drawTools(sources);
		clear(this.legend, legend(this.source));
		if (key !== this.shapeKey) {
			this.shapeKey = key;
			this.side = this.source.weigh();
			this.tree = grow(this.side, this.source.other ? this.source.other() : null, shape);
			this.flame.show(this.tree);
			const zoom = this.nodeOf(param("zoom"));
			if (zoom) this.flame.zoom(zoom);
		}
		this.flame.setIcicle(param("root") !== "bottom");
		this.drawSearch();
		this.drawBelow();
		this.drawSummary();
	}

	private drawTools(sources: Source[]): void {
		const focus = document.activeElement instanceof HTMLElement ? document.activeElement.getAttribute("name") : null;
		const { stages, processes, threads, absent } = this.choices(), code = this.source.id !== "wall";
		clear(this.absent, absent);
		clear(this.tools,
			choice("Weight", "weight", sources.map(({ id, title }) => ({ id, title })), sources[0]!.id),
			choice("Stage", "stage", stages), choice("Process", "process", processes), choice("Thread", "thread", threads),
			code && choice("Frames", "frames", [{ id: "both", title: "Python and native" }, { id: "python", title: "Python" },
				{ id: "native", title: "native" }], "both"),
			choice("Root", "root", [{ id: "top", title: "above (icicle)" }, { id: "bottom", title: "below (flame)" }], "top"),
			h("div", { class: "search" }, h("label", { class: "field grow" }, h("span", null, "Search"), this.search),
				flag("Reverse", "reverse", "Functions that use the time themselves first, their callers behind them"),
				flag("Merge recursion", "merge", "A function that calls itself is one frame"),
				code && flag("Lines", "lines", "A frame for each line of a function"), this.found));
		if (focus === "search") this.search.focus();
		else if (focus) (this.tools.querySelector(`[name="${focus}"]`) as HTMLElement | null)?.focus();
	}

	private drawSearch(): void {
		const text = param("search");
		if (this.search.value !== text) this.search.value = text;
		let pattern: RegExp | null = null;
		this.search.removeAttribute("aria-invalid");
		try {
			pattern = text ? new RegExp(text, "i") : null;
		} catch {
			this.search.setAttribute("aria-invalid", "true");
		}
		if (!pattern) {
			this.flame.setMatches(null);
			this.found.textContent = text ? "not a regular expression" : "";
			return;
		}
		const found = matching(this.tree!, pattern);
		this.flame.setMatches(found.nodes);
		this.found.textContent = `${share(found.weight / (this.tree!.total[0] || 1))} matches (${plain(this.source.unit, found.weight)})`;
		this.found.setAttribute("data-value", String(found.weight));
	}

	private drawSummary(): void {
		const tree = this.tree!, chosen = range();
		const parts = [`${plain(this.source.unit, tree.total[0]!)} of ${this.source.about}`];
		if (chosen) parts.push(`from ${seconds(chosen[0])} to ${seconds(chosen[1])}`);
		if (tree.totalA.length) parts.push(`${plain(this.source.unit, tree.totalA[0]!)} in A (${signed(this.source.unit, tree.total[0]! - tree.totalA[0]!)})`);
		parts.push(`${count(tree.size - 1)} frame${tree.size === 2 ? "" : "s"}`);
		const note = this.source.note?.();
		if (note) parts.push(note);
		if (tree.rest > 0) parts.push(`${share(tree.rest / (tree.total[0] || 1))} in stacks too many to reverse`);
		this.summary.textContent = tree.total[0]! > 0 ? parts.join(", ") + "." : "Nothing of this profile is in what was chosen.";
		this.summary.setAttribute("data-value", String(tree.total[0]));
		const path: number[] = [];
		for (let node = this.flame.zoomed; node > 0; node = tree.parent[node]!) path.unshift(node);
		clear(this.crumbs, path.length ? [h("button", { class: "link", onclick: () => this.pick(0) }, "all"),
			path.slice(-6).map((node) => [" \u203a ", h("button", { class: "link", onclick: () => this.pick(node) },
				clean(this.flame.nameOf(node), 60))])] : null);
	}

	private pick(node: number): void {
		this.flame.zoom(node);
		const key = node ? this.tree!.keys[this.tree!.key[node]!]! : null;
		set({ zoom: this.pathOf(node), function: key ? key.name : "" });
	}

	// A node's place as text that survives another reading: names from the root on.
	private pathOf(node: number): string {
		const names: string[] = [];
		for (; node > 0; node = this.tree!.parent[node]!) names.unshift(this.flame.nameOf(node).slice(0, 80));
		return names.length > 40 ? "" : names.join("\u203a");
	}

	private nodeOf(path: string): number {
		let at = 0;
		for (const name of path ? path.split("\u203a") : []) {
			const next = [...(this.tree!.children[at] ?? [])].find((node) => this.flame.nameOf(node).slice(0, 80) === name);
			if (next === undefined) return 0;
			at = next;
		}
		return at;
	}

	private hint(node: number): Child {
		const tree = this.tree!, unit = this.source.unit, all = tree.total[0] || 1;
		const key = node ? tree.keys[tree.key[node]!]! : null;
		const lines: Child[] = [h("b", null, node ? clean(key!.name, 400) : "all"),
			key ? h("p", { class: "dim" }, [KINDS[key.kind], clean(key.file ?? key.module ?? "", 200) + (key.line ? ":" + key.line : "")].filter(Boolean).join(" \u00b7 ")) : null,
			h("p", null, `${plain(unit, tree.total[node]!)} (${share(tree.total[node]! / all)}), ${plain(unit, tree.self[node]!)} in itself`)];
		if (tree.totalA.length) lines.push(h("p", null,
			`before ${plain(unit, tree.totalA[node]!)}, change ${signed(unit, tree.total[node]! - tree.totalA[node]!)}`));
		return lines;
	}

	private drawBelow(): void {
		const tree = this.tree!;
		if (!(tree.total[0]! > 0) && !tree.totalA.length) return clear(this.below);
		const rows = functions(param("reverse") === "1" ? this.forwardTree() : tree);
		const chosen = rows.find((row) => row.key.name === param("function"));
		clear(this.below, this.functionTable(rows), chosen && this.source.id !== "wall" ? this.lineTable(chosen) : null);
	}

	private forwardTree(): Tree {
		return grow(this.side!, null, { frames: (param("frames") || "both") as Shape["frames"], lines: param("lines") === "1",
			reverse: false, merge: false, matchNames: false });
	}

	private functionTable(rows: FunctionRow[]): HTMLElement {
		const unit = this.source.unit, compared = this.tree!.totalA.length > 0, code = this.source.id !== "wall", title = code ? "Functions" : "Operators in spans";
		const most = Math.max(...rows.map((row) => row.total), 1e-12);
		const amount = (title: string, hint: string, value: (row: FunctionRow) => number) => ({ title, hint, number: true, value,
			show: (row: FunctionRow) => bar(value(row) / most, plain(unit, value(row))), tip: (row: FunctionRow) => `${share(value(row) / (this.tree!.total[0] || 1))} of all` });
		return h("section", { class: "panel" }, h("h2", null, title), table<FunctionRow>([
			{ title: code ? "Function" : "Operator", wide: true, value: (row) => row.key.name, show: (row) => h("code", null, clean(row.key.name, 160), row.key.line ? ":" + row.key.line : "") },
			...(code ? [{ title: "Where", extra: true, value: (row: FunctionRow) => place(row.key), show: (row: FunctionRow) => h("span", { class: "dim" }, clean(place(row.key), 60)) }] : []),
			amount("Own", "In the function itself, without what it calls", (row) => row.self),
			amount("Total", "With all that it calls", (row) => row.total),
			...(compared ? [{ title: "Change", hint: "Own time, against the older side", number: true,
				value: (row: FunctionRow) => row.self - row.selfA, order: (row: FunctionRow) => Math.abs(row.self - row.selfA), show: (row: FunctionRow) => signed(unit, row.self - row.selfA) }] : []),
		], rows, { name: title, sort: (compared ? 4 : 2) - (code ? 0 : 1), most: 25, compact: true,
			pick: (row) => set({ function: param("function") === row.key.name ? "" : row.key.name }),
			picked: (row) => row.key.name === param("function") }));
	}

	private lineTable(row: FunctionRow): HTMLElement {
		const lines = linesOf(this.side!, row.key), most = Math.max(...lines.map((line) => line.time), 1e-12);
		return h("section", { class: "panel", id: "lines" },
			h("h2", null, "Lines of ", h("code", null, clean(row.key.name, 80))),
			h("p", { class: "dim" }, clean(row.key.file ?? row.key.module ?? "", 200)),
			lines.length ? table([
				{ title: "Line", number: true, value: (line) => line.line },
				{ title: "Time", number: true, hint: "At the line, with all that it calls", value: (line) => line.time,
					show: (line) => bar(line.time / most, plain(this.source.unit, line.time)) },
				{ title: "Source", wide: true, value: (line) => line.text, show: (line) => line.text === null ?
					h("span", { class: "dim" }, "text not in the run") : h("code", { class: "source" }, clean(line.text, 200)) },
			], lines, { name: "Lines", sort: -1, most: 60, compact: true }) : h("p", null, "No lines are known of this function."));
	}

	// For the benchmark of the tests.
	get graph(): Flame { return this.flame; }
}

const signed = (unit: string, value: number): string => (value > 0 ? "+" : "") + plain(unit, value);

function legend(source: Source): Child[] {
	const one = (name: string, title: string): Child => h("span", null, h("i", { style: { background: `var(${name})` } }), title);
	const kinds = source.other ? [one("--worse", "more than before"), one("--better", "less than before"), one("--mark", "the same")] : source.id === "wall" ? [one("--span", "operator, as the program named it")] :
		[one("--python", "Python"), one("--native", "native"), one("--jit", "JIT"), one("--kernel", "kernel"), one("--mark", "other")];
	return [...kinds, h("span", { class: "keys" }, "Click zooms, drag pans, Ctrl or Alt with the wheel zooms freely.")];
}
