// state.ts - what is being looked at, kept in the address so that a link leads to the same view.
//
//	#code?stage=train&from=1.5&to=3&search=parse
//
// The range is that of the timeline's brush, in seconds of the run; it filters every view.

export interface State { view: string; params: Record<string, string> }

type Listener = (state: State, previous: State) => void;
const listeners: Listener[] = [];
let current: State = read();

function read(): State {
	const [view, query] = location.hash.replace(/^#/, "").split("?");
	return { view: view ?? "", params: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

function write(state: State): string {
	const query = new URLSearchParams(Object.entries(state.params).filter(([, value]) => value !== "")).toString();
	return "#" + state.view + (query ? "?" + query : "");
}

export const state = (): State => current;
export const param = (name: string): string => current.params[name] ?? "";

export function range(): [number, number] | null {
	const from = parseFloat(param("from")), to = parseFloat(param("to"));
	return Number.isFinite(from) && Number.isFinite(to) && to > from ? [from, to] : null;
}

function change(next: State, push: boolean): void {
	const previous = current, address = write(next);
	current = next;
	if (address !== location.hash) {
		if (push) history.pushState(null, "", address);
		else history.replaceState(null, "", address);
	}
	for (const listener of listeners) listener(current, previous);
}

// An empty value removes a parameter.
export function set(params: Record<string, string>, push = false): void {
	const merged = { ...current.params, ...params };
	for (const name of Object.keys(merged)) if (merged[name] === "") delete merged[name];
	change({ view: current.view, params: merged }, push);
}

export function go(view: string, params: Record<string, string> = {}): void {
	const kept: Record<string, string> = {};
	for (const name of ["from", "to", "run", "a", "b"]) if (current.params[name]) kept[name] = current.params[name]!;
	const merged = { ...kept, ...params };
	for (const name of Object.keys(merged)) if (merged[name] === "") delete merged[name];
	change({ view, params: merged }, true);
}

export function setRange(range: [number, number] | null): void {
	set(range ? { from: String(+range[0].toPrecision(6)), to: String(+range[1].toPrecision(6)) } : { from: "", to: "" });
}

export function listen(listener: Listener): void {
	listeners.push(listener);
}

addEventListener("popstate", () => {
	const previous = current;
	current = read();
	for (const listener of listeners) listener(current, previous);
});
