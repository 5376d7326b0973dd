// table.ts - a table that sorts, cuts itself to its first rows, and copies itself as CSV.

import { Child, clean, copyText, h, Hint, toast } from "./dom";

export interface Column<T> {
	title: string;
	hint?: string;
	number?: boolean;
	value: (row: T) => number | string | null | undefined; // what CSV has, and what sorts
	order?: (row: T) => number | null; // what sorts, where that is something else
	show?: (row: T) => Child;
	tip?: (row: T) => Hint | null;
	wide?: boolean; // takes the room that is left
	extra?: boolean; // left out where the screen is narrow
}

export interface TableOptions<T> {
	name: string; // for the file of the CSV and for those who hear the page
	sort?: number; // column; -1 leaves the order as it is
	ascending?: boolean;
	most?: number;
	pick?: (row: T) => void;
	picked?: (row: T) => boolean;
	compact?: boolean;
}

const quote = (text: string): string => /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;

const classOf = (column: { number?: boolean; wide?: boolean; extra?: boolean }): string => [column.number && "n", column.wide && "wide", column.extra && "extra"].filter(Boolean).join(" ");

export function csvOf<T>(columns: Column<T>[], rows: T[]): string {
	const lines = [columns.map((column) => quote(column.title)).join(",")];
	for (const row of rows) lines.push(columns.map((column) => {
		const value = column.value(row);
		return value === null || value === undefined ? "" : quote(String(value));
	}).join(","));
	return lines.join("\n") + "\n";
}

export function table<T>(columns: Column<T>[], rows: T[], options: TableOptions<T>): HTMLElement {
	let sort = options.sort ?? -1, ascending = options.ascending ?? false, most = options.most ?? 50;
	const body = h("tbody", null), head = h("tr", null), foot = h("div", { class: "table-foot" });

	const ordered = (): T[] => {
		if (sort < 0) return rows;
		const column = columns[sort]!;
		const way = ascending ? 1 : -1;
		return [...rows].sort((a, b) => {
			const key = column.order ?? column.value, x = key(a), y = key(b);
			if (x === y) return 0;
			if (x === null || x === undefined) return 1;
			if (y === null || y === undefined) return -1;
			return (x < y ? -1 : 1) * way;
		});
	};

	const cell = (column: Column<T>, row: T): HTMLElement => {
		const value = column.value(row);
		return h("td", { class: classOf(column), hint: column.tip?.(row),
			"data-value": typeof value === "number" ? value : null },
		column.show ? column.show(row) : value === null || value === undefined ? h("span", { class: "dim" }, "n/a") :
			typeof value === "string" ? clean(value) : value);
	};

	const drawBody = (): void => {
		const all = ordered();
		body.replaceChildren(...all.slice(0, most).map((row) => {
			const line = h("tr", { class: options.picked?.(row) ? "picked" : null }, columns.map((column) => cell(column, row)));
			if (options.pick) {
				line.tabIndex = 0;
				line.classList.add("pickable");
				line.addEventListener("click", () => options.pick!(row));
				line.addEventListener("keydown", (event) => {
					if (event.key !== "Enter" && event.key !== " ") return;
					event.preventDefault();
					options.pick!(row);
				});
			}
			return line;
		}));
		foot.replaceChildren(
			all.length > most ? h("button", { class: "link", onclick: () => { most *= 4; drawBody(); } },
				`${all.length - most} more rows`) : "",
			h("button", { class: "link copy", title: "Copy this table as CSV", onclick: () => {
				void copyText(csvOf(columns, ordered())).then(() => toast(`Copied ${rows.length} rows as CSV`));
			} }, "Copy as CSV"));
	};

	const drawHead = (): void => {
		head.replaceChildren(...columns.map((column, i) => h("th", {
			scope: "col", class: classOf(column),
			"aria-sort": sort === i ? (ascending ? "ascending" : "descending") : null,
		}, h("button", { class: "sort", hint: column.hint, onclick: () => {
			ascending = sort === i ? !ascending : !column.number;
			sort = i;
			drawHead();
			drawBody();
		} }, column.title, sort === i ? h("span", { "aria-hidden": "true" }, ascending ? " \u2191" : " \u2193") : ""))));
	};

	drawHead();
	drawBody();
	return h("div", { class: "table" + (options.compact ? " compact" : "") },
		h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": options.name },
			h("table", { "aria-label": options.name }, h("thead", null, head), body)), foot);
}

// A share as a bar behind its number.
export function bar(fraction: number, text: string, kind = ""): HTMLElement {
	const width = Math.max(0, Math.min(1, fraction || 0)) * 100;
	return h("span", { class: "bar " + kind }, h("i", { style: { width: width.toFixed(2) + "%" } }), h("span", null, text));
}
